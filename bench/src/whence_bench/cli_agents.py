"""`whence bench agents`, `confidence` and `pastes`: what agents pay, and how far they can believe what they are told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.cli.output import print_text
from whence.cli.shared import ProgressBar
from whence_bench.cli_files import Files, into_files

if TYPE_CHECKING:
    from whence_bench.search.corpus import Corpus

corpus_options = (
    click.option("--corpus", required=True, metavar="DIR", help="The benchmark, as `whence bench fetch search DIR` lays it out."),
    click.option("--repo", "names", multiple=True, metavar="NAME", help="Only this repository of the corpus; may be given again."),
    click.option("--index-dir", metavar="DIR", help="Keep the indexes here (default: a folder that is removed)."),
    into_files(),
)


def over_a_corpus(command: Any) -> Any:
    """The options of a benchmark that asks the questions of the search corpus."""
    for option in reversed(corpus_options):
        command = option(command)
    return command


def _measured(run: Callable[..., Any], corpus: str, names: tuple[str, ...], index_dir: str | None, **how: Any) -> tuple[Any, Corpus]:
    """What a benchmark measures on a corpus, with progress; and the corpus."""
    from whence_bench.search.corpus import load  # noqa: PLC0415

    loaded, progress = load(Path(corpus), names), ProgressBar("measuring")
    try:
        return run(loaded, Path(index_dir) if index_dir else None, progress, **how), loaded
    finally:
        progress.close()


@click.command()
@over_a_corpus
def agents(corpus: str, names: tuple[str, ...], index_dir: str | None, files: Files) -> int:
    """What an agent pays: tokens to the wanted file, CPU of a call, the first answer.

    The real server is asked over standard streams. Tokens are compared with
    grep for the words of a question and reading the files that match.
    """
    from whence_bench.agents import run as benchmark  # noqa: PLC0415

    done, loaded = _measured(benchmark.run, corpus, names, index_dir)
    print_text(f"{benchmark.as_text(done)}\n")
    files.write(benchmark.as_json(done, loaded))
    return 0


@click.command()
@over_a_corpus
@click.option("--learn", "apart", is_flag=True, help="With weights learned from all repositories but the one asked.")
@click.option("--line", type=click.FloatRange(0, 1), metavar="P", help="Below this it is not here (default: the setting's).")
@click.option("--plot", metavar="FILE", type=click.Path(dir_okay=False), help="Also draw the figures, as SVG.")
def confidence(corpus: str, names: tuple[str, ...], index_dir: str | None, files: Files, **how: Any) -> int:
    """How far "not here" can be believed.

    Questions that have an answer are asked of their own repository, and of
    others, where they have none.
    """
    from whence_bench import report  # noqa: PLC0415
    from whence_bench.search import confidence as benchmark  # noqa: PLC0415
    from whence_bench.search import confidence_plot  # noqa: PLC0415

    if how["plot"]:
        report.check_writable(how["plot"])
    found, _ = _measured(benchmark.run, corpus, names, index_dir, apart=how["apart"], line=how["line"])
    print_text(f"{benchmark.as_text(found)}\n")
    if how["plot"]:
        report.write_text(how["plot"], confidence_plot.as_svg(found))
    files.write(found)
    return 0


@click.command()
@over_a_corpus
def pastes(corpus: str, names: tuple[str, ...], index_dir: str | None, files: Files) -> int:
    """How well a question is found in what is pasted around it.

    Questions are wrapped in prompts, chats, envelopes and forms, and traces are
    made of real functions; each is searched as it is, and as it is read.
    """
    from whence_bench.search import pastes as benchmark  # noqa: PLC0415

    done, loaded = _measured(benchmark.run, corpus, names, index_dir)
    print_text(f"{benchmark.as_text(done)}\n")
    files.write(benchmark.as_json(done, loaded))
    return 0
