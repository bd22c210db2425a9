"""Where a file calls something, read from the syntax tree and not from what whence found in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node, TreeCursor

from whence.parse.grammars import grammar_of

#: Fields of a call that hold what is called.
_CALLED = ("function", "constructor", "method", "name")
_CALLS = ("call", "new_expression", "invocation", "object_creation")
#: A name with the types it is given: `make<int>(...)`.
_WITH_TYPES = ("generic_function", "template_function", "template_method", "parenthesized_expression", "instantiation_expression")
_NAMES = ("identifier", "name", "constant")


@dataclass(frozen=True, slots=True)
class CallSite:
    """The name of what is called, and where it is."""

    name: str
    at: int


def call_sites(text: bytes, language: str) -> list[CallSite]:
    """Every call of a name, in the order of the text."""
    grammar = grammar_of(language)
    if grammar is None:
        return []
    root = grammar.parser.parse(text).root_node
    return [CallSite((node.text or b"").decode("utf-8", "replace"), node.start_byte) for node in _leaves(root.walk()) if _is_called(node)]


def _leaves(cursor: TreeCursor) -> Iterator[Node]:
    """The nodes without children that may be names."""
    while True:
        node = cursor.node
        if node is not None and node.child_count == 0 and node.is_named and node.type.endswith(_NAMES):
            yield node
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _is_called(node: Node) -> bool:
    """Whether a name is the last part of what a call calls."""
    while (parent := node.parent) is not None:
        if any(word in parent.type for word in _CALLS):
            return any(parent.child_by_field_name(field) == node for field in _CALLED)
        if parent.end_byte != node.end_byte and parent.type not in _WITH_TYPES:
            return False
        node = parent
    return False
