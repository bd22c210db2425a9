"""`whence bench`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from whence.cli.shared import ProgressBar, print_text
from whence.core.errors import StorageError, UsageError
from whence_bench.output_files import Files, into_files

if TYPE_CHECKING:
    from whence_bench.context.corpus import ContextCorpus
    from whence_bench.context.run import Run as ContextRun
    from whence_bench.fetch import History
    from whence_bench.search.corpus import Corpus
    from whence_bench.speed.harness import Room

#: Commits of one repository whose functions are asked for.
FUNCTIONS_PER_REPOSITORY = 42
judged_option = click.option(
    "--judged",
    "judged_file",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Write the signals of every candidate to this file, to learn weights from.",
)


@click.group()
def bench() -> None:
    """Measure quality, speed and robustness.

    Your own settings are ignored, so that figures can be reproduced.
    """


@bench.command()
@click.option("--corpus", required=True, metavar="DIR", help="The benchmark, as `whence bench fetch search DIR` writes it.")
@click.option("--profile", "profiles", multiple=True, metavar="NAME", help="A ranking profile (default: default and classic).")
@click.option("--repo", "names", multiple=True, metavar="NAME", help="Only this repository of the corpus (repeatable).")
@click.option("--index-dir", metavar="DIR", help="Keep the indexes here (default: a temporary folder).")
@click.option("--ablate", is_flag=True, help="Instead, measure what each retriever and signal contributes.")
@click.option("--learn", is_flag=True, help="Instead, learn weights from all other repositories.")
@judged_option
@into_files(ablate="ablated", learn="learned")
def search(corpus: str, names: tuple[str, ...], index_dir: str | None, files: Files, **how: Any) -> int:
    """Search quality: NDCG@10, recall of the expected files, CPU time per query."""
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
    """Ablate a profile, or learn weights without the repository that is searched."""
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
@click.option("--corpus", required=True, metavar="DIR", help="The benchmark, as `whence bench fetch context DIR` writes it.")
@click.option("--profile", "profiles", multiple=True, metavar="NAME", help="A ranking profile (default: default and classic).")
@click.option("--repo", "names", multiple=True, metavar="NAME", help="Only this repository of the corpus (repeatable).")
@click.option("--index-dir", metavar="DIR", help="Keep the indexes here (default: a temporary folder).")
@click.option("--ablate", is_flag=True, help="Instead, measure what each stage contributes.")
@click.option("--learn", is_flag=True, help="Instead, use weights learned from all other repositories (slow).")
@click.option("--packs", is_flag=True, help="Instead, measure how much of the code a task needs is in its pack, beside grep windows.")
@click.option("--knowing", metavar="PATH", help="The knowing command to compare with, for its CPU time.")
@click.option("--knowing-quality", "quality", is_flag=True, help="Also measure its answers to all tasks (slow).")
@into_files(ablate="ablated", learn="learned", packs="packs")
def context(corpus: str, names: tuple[str, ...], index_dir: str | None, files: Files, **how: Any) -> int:
    """Context quality: P@10, R@10, NDCG@10 and MRR of the symbols a task needs.

    Official figures follow the public benchmark, in which several results may
    match one expected name; strict figures credit each name once. No feedback
    is carried from one task to the next.
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
    packs: bool,
    knowing: str | None,
    quality: bool,
) -> tuple[str, dict[str, Any]]:
    """Measure whole profiles, perhaps beside a peer, or ablate one."""
    from whence_bench.context import run as benchmark  # noqa: PLC0415
    from whence_bench.context import tables  # noqa: PLC0415
    from whence_bench.context.knowing import find_knowing  # noqa: PLC0415

    if ablate and (len(profiles) > 1 or knowing):
        raise UsageError("--ablate takes one profile apart, and nothing beside it", hint="give it one --profile and no --knowing")
    if learn and (ablate or profiles or knowing):
        raise UsageError("--learn measures weights of its own, and nothing beside them", hint="give it alone")
    if packs:
        if ablate or learn or profiles or knowing:
            raise UsageError("--packs measures what packs show, and nothing beside it", hint="give it alone")
        from whence_bench.context import packs as of_packs  # noqa: PLC0415

        scores = of_packs.run(loaded, place, progress)
        return of_packs.as_text(scores), {**of_packs.as_json(scores), "notes": []}
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
    """Answer every task with weights learned without its repository."""
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
@click.option("--corpus", required=True, metavar="DIR", help="Repositories with history, as `whence bench fetch history DIR` writes them.")
@click.option("--questions", "count", type=click.IntRange(min=1), metavar="N", help="The most in all (default: 1000).")
@click.option("--per-repository", type=click.IntRange(min=1), metavar="N", help="The most from one repository.")
@click.option("--repositories", "names", metavar="A,B", help="Only these in the folder (default: those of the benchmark).")
@click.option("--profile", "profiles", multiple=True, metavar="NAME", help="A ranking profile (default: default and classic).")
@click.option("--symbols", is_flag=True, help="Instead, find the functions a commit changed, with whence context.")
@judged_option
@into_files(symbols="symbols")
def history(corpus: str, names: str | None, files: Files, judged_file: str | None, symbols: bool, **how: Any) -> int:
    """Search quality on commits: find the files a commit changed by its message.

    Each question searches the tree before the commit, written to a temporary
    folder; the repositories are only read. Profiles are compared with BM25 and
    with weights learned from the other repositories' questions.
    """
    from whence_bench import fetch as fetching  # noqa: PLC0415
    from whence_bench.search import features  # noqa: PLC0415
    from whence_bench.search import history as benchmark  # noqa: PLC0415

    only = tuple(filter(None, (name.strip() for name in (names or "").split(","))))
    found, missing = fetching.histories_in(Path(corpus), only)
    for name in missing:
        click.echo(f"whence: {name} is listed and is not there; left out", err=True)
    if symbols:
        return _changed_functions(found, how["per_repository"] or FUNCTIONS_PER_REPOSITORY, judged_file, files)
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


