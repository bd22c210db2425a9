"""Words that say too little to point at code: they are never learned (L5)."""

from __future__ import annotations

from whence.parse.tokens import STOP_WORDS, stem

#: What is done to code or by it, in nearly every task.
ACTION_VERBS = frozenset(
    "add adjust allow apply avoid begin break build call change check clean clear close come compute contain copy correct create debug "
    "define delete detect determine disable display drop enable ensure execute expect explain fail fetch find finish fix follow generate "
    "give go handle happen help identify ignore implement improve include inspect introduce keep know let load look make move need occur "
    "open pass perform prepare prevent print process produce provide put raise read receive refactor remove rename replace require "
    "resolve return rewrite run save search see seem send set show simplify skip start stop store support switch take tell trigger try "
    "turn understand update use want work write".split()
)
#: What nearly every program has.
PROGRAMMING_WORDS = frozenset(
    "api app application argument array attribute behavior behaviour block body bool boolean bug case class code command component "
    "config content context count current custom data default element entry error example exception feature field file flag func "
    "function id impl info init input instance int integer interface internal issue item key kind length line list logic main map "
    "method mode module name new number object old option output package parameter part path problem program project property public "
    "result self setting size source state step string struct task thing time true type unit util value variable version way".split()
)
COMMON_WORDS = STOP_WORDS | ACTION_VERBS | PROGRAMMING_WORDS
_COMMON_STEMS = frozenset(stem(word) for word in COMMON_WORDS)
#: Shorter words in Latin letters are abbreviations of anything.
SHORTEST_KEYWORD = 3


def is_common(part: str) -> bool:
    """Whether a lower-cased part of a word is too common to mean one piece of code."""
    return part.isdigit() or (part.isascii() and len(part) < SHORTEST_KEYWORD) or stem(part) in _COMMON_STEMS
