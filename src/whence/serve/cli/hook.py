"""`whence hook`."""

from __future__ import annotations

import click


@click.command()
def hook() -> int:
    """Under work."""
    return 2