def _changed_functions(found: Sequence[History], per_repository: int, judged_file: str | None, files: Files) -> int:
    from whence_bench.context import changes  # noqa: PLC0415

    with ProgressBar("measuring") as progress:
        questions, cases = changes.run(found, per_repository, progress)
    if judged_file:
        changes.save(cases, Path(judged_file))
    print_text(f"{changes.as_text(questions, cases)}\n")
    files.write(changes.as_json(questions))
    return 0


@bench.command()
@click.option("--corpus", metavar="PATH", help="Conversations, as `whence bench fetch memory DIR` writes them: the folder, or a file.")
@click.option("--learn", is_flag=True, help="Also with weights learned from all other conversations.")
@click.option("--ablate", is_flag=True, help="Also measure what each signal contributes, with the others learned again without it.")
@click.option("--variants", is_flag=True, help="Also with notes written in other ways.")
@click.option(
    "--load",
    "count",
    is_flag=False,
    flag_value=100_000,
    type=click.IntRange(min=100),
    metavar="N",
    help="Recall among N generated notes (100000), compared with plain full-text search: takes minutes.",
)
@click.option("--team", is_flag=True, help="Questions about the notes of a made team, some of which no note answers.")
@click.option("--writers", is_flag=True, help="Four processes write 10,000 notes at once, and one is killed halfway.")
@into_files()
def memory(corpus: str | None, count: int | None, team: bool, writers: bool, files: Files, **how: Any) -> int:
    """Recall quality: R@5 and R@10 of the sessions that answer a question.

    Compares words alone, vectors alone, both as shipped, and the classic rule.
    """
    if not (corpus or count or team or writers):
        raise UsageError("there is nothing to measure", hint="give --corpus PATH, --team, --load or --writers")
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
    if team:
        from whence_bench.memory import team as memory_team  # noqa: PLC0415

        answers = memory_team.run()
        print_text(f"{memory_team.as_text(answers)}\n")
        figures["team"] = memory_team.as_json(answers)
    if writers:
        from whence_bench.memory import writers as memory_writers  # noqa: PLC0415

        written = memory_writers.run_writers(_say)
        print_text(f"{memory_writers.as_text(written)}\n")
        figures["writers"] = memory_writers.as_json(written)
    files.write(figures)
    return 0


