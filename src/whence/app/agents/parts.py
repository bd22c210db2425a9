"""What is ours in a file of an agent: an entry, a hook, a table, a block. Each knows how to come and how to go."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from whence.app.agents import json_text, marked_text, toml_text
from whence.app.agents.json_text import MISSING, Made
from whence.app.agents.registry import is_ours
from whence.app.agents.splices import Edited

#: A command of ours among hooks, by whichever path.
OUR_HOOK = re.compile(r"\bwhence\b\S*\s+hook\s+(?:session-start|used)\b")


class PartState(Enum):
    """How a part stands in a file."""

    ABSENT = "absent"
    SAME = "same"  # as we would write it
    OURS = "ours"  # ours, but not as it should be now
    FOREIGN = "foreign"  # somebody else's under our name
    BLOCKED = "blocked"  # something else stands where its container should be


#: How it stands where nothing of ours is there.
NOT_OURS = frozenset((PartState.ABSENT, PartState.FOREIGN, PartState.BLOCKED))


class ConfigPart(Protocol):
    """One thing that is ours in a file."""

    @property
    def name(self) -> str:
        """What it is called in messages and records."""

    def state(self, text: str) -> PartState:
        """How it stands in a text."""

    def made_for(self, text: str) -> Made:
        """What has to be made for it."""

    def put(self, text: str) -> Edited:
        """Have it in a text as it should be."""

    def take(self, text: str, made: Made | None) -> Edited:
        """Take it out."""


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """A member of a JSON object: the server."""

    path: tuple[str, ...]
    value: dict[str, Any]

    @property
    def name(self) -> str:
        """Its path."""
        return ".".join(self.path)

    def state(self, text: str) -> PartState:
        """Foreign is also what somebody added to."""
        if not json_text.fits(text, self.path):
            return PartState.BLOCKED
        return _state(json_text.value_at(text, self.path), self.value)

    def made_for(self, text: str) -> Made:
        """The containers around it."""
        return json_text.made_for(text, self.path)

    def put(self, text: str) -> Edited:
        """At the end of its container, or where it is."""
        return json_text.put(text, self.path, self.value)

    def take(self, text: str, made: Made | None) -> Edited:
        """As often as it is there."""
        done = Edited(text)
        while json_text.value_at(done.text, self.path) is not MISSING:
            done = done.then(json_text.take(done.text, self.path, made))
        return done


@dataclass(frozen=True, slots=True)
class ConfigTable:
    """A table of a TOML file: the server."""

    path: tuple[str, ...]
    value: dict[str, Any]

    @property
    def name(self) -> str:
        """Its path."""
        return ".".join(self.path)

    def state(self, text: str) -> PartState:
        """Foreign is also what somebody added to."""
        return _state(toml_text.value_at(text, self.path), self.value)

    def made_for(self, text: str) -> Made:
        """The gap before it; tables above it need not be written."""
        return Made(inside=marked_text.gap_after(text))

    def put(self, text: str) -> Edited:
        """At the end of the file, or where it is."""
        return toml_text.put(text, self.path, self.value)

    def take(self, text: str, made: Made | None) -> Edited:
        """With what belongs to it."""
        return toml_text.take(text, self.path, made.inside if made is not None else None)


@dataclass(frozen=True, slots=True)
class ConfigHook:
    """A command in the list of an event, alone or in a group."""

    event: str
    value: dict[str, Any]

    @property
    def name(self) -> str:
        """The event."""
        return f"hooks.{self.event}"

    def state(self, text: str) -> PartState:
        """The same when exactly ours is there."""
        if not json_text.fits(text, ("hooks", self.event, 0)):
            return PartState.BLOCKED
        found = list(self._paths(text))
        if not found:
            return PartState.ABSENT
        return PartState.SAME if [json_text.value_at(text, path) for path in found] == [self.value] else PartState.OURS

    def made_for(self, text: str) -> Made:
        """The containers around it."""
        return json_text.made_for(text, ("hooks", self.event, self._end(text)))

    def put(self, text: str) -> Edited:
        """At the end of the list, or where it is."""
        found = list(self._paths(text))
        if len(found) == 1 and len(found[0]) == 3:
            return json_text.put(text, found[0], self.value)
        done = self.take(text, Made())
        return done.then(json_text.put(done.text, ("hooks", self.event, self._end(done.text)), self.value))

    def take(self, text: str, made: Made | None) -> Edited:
        """Every command of ours, and its group where nothing else is in it."""
        done = Edited(text)
        while paths := list(self._paths(done.text)):
            kept = made if made is None or len(paths) == 1 else Made()
            done = done.then(json_text.take(done.text, paths[-1], kept))
        return done

    def _end(self, text: str) -> int:
        found = json_text.value_at(text, ("hooks", self.event))
        return len(found) if isinstance(found, list) else 0

    def _paths(self, text: str) -> Iterator[tuple[str | int, ...]]:
        """Where commands of ours stand: the whole group when all in it is ours."""
        listed = json_text.value_at(text, ("hooks", self.event))
        for number, one in enumerate(listed if isinstance(listed, list) else []):
            path = ("hooks", self.event, number)
            inner = one.get("hooks") if isinstance(one, dict) else None
            if not isinstance(inner, list):
                if _is_command_of_ours(one):
                    yield path
                continue
            ours = [place for place, hook in enumerate(inner) if _is_command_of_ours(hook)]
            if ours and len(ours) == len(inner):
                yield path
            else:
                yield from ((*path, "hooks", place) for place in ours)


@dataclass(frozen=True, slots=True)
class ConfigBlock:
    """Instructions between two marks."""

    text: str
    head: str = ""

    @property
    def name(self) -> str:
        """What it is."""
        return "instructions"

    def state(self, text: str) -> PartState:
        """What is between the marks is ours, whatever it says."""
        found = marked_text.block_of(text)
        return PartState.ABSENT if found is None else PartState.SAME if found == self.text.strip("\n") else PartState.OURS

    def made_for(self, text: str) -> Made:
        """The gap before it."""
        return Made(inside=marked_text.gap_after(text))

    def put(self, text: str) -> Edited:
        """At the end, or where it is."""
        return marked_text.put(text, self.text, self.head)

    def take(self, text: str, made: Made | None) -> Edited:
        """With its marks."""
        return marked_text.take(text, made.inside if made is not None else None)


def _state(found: Any, wanted: Any) -> PartState:
    if found is MISSING:
        return PartState.ABSENT
    return PartState.SAME if found == wanted else PartState.OURS if is_ours(found) else PartState.FOREIGN


def _is_command_of_ours(hook: Any) -> bool:
    return isinstance(hook, dict) and isinstance(hook.get("command"), str) and OUR_HOOK.search(hook["command"]) is not None
