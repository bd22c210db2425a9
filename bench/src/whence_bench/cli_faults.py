"""`whence bench faults`: whether it keeps working."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import click

from whence.cli.output import print_text
from whence.core.errors import UsageError
from whence_bench.cli_files import Files, into_files


@click.command()
@click.argument("names", nargs=-1, metavar="[PART]...")
@click.option("--seconds", type=click.FloatRange(min=1), help="The most that each part may take (default: its own).")
@click.option("--small", is_flag=True, help="Some of everything, in a minute or two.")
@click.option("--seed", type=int, default=1, show_default=True, help="What makes a run repeatable.")
@into_files()
def faults(names: tuple[str, ...], seconds: float | None, small: bool, seed: int, files: Files) -> int:
    """Whether it keeps working: kills, damage, crowds, hostile trees and input, secrets.

    Everything happens in a folder of its own that is removed afterwards. A PART
    is one of kills, corruption, crowds, load, trees, fuzz, secrets, worktrees
    (default: all). Exit code 1 when anything was wrong.
    """
    from whence_bench.faults import running  # noqa: PLC0415

    unknown = [name for name in names if name not in running.PARTS]
    if unknown:
        raise UsageError(f"there is no part {unknown[0]!r}", hint=f"allowed: {', '.join(running.PARTS)}")
    with TemporaryDirectory(prefix="whence-faults-") as scratch:
        parts = running.run(names, Path(scratch), seconds=seconds, seed=seed, small=small, tell=lambda line: click.echo(line, err=True))
    print_text(f"{running.as_text(parts)}\n")
    files.write(running.as_json(parts, seed))
    return 1 if any(part.wrong for part in parts) else 0
