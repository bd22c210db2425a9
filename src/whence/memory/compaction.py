"""Compaction: archive expired and duplicate notes, prune long histories; first a plan, then its steps. And merging by hand.

No text is ever deleted: notes are archived and can be restored. Only versions beyond `memory.history` are deleted.
Notes with problems and generated notes are left alone.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from functools import cache, reduce
from itertools import chain
from math import ceil, log
from typing import Any

from whence.core.errors import UsageError
from whence.core.request import check_choice
from whence.memory.index import MAX_WORDS
from whence.memory.memory import Memory
from whence.memory.note import GENERATED, HANDOFF, Note
from whence.memory.pool import FEW_WORDS
from whence.source.git import list_branches
from whence.text.analyzer import ProseLanguage
from whence.text.slugs import first_words, normalize_topic

ACTIONS = ARCHIVE, MERGE, PRUNE = ("archive", "merge", "prune")
#: Sets of words are grouped by size in steps of at least this factor.
_MIN_STEP = 1.05
#: Rare words that two notes must share to be compared. More cost memory, fewer cost time.
_SHARED_RARE = 3
#: So that 0.85 of 20 words is 17 in floating point, too.
_ROUNDING = 1e-9
_DETACHED = re.compile(r"[0-9a-f]{10}")  # a commit in place of a branch
_EARLIEST = datetime.min.replace(tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class CompactionStep:
    """A change to one note."""

    action: str  # archive | merge | prune
    key: str
    into: str = ""  # merge: the newer note, which gets the tags of this one
    because: str = ""
    count: int = 0  # prune: how many versions are deleted


@dataclass(frozen=True, slots=True)
class _Rules:
    """What decides about a note at a given time."""

    now: datetime
    share: float  # of words, from which two notes are duplicates
    handoffs_since: datetime
    history: int
    language: ProseLanguage
    stem: Callable[[str], str]  # cached: thousands of notes share their words
    is_here: Callable[[Note], bool]  # whether a note is of the current repository
    branches: frozenset[str] | None  # of that repository, if known


@dataclass(frozen=True, slots=True)
class _Fingerprint:
    """What notes are compared by."""

    key: str
    group: tuple[object, ...]  # only notes of the same group can be duplicates
    age: tuple[datetime, str]
    words: frozenset[str]
    tags: tuple[str, ...]


def plan(memory: Memory, now: datetime) -> list[CompactionStep]:
    """What there is to do: merges, then archiving, then pruning; each by key."""
    memory.index.refresh(full=True)
    rules = _rules(memory, now)
    notes = [one for one in memory.index.database.notes() if not one.problem and one.kind not in GENERATED]
    archives: list[CompactionStep] = []
    fingerprints: list[_Fingerprint] = []
    for key in (one.key for one in notes if not one.archived):
        note = _read(memory, key)
        if note is None:
            continue
        if reason := _expiry_reason(note, rules):
            archives.append(CompactionStep(ARCHIVE, key, because=reason))
        else:
            fingerprints.append(_fingerprint(note, rules))
    merges, writes = _merges(fingerprints, rules.share)
    writes.update(step.key for step in archives)
    return [*merges, *archives, *_prunes(memory, [one.key for one in notes], writes, rules.history)]


def apply(memory: Memory, steps: Sequence[CompactionStep], now: datetime) -> list[CompactionStep]:
    """Carry out steps, and return those that were. A step whose reason is gone because a note changed is skipped.

    A note is replaced as a whole or not at all. A merge adds the tags first: if it is interrupted both notes still
    exist, and the next plan has the same step.
    """
    rules = _rules(memory, now)
    done: list[CompactionStep] = []
    for step in sorted(steps, key=lambda step: step.action == PRUNE):  # after the steps that add to histories
        check_choice("step", step.action, ACTIONS)
        try:
            applied = _APPLY[step.action](memory, step, rules)
        except UsageError:  # another process has written the note since we read it
            continue
        if applied is not None:
            done.append(applied)
    return done


def _rules(memory: Memory, now: datetime) -> _Rules:
    chosen, root, language = memory.settings.memory, memory.repository, memory.index.analyzer.language
    return _Rules(
        now,
        chosen.alike,
        now - timedelta(days=chosen.handoff_days),
        chosen.history,
        language,
        cache(language.stem),
        lambda note: memory.is_team or memory.whose.owns(note.owner),
        list_branches(root) if root else None,
    )


def _read(memory: Memory, key: str) -> Note | None:
    """A note that may be touched."""
    note = memory.store.read(key)
    return None if note is None or note.problem or note.kind in GENERATED else note


# Archiving.
def _expiry_reason(note: Note, rules: _Rules) -> str:
    """Why a note is to be archived; empty if it is not."""
    if note.valid_until and note.valid_until <= rules.now:
        return f"expired on {note.valid_until:%Y-%m-%d}"
    if note.kind != "handoff":
        return ""
    last = note.updated or note.created
    if last and last < rules.handoffs_since:
        return f"a handoff that was not updated since {last:%Y-%m-%d}"
    branch = note.topic.removeprefix(HANDOFF) if note.topic.startswith(HANDOFF) else ""
    if not branch or _DETACHED.fullmatch(branch) or rules.branches is None or not rules.is_here(note):
        return ""
    return f"the branch {branch} is gone" if branch not in rules.branches else ""


def _archive(memory: Memory, step: CompactionStep, rules: _Rules) -> CompactionStep | None:
    note = _read(memory, step.key)
    reason = _expiry_reason(note, rules) if note and not note.archived else ""
    if note is None or not reason:
        return None
    memory.write(replace(note, archived=_not_before(rules.now, note.created)), expected=note)
    return replace(step, because=reason)


def _not_before(now: datetime, earliest: datetime | None) -> datetime:
    """The time; a clock that went backwards does not predate a note."""
    return max(now, earliest) if earliest else now


# Near-duplicates.
def _fingerprint(note: Note, rules: _Rules) -> _Fingerprint:
    """Without tags: those are joined, which must not make other notes duplicates."""
    words = frozenset(map(rules.stem, rules.language.content_words(f"{note.topic}\n{note.text}")[:MAX_WORDS]))
    if len(words) < FEW_WORDS:  # too few to tell `deploy` from `do not deploy`
        words = frozenset([f"{normalize_topic(note.topic)}\n{normalize_topic(note.text)}"])
    # A handoff belongs to one branch, and a note about code to that code.
    code = frozenset((ref.repository, ref.code) for ref in note.about)
    topic = normalize_topic(note.topic) if note.kind == "handoff" else ""
    group = (note.owner, note.folder, note.project, note.kind, topic, code)
    return _Fingerprint(note.key, group, (note.updated or note.created or _EARLIEST, note.key), words, note.tags)


def _merges(fingerprints: Sequence[_Fingerprint], share: float) -> tuple[list[CompactionStep], Counter[str]]:
    """A step for each near-duplicate of a newer note, and how often each note is written for them."""
    groups: dict[tuple[object, ...], list[_Fingerprint]] = defaultdict(list)
    for one in fingerprints:
        groups[one.group].append(one)
    steps: list[CompactionStep] = []
    for group in groups.values():
        group.sort(key=lambda one: one.age, reverse=True)
        found = near_duplicates([one.words for one in group], share)
        steps += [_merge_step(group[older], group[newer], shared) for older, newer, shared in found]
    steps.sort(key=lambda step: step.key)
    tags = {one.key: one.tags for one in fingerprints}
    writes: Counter[str] = Counter()
    for step in steps:
        joined = _joined_tags(tags[step.into], tags[step.key])
        writes[step.key] += 1
        writes[step.into] += joined != tags[step.into]
        tags[step.into] = joined
    return steps, writes


def _merge_step(older: _Fingerprint, newer: _Fingerprint, shared: float) -> CompactionStep:
    return CompactionStep(MERGE, older.key, newer.key, f"shares {shared:.0%} of its words with a newer note")


def near_duplicates(sets: Sequence[frozenset[str]], share: float) -> Iterator[tuple[int, int, float]]:
    """Of sets of words, newest first, those that share enough with a newer one that is no duplicate: (index, newer, share).

    Exact: two sets that share this much have some of their rarest words in common, so only such sets are compared.
    """
    counts = Counter(word for words in sets for word in words)
    step = log(max(1 / share, _MIN_STEP))
    by_word: dict[tuple[str, int], list[int]] = defaultdict(list)  # by rare word and size class
    for row, words in enumerate(sets):
        size, least = int(log(len(words)) / step), ceil(share * len(words) - _ROUNDING)
        rare = sorted(words, key=lambda word: (counts[word], word))[: len(words) - least + min(_SHARED_RARE, least)]
        met = Counter(chain.from_iterable(by_word.get((word, one), ()) for word in rare for one in (size - 1, size, size + 1)))
        needed = min(_SHARED_RARE, ceil(share * least - _ROUNDING))  # for the smallest set that is similar enough
        candidates = ((other, _shared(words, sets[other])) for other in sorted(met) if met[other] >= needed)
        found = next(((other, shared) for other, shared in candidates if shared >= share - _ROUNDING), None)
        if found is not None:
            yield row, *found
        else:
            for word in rare:
                by_word[word, size].append(row)


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both)


def _joined_tags(tags: tuple[str, ...], others: Sequence[str]) -> tuple[str, ...]:
    known = {tag.casefold() for tag in tags}
    return (*tags, *(tag for tag in others if tag.casefold() not in known))


def _merge_into(memory: Memory, step: CompactionStep, rules: _Rules) -> CompactionStep | None:
    older, newer = _read(memory, step.key), _read(memory, step.into)
    if older is None or newer is None or any(note.archived or _expiry_reason(note, rules) for note in (older, newer)):
        return None
    one, other = _fingerprint(older, rules), _fingerprint(newer, rules)
    shared = _shared(one.words, other.words)
    if one.group != other.group or one.age >= other.age or shared < rules.share - _ROUNDING:
        return None
    tags = _joined_tags(newer.tags, older.tags)
    if tags != newer.tags:
        memory.write(replace(newer, tags=tags, updated=_not_before(rules.now, newer.updated)), expected=newer)
    memory.write(replace(older, archived=_not_before(rules.now, older.created)), expected=older)
    return _merge_step(one, other, shared)


# Histories.
def _prunes(memory: Memory, keys: Sequence[str], writes: Counter[str], keep: int) -> Iterator[CompactionStep]:
    """A step for each history that is too long, or will be after the other steps."""
    versions = memory.store.version_counts(keys)
    for key in keys:
        count = versions.get(key, 0) + writes[key]
        if count > keep:
            yield CompactionStep(PRUNE, key, because=f"{count} earlier versions, {keep} are kept", count=count - keep)


def _prune(memory: Memory, step: CompactionStep, rules: _Rules) -> CompactionStep | None:
    gone = memory.store.prune(step.key, rules.history) if _read(memory, step.key) else 0
    return replace(step, count=gone) if gone else None


_APPLY: dict[str, Callable[[Memory, CompactionStep, _Rules], CompactionStep | None]] = {
    ARCHIVE: _archive,
    MERGE: _merge_into,
    PRUNE: _prune,
}


# Merging by hand.
@dataclass(frozen=True, slots=True)
class MergeResult:
    """What a merge did."""

    note: Note
    put_away: tuple[str, ...]  # keys of the other notes, now archived or forgotten
    left: tuple[str, ...]  # keys of those that changed meanwhile and were not touched


def combined(notes: Sequence[Note]) -> Note:
    """Several notes as one, in place of the first: all texts, tags and code, with the earliest date.

    It is valid whenever one of them is. Of two references to the same code, the later note's counts.
    """
    first = notes[0]
    newest = sorted(notes, key=lambda note: note.updated or note.created or _EARLIEST)
    code = {(ref.repository, ref.code): ref for note in newest for ref in note.about}
    order = dict.fromkeys((ref.repository, ref.code) for note in notes for ref in note.about)
    starts, ends = [note.valid_from for note in notes], [note.valid_until for note in notes]
    return replace(
        first,
        text="\n\n".join(f"## {note.topic or first_words(note.text)}\n\n{note.text.strip()}" for note in notes) + "\n",
        tags=reduce(_joined_tags, (note.tags for note in notes)),
        source=", ".join(dict.fromkeys(note.source for note in notes if note.source)),
        about=tuple(code[one] for one in order),
        created=min((note.created for note in notes if note.created), default=None),
        valid_from=min(filter(None, starts)) if all(starts) else None,
        valid_until=max(filter(None, ends)) if all(ends) else None,
    )


def merge(
    memory: Memory, notes: Sequence[Note], *, forget: bool = False, affirm: bool = False, redact: bool = False, **fields: Any
) -> MergeResult:
    """Merge notes into the first of them, and archive or forget the others; `fields` are those of `Memory.edit`.

    The merged note is on disk before any other is touched: if this is interrupted, all of them still exist. A note
    that is not as given any more is not touched.
    """
    if len({note.key for note in notes}) < max(len(notes), 2):
        raise UsageError("a merge needs two notes or more", hint="name each of them once")
    if broken := next((note for note in notes if note.problem), None):
        raise UsageError(f"{broken.key} cannot be merged: {broken.problem}", hint="fix its file by hand")
    if notes[0].archived and not all(note.archived for note in notes):
        raise UsageError(f"{notes[0].key} is archived", hint="restore it, or merge into one that is not")
    whole = combined(notes)
    merged: dict[str, Any] = {name: getattr(whole, name) for name in ("text", "tags", "source", "created")}
    merged |= {name: getattr(whole, name) or "" for name in ("valid_from", "valid_until")}  # empty removes a time
    merged["about"] = memory.current_refs(whole.about) if affirm else whole.about
    given = {name: value for name, value in fields.items() if value is not None}
    stored = memory.edit(notes[0].key, expected=notes[0], redact=redact, **merged | given)
    put_away = [note.key for note in notes[1:] if _put_away(memory, note, forget=forget)]
    return MergeResult(stored, tuple(put_away), tuple(note.key for note in notes[1:] if note.key not in put_away))


def _put_away(memory: Memory, note: Note, *, forget: bool) -> bool:
    """Archive or forget a note, unless somebody has changed it."""
    try:
        if memory.get(note.key) != note:
            return False
        (memory.forget if forget else memory.archive)(note.key)
    except UsageError:  # it is gone, or was changed at this moment
        return False
    return True
