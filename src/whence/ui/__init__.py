"""The web page and its API."""
