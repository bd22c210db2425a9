"""`whence bench`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from whence.cli.output import print_text
from whence.cli.shared import ProgressBar
from whence.core.errors import StorageError, UsageError
from whence_bench.cli_agents import agents, confidence, pastes
from whence_bench.cli_faults import faults
from whence_bench.cli_files import Files, into_files
from whence_bench.cli_fleet import bench_fleet, scale
from whence_bench.cli_ui import ui

if TYPE_CHECKING:
    from whence_bench.context.corpus import ContextCorpus
    from whence_bench.context.run import Run as ContextRun
    from whence_bench.search.corpus import Corpus

judged_option = click.option(
    "--judged",
    "judged_file",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Keep what every signal said of every candidate, to learn weights from.",
)


@click.group()
def bench() -> None:
    """Measure quality and speed, so that every figure can be repeated.

    No setting of yours has a part in it.
    """


for one in (agents, bench_fleet, confidence, faults, pastes, scale, ui):
    bench.add_command(one)


@bench.command()
@click.option("--corpus", required=True, metavar="DIR", help="The benchmark, as `whence bench fetch search DIR` lays it out.")
@click.option("--profile", "profiles", multiple=True, metavar="NAME", help="A ranking profile (default: default and classic).")
@click.option("--repo", "names", multiple=True, metavar="NAME", help="Only this repository of the corpus; may be given again.")
@click.option("--index-dir", metavar="DIR", help="Keep the indexes here (default: a folder that is removed).")
@click.option("--ablate", is_flag=True, help="What each retriever and signal of a profile is worth, instead.")
@click.option("--learn", is_flag=True, help="Learn weights from all repositories but the one asked, instead.")
@judged_option
@into_files(ablate="ablated", learn="learned")
def search(corpus: str, names: tuple[str, ...], index_dir: str | None, files: Files, **how: Any) -> int:
    """How well files are ranked: NDCG@10, recall of wanted files, CPU time of a query."""
    from whence_bench.search import corpus as corpora  # noqa: PLC0415
    from whence_bench.search import run as benchmark  # noqa: PLC0415

    loaded = corpora.load(Path(corpus), names)
    place = Path(index_dir) if index_dir else None
    progress = ProgressBar("measuring")
    try:
        if how["ablate"] or how["learn"] or how["judged_file"]:
            text, figures = _taken_apart(loaded, place, progress, **how)
        else:
            done = benchmark.run(loaded, how["profiles"] or benchmark.DEFAULT_PROFILES, place, progress)
            text, figures = benchmark.as_text(done), benchmark.as_json(done, loaded)
    finally:
        progress.close()
    print_text(f"{text}\n")
    for name in loaded.missing:
        click.echo(f"whence: {name} is listed and is not there; left out", err=True)
    files.write(figures)
    return 0


def _taken_apart(
    loaded: Corpus,
    place: Path | None,
    progress: ProgressBar,
    *,
    profiles: tuple[str, ...],
    ablate: bool,
    learn: bool,
    judged_file: str | None,
) -> tuple[str, dict[str, Any]]:
    """The parts of a profile, or weights learned without the repository asked."""
    from whence.core.profiles import PROFILES  # noqa: PLC0415
    from whence_bench.search import ablation, features  # noqa: PLC0415

    if judged_file and not learn:
        raise UsageError("--judged keeps what --learn learns from", hint="give both")
    if len(profiles) > 1 or (learn and profiles):
        raise UsageError(
            "weights are learned for the default profile, and parts are taken from one profile", hint="give --ablate one --profile"
        )
    if ablate and learn:
        raise UsageError("--ablate and --learn are two questions", hint="ask one at a time")
    if learn:
        judged = ablation.judged_corpus(loaded, ablation.opened("default", every_signal=True), place, progress)
        if judged_file:
            features.save(judged, Path(judged_file))
        text, figures = ablation.left_out_text(judged)
        return text, {"benchmark": "search, learned", "ndcg": figures}
    name = profiles[0] if profiles else "default"
    profile = ablation.opened(name, every_signal=False)
    judged = ablation.judged_corpus(loaded, profile, place, progress)
    found = ablation.worths(judged, PROFILES[name])
    return ablation.as_text(found, judged, name), {"benchmark": "search, ablated", "profile": name, "parts": [asdict(one) for one in found]}


@bench.command()
@click.option("--corpus", required=True, metavar="DIR", help="The benchmark, as `whence bench fetch context DIR` lays it out.")
@click.option("--profile", "profiles", multiple=True, metavar="NAME", help="A ranking profile (default: default and classic).")
@click.option("--repo", "names", multiple=True, metavar="NAME", help="Only this repository of the corpus; may be given again.")
@click.option("--index-dir", metavar="DIR", help="Keep the indexes here (default: a folder that is removed).")
@click.option("--ablate", is_flag=True, help="What each stage of a profile is worth, instead.")
@click.option("--learn", is_flag=True, help="With weights learned from all repositories but the one asked, instead: slow.")
@click.option("--knowing", metavar="PATH", help="The knowing command to run beside, for its CPU time.")
@click.option("--knowing-quality", "quality", is_flag=True, help="Also measure its answers to all tasks: slow.")
@into_files(ablate="ablated", learn="learned")
def context(corpus: str, names: tuple[str, ...], index_dir: str | None, files: Files, **how: Any) -> int:
    """How well the symbols that a task needs are ranked: P@10, R@10, NDCG@10, MRR, and strictly.

    Official figures follow the public benchmark, where several results may
    match one wanted name. Strict ones credit every wanted name once. Nothing
    is learned from one task for the next.
    """
    from whence_bench.context import corpus as context_corpus  # noqa: PLC0415

    loaded = context_corpus.load(Path(corpus), names)
    progress = ProgressBar("measuring")
    try:
        text, figures = _contexts(loaded, Path(index_dir) if index_dir else None, progress, **how)
    finally:
        progress.close()
    print_text(f"{text}\n")
    for line in [*(f"{name} is listed and is not there; left out" for name in loaded.missing), *figures["notes"]]:
        _warn(line)
    files.write(figures)
    return 0


def _contexts(
    loaded: ContextCorpus,
    place: Path | None,
    progress: ProgressBar,
    *,
    profiles: tuple[str, ...],
    ablate: bool,
    learn: bool,
    knowing: str | None,
    quality: bool,
) -> tuple[str, dict[str, Any]]:
    """Whole profiles, perhaps beside a peer, or one profile taken apart."""
    from whence_bench.context import run as benchmark  # noqa: PLC0415
    from whence_bench.context import tables  # noqa: PLC0415
    from whence_bench.context.knowing import find_knowing  # noqa: PLC0415

    if ablate and (len(profiles) > 1 or knowing):
        raise UsageError("--ablate takes one profile apart, and nothing beside it", hint="give it one --profile and no --knowing")
    if learn and (ablate or profiles or knowing):
        raise UsageError("--learn measures weights of its own, and nothing beside them", hint="give it alone")
    if quality and not knowing:
        raise UsageError("--knowing-quality needs the command to measure", hint="give --knowing PATH too")
    if ablate:
        ways = benchmark.taken_apart(profiles[0] if profiles else "default")
        done = benchmark.run(loaded, ways, place, progress)
        parts = {measure: [asdict(one) for one in of] for measure, of in tables.worths(done, ways).items()}
        return tables.ablated_text(done, ways), {**benchmark.as_json(done, loaded), "benchmark": "context, ablated", "parts": parts}
    if learn:
        done = _learned_apart(loaded, place, progress)
        return tables.as_text(done), {**benchmark.as_json(done, loaded), "benchmark": "context, learned"}
    with TemporaryDirectory(prefix="whence-bench-") as home:
        peer = benchmark.Peer(find_knowing(knowing, Path(home)), quality) if knowing else None
        done = benchmark.run(loaded, benchmark.whole(profiles or benchmark.DEFAULT_PROFILES), place, progress, peer)
    return tables.as_text(done), benchmark.as_json(done, loaded)


def _learned_apart(loaded: ContextCorpus, place: Path | None, progress: ProgressBar) -> ContextRun:
    """Every task answered with weights that its repository had no part in."""
    from whence_bench.context import learning  # noqa: PLC0415
    from whence_bench.context.run import Run  # noqa: PLC0415

    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        repositories = learning.opened(loaded, place or Path(temporary))
        try:
            return Run({"learned, left out": learning.left_out(repositories, progress)})
        finally:
            for one in repositories:
                one.index.close()


@bench.command()
@click.option("--corpus", required=True, metavar="DIR", help="Repositories with history, as `whence bench fetch history DIR` has them.")
@click.option("--questions", "count", type=click.IntRange(min=1), metavar="N", help="How many in all (default: 1000).")
@click.option("--per-repository", type=click.IntRange(min=1), metavar="N", help="At most so many of one repository.")
@click.option("--repositories", "names", metavar="A,B", help="Only these of the folder (default: those of the benchmark).")
@click.option("--profile", "profiles", multiple=True, metavar="NAME", help="A ranking profile (default: default and classic).")
@judged_option
@into_files()
def history(corpus: str, names: str | None, files: Files, judged_file: str | None, **how: Any) -> int:
    """How well the files are found that a commit changed, asked with its message, beside BM25.

    Every question is asked of the tree before the commit, which is laid out in
    a temporary folder; the repositories themselves are only read. Beside the
    profiles stand weights learned from the other repositories' questions.
    """
    from whence_bench import fetch as fetching  # noqa: PLC0415
    from whence_bench.search import features  # noqa: PLC0415
    from whence_bench.search import history as benchmark  # noqa: PLC0415

    only = tuple(filter(None, (name.strip() for name in (names or "").split(","))))
    found, missing = fetching.histories_in(Path(corpus), only)
    for name in missing:
        click.echo(f"whence: {name} is listed and is not there; left out", err=True)
    progress = ProgressBar("measuring")
    try:
        chosen = how["profiles"] or ("default", "classic")
        done = benchmark.run(found, chosen, how["count"] or benchmark.QUESTIONS, how["per_repository"], progress, _warn)
    finally:
        progress.close()
    if judged_file:
        features.save(done.judged, Path(judged_file))
    done = benchmark.learned_apart(done)
    print_text(f"{benchmark.as_text(done)}\n")
    files.write(benchmark.as_json(done))
    return 0


@bench.command()
@click.option("--corpus", metavar="PATH", help="Conversations, as `whence bench fetch memory DIR` lays them out: the folder, or a file.")
@click.option("--learn", is_flag=True, help="Also with weights learned from all conversations but the one asked.")
@click.option("--ablate", is_flag=True, help="Also what each signal is worth, the others learned again without it.")
@click.option("--variants", is_flag=True, help="Also with the notes written in other ways.")
@click.option(
    "--load",
    "count",
    is_flag=False,
    flag_value=100_000,
    type=click.IntRange(min=100),
    metavar="N",
    help="Recall among N made notes (100000), beside plain full-text search: minutes.",
)
@click.option("--writers", is_flag=True, help="Four processes remember 10,000 notes at once, and one is killed half way.")
@into_files()
def memory(corpus: str | None, count: int | None, writers: bool, files: Files, **how: Any) -> int:
    """How well the sessions that answer a question are recalled: R@5 and R@10.

    Words alone, vectors alone, their union as it is shipped, and the classic
    rule stand side by side.
    """
    if not (corpus or count or writers):
        raise UsageError("there is nothing to measure", hint="give --corpus PATH, --load or --writers")
    if not corpus and any(how.values()):
        raise UsageError("--learn, --ablate and --variants ask questions of a corpus", hint="give --corpus PATH")
    figures: dict[str, Any] = {"benchmark": "memory"}
    if corpus:
        figures |= _recalls(Path(corpus), **how)
    if count:
        from whence_bench.memory import load as memory_load  # noqa: PLC0415

        room = memory_load.run_load(count, _say)
        print_text(f"{memory_load.as_text(room)}\n")
        figures["load"] = memory_load.as_json(room, count)
    if writers:
        from whence_bench.memory import writers as memory_writers  # noqa: PLC0415

        written = memory_writers.run_writers(_say)
        print_text(f"{memory_writers.as_text(written)}\n")
        figures["writers"] = memory_writers.as_json(written)
    files.write(figures)
    return 0


def _recalls(corpus: Path, *, learn: bool, ablate: bool, variants: bool) -> dict[str, Any]:
    """The questions of a corpus, perhaps with what was learned from them, and of notes written in other ways."""
    from whence_bench.memory import corpus as memory_corpus  # noqa: PLC0415
    from whence_bench.memory import run as benchmark  # noqa: PLC0415

    loaded = memory_corpus.load(corpus)
    progress = ProgressBar("measuring")
    try:
        done = benchmark.run(loaded, progress, learn=learn or ablate)
        text, figures = [benchmark.as_text(done)], benchmark.as_json(done)
        if ablate:
            apart = benchmark.taken_apart(done)
            text.append(benchmark.ablated_text(done, apart))
            figures["without"] = {name: benchmark.recalls(answered) for name, answered in apart.items()}
        if variants:
            others = {one.name: benchmark.run(loaded, progress, learn=learn, writing=one) for one in memory_corpus.WRITINGS[1:]}
            runs = {memory_corpus.AS_GIVEN.name: done, **others}
            text.append(benchmark.varied_text(runs))
            figures["written"] = {name: {way: benchmark.recalls(of) for way, of in run.answered.items()} for name, run in runs.items()}
    finally:
        progress.close()
    print_text("\n\n".join(text) + "\n")
    return figures


@bench.command()
@click.option("--tree", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="Make the trees of this source.")
@click.option("--large", is_flag=True, help="Also a tree of 500,000 units: minutes, and a gigabyte of space.")
@click.option("--semble", metavar="PATH", help="The semble command to run beside (default: the one on the path).")
@into_files()
def speed(tree: str | None, large: bool, semble: str | None, files: Files) -> int:
    """How fast, beside semble, ripgrep and git where they are installed.

    The trees are made in a temporary folder from real source, by default this
    package and the standard library of Python.
    """
    from whence_bench.speed import run as benchmark  # noqa: PLC0415

    sizes = benchmark.Sizes(large_units=benchmark.LARGE_UNITS if large else 0)
    room = benchmark.run(Path(tree) if tree else None, sizes, semble, _say)
    print_text(f"{benchmark.as_text(room)}\n")
    files.write(benchmark.as_json(room))
    return 0


@bench.command()
@click.argument("what", metavar="search|context|history|memory")
@click.argument("directory", metavar="DIR")
@click.option(
    "--from",
    "source",
    metavar="URL",
    help="Another repository that publishes the benchmark in the same folders; for history, another place of OWNER/NAME.",
)
def fetch(what: str, directory: str, source: str | None) -> int:
    """Clone the repositories of a public benchmark, at their pinned revisions.

    For `history` they are cloned with all of it, and without work trees. For `memory`
    there are no repositories but one file of conversations, for measuring only. What
    is in DIR already is kept, so a fetch that was cut off can be run again.
    """
    from whence_bench import fetch as fetching  # noqa: PLC0415

    fetched = fetching.fetch(what, Path(directory), source, _say)
    for name, reason in fetched.failed.items():
        click.echo(f"whence: {name}: {reason}", err=True)
    things = "files" if what == "memory" else "repositories"
    print_text(f"{len(fetched.there)} {things} in {directory}\n")
    if fetched.failed:
        raise StorageError(f"{len(fetched.failed)} repositories could not be fetched", hint="run it again; what is there is kept")
    return 0


def _say(text: str) -> None:
    """What is being done, for a person who waits (A6)."""
    if sys.stderr.isatty():
        click.echo(f"whence: {text}", err=True)


def _warn(text: str) -> None:
    """What was left out of the figures."""
    click.echo(f"whence: {text}", err=True)
