"""A question in a wrapping: JSON, a call with named arguments, tags, or the line numbers of a listing."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from whence.query.paste import ENVELOPE, ISSUE, MAX_READ, SNIPPET, CleanedQuery, has_content_words
from whence.query.paste.prompts import goes_on, is_prompt
from whence.query.paste.tags import Tagged, outermost, tagged, without
from whence.text.tables import word_sections

#: Sections of a form that make a text one.
FEWEST_SECTIONS = 2

_CHECK_BOX = re.compile(r"^[ \t]*[-*][ \t]+\[[ xX]?\].*\n?", re.MULTILINE)
_HEADING = re.compile(
    r"^[ \t]*(?:#{1,5}[ \t]*|\*\*[ \t]*)[^\w\n]{0,8}(?:describe the (?:bug|feature|problem)|bug description|description"
    r"|(?:steps )?to reproduce"
    r"|reproduction(?: steps)?|(?:expected|actual)(?: behaviou?r| results?)?|current behaviou?r"
    r"|what happened\??|what did you (?:do|expect)[^\n]{0,40}"
    r"|(?:your )?environment(?: info\w*)?|system info(?:rmation)?|versions?|additional (?:context|info\w*)|screenshots?|possible solution"
    r"|(?:pre-?flight )?check ?list|is your feature request[^\n]{0,60}|describe (?:the solution|alternatives)[^\n]{0,40}"
    r"|before (?:submitting|you start)[^\n]{0,40}|(?:desktop|smartphone)[^\n]{0,60}|code of conduct|validations?|prerequisites"
    r"|used package manager)[^\n\w]{0,6}[ \t]*$\n?",
    re.IGNORECASE | re.MULTILINE,
)
#: Headings of sections that say where the issue was seen, not what it is.
_ASIDE = re.compile(
    r"environment|system info|version|screenshot|check ?list|before |desktop|smartphone|code of conduct|validation|prerequisite"
    r"|package manager",
    re.IGNORECASE,
)
#: What a form says where nothing was filled in.
_EMPTY = re.compile(
    r"^[ \t]*(?:a clear and concise description of[^\n]*|if applicable, add [^\n]*|add any other context[^\n]*"
    r"|steps to reproduce the behaviou?r:?"
    r"|_?no response_?|n/a|tell us [^\n]*|please (?:describe|provide|include|fill)[^\n]*)[ \t]*$\n?",
    re.IGNORECASE | re.MULTILINE,
)


def out_of_form(text: str) -> CleanedQuery | None:
    """An issue without what its form asks of everyone: comments, boxes to tick, the environment, the headings themselves."""
    if sum(1 for _ in islice(_HEADING.finditer(text), FEWEST_SECTIONS)) < FEWEST_SECTIONS:
        return None
    bare = _EMPTY.sub("", _CHECK_BOX.sub("", _without_comments(text)))
    headings = list(_HEADING.finditer(bare))
    ends = [*(heading.start() for heading in headings[1:]), len(bare)]
    kept, place = [], 0
    for heading, end in zip(headings, ends, strict=True):
        kept.append(bare[place : heading.start()])
        place = end if _ASIDE.search(heading.group()) else heading.end()
    left = re.sub(r"\n{3,}", "\n\n", "".join([*kept, bare[place:]])).strip()
    return CleanedQuery(left, ISSUE, "the form of a pasted issue was left out: check boxes, environment, headings")


def _without_comments(text: str) -> str:
    first, *rest = text.split("<!--")
    return first + "".join(part.partition("-->")[2].removeprefix("\n") if "-->" in part else f"<!--{part}" for part in rest)


#: Keys under which arguments hold the question, the likeliest first, and keys of what holds such arguments.
QUESTION_KEYS = (
    "query question q search_query user_query user_question searchQuery userQuery search task prompt request instruction goal "
    "problem_statement objective input text message content"
).split()
HOLDING_KEYS = (
    "arguments args params parameters input tool_input function tool_call tool_calls tool_use body data payload request messages "
    "message contents content parts event"
).split()


def _tags(section: str) -> frozenset[str]:
    return word_sections(Path(__file__).with_name("wrapper_words.txt"))[section]


#: So many times what is left a text must be for tags with everyday names to be left out.
MOSTLY_ASIDE = 2
#: So near to the end a tag with an everyday name is no example.
LATE = 3_000
#: Levels of JSON that are looked through.
DEPTH = 6

_QUOTED_VALUE = re.compile(
    r"""["']?\b(?:query|question|q|search_query|user_query|task|prompt)["']?\s*[:=]\s*(?:"((?:[^"\\\n]|\\.)+)"|'((?:[^'\\\n]|\\.)+)')"""
)
_CALL = re.compile(r"[A-Za-z_][\w.]*\s*\(")
_GUTTER = re.compile(r"[ \t]*\d{1,6}(?:\t|[ ]?[|│→][ \t]?|: ?)")
#: Share of lines with a number in front that makes a listing.
LISTING = 0.8


def out_of_json(text: str) -> CleanedQuery | None:
    """The question in JSON arguments, messages or a call."""
    bare = text.strip()
    if bare.startswith(("```", "~~~")):
        bare = bare.partition("\n")[2].rstrip("`~ \t\n").strip()
    if bare[:1] not in ("{", "["):
        if not bare.endswith(")") or not _CALL.match(bare):
            return None
        inside = bare[bare.index("(") + 1 : -1].strip()
        return out_of_json(inside) if inside.startswith("{") else _quoted_value(inside)
    try:
        value = json.loads(bare, strict=False)
    except (ValueError, RecursionError):
        return _quoted_value(bare)
    found = _question_in(value, DEPTH)
    return CleanedQuery(found.strip(), ENVELOPE, "the question was taken out of the JSON around it") if found else None


def _quoted_value(text: str) -> CleanedQuery | None:
    found = _QUOTED_VALUE.search(text[:MAX_READ])
    if found is None:
        return None
    value = (found[1] or found[2]).replace("\\n", "\n").replace('\\"', '"')
    return CleanedQuery(value.strip(), ENVELOPE, "the question was taken out of the arguments around it")


def _question_in(value: Any, depth: int) -> str:
    """The string under the likeliest key, or in what the value holds; of messages the user's last."""
    if depth == 0:
        return ""
    if isinstance(value, list):
        return _question_in_list(value, depth)
    if not isinstance(value, dict):
        return ""
    for key in QUESTION_KEYS:
        if isinstance(value.get(key), str) and has_content_words(value[key]):
            return str(value[key])
    return next((found for key in HOLDING_KEYS if (found := _question_in(_parsed(value.get(key)), depth - 1))), "")


def _parsed(value: Any) -> Any:
    """Arguments that are themselves written as JSON in a string are read; all else stays."""
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
        said = [found for one in reversed(of_user) if (found := _question_in(one, depth - 1))]
        return next((found for found in said if not goes_on(found)), said[0] if said else "")
    return _question_in(entries[0], depth - 1) if len(entries) == 1 else ""


def out_of_tags(text: str) -> CleanedQuery | None:
    """The question in its tag, or what is left without the tags that hold anything else."""
    if "</" not in text:
        return None
    found = tagged(text)
    asides = outermost([one for one in found if one.begins_line and _is_aside(one.name)])
    asked = [one for one in _asked_tags(found, asides, text) if has_content_words(text[one.inner_start : one.inner_end])]
    if asked:
        last = max(asked, key=lambda one: one.end)
        inner = text[last.inner_start : last.inner_end].strip()
        return CleanedQuery(inner, ENVELOPE, f"the question was taken out of the tag <{last.name}>")
    if asides and not is_prompt(text):
        left = without(text, asides)
        if any(one.name in _tags("certain_aside_tags") or "_" in one.name for one in asides) or len(left) * MOSTLY_ASIDE < len(text):
            return CleanedQuery(left, ENVELOPE, f"what stands in tags such as <{asides[0].name}> was left out")
    return None


def _asked_tags(found: Sequence[Tagged], asides: Sequence[Tagged], text: str) -> list[Tagged]:
    """The tags that hold a question. Those with an everyday name do so where the text is plainly a wrapping, and they stand late in it."""
    asked = [one for one in found if one.name in _tags("question_tags") or (one.argument and one.name in QUESTION_KEYS)]
    top = {one.start for one in outermost([one for one in found if one.begins_line])}
    perhaps = [one for one in found if one.start in top and one.name in _tags("possible_question_tags")]
    if perhaps and not any(_is_all(one, text) for one in perhaps):
        late = [one for one in perhaps if len(text) - one.end <= LATE]
        perhaps = late if asides or is_prompt(text) else []
    return [one for one in [*asked, *perhaps] if not any(aside.start < one.start and one.end < aside.end for aside in asides)]


def _is_aside(name: str) -> bool:
    return name in _tags("aside_tags") or ("_" in name and name.rsplit("_", 1)[1] in _tags("aside_endings"))


def _is_all(one: Tagged, text: str) -> bool:
    return not text[: one.start].strip() and not text[one.end :].strip()


def out_of_gutter(text: str) -> CleanedQuery | None:
    """Pasted code without the line numbers of a listing."""
    lines = text.split("\n")
    numbered = [_GUTTER.match(line) for line in lines]
    if len(lines) < 3 or sum(1 for one in numbered if one) < LISTING * len(lines):
        return None
    bare = "\n".join(line[one.end() :] if one else line for line, one in zip(lines, numbered, strict=True))
    return CleanedQuery(bare, SNIPPET, "the line numbers of pasted code were left out")