def _recalls(corpus: Path, *, learn: bool, ablate: bool, variants: bool) -> dict[str, Any]:
    """Measure the questions of a corpus, perhaps with learned weights, and with notes written in other ways."""
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
@click.argument("model")
@click.option("--search", metavar="DIR", help="The search benchmark; files are read again here, though not by default.")
@click.option("--context", metavar="DIR", help="The context benchmark.")
@click.option("--memory", metavar="PATH", help="The memory benchmark.")
@click.option("--history", metavar="DIR", help="Repositories with history: the functions that commits changed.")
@into_files()
def rerank(model: str, files: Files, **places: str | None) -> int:
    """What a second look by MODEL (onnx:DIRECTORY) gains, and what it costs.

    Every question is asked without it, with it when most texts are new (cold),
    and once more (warm).
    """
    from whence_bench import rerank as benchmark  # noqa: PLC0415

    named = benchmark.benchmarks({name: place for name, place in places.items() if place})
    if not named:
        raise UsageError("there is nothing to measure", hint="give --search, --context, --memory or --history")
    found = {name: benchmark.compare(measure, ask, model) for name, (measure, ask) in named.items()}
    print_text(f"{benchmark.as_text(found)}\n")
    files.write({"benchmark": "rerank", "model": model, "parts": {name: one.as_json() for name, one in found.items()}})
    return 0


@bench.command()
@click.option("--tree", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="Make the trees from this source.")
@click.option("--large", is_flag=True, help="Also a tree of 500,000 units: takes minutes and a gigabyte.")
@click.option("--semble", metavar="PATH", help="The semble command to compare with (default: the one on the path).")
@into_files()
def speed(tree: str | None, large: bool, semble: str | None, files: Files) -> int:
    """Speed, compared with semble, ripgrep and git if they are installed.

    The trees are made in a temporary folder from real source, by default this
    package and Python's standard library.
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

    For `history` they are cloned with their full history and without work trees. For
    `memory` one file of conversations is fetched, for measuring only. Files that are in
    DIR already are kept, so an interrupted fetch can be run again.
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
    """Report progress on a terminal (A6)."""
    if sys.stderr.isatty():
        click.echo(f"whence: {text}", err=True)


def _warn(text: str) -> None:
    """Report what the figures leave out."""
    click.echo(f"whence: {text}", err=True)


corpus_options = (
    click.option("--corpus", required=True, metavar="DIR", help="The benchmark, as `whence bench fetch search DIR` writes it."),
    click.option("--repo", "names", multiple=True, metavar="NAME", help="Only this repository of the corpus (repeatable)."),
    click.option("--index-dir", metavar="DIR", help="Keep the indexes here (default: a temporary folder)."),
    into_files(),
)


def over_a_corpus(command: Any) -> Any:
    """The options of a benchmark on the search corpus."""
    for option in reversed(corpus_options):
        command = option(command)
    return command


def _measured(run: Callable[..., Any], corpus: str, names: tuple[str, ...], index_dir: str | None, **how: Any) -> tuple[Any, Corpus]:
    """Run a benchmark on a corpus with progress; returns the result and the corpus."""
    from whence_bench.search.corpus import load  # noqa: PLC0415

    loaded, progress = load(Path(corpus), names), ProgressBar("measuring")
    try:
        return run(loaded, Path(index_dir) if index_dir else None, progress, **how), loaded
    finally:
        progress.close()


@click.command()
@over_a_corpus
def agents(corpus: str, names: tuple[str, ...], index_dir: str | None, files: Files) -> int:
    """The cost for agents: tokens to the expected file, CPU per call, first answer.

    Calls the real server over standard streams. Tokens are compared with
    grepping for the words of a question and reading the files that match.
    """
    from whence_bench.agents import run as benchmark  # noqa: PLC0415

    done, loaded = _measured(benchmark.run, corpus, names, index_dir)
    print_text(f"{benchmark.as_text(done)}\n")
    files.write(benchmark.as_json(done, loaded))
    return 0


@click.command()
@over_a_corpus
@click.option("--learn", "apart", is_flag=True, help="Use weights learned from all other repositories.")
@click.option("--line", type=click.FloatRange(0, 1), metavar="P", help='The line for "not here" (default: the setting\'s).')
@click.option("--plot", metavar="FILE", type=click.Path(dir_okay=False), help="Also draw the figures, as SVG.")
def confidence(corpus: str, names: tuple[str, ...], index_dir: str | None, files: Files, **how: Any) -> int:
    """How reliable "not here" is.

    Searches each question's own repository, which has the answer, and others,
    which do not.
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
    """How well paste cleanup finds the question in pasted text.

    Questions are wrapped in prompts, chats and forms, and stack traces are made
    of real functions; each is searched with and without cleanup.
    """
    from whence_bench.search import pastes as benchmark  # noqa: PLC0415

    done, loaded = _measured(benchmark.run, corpus, names, index_dir)
    print_text(f"{benchmark.as_text(done)}\n")
    files.write(benchmark.as_json(done, loaded))
    return 0


