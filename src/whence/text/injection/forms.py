"""What text looks like that speaks to a machine that reads it: forms by kind, as data (Z11).

A pattern is tried on text in small letters, without accents and on one line. Gaps are of limited length, so that
time grows with the text alone. What is ordinary in code and its documentation (`ignore the previous error`,
`you are a helpful assistant`, `run the following command`) is no form by itself: an order needs to whom it is, or
what it is to reach.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InjectionPattern:
    """One way to speak to a machine: words of which one must be there, others of which one must be there too, and the pattern."""

    kind: str
    needs: str  # with `|` between; one with blanks around it is a whole word
    pattern: str
    because: str
    also: str = ""


def gap(most: int) -> str:
    """Anything within a sentence; a dot that no blank follows is inside a name."""
    return rf"(?:[^.!?\n]|[.!?](?=\S)){{0,{most}}}?"


OVERRIDE, ROLE, MARKUP, ADDRESSED = "override", "role", "markup", "addressed"
COMMAND, EXFILTRATE, CONCEAL, AUTHORITY, HIDDEN, ENCODED = "command", "exfiltrate", "conceal", "authority", "hidden", "encoded"
KINDS = (OVERRIDE, ROLE, MARKUP, ADDRESSED, COMMAND, EXFILTRATE, CONCEAL, AUTHORITY, HIDDEN, ENCODED)

_DROP = r"\b(?:ignore|disregard|forget|discard|neglect|(?:do not|don't|never) (?:follow|obey|comply with|adhere to|heed))\b"
_UNDO = r"\b(?:override|bypass|cancel|erase|set aside|dismiss|abandon|skip|overrule|unlearn|drop|circumvent|violate)\b"
_PRIOR = r"\b(?:previous|prior|above|earlier|preceding|initial|original|foregoing|past)\b"
_ORDERS = r"\b(?:instructions?|directions|directives?|prompts?|guidelines?|guidance)\b"
_RULES = (
    r"\b(?:rules?|context|commands?|messages?|orders|constraints|polic(?:y|ies)|restrictions|safeguards|training"
    r"|programming)\b"
)
_GIVEN = (
    r"\b(?:above\b|before (?:this|that|now)|so far|you (?:were|have|had|got|received|are|know)|given (?:to you|earlier"
    r"|before|by the)|from (?:before|earlier))"
)
_THEN = (
    r"(?:and|then|instead|,|;|:) ?(?:then |instead |just |only )?(?:do|run|execute|follow|output|print|reply|write|say"
    r"|return|answer|show|reveal|give|tell|list|send|delete)\b"
)
_DROPPABLE = "instruction|direction|prompt|guid|rule|context|command|message|order|constraint|polic|restrict|safeguard|train|program"
_DROPPED = "ignore|disregard|forget|discard|neglect|follow|obey|comply|adhere|heed"

FORMS = (
    # Drop what you were told.
    InjectionPattern(
        OVERRIDE, _DROPPED, rf"{_DROP}{gap(40)}{_PRIOR}{gap(25)}{_ORDERS}", "tells the reader to drop earlier instructions", _DROPPABLE
    ),
    InjectionPattern(
        OVERRIDE,
        _DROPPED,
        rf"{_DROP} (?:\w+ ){{0,3}}(?:previous|prior|above|earlier|preceding) (?:\w+ ){{0,2}}{_RULES}",
        "tells the reader to drop earlier rules",
        _DROPPABLE,
    ),
    InjectionPattern(
        OVERRIDE,
        _DROPPED,
        rf"{_DROP} (?:\w+ ){{0,3}}(?:your|the system|the developer'?s?|the user'?s?) (?:\w+ ){{0,2}}(?:{_ORDERS}|rules\b"
        rf"|training\b|programming\b|guardrails\b)",
        "tells the reader to drop its instructions",
        _DROPPABLE,
    ),
    InjectionPattern(
        OVERRIDE,
        _DROPPED,
        rf"{_DROP}{gap(30)}(?:{_ORDERS}|\brules\b|\bcommands\b){gap(25)}{_GIVEN}",
        "tells the reader to drop given instructions",
        _DROPPABLE,
    ),
    InjectionPattern(
        OVERRIDE,
        _DROPPED,
        rf"{_DROP} (?:everything|anything|all|whatever|what) (?:that )?(?:you (?:were|have|had|know)|i (?:said|told)|(?:is "
        rf"|was |came |comes )?(?:above|before)(?: this)?(?: \w+)? {_THEN})",
        "tells the reader to drop what it was told",
    ),
    InjectionPattern(
        OVERRIDE,
        _DROPPED,
        rf"{_DROP} (?:the )?(?:above|previous|user|foregoing),? {_THEN}|{_DROP} (?:whatever|what) the (?:user|developer"
        rf"|operator|system)|(?:do not|don't) (?:obey|follow) the (?:user|developer)",
        "tells the reader to drop what it was asked",
    ),
    InjectionPattern(
        OVERRIDE, "forget", r"\bforget everything (?:you|about your|above|i (?:said|told))\b", "tells the reader to forget everything"
    ),
    InjectionPattern(
        OVERRIDE,
        "follow",
        r"\b(?:not|only) follow (?:any )?(?:instructions|rules) (?:other than|besides|except|in|from|of|below)\b"
        r"|\bfollow only (?:the|these|my) (?:instructions|rules|steps)|\bobey only\b",
        "says whose instructions are to be followed",
    ),
    InjectionPattern(
        OVERRIDE,
        "override|bypass|cancel|erase|set aside|dismiss|abandon|skip|overrule|unlearn|drop|circumvent|violate",
        rf"{_UNDO} (?:all |any |of |every ){{0,3}}your (?:\w+ ){{0,2}}(?:{_ORDERS}|{_RULES}|memory\b)"
        rf"|{_UNDO} (?:\w+ ){{0,2}}{_PRIOR} (?:\w+ )?\b(?:instructions|directives|guidelines)\b",
        "tells the reader to undo its instructions",
    ),
    InjectionPattern(
        OVERRIDE,
        "instruction|guid|rule|directive|prompt",
        rf"(?:\byour\b|{_PRIOR}|\byou\b){gap(40)}(?:{_ORDERS}|\brules\b){gap(30)}\b(?:no longer (?:apply|applies|valid"
        rf"|count|matter)|(?:are|is|were|have been|has been) (?:now )?(?:void|cancell?ed|outdated|revoked|superseded"
        rf"|suspended|obsolete)|(?:do|does) not (?:apply|count))",
        "says that earlier instructions are void",
    ),
    InjectionPattern(
        OVERRIDE,
        "instruction|guid|rule|directive|prompt",
        rf"(?:{_ORDERS}|\brules\b){gap(25)}(?:above|earlier|{_GIVEN}"
        rf"|from the first message){gap(25)}\b(?:no longer (?:apply|applies|valid|count)|(?:are|is"
        rf"|were) (?:now )?(?:no longer valid|void|cancell?ed|outdated|revoked)|(?:do|does) not (?:apply|count))",
        "says that earlier instructions are void",
    ),
    InjectionPattern(
        OVERRIDE,
        "new",
        r"\bnew (?:system )?(?:instructions|prompt|directives?)(?: from (?:the )?\w+)? ?(?::|(?:override|replace"
        r"|supersede)s? (?:the|your|all|any))",
        "announces new instructions",
    ),
    InjectionPattern(
        OVERRIDE,
        "precedence|priority|overrid|supersede",
        rf"\b(?:takes? precedence|(?:have|has|take) priority|overrid(?:es?|ing)|supersedes?) (?:over )?(?:(?:all|any|every"
        rf"|the) )*(?:your|the system prompt|system prompt|{_PRIOR} (?:\w+ )?{_ORDERS}|(?:developer|user"
        rf"|system)(?:'s)? {_ORDERS})",
        "claims to be above the reader's instructions",
    ),
    InjectionPattern(
        OVERRIDE,
        "above was|system prompt says",
        r"\b(?:everything|all|the text) above was (?:only |just )?a (?:test|joke|draft)|whatever the system prompt says"
        r"|\bregardless of (?:your|the system) (?:prompt|instructions)",
        "tells the reader to drop earlier instructions",
    ),
    # Other languages.
    InjectionPattern(
        OVERRIDE,
        "ignorier|vergiss|vergesse|missacht|beacht|verwirf|verwerf|befolg|uberg",
        r"\b(?:ignorier\w*|vergiss|vergessen sie|missacht\w*|beacht\w*|verw[ie]rf\w*|befolg\w*"
        r"|ubergeh\w*)\b.{0,40}?\b(?:vorherig|vorig|bisherig|obig|fruher|vorangegangen|ursprunglich"
        r"|vorhergehend)\w*\b.{0,20}?(?:anweisung|instruktion|regel|befehl|vorgabe|prompt|richtlinie)",
        "tells the reader to drop earlier instructions",
    ),
    InjectionPattern(
        OVERRIDE,
        "ignore|oublie|compte|neglige|suis|suive|abstraction|outre",
        r"\b(?:ignore[rz]?|oublie[rz]?|ne (?:tiens|tenez|tenir) pas compte|neglige[rz]?|ne (?:suis|suivez) pas|(?:fais"
        r"|faites) abstraction|passe[rz]? outre)\b.{0,30}?\b(?:instructions?|consignes?|regles?|directives?"
        r"|ordres?)\b.{0,20}?\b(?:precedent|anterieur|ci-dessus|initial|recu|prealable)",
        "tells the reader to drop earlier instructions",
        also="consigne|instruction|regle|directive|ordre",
    ),
    InjectionPattern(
        OVERRIDE,
        "ignor|olvid|omit|descart|no sigas|omiso|por alto|esquec|desconsider|nao siga|dimentic|trascur|non seguire",
        r"\b(?:ignor\w+|olvid\w+|omit\w+|descart\w+|no (?:sigas|obedezcas)|caso omiso|por alto|esquec\w+|desconsider\w+"
        r"|nao siga\w*|dimentic\w+|trascur\w+|non seguire)\b.{0,30}?\b(?:instrucciones|reglas|ordenes|indicaciones"
        r"|directrices|instrucoes|regras|ordens|comandos|istruzioni|regole|ordini|comandi)\b.{0,20}?\b(?:anterior|previ"
        r"|arriba|inicia|recib|acima|precedent|sopra|inizial|receb)",
        "tells the reader to drop earlier instructions",
        also="instruc|regla|ordenes|indicacion|directric|regra|ordens|comand|istruz|regol|ordini",
    ),
    InjectionPattern(
        OVERRIDE,
        "игнорир|забуд|не обраща|не следу|отбрось|пренебре|отмени",
        r"(?:игнорир|забуд|не обраща|не следу|отбрось|пренебре|отмени)\w*.{0,40}?(?:(?:предыдущ|прежн|ранее|прошл"
        r"|изначальн)\w*.{0,20}?(?:инструкци|указани|правил|команд|распоряжени|промпт)|(?:инструкци|указани|правил"
        r"|команд)\w*.{0,10}?выше)",
        "tells the reader to drop earlier instructions",
    ),
    InjectionPattern(
        OVERRIDE,
        "忽略|无视|無視|忘记|忘記|忘掉|不要遵|不要理|抛弃|丢弃|不必遵",
        r"(?:忽略|无视|無視|忘记|忘記|忘掉|不要遵[守循]|不要理会|抛弃|丢弃|不必遵守).{0,12}?(?:以上|之前|先前|前面|上面|上述|此前|原来|原先|收到).{0,8}?(?:指令|指示|规则|規則|提示"
        r"|命令|说明|要求)",
        "tells the reader to drop earlier instructions",
    ),
    InjectionPattern(
        OVERRIDE,
        "無視|忘れ|従わ|破棄",
        r"(?:以前|これまで|上記|前|先|今まで|ここまで|元).{0,6}?(?:指示|命令|ルール|規則|プロンプト).{0,12}?(?:無視|忘れ|従わ|破棄)",
        "tells the reader to drop earlier instructions",
    ),
    InjectionPattern(
        OVERRIDE,
        "무시|잊|따르지|버려",
        r"(?:이전|위|앞선|앞의|지금까지|기존|상기|원래).{0,8}?(?:지시|명령|지침|규칙|프롬프트).{0,14}?(?:무시|잊|따르지|버려)",
        "tells the reader to drop earlier instructions",
    ),
    InjectionPattern(
        ROLE,
        "bist jetzt|sind jetzt|你现在是|你現在是|eres ahora|ahora eres|tu es maintenant|vous etes maintenant",
        r"\b(?:du bist|sie sind) jetzt .{0,60}?\b(?:ohne|assistent|modell|modus)|你[现現]在是.{0,12}?(?:没有|不受|ai|助手|模型|管理员)"
        r"|\b(?:ahora eres|eres ahora|(?:tu es|vous etes) maintenant) .{0,40}?\b(?:sin|sans|asistente|assistant|modelo"
        r"|modele)",
        "gives the reader a role",
    ),
    InjectionPattern(
        ADDRESSED,
        "eine ki|une ia|una ia|un modelo|un modele|uma ia|ein sprachmodell|ai助手|人工智能|语言模型|aiアシスタント|ии-|искусственн",
        r"\b(?:wenn|falls) (?:du|sie) (?:eine ki|ein sprachmodell)|\bsi (?:vous etes|tu es|eres|usted es) (?:une? (?:ia"
        r"|modele|assistant)|una? (?:ia|modelo|asistente))|\bse (?:voce e|sei) (?:uma? ia|un'ia|um modelo)|如果你是.{0,4}(?:ai"
        r"|人工智能|语言模型|助手|机器人)|если (?:ты|вы) .{0,12}(?:ии|модель|ассистент)",
        "is addressed to a machine",
    ),
    InjectionPattern(
        CONCEAL,
        "benutzer|nutzer|utilisateur|usuario|utente|用户|пользовател",
        r"\b(?:sag\w*|erzahl\w*|verrat\w*|erwahn\w*).{0,20}?\b(?:benutzer|nutzer)\w*.{0,20}?\b(?:nichts|nicht|davon)"
        r"|\bne (?:dis|dites|mentionne[rz]?|revele[rz]?) .{0,20}?a l'utilisateur|\bno (?:le )?(?:digas|menciones|reveles"
        r"|cuentes)\b.{0,30}?\b(?:al )?usuario|(?:不要|别)(?:告诉|向|让)用户|не (?:говори|сообщаи"
        r"|рассказываи)\w*.{0,20}?пользовател",
        "tells the reader to hide something",
    ),
    # Roles.
    InjectionPattern(
        ROLE,
        "you are now",
        r"\byou are now (?!logged|signed|connected|ready|using|able)(?:(?:an?|the|my|in|called|known as) )*(?:\w+ ){0,3}"
        r"(?:assistant|ai|dan|\w*bot"
        r"|terminal|shell|administrator|admin|unrestricted|helper|persona|hacker|(?:developer|jailbreak|god|admin"
        r"|maintenance|unrestricted|sudo) mode)\b",
        "gives the reader a role",
    ),
    InjectionPattern(
        ROLE,
        "from now on|from this moment|from here on|you will now|you must now|you should now",
        r"\b(?:from (?:now|here) on|from this (?:moment|point)(?: on)?),? (?:you|your|act|obey|answer|respond"
        r"|always (?:answer|respond|reply))\b|\byou (?:will|must|should) now (?:act|behave|operate|respond|answer|be|obey"
        r"|edit|pretend)\b",
        "gives the reader a role",
    ),
    InjectionPattern(
        ROLE,
        "pretend|act as|behave as|roleplay|role-play|role play|assume the",
        r"\b(?:pretend (?:that )?you(?:'re| are| have| were)|act as (?:if|though) you (?:have|had|are|were)"
        r"|role-?\s?play(?:ing)? as|(?:pretend to be|act as|behave as|assume the (?:role|persona|identity) of) (?:an?|the"
        r"|my) (?:\w+ ){0,2}(?:ai|assistant|administrator|admin|human|hacker|unrestricted|linux terminal|expert"
        r"|language model)\b)",
        "gives the reader a role",
    ),
    InjectionPattern(
        ROLE,
        "restrict|limit|polic|filter|guideline|jailbreak|developer mode|do anything now|no longer|never refuse",
        r"\b(?:you|your|mode|model|assistant|answers?|respond|persona)\b.{0,50}?\b(?:no|without|not bound by|free (?:of"
        r"|from)|lifted|not subject to)\b (?:any |all |content |safety |ethical )*\b(?:restrictions?|limitations|limits"
        r"|polic(?:y|ies)|filters?|guidelines?|guardrails)\b|\bunrestricted (?:mode|assistant|model|ai)\b"
        r"|\bjailbreak mode\b|\bdo anything now\b|\bdeveloper mode\b.{0,50}?\b(?:restrict|safety|filter|polic)"
        r"|\brestrictions are (?:lifted|off|disabled|removed)|\bno polic(?:y|ies) appl(?:y|ies) to you",
        "says that the reader has no limits",
    ),
    InjectionPattern(
        ROLE,
        "you are no longer|you no longer",
        r"\byou (?:are )?no longer (?:an? (?:\w+ )?(?:assistant|ai|model|agent)|bound|restricted|follow|subject"
        r"|need to (?:follow|obey|ask))",
        "gives the reader a role",
    ),
    InjectionPattern(
        ROLE,
        "your new|your only|your real|your actual|your true|your primary",
        r"\byour (?:new|only|real|actual|true) (?:role|tasks?|goal|persona|identity|objective|instructions|mission|purpose"
        r"|job)\b.{0,15}?(?:\bis\b|\bare\b|\bstarts?\b|:)",
        "gives the reader a new task",
    ),
)

#: Marks of conversations, and of what this program itself says. Tried on lines as they are, in small letters.
MARKS = (
    (
        (
            r"<\|(?:im_start|im_end|im_sep|system|user|assistant|end|endoftext|start_header_id|end_header_id|eot_id|eom_id"
            r"|begin_of_text|end_of_turn)\|>"
        ),
        "has marks of a conversation",
    ),
    (r"\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>|(?<![\w\])])\[/?system(?: message)?\](?=\W)", "has marks of a conversation"),
    (r"^\W{0,6}#{1,4} ?(?:system|human|assistant|instruction|response)(?: prompt| message)? ?:", "looks like a turn of a conversation"),
    (r"^\W{0,6}#{1,4} ?system prompt\W{0,3}$", "looks like a turn of a conversation"),
    (
        r"^\W{0,6}(?:\[system\]|system(?: message| prompt)? ?:) ?.{0,80}?\b(?:you|the user|obey|ignore|agents?|assistant)\b",
        "looks like a turn of a conversation",
    ),
    (
        (
            r"(?<!\w)</?(?:system|assistant|human|instructions|important|untrusted_content|user_message|user_query"
            r"|system[-_](?:reminder|prompt|message|instructions?)|tool_(?:results?|calls?|use|response|output)"
            r"|function_(?:results?|calls?)|antml:\w{1,20}|command-message|user-prompt-submit-hook)(?=[\s>])[^>\n]{0,80}>"
        ),
        "has tags of a conversation",
    ),
    (r"<invoke name=", "has tags of a conversation"),
    (
        (
            r"[\"']role[\"'] ?: ?[\"'](?:system|assistant|developer"
            r"|tool)[\"'] ?, ?[\"']content[\"'] ?: ?[\"'][^\"'\n]{0,120}?\b(?:permission|approved|verified|bypass|obey"
            r"|merg(?:e|ing)|push(?:ing)?|the user has|ignore|delete)"
        ),
        "looks like a turn of a conversation",
    ),
    (
        (
            r"^(?:! line \d|not here ?[:(]|indexing .{0,40}% done\)|index(?: of \S{1,80})?: \d{1,9} files?, "
            r"|tokens: \d{1,9} asked, \d)"
        ),
        "looks like something that whence says",
    ),
)
#: A turn of a conversation by whose it is: two of them, one of which is a machine's or a human's, are a conversation.
TURN = r"(?:^|\\n)\W{0,4}(human|assistant|user|system)\b ?:"
MARKED = (
    "<|",
    "[inst",
    "[/inst",
    "<<sys",
    "<</sys",
    "_of_turn>",
    "#",
    "system",
    "assistant",
    "human",
    "user",
    "<",
    "! line",
    "not here",
    "index",
    "tokens:",
)

#: Letters of other alphabets that look like Latin ones; digits and signs that stand for letters.
LOOKALIKES = str.maketrans(
    ("\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u0261\u04cf\u03bf\u03b1\u03b5\u03c1\u03c5\u03b9\u2170"),
    "aeopcyxijshdgloaepuii",
)
LEET = str.maketrans("013457@$!", "oieastasi")
