"""How prompts, conversations and their parts are told from other texts: patterns only, each for one line or bounded."""

from __future__ import annotations

import re

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
