"""`whence mcp`."""

from __future__ import annotations

import click


@click.command()
def mcp() -> int:
    """Under work."""
    return 2
