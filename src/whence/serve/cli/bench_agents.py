"""`whence bench agents`: what agents pay, and what they are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from whence.serve.cli.shared import Progress

corpus_options = (
    click.option("--corpus", required=True, metavar="DIR", help="The benchmark, as `whence bench fetch search DIR` lays it out."),
    click.option("--repo", "names", multiple=True, metavar="NAME", help="Only this repository of the corpus; may be given again."),
    click.option("--index-dir", metavar="DIR", help="Keep the indexes here (default: a folder that is removed)."),
    click.option("--json", "json_file", metavar="FILE", type=click.Path(dir_okay=False), help="Also write all figures to FILE."),
)


def over_a_corpus(command: Any) -> Any:
    """The options of a benchmark that asks the questions of the search corpus."""
    for option in reversed(corpus_options):
        command = option(command)
    return command


@click.command()
@over_a_corpus
def agents(corpus: str, names: tuple[str, ...], index_dir: str | None, json_file: str | None) -> int:
    """What an agent pays: tokens to the wanted file, CPU of a call, the first answer.

    The real server is asked over standard streams. Tokens are compared with
    grep for the words of a question and reading the files that match.
    """
    from whence.bench import agents as benchmark  # noqa: PLC0415
    from whence.bench import corpus as corpora  # noqa: PLC0415
    from whence.bench import report  # noqa: PLC0415

    loaded = corpora.load(Path(corpus), names)
    progress = Progress("measuring")
    try:
        done = benchmark.run(loaded, Path(index_dir) if index_dir else None, progress)
    finally:
        progress.close()
    click.echo(benchmark.as_text(done))
    if json_file:
        report.write_json(json_file, benchmark.as_json(done, loaded))
    return 0
