"""Serving on this machine only, over HTTP."""
