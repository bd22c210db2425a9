"""Our parts in an agent's files: a server entry or table, a hook, a block of instructions. Each can be put in and removed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from whence.app.agents import json_edits, toml_edits
from whence.app.agents.json_edits import MISSING, Scaffold
from whence.app.agents.registry import is_our_entry
from whence.app.agents.text_edits import TextEdit, gap_after, marked_block, put_block, remove_block

#: One of our commands among the hooks, whatever its path.
_OUR_HOOK = re.compile(r"\bwhence\b\S*\s+hook\s+(?:session-start|prompt|used)\b")


class PartState(Enum):
    """What a file holds of a part."""

    ABSENT = "absent"
    SAME = "same"  # as we would write it
    OURS = "ours"  # ours, but outdated
    FOREIGN = "foreign"  # somebody else's under our name
    BLOCKED = "blocked"  # a value that is not a container is in the way


#: The states in which a file holds nothing of ours.
NOT_OURS = frozenset((PartState.ABSENT, PartState.FOREIGN, PartState.BLOCKED))


# Each part has a name for messages and records, its state in a text, and a scaffold: what `put` would have to create around it.
@dataclass(frozen=True, slots=True)
class ServerEntry:
    """Our server: a member of a JSON object, or a table of a TOML file."""

    path: tuple[str, ...]
    value: dict[str, Any]
    toml: bool = False

    @property
    def name(self) -> str:
        """The path of the entry."""
        return ".".join(self.path)

    def value_in(self, text: str) -> Any:
        """The value under our name, or MISSING."""
        return (toml_edits if self.toml else json_edits).value_at(text, self.path)

    def state(self, text: str) -> PartState:
        """An entry of ours that somebody extended counts as foreign."""
        if not self.toml and not json_edits.can_hold(text, self.path):
            return PartState.BLOCKED
        value = self.value_in(text)
        if value is MISSING:
            return PartState.ABSENT
        return PartState.SAME if value == self.value else PartState.OURS if is_our_entry(value) else PartState.FOREIGN

    def scaffold(self, text: str) -> Scaffold:
        """The missing containers around it; of a table, the gap before it."""
        return Scaffold(blank=gap_after(text)) if self.toml else json_edits.scaffold_for(text, self.path)

    def put(self, text: str) -> TextEdit:
        """At the end of its container or file, or where it is."""
        return toml_edits.put(text, self.path, self.value) if self.toml else json_edits.put(text, self.path, self.value)

    def remove(self, text: str, scaffold: Scaffold | None) -> TextEdit:
        """With its subtables; all of them, if a JSON key is duplicated."""
        if self.toml:
            return toml_edits.remove(text, self.path, scaffold.blank if scaffold is not None else None)
        edit = TextEdit(text)
        while self.value_in(edit.text) is not MISSING:
            edit = edit.then(json_edits.remove(edit.text, self.path, scaffold))
        return edit


@dataclass(frozen=True, slots=True)
class JsonHook:
    """A command in the list of an event, directly or in a group."""

    event: str
    value: dict[str, Any]

    @property
    def name(self) -> str:
        """The path of the event."""
        return f"hooks.{self.event}"

    def state(self, text: str) -> PartState:
        """SAME if exactly our command is there, once."""
        if not json_edits.can_hold(text, ("hooks", self.event, 0)):
            return PartState.BLOCKED
        paths = list(self._paths(text))
        if not paths:
            return PartState.ABSENT
        return PartState.SAME if [json_edits.value_at(text, path) for path in paths] == [self.value] else PartState.OURS

    def scaffold(self, text: str) -> Scaffold:
        """The missing containers around it."""
        return json_edits.scaffold_for(text, ("hooks", self.event, self._count(text)))

    def put(self, text: str) -> TextEdit:
        """At the end of the event's list, or where it is."""
        paths = list(self._paths(text))
        if len(paths) == 1 and len(paths[0]) == 3:
            return json_edits.put(text, paths[0], self.value)
        edit = self.remove(text, Scaffold())
        return edit.then(json_edits.put(edit.text, ("hooks", self.event, self._count(edit.text)), self.value))

    def remove(self, text: str, scaffold: Scaffold | None) -> TextEdit:
        """Every command of ours, and its group if nothing else is in it."""
        edit = TextEdit(text)
        while paths := list(self._paths(edit.text)):
            is_last = len(paths) == 1
            edit = edit.then(json_edits.remove(edit.text, paths[-1], scaffold if is_last or scaffold is None else Scaffold()))
        return edit

    def _count(self, text: str) -> int:
        hooks = json_edits.value_at(text, ("hooks", self.event))
        return len(hooks) if isinstance(hooks, list) else 0

    def _paths(self, text: str) -> Iterator[tuple[str | int, ...]]:
        """The paths of our commands; that of the group if it holds only ours."""
        hooks = json_edits.value_at(text, ("hooks", self.event))
        for number, one in enumerate(hooks if isinstance(hooks, list) else []):
            path = ("hooks", self.event, number)
            group = one.get("hooks") if isinstance(one, dict) else None
            if not isinstance(group, list):
                if _is_our_hook(one):
                    yield path
                continue
            ours = [place for place, hook in enumerate(group) if _is_our_hook(hook)]
            if ours and len(ours) == len(group):
                yield path
            else:
                yield from ((*path, "hooks", place) for place in ours)


@dataclass(frozen=True, slots=True)
class InstructionsBlock:
    """Instructions for the agent, between two markers."""

    text: str
    template: str = ""
    name: ClassVar[str] = "instructions"

    def state(self, text: str) -> PartState:
        """Whatever is between the markers is ours."""
        block = marked_block(text)
        return PartState.ABSENT if block is None else PartState.SAME if block == self.text.strip("\n") else PartState.OURS

    def scaffold(self, text: str) -> Scaffold:
        """The gap before it."""
        return Scaffold(blank=gap_after(text))

    def put(self, text: str) -> TextEdit:
        """At the end, or where it is."""
        return put_block(text, self.text, self.template)

    def remove(self, text: str, scaffold: Scaffold | None) -> TextEdit:
        """With its markers."""
        return remove_block(text, scaffold.blank if scaffold is not None else None)


ConfigPart = ServerEntry | JsonHook | InstructionsBlock


def _is_our_hook(hook: Any) -> bool:
    return isinstance(hook, dict) and isinstance(hook.get("command"), str) and _OUR_HOOK.search(hook["command"]) is not None
