"""`whence watch`."""

from __future__ import annotations

import click


@click.command()
def watch() -> int:
    """Under work."""
    return 2
