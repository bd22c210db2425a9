"""The form of an issue: what it asks of everyone and says nothing of this one."""

from __future__ import annotations

import re
from itertools import islice

from whence.query.hygiene import ISSUE, Question

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


def out_of_form(text: str) -> Question | None:
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
    return Question(left, ISSUE, "the form of a pasted issue was left out: check boxes, environment, headings")


def _without_comments(text: str) -> str:
    first, *rest = text.split("<!--")
    return first + "".join(part.partition("-->")[2].removeprefix("\n") if "-->" in part else f"<!--{part}" for part in rest)
