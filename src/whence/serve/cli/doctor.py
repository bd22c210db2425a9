"""`whence doctor`."""

from __future__ import annotations

import click


@click.command()
def doctor() -> int:
    """Under work."""
    return 2
