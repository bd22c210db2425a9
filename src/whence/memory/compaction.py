"""Compaction: which notes have had their time, and what is done about it. First a plan, then its steps. And merging by hand.

Nothing that a note says is deleted: notes are archived, and can be restored. Only versions beyond those that
`memory.history` keeps go for good. Notes in trouble, and those made from others, are left alone.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from functools import cache
from itertools import chain
from math import ceil, log
from pathlib import Path
from typing import Any

from whence.core.errors import UsageError
from whence.memory.analyzer import MOST_WORDS
from whence.memory.database import told
from whence.memory.location import ENDING
from whence.memory.memory import Memory
from whence.memory.note import GENERATED, Note
from whence.memory.recall import FEW_WORDS
from whence.memory.store import HISTORY, version_names
from whence.source.git import list_branches
from whence.storage.files import is_same_file
from whence.text.analyzer import ProseLanguage
from whence.text.slugs import first_words, normalize_topic

ACTIONS = ARCHIVE, MERGE, PRUNE = ("archive", "merge", "prune")
#: What the topic of a handoff begins with; the branch comes after it.
HANDOFF = "handoff "
#: Sizes of sets of words are told apart in steps of this at least.
_LEAST_STEP = 1.05
#: Rare words that two notes must have in common to be compared. More cost more room, fewer more time.
_IN_COMMON = 3
#: So that 0.85 of 20 words is 17, whatever floating point makes of it.
_ROUNDING = 1e-9
_DETACHED = re.compile(r"[0-9a-f]{10}")  # a commit, in place of a branch
_EARLIEST = datetime.min.replace(tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class CompactionStep:
    """What is done with a note."""

    action: str  # archive | merge | prune
    key: str
    into: str = ""  # of a merge: the newer note, which gets the tags of this one
    because: str = ""
    count: int = 0  # of a prune: the versions that are deleted


@dataclass(frozen=True, slots=True)
class _Rules:
    """What decides on a note, seen from a moment."""

    now: datetime
    share: float
    handoffs_since: datetime
    history: int
    language: ProseLanguage
    stem: Callable[[str], str]  # of a word in that language; thousands of notes have the same words
    repository: str  # the project of the repository that is looked at
    branches: frozenset[str] | None  # of that repository; None when they are not known


@dataclass(frozen=True, slots=True)
class _Said:
    """What a note says, to be compared with others."""

    key: str
    group: tuple[object, ...]  # only notes of one group can say the same
    age: tuple[datetime, str]
    words: frozenset[str]
    tags: tuple[str, ...]


def plan(memory: Memory, now: datetime) -> list[CompactionStep]:
    """What there is to do: merges, then what has had its time, then histories that are too long; each in the order of keys."""
    memory.catalog.refresh(full=True)
    rules = _rules(memory, now)
    rows = memory.catalog.store.rows("SELECT key, kind, archived FROM notes WHERE trouble = '' ORDER BY key")
    keys = {told(key): bool(archived) for key, kind, archived in rows if kind not in GENERATED}
    archives: list[CompactionStep] = []
    said: list[_Said] = []
    for key in (key for key, archived in keys.items() if not archived):
        note = _read(memory, key)
        if note is None:
            continue
        because = _outlived(note, rules)
        if because:
            archives.append(CompactionStep(ARCHIVE, key, because=because))
        else:
            said.append(_said(note, rules))
    merges, writes = _merges(said, rules.share)
    writes.update(step.key for step in archives)
    return [*merges, *archives, *_prunes(memory.directory, list(keys), writes, rules.history)]


def apply(memory: Memory, steps: Sequence[CompactionStep], now: datetime) -> list[CompactionStep]:
    """Do some steps, and say which were done. One whose reason is gone, for the note has changed since, is not.

    A note is replaced as a whole or not at all. A merge gives the tags first: whoever is stopped in between has
    both notes still, and the next plan has the same step.
    """
    rules = _rules(memory, now)
    done: list[CompactionStep] = []
    for step in sorted(steps, key=lambda step: step.action == PRUNE):  # after what adds to histories
        if step.action not in ACTIONS:
            raise UsageError(f"there is no step {step.action!r}", hint=f"one of {', '.join(ACTIONS)}")
        try:
            did = _DO[step.action](memory, step, rules)
        except UsageError:  # another has written the note between our reading and our writing
            continue
        if did is not None:
            done.append(did)
    return done


def _rules(memory: Memory, now: datetime) -> _Rules:
    chosen, root, language = memory.settings.memory, memory.repository, memory.catalog.reader.language
    return _Rules(
        now,
        chosen.alike,
        now - timedelta(days=chosen.handoff_days),
        chosen.history,
        language,
        cache(language.stem),
        root.name if root else "",
        list_branches(root) if root else None,
    )


def _read(memory: Memory, key: str) -> Note | None:
    """A note that may be touched."""
    note = memory.catalog.folder.read(key, most_bytes=memory.settings.memory.max_bytes)
    return None if note is None or note.trouble or note.kind in GENERATED else note


# What has had its time.


def _outlived(note: Note, rules: _Rules) -> str:
    """Why a note has had its time; empty when it has not."""
    if note.valid_until and note.valid_until <= rules.now:
        return f"it held until {note.valid_until:%Y-%m-%d}"
    if note.kind != "handoff":
        return ""
    last = note.updated or note.created
    if last and last < rules.handoffs_since:
        return f"a handoff that was not updated since {last:%Y-%m-%d}"
    branch = note.topic.removeprefix(HANDOFF) if note.topic.startswith(HANDOFF) else ""
    judged = branch and not _DETACHED.fullmatch(branch) and rules.branches is not None and note.project == rules.repository
    return f"the branch {branch} is gone" if judged and branch not in (rules.branches or ()) else ""


# What a person puts together.


@dataclass(frozen=True, slots=True)
class Merged:
    """What came of putting notes together."""

    note: Note
    put_away: tuple[str, ...]  # keys of the others, which are archived or forgotten now
    left: tuple[str, ...]  # keys of those that somebody has changed meanwhile: they are as they were


def united(notes: Sequence[Note]) -> Note:
    """Several notes as one, which takes the place of the first: all texts, tags and code, of the oldest's day.

    It holds whenever one of them did. Where two know the same code, the one that was written later knows it better.
    """
    first, *others = notes
    newest = sorted(notes, key=lambda note: note.updated or note.created or _EARLIEST)
    code = {(one.repository, one.code): one for note in newest for one in note.about}
    order = dict.fromkeys((one.repository, one.code) for note in notes for one in note.about)
    starts, ends = [note.valid_from for note in notes], [note.valid_until for note in notes]
    tags = first.tags
    for note in others:
        tags = _joined(tags, note.tags)
    return replace(
        first,
        text="\n\n".join(f"## {note.topic or first_words(note.text)}\n\n{note.text.strip()}" for note in notes) + "\n",
        tags=tags,
        source=", ".join(dict.fromkeys(note.source for note in notes if note.source)),
        about=tuple(code[one] for one in order),
        created=min((note.created for note in notes if note.created), default=None),
        valid_from=min(filter(None, starts)) if all(starts) else None,
        valid_until=max(filter(None, ends)) if all(ends) else None,
    )


def merge(
    memory: Memory, notes: Sequence[Note], *, forget: bool = False, affirm: bool = False, redact: bool = False, **fields: Any
) -> Merged:
    """Put notes together in the first of them, and archive or forget the others; `fields` are those of `Memory.edit`.

    The merged note is on the disk before any other is touched: whoever is stopped in between has all of them still.
    One that is not what was read is not touched.
    """
    if len({note.key for note in notes}) < max(len(notes), 2):
        raise UsageError("a merge is of two notes or more", hint="name each of them once")
    if trouble := next((note for note in notes if note.trouble), None):
        raise UsageError(f"{trouble.key} cannot be merged: {trouble.trouble}", hint="mend its file by hand")
    if notes[0].archived and not all(note.archived for note in notes):
        raise UsageError(f"{notes[0].key} is archived", hint="restore it, or merge into one that is not")
    whole = united(notes)
    kept: dict[str, Any] = {name: getattr(whole, name) for name in ("text", "tags", "source", "created")}
    kept |= {name: getattr(whole, name) or "" for name in ("valid_from", "valid_until")}  # what is empty is taken away
    kept["about"] = memory.as_now(whole.about) if affirm else whole.about
    given = {name: value for name, value in fields.items() if value is not None}
    stored = memory.edit(notes[0].key, expected=notes[0], redact=redact, **kept | given)
    put_away = [note.key for note in notes[1:] if _is_put_away(memory, note, forget=forget)]
    return Merged(stored, tuple(put_away), tuple(note.key for note in notes[1:] if note.key not in put_away))


def _is_put_away(memory: Memory, note: Note, *, forget: bool) -> bool:
    """Archive or forget a note, unless somebody has changed it."""
    try:
        if memory.get(note.key) != note:
            return False
        (memory.forget if forget else memory.archive)(note.key)
    except UsageError:  # it is gone, or was changed at this moment
        return False
    return True


# What says nearly the same.


def _said(note: Note, rules: _Rules) -> _Said:
    """Tags do not count: they are joined, and what is joined must not make two other notes alike."""
    words = frozenset(map(rules.stem, rules.language.content_words(f"{note.topic}\n{note.text}")[:MOST_WORDS]))
    if len(words) < FEW_WORDS:  # too few to tell: `deploy` and `do not deploy`
        words = frozenset([f"{normalize_topic(note.topic)}\n{normalize_topic(note.text)}"])
    # A handoff is of one branch, and a note that names code is of that code.
    code = frozenset((about.repository, about.code) for about in note.about)
    topic = normalize_topic(note.topic) if note.kind == "handoff" else ""
    group = (note.folder, note.project, note.kind, topic, code)
    return _Said(note.key, group, (note.updated or note.created or _EARLIEST, note.key), words, note.tags)


def _merges(said: Sequence[_Said], share: float) -> tuple[list[CompactionStep], Counter[str]]:
    """A step for each note that says nearly the same as a newer one, and how often each note is written for it."""
    groups: dict[tuple[object, ...], list[_Said]] = defaultdict(list)
    for one in said:
        groups[one.group].append(one)
    steps: list[CompactionStep] = []
    writes: Counter[str] = Counter()
    for group in groups.values():
        group.sort(key=lambda one: one.age, reverse=True)
        for older, newer, shared in doubles([one.words for one in group], share):
            steps.append(_merge(group[older], group[newer], shared))
    steps.sort(key=lambda step: step.key)
    tags = {one.key: one.tags for one in said}
    for step in steps:
        joined = _joined(tags[step.into], tags[step.key])
        writes[step.key] += 1
        writes[step.into] += joined != tags[step.into]
        tags[step.into] = joined
    return steps, writes


def _merge(older: _Said, newer: _Said, shared: float) -> CompactionStep:
    return CompactionStep(MERGE, older.key, newer.key, f"a newer note shares {shared:.0%} of their words")


def doubles(sets: Sequence[frozenset[str]], share: float) -> Iterator[tuple[int, int, float]]:
    """Of sets of words, newest first, those that share enough with a newer one that is no double: (double, newer, share).

    Exact. Two sets that share so much have some of their rarest words in common: only what has these is compared.
    """
    often = Counter(word for words in sets for word in words)
    step = log(max(1 / share, _LEAST_STEP))
    holding: dict[tuple[str, int], list[int]] = defaultdict(list)  # by a rare word and about how many there are
    for row, words in enumerate(sets):
        size, least = int(log(len(words)) / step), ceil(share * len(words) - _ROUNDING)
        rare = sorted(words, key=lambda word: (often[word], word))[: len(words) - least + min(_IN_COMMON, least)]
        met = Counter(chain.from_iterable(holding.get((word, one), ()) for word in rare for one in (size - 1, size, size + 1)))
        needed = min(_IN_COMMON, ceil(share * least - _ROUNDING))  # of the smallest set that is enough like this one
        same = ((other, _shared(words, sets[other])) for other in sorted(met) if met[other] >= needed)
        found = next(((other, shared) for other, shared in same if shared >= share - _ROUNDING), None)
        if found is not None:
            yield row, *found
        else:
            for word in rare:
                holding[word, size].append(row)


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both)


def _joined(tags: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    known = {tag.casefold() for tag in tags}
    return (*tags, *(tag for tag in others if tag.casefold() not in known))


# Histories.


def _prunes(directory: Path, keys: Sequence[str], writes: Counter[str], keep: int) -> Iterator[CompactionStep]:
    """A step for each history that is too long, or will be when the other steps are done."""
    histories: dict[str, set[str]] = {}
    for key in keys:
        folder, _, slug = key.partition("/")
        place = directory / folder / HISTORY
        if folder not in histories:
            histories[folder] = set(os.listdir(place)) if place.is_dir() and not place.is_symlink() else set()  # noqa: PTH208
        count = _earlier(place / slug, directory / f"{key}{ENDING}") if slug in histories[folder] else 0
        count += writes[key]
        if count > keep:
            yield CompactionStep(PRUNE, key, because=f"{count} earlier versions, {keep} are kept", count=count - keep)


def _earlier(history: Path, path: Path) -> int:
    """The versions in a history; one that is the note itself is not counted, its writer was stopped."""
    versions = [] if history.is_symlink() else version_names(history)
    return len(versions) - bool(versions and is_same_file(history / versions[-1], path))


# The steps.


def _archive(memory: Memory, step: CompactionStep, rules: _Rules) -> CompactionStep | None:
    note = _read(memory, step.key)
    because = _outlived(note, rules) if note and not note.archived else ""
    if note is None or not because:
        return None
    _put_away(memory, note, rules.now)
    return replace(step, because=because)


def _merge_into(memory: Memory, step: CompactionStep, rules: _Rules) -> CompactionStep | None:
    older, newer = _read(memory, step.key), _read(memory, step.into)
    if older is None or newer is None or any(note.archived or _outlived(note, rules) for note in (older, newer)):
        return None
    one, other = _said(older, rules), _said(newer, rules)
    shared = _shared(one.words, other.words)
    if one.group != other.group or one.age >= other.age or shared < rules.share - _ROUNDING:
        return None
    tags = _joined(newer.tags, older.tags)
    if tags != newer.tags:
        memory.catalog.write(replace(newer, tags=tags, updated=_not_before(rules.now, newer.updated)), expected=newer)
    _put_away(memory, older, rules.now)
    return _merge(one, other, shared)


def _put_away(memory: Memory, note: Note, now: datetime) -> None:
    memory.catalog.write(replace(note, archived=_not_before(now, note.created)), expected=note)


def _not_before(now: datetime, earliest: datetime | None) -> datetime:
    """The time; a clock that went backwards does not make a note older than it is."""
    return max(now, earliest) if earliest else now


def _prune(memory: Memory, step: CompactionStep, rules: _Rules) -> CompactionStep | None:
    gone = memory.catalog.folder.prune(step.key, rules.history) if _read(memory, step.key) else 0
    return replace(step, count=gone) if gone else None


_DO: dict[str, Callable[[Memory, CompactionStep, _Rules], CompactionStep | None]] = {ARCHIVE: _archive, MERGE: _merge_into, PRUNE: _prune}
