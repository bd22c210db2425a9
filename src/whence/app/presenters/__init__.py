"""Presenters turn a response into text, JSON and MCP content."""
