"""`whence bench history`: what was changed, asked with the words in which the change was told.

A question is the message of a commit; wanted are the source files that it changed. It is asked of
the tree as it was before: the work tree stands at the parent commit, and with it all that git can
tell there. Plain BM25 over whole files answers the same questions in the same run.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from whence.app.index import Index
from whence.core.errors import UsageError
from whence.core.profiles import PROFILES
from whence.parse.languages import language_of
from whence.parse.paths import is_source
from whence.search import metrics
from whence.source.history import UNINFORMATIVE_SUBJECT
from whence.text import analyzer
from whence_bench import report
from whence_bench.fetch import GitError, History, plain_git
from whence_bench.measure import cpu_seconds
from whence_bench.search.features import Asked, Judged, additive_signals, judge, open_profile, ranking
from whence_bench.search.learning import UNLEARNED, left_out
from whence_bench.search.run import default_settings
from whence_bench.search.whole_files import WholeFiles

BASELINE = "BM25 over whole files"
#: How many times the baseline's NDCG is to be reached.
BAR = 1.30
QUESTIONS, SEED = 1_000, 7
#: The profile whose candidates and signals weights are learned for, and the name of what comes of it.
JUDGED, LEARNED = "default", "learned, leave one out"
#: Only so far back: older code has other habits, and every step of the tree costs.
LAST_COMMITS = 3_000
FEWEST_WORDS, MOST_WANTED, MOST_TOUCHED = 4, 3, 10
#: Within these first places all wanted files must be.
REACHES = (1, 5, 10)

_RECORD, _FIELD, _FILES = "\x01", "\x02", "\x03"

#: For which branch a change is: `[2.x] ...`.
_BRANCH = re.compile(r"^(?:\[[^\]]*\]\s*)+")
_TRAILER = re.compile(r"^\s*(?:[\w-]+-(?:by|id|revid|url)|cc|thanks-to)\s*:", re.IGNORECASE)
_PULL_REQUEST = re.compile(r"\s*\((?:gh-|#)\d+\)\s*$", re.IGNORECASE)
_REFERENCE = re.compile(
    r"https?://\S+|\(cherry picked.*\)|(?:[\w.-]+/[\w.-]+)?(?:\bgh-|#)\d+|\b[A-Z]{2,}-\d+\b|\b[0-9a-f]{7,40}\b", re.IGNORECASE
)
_POINTING = re.compile(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|refs?|references|see|also|related|to|issues?|bugs?|pr|pull|requests?|part|of|and|in|from"
    r"|commit|follow-?up|supersedes|backport|addresses|discussion|link)\b",
    re.IGNORECASE,
)

Progress = Callable[[int, int], None]
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Question:
    """What a commit says of itself, and which files of its parent it changed."""

    repository: str
    commit: str
    parent: str
    time: int
    text: str
    wanted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """One question with what came of it."""

    question: Question
    ndcg: float
    ranks: tuple[int | None, ...]  # of each wanted file among the first ten

    @property
    def repository(self) -> str:
        """The repository that was asked."""
        return self.question.repository

    @property
    def language(self) -> str:
        """The language of the first wanted file."""
        return language_of(self.question.wanted[0]).name


@dataclass(frozen=True, slots=True)
class Run:
    """All answers by system, the baseline last, and what they were given with."""

    answered: dict[str, list[Answered]]
    settings: list[dict[str, Any]]
    repositories: list[dict[str, Any]]
    judged: list[Judged] = field(default_factory=list)  # what every signal said, to learn from


# Which questions.
def questions(repository: History, count: int, seed: int = SEED) -> list[Question]:
    """So many questions of a repository, drawn from all over its history, in the order of time.

    The same seed gives the same questions, and a larger count gives those of a smaller one and more.
    """
    return _in_time(_shuffled(repository, seed)[:count])


def _in_time(drawn: list[Question]) -> list[Question]:
    return sorted(drawn, key=lambda question: (question.time, question.commit))


def newest_questions(repository: History) -> list[Question]:
    """Every question of a repository, the newest first."""
    return _in_time(_shuffled(repository, SEED))[::-1]


def _shuffled(repository: History, seed: int) -> list[Question]:
    """Every question that a history holds, no subject twice, in an order of which a later commit changes nothing."""
    fields = _FIELD.join(("%H", "%P", "%ct", "%B"))
    if not repository.revision:
        return []
    log = plain_git(
        *("log", "-z", "--no-merges", "--no-renames", "--name-status", "--encoding=UTF-8", f"--max-count={LAST_COMMITS}"),
        *(f"--format={_RECORD}{fields}{_FILES}", repository.revision, "--"),
        cwd=repository.path,
    )
    found: dict[str, Question | None] = {}
    for record in reversed(log.split(_RECORD)):  # the oldest first: of a commit that was picked again, the answer is in the past
        told, _, listed = record.partition(_FILES)
        commit, parents, when, message = (*told.split(_FIELD, 3), "", "", "", "")[:4]
        if text := cleaned(message):
            wanted = _wanted(listed)
            fit = Question(repository.name, commit, parents.split()[0], int(when), text, wanted) if parents and wanted else None
            found.setdefault(_BRANCH.sub("", text.splitlines()[0]).lower(), fit)
    fit_ones = [question for question in found.values() if question is not None]
    return sorted(fit_ones, key=lambda question: hashlib.sha256(f"{seed} {question.commit}".encode()).digest())


def _wanted(listed: str) -> tuple[str, ...]:
    """The source files that were changed, from a list of states and paths; none where that is no answer to a question."""
    entries = listed.strip("\0\n").split("\0")
    changed = list(zip(entries[::2], entries[1::2], strict=False))
    wanted = tuple(path for status, path in changed if status.strip() == "M" and is_source(path))
    return wanted if len(wanted) <= MOST_WANTED and len(changed) <= MOST_TOUCHED else ()


def cleaned(message: str) -> str:
    """A message without trailers and lines of references; empty when it tells nothing of what was changed."""
    lines = message.strip().splitlines() or [""]
    if UNINFORMATIVE_SUBJECT.search(lines[0].strip()):
        return ""
    kept = [_PULL_REQUEST.sub("", lines[0]), *(line for line in lines[1:] if not _TRAILER.match(line) and _tells_something(line))]
    text = "\n".join(kept).strip()
    return text if sum(bool(analyzer.parts(word)) for word in analyzer.words(text)) >= FEWEST_WORDS else ""


def _tells_something(line: str) -> bool:
    """Whether a line is empty, as between paragraphs, or holds words that are more than a reference."""
    bare = _REFERENCE.sub(" ", line)
    left = _POINTING.sub(" ", bare) if bare != line else line
    return not line.strip() or re.search(r"\w", left) is not None


# The tree as it was.
class Tree:
    """A work tree with all objects of a repository and none of its names: from here, nothing that came later can be seen."""

    def __init__(self, repository: History, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        plain_git("init", "--quiet", "--template=", cwd=folder)
        objects, shallow = (
            (repository.path / plain_git("rev-parse", "--git-path", name, cwd=repository.path).strip()).resolve()
            for name in ("objects", "shallow")
        )
        places = folder / ".git" / "objects" / "info"
        places.mkdir(exist_ok=True)
        (places / "alternates").write_text(f"{objects}\n", encoding="utf-8")
        if shallow.is_file():
            (folder / ".git" / "shallow").write_bytes(shallow.read_bytes())

    def move_to(self, commit: str) -> bool:
        """Whether the tree is now that of a commit; not so where an object is missing."""
        try:
            plain_git("checkout", "--quiet", "--force", "--detach", commit, cwd=self.folder)
        except GitError:  # git knows which half of a tree it wrote, and the next move clears it away
            return False
        return True

    def fill(self, commit: str) -> None:
        """Make the tree that of a commit, as far as its objects are there: some clones lack large ones."""
        plain_git("read-tree", commit, cwd=self.folder)
        with suppress(GitError):  # it says so of each object that is missing, and writes the others
            plain_git("checkout-index", "--all", "--force", "--quiet", cwd=self.folder)
        plain_git("update-ref", "--no-deref", "HEAD", commit, cwd=self.folder)


def each_question(
    repository: History, asked: Sequence[Question], *, spare: Sequence[Question] = (), settings: Mapping[str, Any] | None = None
) -> Iterator[tuple[Question, Index]]:
    """Each question with an index of the tree before its commit: one index, brought up to date from question to question.

    A question whose tree cannot be had is left out, and one of the spare ones asked in its place. No setting of the user
    has a part in it, only those given here.
    """
    given = 0
    with ExitStack() as stack:
        place = Path(stack.enter_context(TemporaryDirectory(prefix="whence-bench-")))
        tree = Tree(repository, place / "tree")
        index: Index | None = None
        for question in (*asked, *spare):
            if given == len(asked):
                break
            if not tree.move_to(question.parent):
                continue
            given += 1
            if index is None:
                chosen = {**default_settings(), **(settings or {})}
                index = stack.enter_context(Index.open(tree.folder, data_dir=place / "data", settings=chosen))
            else:
                index.refresh()
            yield question, index


# Asking.
def run(
    repositories: Sequence[History], profiles: Sequence[str], count: int, per_repository: int | None, progress: Progress, tell: Tell
) -> Run:
    """Ask about so many questions in all, as evenly over the repositories as their histories allow."""
    available = [_shuffled(repository, SEED) for repository in repositories]
    shares = _evenly([min(len(drawn), per_repository or count) for drawn in available], count)
    total = sum(shares)
    done = Run({system: [] for system in (*profiles, BASELINE)}, [], [])
    for repository, drawn, share in zip(repositories, available, shares, strict=True):
        if not drawn:
            tell(f"{repository.name} has no history to ask about; left out")
        if share:
            given = each_question(repository, _in_time(drawn[:share]), spare=drawn[share:])
            _ask_all(repository, given, profiles, done, lambda: progress(len(done.answered[BASELINE]), total))
            if missing := share - done.repositories[-1]["questions"]:
                tell(f"{repository.name}: {missing} questions left out, for objects of their trees are missing")
    if not done.answered[BASELINE]:
        raise UsageError("no repository has history to ask about", hint="clones need their history: no --depth")
    progress(total, total)
    return done


def learned_apart(done: Run) -> Run:
    """The same run with one more system first: weights learned from the questions of all other repositories, where there are some."""
    if len({one.repository for one in done.judged}) < 2:
        return done
    folds = left_out(done.judged, UNLEARNED)
    answered = [
        _scored(one.question, [judged.files[row] for row in ranking(judged, folds[judged.repository])[: metrics.DEPTH]])
        for one, judged in zip(done.answered[BASELINE], done.judged, strict=True)
    ]
    return replace(done, answered={LEARNED: answered, **done.answered})


def _evenly(available: Sequence[int], total: int) -> list[int]:
    """Shares of a total that differ only where there is not enough."""
    shares = [0] * len(available)
    for number, at in enumerate(sorted(range(len(available)), key=lambda place: available[place])):
        shares[at] = min(available[at], -(-max(total - sum(shares), 0) // (len(available) - number)))
    return shares


def _ask_all(
    repository: History, given: Iterator[tuple[Question, Index]], profiles: Sequence[str], done: Run, step: Callable[[], None]
) -> None:
    """Ask all questions of one repository, and note what that cost."""
    every_signal = open_profile(PROFILES[JUDGED], additive_signals())
    noted: dict[str, Any] = {"name": repository.name, "revision": repository.revision, "questions": 0}
    baseline = WholeFiles()
    began, spent = time.monotonic(), cpu_seconds()
    for question, index in given:
        for profile in profiles:
            found = [result.path for result in index.search(question.text, k=metrics.DEPTH, profile=profile)]
            done.answered[profile].append(_scored(question, found))
        done.judged.append(
            judge(
                index,
                every_signal,
                Asked(repository.name, language_of(question.wanted[0]).name, "commit", question.text, question.wanted, exactly=True),
            )
        )
        done.answered[BASELINE].append(_scored(question, baseline.best(index, question.text, metrics.DEPTH)))
        noted |= {"questions": noted["questions"] + 1, "files": index.snapshot.live_files, "units": index.snapshot.live_units}
        done.settings[:] = report.settings(index.provenance)
        step()
    done.repositories.append({**noted, "seconds": time.monotonic() - began, "cpu_seconds": cpu_seconds() - spent})


def _scored(question: Question, found: Sequence[str]) -> Answered:
    """Held against the wanted files. Paths get a root, so that none is taken for another with folders before it."""
    wanted, returned = ([f"/{path}" for path in paths] for paths in (question.wanted, found))
    return Answered(question, metrics.ndcg(wanted, returned), tuple(metrics.rank_of(path, returned) for path in wanted))


# Telling.
def summary(answered: Sequence[Answered]) -> dict[str, Any]:
    """The figures of one system on some questions."""
    reached = {
        f"all_in_{reach}": metrics.mean([float(all(rank is not None and rank <= reach for rank in one.ranks)) for one in answered])
        for reach in REACHES
    }
    return {"questions": len(answered), "ndcg": metrics.mean([one.ndcg for one in answered]), **reached}


def _by(run: Run, part: str) -> dict[str, dict[str, dict[str, Any]]]:
    """The summaries of every system for each repository or language."""
    names = sorted({getattr(one, part) for one in run.answered[BASELINE]})
    return {
        name: {system: summary([one for one in answered if getattr(one, part) == name]) for system, answered in run.answered.items()}
        for name in names
    }


def ratio(summaries: Mapping[str, dict[str, Any]], system: str) -> float | None:
    """How many times the baseline's NDCG a system has."""
    of = summaries[BASELINE]["ndcg"]
    return summaries[system]["ndcg"] / of if of else None