@click.command()
@over_a_corpus
@click.option("--patterns", "with_patterns", is_flag=True, help="Compare patterns with ripgrep on the three largest trees instead.")
def exact(corpus: str, names: tuple[str, ...], index_dir: str | None, files: Files, *, with_patterns: bool) -> int:
    """Whether text that occurs in the tree is found first, on its own line.

    Messages, names, numbers and URLs that occur once are drawn from each
    repository by a fixed seed and searched for as a user would type them.
    """
    if with_patterns:
        from whence_bench.search import patterns  # noqa: PLC0415

        found, _ = _measured(patterns.run, corpus, names, index_dir)
        print_text(f"{patterns.as_text(found)}\n")
        files.write(patterns.as_json(found))
        return 0
    from whence_bench.search import exact as benchmark  # noqa: PLC0415

    done, loaded = _measured(benchmark.run, corpus, names, index_dir)
    print_text(f"{benchmark.as_text(done)}\n")
    files.write(benchmark.as_json(done, loaded))
    return 0


@click.command()
@click.option("--corpus", required=True, metavar="DIR", help="The benchmark, as `whence bench fetch search DIR` writes it.")
@click.option("--repo", "names", multiple=True, metavar="NAME", help="Only this repository of the corpus (repeatable).")
@into_files()
def spans(corpus: str, names: tuple[str, ...], files: Files) -> int:
    """Whether a result shows the unit that was asked for.

    Questions are the first sentences of doc comments, asked of a copy of the
    tree in which the comments of the documented definition are blanked.
    """
    from whence_bench.search import spans as benchmark  # noqa: PLC0415

    done, _ = _measured(benchmark.run, corpus, names, None)
    print_text(f"{benchmark.as_text(done)}\n")
    files.write(benchmark.as_json(done))
    return 0


@click.command()
@click.argument("names", nargs=-1, metavar="[PART]...")
@click.option("--seconds", type=click.FloatRange(min=1), help="The most time for each part (default: its own).")
@click.option("--small", is_flag=True, help="A sample of everything, in a minute or two.")
@click.option("--seed", type=int, default=1, show_default=True, help="The random seed.")
@into_files()
def faults(names: tuple[str, ...], seconds: float | None, small: bool, seed: int, files: Files) -> int:
    """Fault injection: kills, damage, concurrency, hostile trees and input, secrets.

    Runs in a temporary folder that is removed afterwards. A PART is one of
    kills, corruption, crowds, load, trees, fuzz, secrets, worktrees (default:
    all). Exit code 1 if anything failed.
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


tree_option = click.option(
    "--tree", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="Make the repositories from this source."
)


@click.command()
@tree_option
@click.option("--sizes", metavar="N,N,...", help="Units at which to measure (default: 5000,10000,20000,40000); the last is doubled.")
@click.option("--address", metavar="URL", help="Measure a running engine; its CPU, memory and disk are not known.")
@into_files()
def scale(tree: str | None, sizes: str | None, address: str | None, files: Files) -> int:
    """The cost of a unit in a fleet: bytes, memory, CPU; and a model of it, checked at a larger size.

    Repositories are made in a temporary folder from real source, by default
    this package and the standard library of Python, and sent to a local
    milvus-lite server started for it. Exit code 1 if the model is off by more
    than 15 %.
    """
    from whence_bench.fleet import scale as benchmark  # noqa: PLC0415

    chosen = _numbers(sizes) if sizes else benchmark.SIZES
    room = benchmark.run(Path(tree) if tree else None, _say, sizes=chosen, address=address)
    print_text(f"{benchmark.as_text(room)}\n")
    files.write(benchmark.as_json(room))
    return _code(room)


@click.command("fleet")
@tree_option
@click.option("--corpus", metavar="DIR", help="Questions for parity, as `whence bench fetch search DIR` writes them.")
@click.option("--index-dir", metavar="DIR", help="Keep the indexes of the corpus here (default: a temporary folder).")
@click.option("--part", "parts", multiple=True, metavar="NAME", help="Only parity, workers, trouble or load (repeatable).")
@click.option("--small", is_flag=True, help="Everything at a small scale: takes seconds, but gives no useful figures.")
@into_files()
def bench_fleet(tree: str | None, corpus: str | None, index_dir: str | None, parts: tuple[str, ...], small: bool, files: Files) -> int:
    """Fleet quality: ranking like local indexes, lost workers, error messages, load.

    Queries search 30 repositories with 500,000 units, made in a temporary
    folder: takes ten minutes or more, and gigabytes of space. Exit code 1 if a
    limit is missed.
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


