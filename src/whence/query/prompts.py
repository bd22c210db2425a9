"""A question among words to or of an assistant: in a prompt, or in a conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whence.query import prompt_words as spoken
from whence.query.hygiene import CHAT, PROMPT, Question, says_something
from whence.query.tags import tagged, without

#: Kinds of sayings (one less where it is told who is spoken to) and rules that make a prompt: issues about assistants have some.
FEWEST_MARKS, FEWEST_RULES = 3, 3
#: A message of at most so many words may only go on from the one before.
MOST_GOING_ON = 6
#: A paragraph with more words may be the end of a longer text, which then belongs to it.
LONG_PARAGRAPH = 30
#: A line with more letters is read by sentences.
LONG_LINE = 150
#: Letters of a prompt that are looked at. So near to the beginning a line can open it, so near to the end the question stands.
LOOKED_AT, OPENED_WITHIN, LATE = 24_000, 1_500, 3_000
#: A prompt on one line with a written `\\n` at least every so many letters was escaped.
ESCAPED_EVERY = 400
#: Letters before a label in which the word example makes it one.
EXAMPLE_WITHIN = 200
#: Paragraphs of rules that may follow on the question, and labels that are looked at, from the last.
MOST_AFTER, MOST_LABELS = 6, 20


def out_of_chat(text: str) -> Question | None:
    """The last message of the user that asks something, in a conversation with at least two who speak."""
    turns = list(spoken.SPEAKER.finditer(text))
    speakers = [next(name for name in turn.groups() if name).lower() for turn in turns]
    others = set(speakers) - spoken.USERS
    if len(others) == len(set(speakers)) or not (others or "[inst]" in speakers):
        return None
    if others <= spoken.ALSO_A_SETTING and all(turn["label"] and turn["label"].islower() for turn in turns) and not is_prompt(text):
        return None
    of_user = [number for number, speaker in enumerate(speakers) if speaker in spoken.USERS]
    if others and is_prompt(text) and _is_example(text, turns[of_user[-1]].start()):
        return None
    ends = [*(turn.start() for turn in turns[1:]), len(text)]
    said = [_message(text[turns[number].end() : ends[number]]) for number in of_user]
    asking = [message for message in said if says_something(message)]
    if not asking:
        return None
    last = next((message for message in reversed(asking) if not goes_on(message)), asking[-1])
    return Question(last, CHAT, "what the user said last in a pasted conversation was asked")


def _is_example(text: str, place: int) -> bool:
    """Whether what a prompt says at a place belongs to the prompt: it is not near the end, or said to be an example."""
    return place < len(text) - LATE or spoken.EXAMPLE.search(text, max(place - LATE // 2, 0), place) is not None


def _message(text: str) -> str:
    return spoken.END_OF_TURN.sub(" ", text.rpartition(spoken.END_OF_SYSTEM)[2]).strip("| \t\n")


def goes_on(message: str) -> bool:
    """Whether a message only goes on from the one before, as "yes, please do" does."""
    return len(message.split()) <= MOST_GOING_ON and spoken.GOES_ON.match(message) is not None


def is_prompt(text: str) -> bool:
    """Whether a text tells an assistant what it is and how to behave."""
    if spoken.HEADED.match(text) or any(spoken.OPENING.match(line) for line in text[:OPENED_WITHIN].split("\n")):
        return True
    if len(text) > LOOKED_AT:
        text = f"{text[: LOOKED_AT // 2]}\n{text[-LOOKED_AT // 2 :]}"
    if spoken.ENDS_WITH_USER.search(text):
        return True
    kinds = sum(1 for mark in spoken.MARKS if mark.search(text))
    identity = spoken.IDENTITY.search(text) is not None
    return kinds >= FEWEST_MARKS - identity and sum(1 for sentence in _sentences(text) if spoken.RULE.match(sentence)) >= FEWEST_RULES


def _sentences(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield from [line] if len(line) <= LONG_LINE else spoken.SENTENCE_END.split(line)


def out_of_prompt(text: str) -> Question | None:
    """The question in a prompt: under its label, or the last paragraph that is no rule."""
    if not is_prompt(text):
        return None
    end = _unfolded(text[-LOOKED_AT:])
    for part in (_outside(end, cut=len(text) > LOOKED_AT), end):
        if found := _labelled(part):
            return Question(found, PROMPT, "the question was found by its label in a pasted prompt")
        if found := _last_asked(_paragraphs(part)):
            return Question(found, PROMPT, "the question was taken from the end of a pasted prompt")
    return None


def _unfolded(text: str) -> str:
    """A prompt that was written on one line, in lines again."""
    if "\n" in text.strip():
        return text
    text = text.replace("\\n", "\n") if text.count("\\n") * ESCAPED_EVERY > len(text) else spoken.FOLD.sub("\n\n", text)
    return spoken.LEADING_FILE.sub("", text)


def _outside(text: str, *, cut: bool) -> str:
    """A prompt without what stands in tags or between fences."""
    unfenced = _without_fences(text)
    return without(unfenced, [one for one in tagged(unfenced, cut=cut) if one.begins_line])


def _without_fences(text: str) -> str:
    """A text without fenced code; a fence that is never closed fences nothing."""
    kept: list[str] = []
    fenced: list[str] = []
    for line in text.split("\n"):
        fence = spoken.FENCE.match(line)
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
    """What stands after the last label near the end that is no example's and has something other than rules after it."""
    for label in list(spoken.LABEL.finditer(text, max(len(text) - LATE, 0)))[: -MOST_LABELS - 1 : -1]:
        more = _paragraphs(text[label.end() :])[1:]
        if any(not _is_rules(one) for one in more) and spoken.EXAMPLE.search(text, max(label.start() - EXAMPLE_WITHIN, 0), label.start()):
            continue
        said = _until_next_part(text, label.end())
        if says_something(said) and not _is_rules(said):
            return said
    return ""


