"""A tree whose every state is known: each file bears one mark, and a word finds exactly the files that bear it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

#: Letters of which no word has an ending that could be taken off.
_LETTERS = "bcfhkmpqvz"
MARKS = tuple(f"mark{a}{b}{a}" for a, b in zip(_LETTERS[:5], _LETTERS[5:], strict=True))
_NAMES = ("retry", "request", "connection", "limit", "walrus", "parse", "store")
_FUNCTIONS = 6
#: What happens to the tree from one state to the next, in turn: one thing at a time, so that no half of a step is a state.
CHANGES = ("edit", "add", "edit", "remove")

#: Each file of a tree with the mark that it bears.
State = dict[str, str]


def text_of(path: str, mark: str) -> str:
    """The text of a file that bears a mark."""
    number = int(path.rpartition("_")[2].removesuffix(".py"))
    functions = [
        f"def {_NAMES[(number + i) % 7]}_{_NAMES[i]}_{i}(value):\n    # {_NAMES[number * i % 7]} the {_NAMES[(i + 2) % 7]}\n"
        f"    return {_NAMES[(i + 3) % 7]}(value, {number * i})\n"
        for i in range(_FUNCTIONS)
    ]
    return f'class Part{number}:\n    {mark} = "{mark}"\n\n\n' + "\n\n".join(functions)


def states_of(seed: int, files: int, steps: int, bunch: int) -> list[State]:
    """The states that a tree goes through, `bunch` files at a time."""
    random = Random(seed)
    state = {_path(number): random.choice(MARKS) for number in range(files)}
    found, number = [state], files
    for step in range(steps):
        state = dict(state)
        if CHANGES[step % len(CHANGES)] == "add":
            state |= {_path(number + i): random.choice(MARKS) for i in range(bunch)}
            number += bunch
        else:
            for path in random.sample(sorted(state), bunch):
                mark = state.pop(path)
                if CHANGES[step % len(CHANGES)] == "edit":
                    state[path] = random.choice([one for one in MARKS if one != mark])
        found.append(state)
    return found


def _path(number: int) -> str:
    return f"lib/group_{number % 8}/part_{number}.py"


def apply(root: Path, before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Bring the files of a tree from one state to another, each file at once."""
    for path in before.keys() - after.keys():
        (root / path).unlink()
    for path, mark in after.items():
        if before.get(path) != mark:
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            part = root.parent / f"{root.name}.{os.getpid()}.part"
            part.write_text(text_of(path, mark), encoding="utf-8")
            part.replace(file)


def write_states(file: Path, states: Sequence[State]) -> None:
    """Write down all states, for those who check answers."""
    file.write_text(json.dumps(states), encoding="utf-8")


def read_states(file: Path) -> list[State]:
    """The reverse of `write_states`."""
    found: list[State] = json.loads(file.read_text(encoding="utf-8"))
    return found


def unlike_any(seen: Mapping[str, str], states: Sequence[State], first: int, last: int) -> str:
    """What is wrong where an answer is of none of some states; empty where it is of one."""
    if any(seen == state for state in states[first : last + 1]):
        return ""
    nearest = min(range(first, last + 1), key=lambda at: len(set(seen.items()) ^ set(states[at].items())))
    differs = sorted(set(seen.items()) ^ set(states[nearest].items()))
    return f"{len(seen)} files are of no state from {first} to {last}; from {nearest} differ {len(differs)}: {differs[:4]}"


def never_so(seen: Mapping[str, str], states: Sequence[State], first: int, last: int, marks: Sequence[str] = MARKS) -> str:
    """What is wrong where some file was in none of some states as an answer has it: of these marks, or not there."""
    for path in seen.keys() | {path for state in states[first : last + 1] for path, mark in state.items() if mark in marks}:
        were = {_mark(state, path, marks) for state in states[first : last + 1]}
        if seen.get(path) not in were:
            return f"{path} is {seen.get(path)} in an answer, and was {sorted(map(str, were))} in the states from {first} to {last}"
    return ""


def _mark(state: Mapping[str, str], path: str, marks: Sequence[str]) -> str | None:
    mark = state.get(path)
    return mark if mark in marks else None