@click.command()
@click.option("--tree", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="Make the tree from this source.")
@into_files()
def ui(tree: str | None, files: Files) -> int:
    """The page: key press to results, size, first paint, frames, accessibility.

    A tree of 10,000 units is made in a temporary folder from real source, by
    default this package and Python's standard library, served, and opened in
    this machine's Chromium through playwright. Exit code 1 if a limit is
    missed.
    """
    from whence_bench.ui import run as benchmark  # noqa: PLC0415

    room = benchmark.run(Path(tree) if tree else None, _say)
    print_text(f"{benchmark.as_text(room)}\n")
    files.write(benchmark.as_json(room))
    return 1 if any(row.kept is False for row in room.rows) else 0


@click.command()
@click.option("--corpus", "corpora", required=True, multiple=True, metavar="DIR", help="A folder with repos/NAME (repeatable).")
@click.option("--repo", "names", multiple=True, metavar="NAME", help="Only this repository (repeatable).")
@click.option(
    "--lang", "families", multiple=True, metavar="NAME", help="Only this language: python, typescript, go, c or rust (repeatable)."
)
@click.option("--files", "count", type=click.IntRange(min=1), default=40, show_default=True, help="Files of a repository and language.")
@click.option("--seconds", type=click.FloatRange(min=1), default=300.0, show_default=True, help="The most for one repository and language.")
@click.option("--server", "servers", multiple=True, metavar="LANG=CMD", help="The language server of a language (repeatable).")
@click.option("--answers", metavar="DIR", help="Keep what the servers answer here; the next run asks for what is new only.")
@click.option("--index-dir", metavar="DIR", help="Keep the indexes here (default: a temporary folder).")
@click.option("--examples", type=click.IntRange(min=1), metavar="N", help="Also print N wrong, missing and open edges of each.")
@into_files()
def graph(corpora: tuple[str, ...], names: tuple[str, ...], files: Files, **how: Any) -> int:
    """Precision and recall of direct callers, against language servers.

    Calls are sampled by file with a fixed seed; only what is defined in the
    repository counts. TypeScript 7 answers as --server "typescript=tsc --lsp
    --stdio".
    """
    from whence_bench.graph import run as benchmark  # noqa: PLC0415
    from whence_bench.graph.answers import Sample  # noqa: PLC0415

    listed = [place for corpus in corpora for place in sorted(Path(corpus, "repos").glob("*")) if place.is_dir()]
    roots = list({place.name: place for place in listed if not names or place.name in names}.values())
    if not roots:
        raise UsageError("there is no such repository", hint="a corpus has them in repos/NAME")
    commands = dict(one.partition("=")[::2] for one in how["servers"])
    kept, place = (Path(one) if one else None for one in (how["answers"], how["index_dir"]))
    with ProgressBar("measuring") as progress:
        scores = benchmark.run(roots, how["families"], Sample(how["count"], how["seconds"]), place, kept, commands, progress, _warn)
    print_text(f"{benchmark.as_text(scores)}\n")
    if how["examples"]:
        print_text(f"\n{benchmark.examples_text(scores, how['examples'])}\n")
    files.write(benchmark.as_json(scores))
    return 0


for one in (agents, bench_fleet, confidence, exact, faults, graph, pastes, scale, spans, ui):
    bench.add_command(one)
