"""`whence install`."""

from __future__ import annotations

import click


@click.command()
def install() -> int:
    """Under work."""
    return 2


@click.command()
def uninstall() -> int:
    """Under work."""
    return 2
