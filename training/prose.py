"""What a comment says: its first sentences as plain prose, or nothing when it says nothing about code."""

from __future__ import annotations

import re

_TAG = re.compile(r"[@\\][a-zA-Z]+\b")
_LEAD_TAG = re.compile(
    r"^[@\\](brief|short|summary|details?|desc(ription)?|tparam|section)\b:?\s*|^(Summary|Description|Function|Purpose)\s*:\s*",
    re.IGNORECASE,
)
_SECTION = re.compile(
    r"(Args?|Arguments?|Params?|Parameters?|Returns?|Raises|Throws|Examples?|Usage|Notes?|Options|See also|Inputs?|Outputs?)\s*:?$"
    r"|- (Parameters?|Returns?|Throws|Note|Important|Warning)\b|:(param|return|raises|rtype|type)|>>>|```|[-=~*#_+/]{3,}|#{1,6} "
    r"|\.\. \w+::|[A-Z]\w*:\s*$|iex>|</?(param|returns|remarks|exception|example|para|code)\b",
)
_MARKUP = (
    (re.compile(r"<(see|paramref|typeparamref|seealso)\s+\w+=\"(?:[A-Z]:)?([^\"]*)\"\s*/>"), r"\2"),
    (re.compile(r"</?[a-zA-Z][^<>]{0,80}>"), " "),
    (re.compile(r"\{@\w+\s+([^}]*)\}"), r"\1"),
    (re.compile(r":[\w:]+:`~?([^`]*)`"), r"\1"),
    (re.compile(r"!?\[`?([^\]`]+)`?\](\([^)]*\)|\[[^\]]*\])?"), r"\1"),
    (re.compile(r"\b(https?|ftp)://\S+"), " "),
    (re.compile(r"[@\\](c|p|a|ref|link|endlink|code|endcode|em|b)\b\s*"), " "),
    (re.compile(r"``?|\"|\*\*|__(?=\w)|(?<=\w)__|&\w+;"), " "),
    (re.compile(r"\s+"), " "),
)
_BAD = re.compile(
    r"copyright|licen[cs]e|all rights reserved|eslint|istanbul|tslint|jshint|todo\b|fixme|\bxxx\b|noqa|pylint|auto-?generated|do not edit"
    r"|nolint|inheritdoc|prettier|spdx|ts-ignore|webpack|pragma|\{\{|coverage:|-\*-|nosonar|clang-format|rubocop|-----|=====|~~~~|\bvim?:"
    r"|swiftlint|noinspection|suppress|frozen_string_literal|^created by|^\(c\)|credo:|dialyzer|region\b|NS_ASSUME|mark:|stylua|luacheck"
    r"|^written by|^authors?\b|public domain|go:build|\+build|designer support|^package [\w.]+$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z]{2,}")
_LETTERS = re.compile(r"[a-z0-9]+")
#: What opens, continues and closes a comment, at either end of a line.
_COMMENT_MARKS = re.compile(
    r"""
    ^[ \t]*(?: <!-- | /\*+!? | \*+/ | //+!? | \#+['!]? | --+(?:\[=*\[|[ \t]*[|^](?=\s))? | ;+ | %+ | \*(?!\w)
              | \"{3} | '{3} | =begin | =end | \{-+\|? | -\} | \(\*+ )[ \t]?
    | [ \t]*(?: --> | \*+/ | \"{3} | '{3} | -\} | \*\) | \]=*\] )[ \t]*$
    """,
    re.MULTILINE | re.VERBOSE,
)
#: A line of code that someone has commented out.
_CODE = re.compile(
    r"[;{}]\s*$|^\s*(if|for|while|return|else|end|import|local|var|let|const|def|fn|func|#include)\b.*[;(){}=]|\w\(.*\)\s*[;{]"
    r"|==|&&|\|\||->|=>|\):$",
)


def unmarked(comment: str) -> str:
    """A comment without the marks that make it one."""
    return _COMMENT_MARKS.sub("", comment)


def first_sentences(comment: str, length: int = 240) -> str:
    """What a comment says first, without its marks, tags and markup; empty when that says nothing about code."""
    paragraph: list[str] = []
    for line in comment.splitlines():
        text = _LEAD_TAG.sub("", line.strip(" \t*")).strip()
        text = text.split(" - Parameter", 1)[0]
        if paragraph and (not text or _SECTION.match(text) or _TAG.match(text)):
            break
        if text and _TAG.match(text):
            return ""
        if text and not _SECTION.match(text):
            paragraph.append(text)
    if any(_CODE.search(line) for line in paragraph[:3]):
        return ""
    said = " ".join(paragraph)
    for pattern, instead in _MARKUP:
        said = pattern.sub(instead, said)
    said = _shortened(said.strip(" -:*#/|=["), length)
    return said if says_something(said) else ""


def _shortened(said: str, length: int) -> str:
    """The first sentence, or as many as it takes to say something."""
    found = re.match(r"(.{40,}?[.!?])\s+[A-Z(]", said)
    if found and found.end(1) <= length:
        return found.group(1)
    if len(said) <= length:
        return said
    found = re.match(rf"(.{{30,{length}}}[.!?])(\s|$)", said)
    return found.group(1) if found else said[:length].rsplit(" ", 1)[0]


def says_something(said: str) -> bool:
    """Whether a sentence is prose about code: words, mostly of plain letters, and no notice or instruction to a tool."""
    words = _WORD.findall(said)
    if len(said) < 12 or not 3 <= len(words) <= 60 or len(said.split()) < 3 or _BAD.search(said):
        return False
    plain = sum(map(len, words))
    return plain > 0.62 * len(said) and sum(character > "\x7f" for character in said) < 0.05 * len(said)


def letters(text: str) -> str:
    """A text as its letters and digits alone, for comparing what is said and not how it is set."""
    return "".join(_LETTERS.findall(text.lower()))
