"""Prompts and conversations: how they are recognized, and where the question is in them. And tags in text that is no markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from whence.query.parser import CleanedQuery
from whence.query.paste import CHAT, PROMPT, has_content_words, load_patterns

_PATTERN, _MARKS, _TAG = load_patterns("prompts"), load_patterns("marks").all(), load_patterns("wrappers")["TAG"]
_NOT_QUESTION = ("RULE", "NO_SENTENCE", "LISTED")
_USERS = frozenset("user human you me customer client [inst]".split())
#: Speakers that in lower case may also be keys of a configuration.
_ALSO_SETTINGS = frozenset("system tool model agent client developer".split())
_END_OF_SYSTEM = "<</SYS>>"
#: Tags that say in an argument what they hold: `<parameter name="query">`.
ARGUMENT_TAGS = ("parameter", "param", "arg", "argument", "field")
#: A tag with more before it on its line does not begin the line.
MAX_INDENTED = 40
#: Marks (one less if the text says who the assistant is) and rules that make a prompt: issues about assistants have some.
MIN_MARKS, MIN_RULES = 3, 3
#: A message with more words does more than continue the one before.
MAX_CONTINUATION = 6
#: A paragraph with more words may be the end of a longer text, which then belongs to it.
LONG_PARAGRAPH = 30
#: A longer line is read by sentences.
LONG_LINE = 150
#: Characters of a prompt that are looked at; an opening line is this near to its beginning, the question this near to its end.
MAX_LOOKED_AT, OPENING_WITHIN, LATE = 24_000, 1_500, 3_000
#: A prompt on one line with a literal `\n` at least every so many characters was escaped.
ESCAPED_EVERY = 400
#: The word example within so many characters before a label makes it one.
EXAMPLE_WITHIN = 200
#: Paragraphs of rules that may follow the question, and labels that are looked at, from the last.
MAX_AFTER, MAX_LABELS = 6, 20


def question_in_chat(text: str) -> CleanedQuery | None:
    """The last message of the user that asks something, in a conversation of at least two speakers."""
    turns = list(_PATTERN["SPEAKER"].finditer(text))
    speakers = [next(name for name in turn.groups() if name).lower() for turn in turns]
    others = set(speakers) - _USERS
    if len(others) == len(set(speakers)) or not (others or "[inst]" in speakers):
        return None
    if others <= _ALSO_SETTINGS and all(turn["label"] and turn["label"].islower() for turn in turns) and not is_prompt(text):
        return None
    of_user = [number for number, speaker in enumerate(speakers) if speaker in _USERS]
    if others and is_prompt(text) and _is_example(text, turns[of_user[-1]].start()):
        return None
    ends = [*(turn.start() for turn in turns[1:]), len(text)]
    messages = [_message(text[turns[number].end() : ends[number]]) for number in of_user]
    requests = [message for message in messages if has_content_words(message)]
    if not requests:
        return None
    last = next((message for message in reversed(requests) if not is_continuation(message)), requests[-1])
    return CleanedQuery(last, CHAT, "what the user said last in a pasted conversation was asked")


def _is_example(text: str, place: int) -> bool:
    """Whether text at a place belongs to the prompt: it is far from the end, or introduced as an example."""
    return place < len(text) - LATE or _PATTERN["EXAMPLE"].search(text, max(place - LATE // 2, 0), place) is not None


def _message(text: str) -> str:
    return _PATTERN["END_OF_TURN"].sub(" ", text.rpartition(_END_OF_SYSTEM)[2]).strip("| \t\n")


def is_continuation(message: str) -> bool:
    """Whether a message only continues the one before, such as "yes, please do"."""
    return len(message.split()) <= MAX_CONTINUATION and _PATTERN["CONTINUATION"].match(message) is not None


def is_prompt(text: str) -> bool:
    """Whether a text tells an assistant what it is and how to behave."""
    if _PATTERN["HEADED"].match(text) or any(_PATTERN["OPENING"].match(line) for line in text[:OPENING_WITHIN].split("\n")):
        return True
    if len(text) > MAX_LOOKED_AT:
        text = f"{text[: MAX_LOOKED_AT // 2]}\n{text[-MAX_LOOKED_AT // 2 :]}"
    if _PATTERN["ENDS_WITH_USER"].search(text):
        return True
    kinds = sum(1 for mark in _MARKS if mark.search(text))
    identity = _PATTERN["IDENTITY"].search(text) is not None
    return kinds >= MIN_MARKS - identity and sum(1 for sentence in _sentences(text) if _PATTERN["RULE"].match(sentence)) >= MIN_RULES


def _sentences(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield from [line] if len(line) <= LONG_LINE else _PATTERN["SENTENCE_END"].split(line)


def question_in_prompt(text: str) -> CleanedQuery | None:
    """The question in a prompt: after its label, or the last paragraph that is not a rule."""
    if not is_prompt(text):
        return None
    end = _unfolded(text[-MAX_LOOKED_AT:])
    unfenced = _without_fences(end)
    blocks = [one for one in find_tagged_blocks(unfenced, cut=len(text) > MAX_LOOKED_AT) if one.begins_line]
    for part in (remove_blocks(unfenced, blocks), end):
        if found := _labelled(part):
            return CleanedQuery(found, PROMPT, "the question was found by its label in a pasted prompt")
        if found := _last_question(_paragraphs(part)):
            return CleanedQuery(found, PROMPT, "the question was taken from the end of a pasted prompt")
    return None


def _unfolded(text: str) -> str:
    """A prompt on one line, with its line breaks restored."""
    if "\n" in text.strip():
        return text
    text = text.replace("\\n", "\n") if text.count("\\n") * ESCAPED_EVERY > len(text) else _PATTERN["FOLD"].sub("\n\n", text)
    return _PATTERN["LEADING_FILE"].sub("", text)


def _without_fences(text: str) -> str:
    """A text without fenced code; a fence that is never closed does not count."""
    kept: list[str] = []
    fenced: list[str] = []
    for line in text.split("\n"):
        fence = _PATTERN["FENCE"].match(line)
        if fenced:
            fenced.append(line)
            if fence and not fence[2] and fenced[0].lstrip().startswith(fence[1]):
                kept.append("")
                fenced = []
        elif fence:
            fenced = [line]
        else:
            kept.append(line)
    return "\n".join([*kept, *fenced])


def _labelled(text: str) -> str:
    """The text after the last label near the end that belongs to no example and has more than rules after it."""
    for label in list(_PATTERN["LABEL"].finditer(text, max(len(text) - LATE, 0)))[: -MAX_LABELS - 1 : -1]:
        more = _paragraphs(text[label.end() :])[1:]
        in_example = _PATTERN["EXAMPLE"].search(text, max(label.start() - EXAMPLE_WITHIN, 0), label.start())
        if in_example and any(not _is_rules(one) for one in more):
            continue
        question = _until_next_part(text, label.end())
        if has_content_words(question) and not _is_rules(question):
            return question
    return ""


def _until_next_part(text: str, start: int) -> str:
    """The text of a label: the paragraph on its line, or everything below it."""
    beside = text[start:].partition("\n")[0].strip(" \t*_")
    while start < len(text) and text[start] in " \t\n*_\"'`":
        start += 1
    following = _PATTERN["NEXT_PART"].search(text, text.find("\n", start) + 1 or len(text))
    paragraphs = _PATTERN["BLANK_LINE"].split(text[start : following.start() if following else len(text)].strip())
    kept = next((number for number, one in enumerate(paragraphs) if number and (beside or _is_rules(one))), len(paragraphs))
    return _without_rules("\n\n".join(paragraphs[:kept])).strip(" \t\n\"'`")


def _paragraphs(text: str) -> list[str]:
    """Paragraphs; headings, rules and tags are their own."""
    separated = _PATTERN["SEPARATOR"].sub("\n\n\\g<0>\n\n", text[-LATE:])
    return [one for one in map(str.strip, _PATTERN["BLANK_LINE"].split(separated)) if one]


def _last_question(paragraphs: Sequence[str]) -> str:
    """The last paragraph that is not a rule, with those before it if it ends a longer text."""
    asked = [number for number, one in enumerate(paragraphs) if not _is_rules(one) and has_content_words(one)]
    if not asked or asked[-1] < len(paragraphs) - MAX_AFTER:
        return ""
    last = asked[-1]
    continues = len(paragraphs[last].split()) > LONG_PARAGRAPH and not _is_question(paragraphs[last])
    if continues and (questions := [number for number in asked if _is_question(paragraphs[number])]):
        last, continues = questions[-1], False
    first = last
    while continues and first - 1 in asked:
        first -= 1
    return _without_rules("\n\n".join(paragraphs[first : last + 1]))


def _is_question(paragraph: str) -> bool:
    return paragraph.rstrip("\"' )").endswith("?") or _PATTERN["QUESTION_LIKE"].match(paragraph) is not None


def _is_rules(paragraph: str) -> bool:
    """Whether at least half of a paragraph is rules or not prose."""
    sentences = [one for one in _sentences(paragraph) if one.strip()]
    return paragraph.endswith(":") or sum(1 for one in sentences if _is_rule(one)) * 2 >= len(sentences)


def _is_rule(sentence: str) -> bool:
    if any(_PATTERN[form].match(sentence) for form in _NOT_QUESTION) or _PATTERN["IDENTITY"].search(sentence):
        return True
    return _PATTERN["POSSIBLE_RULE"].match(sentence) is not None and _PATTERN["ABOUT_THE_ANSWER"].search(sentence) is not None


def _without_rules(paragraph: str) -> str:
    """A paragraph without the rules before and after its question."""
    ends = [*(found.start() for found in _PATTERN["PART_END"].finditer(paragraph)), len(paragraph)]
    spans = list(zip([0, *ends], ends, strict=False))
    asked = [(start, end) for start, end in spans if has_content_words(paragraph[start:end]) and not _is_rule(paragraph[start:end].strip())]
    return (paragraph[asked[0][0] : asked[-1][1]] if asked else paragraph).strip()


# Tags.
@dataclass(frozen=True, slots=True)
class TaggedBlock:
    """The text between an opening and a closing tag, and whether the opening one begins a line."""

    name: str
    start: int
    inner_start: int
    inner_end: int
    end: int
    begins_line: bool
    argument: bool  # whether the tag says in an argument what it holds


def find_tagged_blocks(text: str, *, cut: bool = False) -> list[TaggedBlock]:
    """Every pair of tags in a text, in the order in which they close; a `cut` text may lack its first opening tags."""
    opened: dict[str, list[tuple[str, int, int]]] = {}
    found = []
    for tag in _TAG.finditer(text):
        name = tag["name"].lower()
        if not tag["closing"]:
            holds = tag["holds"] if name in ARGUMENT_TAGS and tag["holds"] else name
            opened.setdefault(name, []).append((holds, tag.start(), tag.end()))
        elif opened.get(name):
            holds, start, inner = opened[name].pop()
            near = max(start - MAX_INDENTED, 0)
            begins = not text[max(near, text.rfind("\n", near, start) + 1) : start].strip(" \t>")
            found.append(TaggedBlock(holds, start, inner, tag.start(), tag.end(), begins, name in ARGUMENT_TAGS))
        elif cut:
            found.append(TaggedBlock(name, 0, 0, tag.start(), tag.end(), begins_line=True, argument=False))
    return found


def remove_blocks(text: str, blocks: Sequence[TaggedBlock]) -> str:
    """A text without some blocks of it."""
    left, place = [], 0
    for block in outermost(blocks):
        left.append(text[place : block.start])
        place = block.end
    return "\n\n".join([*left, text[place:]]).strip()


def outermost(blocks: Sequence[TaggedBlock]) -> list[TaggedBlock]:
    """The blocks that are inside no other, in order."""
    found: list[TaggedBlock] = []
    for block in sorted(blocks, key=lambda one: (one.start, -one.end)):
        if not found or block.start >= found[-1].end:
            found.append(block)
    return found