def _until_next_part(text: str, start: int) -> str:
    """What a label says: the paragraph that goes on from it, or all that stands under it."""
    beside = text[start:].partition("\n")[0].strip(" \t*_")
    while start < len(text) and text[start] in " \t\n*_\"'`":
        start += 1
    following = spoken.NEXT_PART.search(text, text.find("\n", start) + 1 or len(text))
    paragraphs = spoken.BLANK_LINE.split(text[start : following.start() if following else len(text)].strip())
    kept = next((number for number, one in enumerate(paragraphs) if number and (beside or _is_rules(one))), len(paragraphs))
    return _without_rules("\n\n".join(paragraphs[:kept])).strip(" \t\n\"'`")


def _paragraphs(text: str) -> list[str]:
    """Paragraphs, with headings, lines across and tags apart."""
    return [one for one in map(str.strip, spoken.BLANK_LINE.split(spoken.APART.sub("\n\n\\g<0>\n\n", text[-LATE:]))) if one]


def _last_asked(paragraphs: Sequence[str]) -> str:
    """The last paragraph that is no rule; with those before it where it is the end of a longer text."""
    asked = [number for number, one in enumerate(paragraphs) if not _is_rules(one) and says_something(one)]
    if not asked or asked[-1] < len(paragraphs) - MOST_AFTER:
        return ""
    last = asked[-1]
    goes_on_from = len(paragraphs[last].split()) > LONG_PARAGRAPH and not _is_question(paragraphs[last])
    if goes_on_from and (questions := [number for number in asked if _is_question(paragraphs[number])]):
        last, goes_on_from = questions[-1], False
    first = last
    while goes_on_from and first - 1 in asked:
        first -= 1
    return _without_rules("\n\n".join(paragraphs[first : last + 1]))


def _is_question(paragraph: str) -> bool:
    return paragraph.rstrip("\"' )").endswith("?") or spoken.QUESTION_LIKE.match(paragraph) is not None


def _is_rules(paragraph: str) -> bool:
    """Whether at least half of a paragraph lays down rules or is no prose at all."""
    sentences = [one for one in _sentences(paragraph) if one.strip()]
    return paragraph.endswith(":") or sum(1 for one in sentences if _is_rule(one)) * 2 >= len(sentences)


def _is_rule(sentence: str) -> bool:
    if any(form.match(sentence) for form in (spoken.RULE, spoken.NO_SENTENCE, spoken.LISTED)) or spoken.IDENTITY.search(sentence):
        return True
    return spoken.PERHAPS_RULE.match(sentence) is not None and spoken.ABOUT_THE_ANSWER.search(sentence) is not None


def _without_rules(paragraph: str) -> str:
    """A paragraph without the rules before and after what is asked in it."""
    ends = [*(found.start() for found in spoken.PART_END.finditer(paragraph)), len(paragraph)]
    spans = list(zip([0, *ends], ends, strict=False))
    asked = [(start, end) for start, end in spans if says_something(paragraph[start:end]) and not _is_rule(paragraph[start:end].strip())]
    return (paragraph[asked[0][0] : asked[-1][1]] if asked else paragraph).strip()
