"""`whence bench scale` and `whence bench fleet`: what many repositories cost, and whether they are searched as they should be."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whence.cli.output import print_text
from whence.core.errors import UsageError
from whence_bench.cli_files import Files, into_files

if TYPE_CHECKING:
    from whence_bench.speed.harness import Room

tree_option = click.option(
    "--tree", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="Make the repositories of this source."
)


@click.command()
@tree_option
@click.option("--sizes", metavar="N,N,...", help="Units at which to measure (default: 5000,10000,20000,40000); the last is doubled.")
@click.option("--address", metavar="URL", help="Measure an engine that is there; of its CPU, memory and disk nothing is known then.")
@into_files()
def scale(tree: str | None, sizes: str | None, address: str | None, files: Files) -> int:
    """What a unit costs a fleet: bytes, memory, CPU; a model of it, held against a size it has not seen.

    Repositories are made in a temporary folder from real source, by default
    this package and the standard library of Python, and sent to the local
    server of milvus-lite, which is started for it. Exit code 1 when the model
    is off by more than 15 %.
    """
    from whence_bench.fleet import scale as benchmark  # noqa: PLC0415

    chosen = _numbers(sizes) if sizes else benchmark.SIZES
    room = benchmark.run(Path(tree) if tree else None, _say, sizes=chosen, address=address)
    print_text(f"{benchmark.as_text(room)}\n")
    files.write(benchmark.as_json(room))
    return _code(room)


@click.command("fleet")
@tree_option
@click.option("--corpus", metavar="DIR", help="Questions for parity, as `whence bench fetch search DIR` lays them out.")
@click.option("--index-dir", metavar="DIR", help="Keep the indexes of the corpus here (default: a folder that is removed).")
@click.option("--part", "parts", multiple=True, metavar="NAME", help="Only parity, workers, trouble or load; may be given again.")
@click.option("--small", is_flag=True, help="Everything in small: seconds, and no figures to speak of.")
@into_files()
def bench_fleet(tree: str | None, corpus: str | None, index_dir: str | None, parts: tuple[str, ...], small: bool, files: Files) -> int:
    """Whether a fleet ranks as indexes do, loses nothing with a worker, says what is wrong, and is fast enough.

    A query is asked of 30 repositories with 500,000 units, made in a temporary
    folder: ten minutes and more, and gigabytes of space. Exit code 1 when a
    bar is missed.
    """
    from whence_bench.fleet import run as benchmark  # noqa: PLC0415
    from whence_bench.search import corpus as corpora  # noqa: PLC0415

    room = benchmark.run(
        Path(tree) if tree else None,
        _say,
        parts=parts or benchmark.PARTS,
        sizes=benchmark.SMALL if small else benchmark.Sizes(),
        corpus=corpora.load(Path(corpus)) if corpus else None,
        index_dir=Path(index_dir) if index_dir else None,
    )
    print_text(f"{benchmark.as_text(room)}\n")
    files.write(benchmark.as_json(room))
    return _code(room)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        found = tuple(int(one.replace("_", "")) for one in text.split(","))
    except ValueError as error:
        raise UsageError(f"{text!r} is no list of sizes", hint="--sizes 5000,10000,20000,40000") from error
    if min(found) < 1:
        raise UsageError("a size is at least one unit", hint="--sizes 5000,10000,20000,40000")
    return found


def _code(room: Room) -> int:
    return 1 if any(row.kept is False for row in room.rows) else 0


def _say(text: str) -> None:
    """What is being done, for a person who waits (A6)."""
    if sys.stderr.isatty():
        click.echo(f"whence: {text}", err=True)
