"""Which files the import statements of a file lead to, and under which names (W2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from whence.graph.builder.import_rules.binding import Binding, Rule
from whence.graph.builder.import_rules.by_path import C, Dart, Elixir, Lua, Ruby, Swift
from whence.graph.builder.import_rules.csharp import CSharp
from whence.graph.builder.import_rules.go import Go
from whence.graph.builder.import_rules.javascript import Script
from whence.graph.builder.import_rules.jvm import Jvm
from whence.graph.builder.import_rules.php import Php
from whence.graph.builder.import_rules.python import Python
from whence.graph.builder.import_rules.rust import Rust
from whence.graph.builder.import_rules.tree import PathTree

__all__ = ["Binding", "Imports"]

#: The end of a longer statement is not looked at.
MOST_CHARACTERS = 20_000
#: What a statement's meaning depends on beside its words: nothing, the folder of its file, the file.
_NOTHING, _FOLDER, _FILE = range(3)


@dataclass(frozen=True, slots=True)
class _Family:
    """Languages that import alike."""

    languages: tuple[str, ...]
    make: Callable[[PathTree], Rule]
    depends_on: int = _FOLDER


_FAMILIES = (
    _Family(("python",), Python),
    _Family(("javascript", "typescript", "tsx", "vue", "svelte"), Script),
    _Family(("go",), Go, _NOTHING),
    _Family(("rust",), Rust, _FILE),
    _Family(("java", "scala"), Jvm, _NOTHING),
    _Family(("kotlin",), partial(Jvm, loose=True), _NOTHING),
    _Family(("csharp",), CSharp, _NOTHING),
    _Family(("ruby",), Ruby),
    _Family(("php",), Php),
    _Family(("c", "cpp"), C),
    _Family(("lua",), Lua),
    _Family(("dart",), Dart),
    _Family(("elixir",), Elixir),
    _Family(("swift",), Swift),
)
_FAMILY_OF = {language: number for number, family in enumerate(_FAMILIES) for language in family.languages}


class Imports:
    """The meaning of import statements in one repository; what comes from outside it has none."""

    def __init__(self, paths: Sequence[str], read: Callable[[str], str | None]) -> None:
        self._tree = PathTree(paths, read)
        self._rules: dict[int, Rule] = {}
        self._known: dict[tuple[int, str, str], tuple[Binding, ...]] = {}

    def bindings(self, language: str, path: str, statement: str) -> tuple[Binding, ...]:
        """What one statement in the file of that path makes known, as the parser gives it on one line."""
        number = _FAMILY_OF.get(language)
        if number is None:
            return ()
        depends_on = _FAMILIES[number].depends_on
        place = "" if depends_on == _NOTHING else path.rpartition("/")[0] if depends_on == _FOLDER else path
        found = self._known.get((number, place, statement))
        if found is None:
            found = tuple(dict.fromkeys(self._rule(number).bindings(path, statement[:MOST_CHARACTERS])))
            self._known[number, place, statement] = found
        return _of_others(found, path) if found else found

    def _rule(self, number: int) -> Rule:
        rule = self._rules.get(number)
        if rule is None:
            rule = self._rules[number] = _FAMILIES[number].make(self._tree)
        return rule


def _of_others(bindings: tuple[Binding, ...], path: str) -> tuple[Binding, ...]:
    """Bindings without the file itself, which may be of the package or the folder that it imports."""
    if all(path not in binding.files for binding in bindings):
        return bindings
    kept = [Binding(one.local, tuple(file for file in one.files if file != path), one.symbol) for one in bindings]
    return tuple(binding for binding in kept if binding.files)
