"""A question inside something else: JSON, a call, tags, an issue form, or the line numbers of a listing."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from whence.query.parser import CleanedQuery
from whence.query.paste import ENVELOPE, ISSUE, MAX_READ, SNIPPET, has_content_words, load_patterns
from whence.query.paste.prompts import TaggedBlock, find_tagged_blocks, is_continuation, is_prompt, outermost, remove_blocks
from whence.text.tables import read_sections, word_sections

_PATTERN = load_patterns("wrappers")
_WORDS = Path(__file__).with_name("wrapper_words.txt")
#: Keys of the question among arguments, the likeliest first, and keys of objects that hold such arguments.
QUESTION_KEYS, CONTAINER_KEYS = (" ".join(read_sections(_WORDS)[name]).split() for name in ("question_keys", "container_keys"))
#: Sections that make a text an issue form.
MIN_SECTIONS = 2
#: Tags with everyday names are left out if the text is this many times longer than the rest.
MOSTLY_ASIDE = 2
#: A tag with an everyday name this near to the end is no example.
LATE = 3_000
#: Levels of JSON that are searched.
MAX_LEVELS = 6
#: The share of numbered lines that makes a listing.
LISTING = 0.8


def query_from_form(text: str) -> CleanedQuery | None:
    """An issue without the parts of its form: comments, check boxes, the environment, the headings."""
    if sum(1 for _ in islice(_PATTERN["HEADING"].finditer(text), MIN_SECTIONS)) < MIN_SECTIONS:
        return None
    bare = _PATTERN["EMPTY"].sub("", _PATTERN["CHECK_BOX"].sub("", _without_comments(text)))
    headings = list(_PATTERN["HEADING"].finditer(bare))
    ends = [*(heading.start() for heading in headings[1:]), len(bare)]
    kept, place = [], 0
    for heading, end in zip(headings, ends, strict=True):
        kept.append(bare[place : heading.start()])
        place = end if _PATTERN["ASIDE"].search(heading.group()) else heading.end()
    left = re.sub(r"\n{3,}", "\n\n", "".join([*kept, bare[place:]])).strip()
    return CleanedQuery(left, ISSUE, "the form of a pasted issue was left out: check boxes, environment, headings")


def _without_comments(text: str) -> str:
    first, *rest = text.split("<!--")
    return first + "".join(part.partition("-->")[2].removeprefix("\n") if "-->" in part else f"<!--{part}" for part in rest)


def question_in_json(text: str) -> CleanedQuery | None:
    """The question in JSON arguments, messages or a call."""
    bare = text.strip()
    if bare.startswith(("```", "~~~")):
        bare = bare.partition("\n")[2].rstrip("`~ \t\n").strip()
    if bare[:1] not in ("{", "["):
        if not bare.endswith(")") or not _PATTERN["CALL"].match(bare):
            return None
        inside = bare[bare.index("(") + 1 : -1].strip()
        return question_in_json(inside) if inside.startswith("{") else _quoted_value(inside)
    try:
        value = json.loads(bare, strict=False)
    except (ValueError, RecursionError):
        return _quoted_value(bare)
    found = _question_in(value, MAX_LEVELS)
    return CleanedQuery(found.strip(), ENVELOPE, "the question was taken out of the JSON around it") if found else None


def _quoted_value(text: str) -> CleanedQuery | None:
    found = _PATTERN["QUOTED_VALUE"].search(text[:MAX_READ])
    if found is None:
        return None
    value = (found[1] or found[2]).replace("\\n", "\n").replace('\\"', '"')
    return CleanedQuery(value.strip(), ENVELOPE, "the question was taken out of the arguments around it")


def _question_in(value: Any, depth: int) -> str:
    """The string under the likeliest key, or inside a container; of messages the user's last."""
    if depth == 0:
        return ""
    if isinstance(value, list):
        return _question_in_list(value, depth)
    if not isinstance(value, dict):
        return ""
    for key in QUESTION_KEYS:
        if isinstance(value.get(key), str) and has_content_words(value[key]):
            return str(value[key])
    return next((found for key in CONTAINER_KEYS if (found := _question_in(_parsed(value.get(key)), depth - 1))), "")


def _parsed(value: Any) -> Any:
    """Arguments that are JSON in a string, parsed; any other value as it is."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return json.loads(value, strict=False)
        except (ValueError, RecursionError):
            return value
    return value


def _question_in_list(value: list[Any], depth: int) -> str:
    entries = [one for one in value if isinstance(one, dict)]
    of_user = [one for one in entries if str(one.get("role", one.get("type", ""))).lower() in ("user", "human", "text", "input_text")]
    if of_user:
        messages = [found for one in reversed(of_user) if (found := _question_in(one, depth - 1))]
        return next((found for found in messages if not is_continuation(found)), messages[0] if messages else "")
    return _question_in(entries[0], depth - 1) if len(entries) == 1 else ""


def question_in_tags(text: str) -> CleanedQuery | None:
    """The question in its tag, or the text without the tags that hold anything else."""
    if "</" not in text:
        return None
    found = find_tagged_blocks(text)
    tags, endings = _words("aside_tags"), tuple(f"_{one}" for one in _words("aside_endings"))
    asides = outermost([one for one in found if one.begins_line and (one.name in tags or one.name.endswith(endings))])
    questions = [one for one in _question_tags(found, asides, text) if has_content_words(text[one.inner_start : one.inner_end])]
    if questions:
        last = max(questions, key=lambda one: one.end)
        inner = text[last.inner_start : last.inner_end].strip()
        return CleanedQuery(inner, ENVELOPE, f"the question was taken out of the tag <{last.name}>")
    if asides and not is_prompt(text):
        left = remove_blocks(text, asides)
        if any(one.name in _words("certain_aside_tags") or "_" in one.name for one in asides) or len(left) * MOSTLY_ASIDE < len(text):
            return CleanedQuery(left, ENVELOPE, f"what stands in tags such as <{asides[0].name}> was left out")
    return None


def _question_tags(found: Sequence[TaggedBlock], asides: Sequence[TaggedBlock], text: str) -> list[TaggedBlock]:
    """The tags that hold a question. One with an everyday name does if the text is plainly a wrapper and the tag is near its end."""
    certain = [one for one in found if one.name in _words("question_tags") or (one.argument and one.name in QUESTION_KEYS)]
    top = {one.start for one in outermost([one for one in found if one.begins_line])}
    possible = [one for one in found if one.start in top and one.name in _words("possible_question_tags")]
    if possible and all((text[: one.start] + text[one.end :]).strip() for one in possible):
        late = [one for one in possible if len(text) - one.end <= LATE]
        possible = late if asides or is_prompt(text) else []
    return [one for one in [*certain, *possible] if not any(aside.start < one.start and one.end < aside.end for aside in asides)]


def query_from_listing(text: str) -> CleanedQuery | None:
    """Pasted code without the line numbers of a listing."""
    lines = text.split("\n")
    numbered = [_PATTERN["GUTTER"].match(line) for line in lines]
    if len(lines) < 3 or sum(1 for one in numbered if one) < LISTING * len(lines):
        return None
    bare = "\n".join(line[one.end() :] if one else line for line, one in zip(lines, numbered, strict=True))
    return CleanedQuery(bare, SNIPPET, "the line numbers of pasted code were left out")


def _words(section: str) -> frozenset[str]:
    return word_sections(_WORDS)[section]
