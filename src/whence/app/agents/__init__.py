"""Configuring coding agents to use whence."""