def as_text(run: Run) -> str:
    """The tables."""
    summaries = {system: summary(answered) for system, answered in run.answered.items()}
    heads = ("system", "questions", "NDCG@10", *(f"all in {reach}" for reach in REACHES), "times BM25", "bar", "")
    parts = [report.table(heads, [_line(system, summaries) for system in summaries])]
    short = ["BM25" if system == BASELINE else system for system in run.answered]
    systems = (*short, "times BM25", *(f"{system}, all in {REACHES[-1]}" for system in short))
    noted = {one["name"]: one for one in run.repositories}
    rows: list[tuple[object, ...]] = []
    for name, found in _by(run, "repository").items():
        one = noted[name]
        cost = one["cpu_seconds"] / one["questions"]
        rows.append((name, one["questions"], one["files"], *_compared(found), f"{cost:.2f}"))
    parts.append(report.table(("repository", "questions", "files", *systems, "CPU s/question"), rows))
    rows = [(name, found[BASELINE]["questions"], *_compared(found)) for name, found in _by(run, "language").items()]
    parts.append(report.table(("language", "questions", *systems), rows))
    return "\n\n".join(parts)


def _line(system: str, summaries: Mapping[str, dict[str, Any]]) -> tuple[object, ...]:
    figures, times = summaries[system], ratio(summaries, system)
    reached = (f"{figures[f'all_in_{reach}']:.3f}" for reach in REACHES)
    bar = () if system == BASELINE else (times, f"{BAR:.2f}", report.verdict(None if times is None else times >= BAR))
    return (system, figures["questions"], f"{figures['ndcg']:.4f}", *reached, *(bar or (None, None, None)))


def _compared(summaries: Mapping[str, dict[str, Any]]) -> Iterator[object]:
    """All systems beside one another; the ratio is that of the first."""
    yield from (figures["ndcg"] for figures in summaries.values())
    yield ratio(summaries, next(iter(summaries)))
    yield from (figures[f"all_in_{REACHES[-1]}"] for figures in summaries.values())


def as_json(run: Run) -> dict[str, Any]:
    """Everything that was measured, and what is needed to measure it again."""
    summaries = {system: summary(answered) for system, answered in run.answered.items()}
    together = zip(*run.answered.values(), strict=True)
    return {
        "benchmark": "history",
        "seed": SEED,
        "baseline": BASELINE,
        "systems": {system: {**figures, "ratio": ratio(summaries, system)} for system, figures in summaries.items()},
        "by_repository": _by(run, "repository"),
        "by_language": _by(run, "language"),
        "questions": [
            {
                **asdict(answers[0].question),
                "systems": {system: {"ndcg": one.ndcg, "ranks": one.ranks} for system, one in zip(run.answered, answers, strict=True)},
            }
            for answers in together
        ],
        "repositories": run.repositories,
        "settings": run.settings,
    }
