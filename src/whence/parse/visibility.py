"""Who may use a definition, as far as its name and signature say."""

from __future__ import annotations

from whence.types import Unit

#: Names that make a value of the type around them.
CONSTRUCTORS = frozenset({"__init__", "__new__", "__construct", "constructor", "initialize", "init", "new"})
#: Words of a signature that keep others out; they stand among its first.
_KEPT = frozenset({"private", "fileprivate"})
_FIRST_WORDS = 5


def is_hidden(unit: Unit, language: str) -> bool:
    """Whether a definition is meant for its own type, file or package only."""
    name = unit.name
    if name.startswith(("_", "#")):
        return not name.endswith("__")
    if language == "go":
        return name[:1].islower()
    if language == "rust":
        return not unit.signature.startswith("pub")
    return not _KEPT.isdisjoint(unit.signature.split(None, _FIRST_WORDS)[:_FIRST_WORDS])


def is_constructor(unit: Unit) -> bool:
    """Whether a definition makes a value of the type around it: it has a name for that, or the type's."""
    return bool(unit.parents) and (unit.name in CONSTRUCTORS or unit.name == unit.parents[-1])
