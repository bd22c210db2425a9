"""How prompts, conversations and their parts are told from other texts: patterns only, each for one line or bounded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from whence.query.paste import CHAT, PROMPT, CleanedQuery, has_content_words
from whence.query.paste.tags import tagged, without

_WHO = (
    r"(?:assistant|agent|subagent|ai|bot|chatbot|copilot|model|system|tool|cli|engineer|expert|developer|programmer|specialist|architect"
    r"|reviewer|analyst|helper|researcher|companion|partner|tutor|debugger|maintainer|navigator|consultant)"
)
_AIM = r"your (?:task|role|job|goal|purpose|mission) is"
_SPOKEN_TO = (
    rf"\b(?:you(?:'re| are)(?: now)?|act as|acting as) (?:[\w.-]+, )?(?:\*\*)?(?:an? |the )?(?:[\w./+#'-]+,? ){{0,8}}?{_WHO}\b"
    r"|\bthe (?:assistant|agent|model) (?:is|are|can|must|should|has|will|never|always)\b"
)
#: Who is spoken to.
IDENTITY = re.compile(_SPOKEN_TO, re.IGNORECASE)
#: A line that opens a prompt, whatever follows. Names are told from other words by their capital.
OPENING = re.compile(
    r"(?:[#*>|\-_=\s]|<[\w-]+>|\[\w+\]|\b(?i:system|role|identity|persona|instructions?|prompt|overview|introduction)\b[\s:]*){0,12}"
    rf"(?:(?i:{_SPOKEN_TO})|(?i:{_AIM}\b)"
    r"|(?i:you(?:'re| are)) (?:\*\*)?[A-Z]\w+(?:\*\*)?(?:[,.(]| from| by| - |\s+an?\b)"
    rf"|(?i:(?:below|these|here) (?:are|is) [^\n]{{0,60}}\b(?:instructions|orders|rules|guidelines)\b[^\n]{{0,40}}{_WHO}\b)"
    rf"|(?i:as an? (?:[\w-]+ ){{0,4}}{_WHO}\b[^\n.]{{0,60}}, you\b)"
    r"|(?i:(?:hello|hi|hey)\W+)?(?i:from now on,? you\b|i want you to act|as an ai\b|system prompt\b"
    r"|you (?:will|must|should) (?:act|be given|help|assist|answer|respond)\b))"
)
#: A heading or a tag at the very beginning that does the same.
HEADED = re.compile(
    r"\s*(?:<(?:role|persona|identity|system|system_prompt|instructions)>"
    r"|#{1,3} (?:your )?(?:role|persona|identity|system prompt|instructions)\b)",
    re.IGNORECASE,
)
#: What only an assistant is told, by the kind of saying: several kinds are a prompt, the same one several times is not.
MARKS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"\b{_AIM} to\b",
        r"\b(?:you have (?:access to|been given|the following)|you (?:are|will be) (?:given|provided)|you can use the following)\b",
        r"\b(?:as an ai|language model|llm|system prompt|knowledge cut-?off|training data|context window|prompt injection)\b",
        r"\b(?:(?:available|following|provided|these|your) tools?|tool (?:calls?|use|results?|outputs?)|call(?:ing)? (?:the |a )?tools?)\b",
        r"\b(?:today'?s date is|is directory a git repo|os version:|(?:working directory|current (?:date|time|directory))\s*(?:is|:))",
        r"\b(?:your|the final|every|each) (?:responses?|answers?|reply|replies|output)\b",
        r"\b(?:respond|answer|reply) (?:only|in|with|to the|concisely|briefly|directly|using|based|the (?:following|user|question))\b",
        r"\bthe user(?:'s)? (?:asks?|asked|request|requests|question|query|wants|message|has asked|input|will|provides|says|is working)\b",
        r"\b(?:step[- ]by[- ]step|chain of thought|hallucinat\w+|make up (?:facts|answers)|cite (?:your )?sources|be (?:concise|honest))\b",
        r"\b(?:this|the) (?:conversation|chat|session)\b|\bprevious (?:messages|turns|conversation)\b",
    )
)
#: A text of several paragraphs whose last is what a user says.
ENDS_WITH_USER = re.compile(
    r"\n[ \t]*\n[ \t]*(?:\*\*)?(?:User|Human|User (?:question|query|request))(?:\*\*)?:[^\n]+"
    r"(?:\n+[ \t]*(?:\*\*)?(?:Assistant|AI)(?:\*\*)?:)?\s*\Z"
)

_ITEM = r"(?:[-*•+]|\(?\d{1,3}[.)])[ \t]+"
_BULLET = rf"^[ \t>]*(?:{_ITEM}|[a-z]\)[ \t]+)?(?:\*\*|__|[\"'_])?"
#: A line that lays down a rule, or says a word of thanks.
RULE = re.compile(
    _BULLET
    + r"(?:always|never|do not|don't|make sure|you're|your|respond\b|reply\b|refuse|answer (?!to)|under no circumstances|today'?s date"
    r"|you (?:must|should|can|may|will|are|have|need|shall|might|know|also|never|always|do|work|help)"
    r"|be (?:concise|careful|brief|precise|helpful|honest|direct|specific|proactive|thorough|polite|as|sure)|be \w+[.!]?$|/\w+$"
    r"|(?:important|critical|note|warning|remember|reminder|caution)\b\s*[:!]|think (?:step|carefully|about|before)"
    r"|if (?:you|the user|unsure|asked|necessary|needed|there (?:is|are) (?:no|not)|a (?:tool|file|command|question)|something)"
    r"|when (?:you|the user|asked|answering|responding|searching|making|using|in doubt|writing|editing|referencing|calling|possible)"
    r"|before (?:you|answering|responding|making|editing|calling|each|any)|after (?:you|each|every|making|editing|calling)"
    r"|please (?:answer|respond|be|keep|return|cite|provide|note|make sure|do|don't)|let'?s (?:think|take)|take a deep breath"
    r"|thanks|thank you|cheers|good luck|(?:best|kind|warm|many) (?:regards|thanks|wishes)|i (?:will|would) (?:appreciate|be grateful|tip)"
    r"|begin!?$|now (?:answer|respond|begin)|the (?:user|assistant|conversation|following|above)"
    r"|it is (?:critical|important|essential|forbidden)|for (?:each|every) (?:answer|response|question|step))\b",
    re.IGNORECASE,
)
#: Words that open a rule as well as a wish for a change; what else is said decides.
PERHAPS_RULE = re.compile(
    _BULLET + r"(?:use|avoid|prefer|ensure|keep|only|return|provide|follow|write|read|output|format|cite|limit|include|respect|treat|stop"
    r"|start|explain|summari[sz]e|quote|list|give|mention|say|report|assume|act|maintain|stay|work|try|verify|ask)\b",
    re.IGNORECASE,
)
ABOUT_THE_ANSWER = re.compile(
    r"\b(?:assistants?|the users?|your|you|answers?|responses?|reply|concise(?:ly)?|brief(?:ly)?|step[- ]by[- ]step|markdown|citations?"
    r"|tools?|prose|bullet points?|sentences?|words or less|verbatim|only the|file paths?|no preamble|conversation|emojis?|json)\b",
    re.IGNORECASE,
)
#: Lines of an environment, a table, a tree, a schema, a list of files: no sentences.
NO_SENTENCE = re.compile(
    r"^\s*(?:[-*•]?\s*(?:\*\*)?[A-Z][\w /()'-]{1,40}(?:\*\*)?:(?:\*\*)?(?:\s|$)|[|├└│]|#{1,6}\s|[{}\[\]\"]|</?[\w-]+[^>]*>\s*$"
    r"|[-=_*]{3,}\s*$|```|~~~|[A-Z][A-Z /_-]{3,40}:?$|[ MADRCU?]{1,2} \S+$|\w+=\S*$|[\w@.-]*/\S*$|[\w@-]+\.[a-z]\w{0,5}$|\$ )"
)
LISTED = re.compile(rf"^[ \t>]*{_ITEM}\S")

_ASKED = r"(?:question|query|request|task)"
_PERHAPS_ASKED = r"(?:prompt|input|problem|issue|goal|objective|instructions?|message|ask)"
_OF_USER = (
    r"(?:the |this |my |our |your )?(?:user(?:'s|s)?|human(?:'s)?|customer(?:'s)?|current|actual|final|latest|original|search|real"
    r"|following)"
    rf" (?:{_ASKED}|{_PERHAPS_ASKED})"
)
#: Where a prompt says that now the question comes: a label with what follows on its line, or a heading.
LABEL = re.compile(
    r"^(?=[^A-Za-z\n]*(?-i:[A-Z]))[ \t>]*(?:#{1,6}[ \t]*|\*\*|__|\[)?(?:here(?:'s| is) |this is |now |below is |and )?"
    rf"(?:{_OF_USER}|(?:the |my )?{_ASKED}|user|human|q)(?: is| follows| to answer| below)?(?:\*\*|__|\])?[ \t]*:(?:\*\*|__)?"
    rf"|^[ \t]*(?:#{{1,6}}|={{2,}}|-{{2,}})[ \t]*(?:{_OF_USER}|(?:(?:the|my|your) )?{_ASKED})[ \t]*[=#:-]*[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
#: Where something else begins: a heading, a line across, a tag, the label of another part.
NEXT_PART = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]|[-=_*]{3,}[ \t]*$|={2,}|</?[\w-]+[^>\n]{0,80}>[ \t]*$"
    r"|(?:\*\*|__|\[)?(?:relevant |additional |retrieved |previous |chat |some )?"
    r"(?:context|background|answer|assistant|response|output|constraints?|notes?|rules|format|examples?|thoughts?|action|observation"
    r"|tools?|history|instructions?|environment|files?|code|system|ai|a|reasoning|requirements|guidelines|results|snippets|documents?"
    r"|reminder|important)(?: \w+)?(?:\*\*|__|\])?[ \t]*:)",
    re.IGNORECASE | re.MULTILINE,
)
EXAMPLE = re.compile(r"(?<![/\w])(?:examples?|e\.g\.|for instance|few-shot|samples?)(?![/.\w])", re.IGNORECASE)
QUESTION_LIKE = re.compile(
    r"^\W*(?:(?:please|can you|could you|i want to|i need to|i'd like to|help me|we need to|now|so|ok|hi|hey|hello)[ ,]+){0,3}"
    r"(?:how|where|what|which|why|who|when does|find|locate|show|explain|search|look|does|is there|are there|tell|trace|understand)\b",
    re.IGNORECASE,
)

BLANK_LINE = re.compile(r"\n[ \t]*\n\s*")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+")
PART_END = re.compile(r"(?<=[.!?])\s+|\n")
#: Lines that stand for themselves: headings, lines across, tags.
APART = re.compile(r"^[ \t]*(?:#{1,6}[ \t].*|[-=_*]{3,}[ \t]*|</?[\w-]+[^<>\n]{0,80}>[ \t]*)$", re.MULTILINE)
FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*(.*)")
#: Where a text was folded that stands on one line: after a sentence or a tag, before a tag, a heading, an item or a label.
FOLD = re.compile(
    r"(?<=[^\d\s][.!?])[\"')\]]*\s+|(?<=>)\s+|(?<!\s)\s+(?:[-=*_]{3,}\s+|[-*•] (?=\S)|(?=</?[\w-]+>|#{1,4} |\d{1,2}\. [A-Z]"
    r"|(?:User|Human|(?:User )?(?:Question|Query|Request|Task)):\s))"
)
#: The name of a file before a question that was folded up with a list of files.
LEADING_FILE = re.compile(r"(?<=\n)[\w@./-]*\w\.\w{1,6} (?=[^\n]+\Z)")

_NAMES = "user human you me customer client developer assistant ai bot chatbot claude chatgpt gpt copilot gemini model agent system tool"
_ROLE = f"(?P<{{}}>{'|'.join(_NAMES.split())})"
#: Who speaks: `User:`, `**Assistant:**`, `### Human`, `[user]`, `<|im_start|>user`, `[INST]`.
SPEAKER = re.compile(
    rf"^[ \t>]*(?:\[?\d[\d:., -]{{3,20}}\]?\s*)?(?:(?:\*\*|__|\#{{1,5}}[ \t]*|\[)?{_ROLE.format('label')}(?:\*\*|__|\])?"
    r"(?:[ \t]*[(\[][^)\]\n]{0,30}[)\]])?[ \t]*:(?:\*\*|__)?"
    rf"|\#{{1,5}}[ \t]*{_ROLE.format('heading')}[ \t]*$|\[{_ROLE.format('bracket')}\][ \t]*$)"
    rf"|<\|(?:im_start\|>|start_header_id\|>)?{_ROLE.format('token')}(?:\|>|<\|end_header_id\|>)?|(?P<inst>\[INST\])",
    re.IGNORECASE | re.MULTILINE,
)
USERS = frozenset("user human you me customer client [inst]".split())
#: Speakers that in small letters may as well be keys of a configuration.
ALSO_A_SETTING = frozenset("system tool model agent client developer".split())
END_OF_TURN = re.compile(r"<\|(?:im_end|eot_id|end|endoftext)\|>|\[/INST\]|</?s>")
END_OF_SYSTEM = "<</SYS>>"
GOES_ON = re.compile(
    r"\W*(?:yes|yep|yeah|no|ok(?:ay)?|sure|please|thanks?|thank you|go (?:on|ahead)|continue|do (?:it|that|so)|great|good|perfect|nice|cool"
    r"|try again|again|next|proceed|sounds good|right|correct|exactly)\b",
    re.IGNORECASE,
)


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


def out_of_chat(text: str) -> CleanedQuery | None:
    """The last message of the user that asks something, in a conversation with at least two who speak."""
    turns = list(SPEAKER.finditer(text))
    speakers = [next(name for name in turn.groups() if name).lower() for turn in turns]
    others = set(speakers) - USERS
    if len(others) == len(set(speakers)) or not (others or "[inst]" in speakers):
        return None
    if others <= ALSO_A_SETTING and all(turn["label"] and turn["label"].islower() for turn in turns) and not is_prompt(text):
        return None
    of_user = [number for number, speaker in enumerate(speakers) if speaker in USERS]
    if others and is_prompt(text) and _is_example(text, turns[of_user[-1]].start()):
        return None
    ends = [*(turn.start() for turn in turns[1:]), len(text)]
    said = [_message(text[turns[number].end() : ends[number]]) for number in of_user]
    asking = [message for message in said if has_content_words(message)]
    if not asking:
        return None
    last = next((message for message in reversed(asking) if not goes_on(message)), asking[-1])
    return CleanedQuery(last, CHAT, "what the user said last in a pasted conversation was asked")


def _is_example(text: str, place: int) -> bool:
    """Whether what a prompt says at a place belongs to the prompt: it is not near the end, or said to be an example."""
    return place < len(text) - LATE or EXAMPLE.search(text, max(place - LATE // 2, 0), place) is not None


def _message(text: str) -> str:
    return END_OF_TURN.sub(" ", text.rpartition(END_OF_SYSTEM)[2]).strip("| \t\n")


def goes_on(message: str) -> bool:
    """Whether a message only goes on from the one before, as "yes, please do" does."""
    return len(message.split()) <= MOST_GOING_ON and GOES_ON.match(message) is not None


def is_prompt(text: str) -> bool:
    """Whether a text tells an assistant what it is and how to behave."""
    if HEADED.match(text) or any(OPENING.match(line) for line in text[:OPENED_WITHIN].split("\n")):
        return True
    if len(text) > LOOKED_AT:
        text = f"{text[: LOOKED_AT // 2]}\n{text[-LOOKED_AT // 2 :]}"
    if ENDS_WITH_USER.search(text):
        return True
    kinds = sum(1 for mark in MARKS if mark.search(text))
    identity = IDENTITY.search(text) is not None
    return kinds >= FEWEST_MARKS - identity and sum(1 for sentence in _sentences(text) if RULE.match(sentence)) >= FEWEST_RULES


def _sentences(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield from [line] if len(line) <= LONG_LINE else SENTENCE_END.split(line)


def out_of_prompt(text: str) -> CleanedQuery | None:
    """The question in a prompt: under its label, or the last paragraph that is no rule."""
    if not is_prompt(text):
        return None
    end = _unfolded(text[-LOOKED_AT:])
    for part in (_outside(end, cut=len(text) > LOOKED_AT), end):
        if found := _labelled(part):
            return CleanedQuery(found, PROMPT, "the question was found by its label in a pasted prompt")
        if found := _last_asked(_paragraphs(part)):
            return CleanedQuery(found, PROMPT, "the question was taken from the end of a pasted prompt")
    return None


def _unfolded(text: str) -> str:
    """A prompt that was written on one line, in lines again."""
    if "\n" in text.strip():
        return text
    text = text.replace("\\n", "\n") if text.count("\\n") * ESCAPED_EVERY > len(text) else FOLD.sub("\n\n", text)
    return LEADING_FILE.sub("", text)


def _outside(text: str, *, cut: bool) -> str:
    """A prompt without what stands in tags or between fences."""
    unfenced = _without_fences(text)
    return without(unfenced, [one for one in tagged(unfenced, cut=cut) if one.begins_line])


def _without_fences(text: str) -> str:
    """A text without fenced code; a fence that is never closed fences nothing."""
    kept: list[str] = []
    fenced: list[str] = []
    for line in text.split("\n"):
        fence = FENCE.match(line)
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
    for label in list(LABEL.finditer(text, max(len(text) - LATE, 0)))[: -MOST_LABELS - 1 : -1]:
        more = _paragraphs(text[label.end() :])[1:]
        if any(not _is_rules(one) for one in more) and EXAMPLE.search(text, max(label.start() - EXAMPLE_WITHIN, 0), label.start()):
            continue
        said = _until_next_part(text, label.end())
        if has_content_words(said) and not _is_rules(said):
            return said
    return ""


def _until_next_part(text: str, start: int) -> str:
    """What a label says: the paragraph that goes on from it, or all that stands under it."""
    beside = text[start:].partition("\n")[0].strip(" \t*_")
    while start < len(text) and text[start] in " \t\n*_\"'`":
        start += 1
    following = NEXT_PART.search(text, text.find("\n", start) + 1 or len(text))
    paragraphs = BLANK_LINE.split(text[start : following.start() if following else len(text)].strip())
    kept = next((number for number, one in enumerate(paragraphs) if number and (beside or _is_rules(one))), len(paragraphs))
    return _without_rules("\n\n".join(paragraphs[:kept])).strip(" \t\n\"'`")


def _paragraphs(text: str) -> list[str]:
    """Paragraphs, with headings, lines across and tags apart."""
    return [one for one in map(str.strip, BLANK_LINE.split(APART.sub("\n\n\\g<0>\n\n", text[-LATE:]))) if one]


def _last_asked(paragraphs: Sequence[str]) -> str:
    """The last paragraph that is no rule; with those before it where it is the end of a longer text."""
    asked = [number for number, one in enumerate(paragraphs) if not _is_rules(one) and has_content_words(one)]
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
    return paragraph.rstrip("\"' )").endswith("?") or QUESTION_LIKE.match(paragraph) is not None


def _is_rules(paragraph: str) -> bool:
    """Whether at least half of a paragraph lays down rules or is no prose at all."""
    sentences = [one for one in _sentences(paragraph) if one.strip()]
    return paragraph.endswith(":") or sum(1 for one in sentences if _is_rule(one)) * 2 >= len(sentences)


def _is_rule(sentence: str) -> bool:
    if any(form.match(sentence) for form in (RULE, NO_SENTENCE, LISTED)) or IDENTITY.search(sentence):
        return True
    return PERHAPS_RULE.match(sentence) is not None and ABOUT_THE_ANSWER.search(sentence) is not None


def _without_rules(paragraph: str) -> str:
    """A paragraph without the rules before and after what is asked in it."""
    ends = [*(found.start() for found in PART_END.finditer(paragraph)), len(paragraph)]
    spans = list(zip([0, *ends], ends, strict=False))
    asked = [(start, end) for start, end in spans if has_content_words(paragraph[start:end]) and not _is_rule(paragraph[start:end].strip())]
    return (paragraph[asked[0][0] : asked[-1][1]] if asked else paragraph).strip()
