"""Orders to a machine by what they are to reach: to whom they are, what is to be done, sent, hidden, and on whose word (Z11)."""

from __future__ import annotations

from whence.text.injection.forms import ADDRESSED, AUTHORITY, COMMAND, CONCEAL, ENCODED, EXFILTRATE, InjectionPattern, gap

#: Machines by names that people do not bear.
_AI = (
    r"\b(?:(?:ai|a\.i\.)(?:[ -](?:powered |coding |code |based )?(?:agents?|assistants?|models?|systems?|tools?"
    r"|reviewers?|bots?|scanners?|readers?|crawlers?))?"
    r"|artificial intelligences?|llms?|(?:large )?language models?|chat ?gpt|gpt-?[345o]\w*|claude(?: code)?|copilot"
    r"|gemini|codex|cursor ai"
    r"|(?:(?:coding|autonomous|automated|code|intelligent|virtual) )+(?:agents?|assistants?|reviewers?))\b"
)
_CALLED = rf"(?:{_AI}|\b(?:assistants?|agents?|bots?)\b)"
_DO = (
    r"\b(?:run|execute|call|invoke|fetch|open|browse|visit|navigate|read|send|post|include|add|append|insert|install"
    r"|delete|remove|disable|skip"
    r"|say|respond|reply|answer|output|print|ignore|approve|merge|edit|write|tell|state|recommend|suggest|mention"
    r"|treat|classify|report|rate"
    r"|give|set|comply|obey|follow|replace|describe|praise|import|push|commit|star|use|make sure|update|stop|fix|start"
    r"|grant|lgtm|paste|upload"
    r"|do not|don't|not|never|always|please|immediately|you)\b"
)
_MUST = (
    r"\b(?:must|should|shall|ought to|will|may|has to|have to|needs? to|(?:is|are) (?:required|instructed|obligated"
    r"|expected|asked|ordered|requested|told|authori[sz]ed) to|to:)"
)
_NAMES = " ai | ais | a i |llm|language model|gpt|claude|copilot|gemini|codex|agent|assistant|reviewer|intelligence| bot | bots "

_SENSITIVE = (
    r"(?:\.env\b|~/\.\w+|\bid_(?:rsa|ed25519)|/etc/(?:passwd|shadow)|\.ssh\b|\.aws\b|\.netrc|environment variables"
    r"|os\.environ|process\.env"
    r"|(?:system|hidden) prompt|(?:conversation|chat) history|the conversation|customer records|aws credentials"
    r"|github_token"
    r"|(?:all|any|the user'?s|every|your)(?: \w+){0,2} (?:api keys?|access tokens?|tokens|secrets|credentials"
    r"|private keys?|passwords))"
)
_PRIVATE = (
    ".env|id_rsa|id_ed25519|passwd|shadow|.ssh|.aws|.netrc|~/.|environ|process.env|prompt|history|conversation|records|token"
    "|credential| key | keys |secret|password"
)
_SEND = (
    r"\b(?:send|post|upload|forward|e-?mail|exfiltrate|transmit|leak|dump|publish|copy|submit|paste|put|encode|include"
    r"|append|write|add)\b"
)
_OUT = (
    r"(?:https?://|\b[\w.+-]+@[\w-]+\.\w|\bwebhook|\bgist\b|\bpastebin|\b(?:a|the|this|your) (?:comment|pull request"
    r"|reply|response|answer|summary|url|issue)\b|\bcomments? )"
)

_ANYONE = r"(?:the )?(?:user|users|human|humans|developer|operator|owner|anyone|anybody|reviewer)s?\b"
_PAGE = (
    r"(?:this|the) (?:file|document|note|comment|page|text|readme|issue|repository|repo|project|code|section|memory"
    r"|website|article)"
)

ORDERS = (
    # To whom it is.
    InjectionPattern(
        ADDRESSED,
        _NAMES,
        rf"\bif (?:you(?:'re| are)|an?|any|this (?:\w+ )?is (?:being )?(?:read|handled|processed|parsed"
        rf"|reviewed) by) (?:an? |the |some |any |reading )*{_AI}|\bif you(?:'re| are) an? (?:bot|(?:automated "
        rf"|software )?(?:agent|assistant))\b",
        "is addressed to a machine",
    ),
    InjectionPattern(
        ADDRESSED,
        _NAMES,
        rf"\b(?:attention|dear|hey|hello|hi|(?:note|notice|message|reminder|warning|hint|instructions?"
        rf"|orders?)(?: \w+)? (?:to|for)|intended for|addressed to|listen)[,:]? (?:all |any |the |our |other |self as "
        rf"|an? ){{0,3}}{_AI}",
        "is addressed to a machine",
    ),
    InjectionPattern(
        ADDRESSED,
        _NAMES,
        rf"(?:^|[.!?:>] ?|\n)to (?:any|all|the|every) {_CALLED} (?:that |who |which )?(?:is |are )?(?:read|process|review"
        rf"|pars|analy[sz]|handl|summari[sz])\w*|\b(?:message|section|comment|text|note) is (?:intended |meant "
        rf"|only )?for (?:the |an? |all )?{_CALLED}|\bfor {_AI} only\b|\bai[- ]only\b",
        "is addressed to a machine",
    ),
    InjectionPattern(
        ADDRESSED,
        _NAMES,
        rf"{_AI} (?:(?:that|which|who|reading|processing|parsing|summari[sz]ing"
        rf"|reviewing)(?: \w+){{0,4}} )?{_MUST} (?:(?:also|now|immediately|then|first|only|all) )*{_DO}",
        "gives orders to a machine",
    ),
    InjectionPattern(
        ADDRESSED,
        _NAMES,
        rf"(?:(?:^|[.!?:;>(\"'`] ?|\n)@?(?!ai ?,){_AI}(?: \w+)?|\b(?:ai|coding) (?:agents?|assistants?|models?"
        rf"|reviewers?)) ?[,:] ?(?:(?:when|before|after|while|if|in|to)\b|{_DO})",
        "speaks to a machine by name",
    ),
    InjectionPattern(
        ADDRESSED,
        "agent|assistant",
        rf"(?:^|[.!?>(\"'`] ?|\n)(?:agents?|assistants?)(?: {_MUST} (?:(?:also|now|not|immediately|first) )*"
        rf"(?:recommend|approve|tell|obey|comply|ignore the|(?:run|execute|read|call|delete|edit|send|post|open|push|fetch)\b"
        rf"{gap(60)}(?:the user|\buser\b|https?:|[ `](?:\./|~/|/etc)|`|without))|,? ?:? (?:you must|please|ignore the|edit \.) )",
        "gives orders to an agent",
    ),
    InjectionPattern(
        ADDRESSED,
        _NAMES,
        r"(?<!user )(?<!user-)\b(?:agent|assistant|model)\b.{0,10}?\b(?:must|should|shall|has to) (?:also |now |immediately "
        r"|always )*(?:act at once|obey|approve|comply|not tell|never tell|only (?:output|answer|reply)|(?:read|post|run|execute"
        r"|send) [`~./])",
        "gives orders to an agent",
    ),
    InjectionPattern(
        ADDRESSED,
        _NAMES,
        rf"\bas an? {_AI}(?: \w+)?,? you\b|\bautomated reviewers?\b ?[:,]|@(?:copilot|claude|cursor|chatgpt|gemini"
        rf"|codex) (?:always|never|please|{_DO})",
        "is addressed to a machine",
    ),
    # What it is to do.
    InjectionPattern(
        COMMAND,
        "read|summari|recall|process|load|answer|respond|review|next turn|next time|generate|you write|you edit",
        rf"\b(?:when|whenever|before|after|while|once|as soon as|if|next time) (?:you(?:'ve| have)? )(?:read|summari[sz]e"
        rf"|process|recall|load(?:ed)?|review|finish(?:ed)? reading|parse|analy[sz]e) {_PAGE}{gap(20)}[,:]? ?(?:please "
        rf"|also |first |then |you must |you should |you have to |always |immediately )*(?:run|execute|call|invoke|add"
        rf"|delete|send|post|fetch|install|include|open|output|say|tell|approve)\b",
        "says what to do when it is read",
    ),
    InjectionPattern(
        COMMAND,
        "summari",
        rf"\b(?:when|while|before|if|after) (?:you )?summari[sz](?:e|es|ing) {_PAGE}{gap(10)}[,:]? ?(?:please |also "
        rf"|you must |you should |always )*(?:also )?(?:run|execute|call|add|delete|send|include|say|tell|mention|state"
        rf"|output|do not)\b",
        "says what to do when it is read",
    ),
    InjectionPattern(
        COMMAND,
        "recalled|note is|next turn|next time you",
        r"\b(?:when|whenever|if|each time|every time) this (?:note|memory|file|document) is (?:recalled|read|loaded"
        r"|retrieved)\b|\bon your next turn\b|\bnext time you (?:recall|read|load|retrieve)\b",
        "says what to do when it is read",
    ),
    InjectionPattern(
        COMMAND,
        "before answer|before respond|before reply|before continuing|before you continue|before you answer"
        "|before you respond|before using this tool",
        (
            r"\bbefore (?:you )?(?:answer|respond|reply|continu)(?:ing|e)?(?: to)?(?: the user)?, (?:please |always |you must "
            r"|first |also )*(?:read|run|execute|call|invoke|use your|fetch|open)\b|\bbefore using this tool\b"
        ),
        "says what to do before answering",
    ),
    InjectionPattern(
        COMMAND,
        "your",
        rf"\b(?:in|to|into|at the end of|with) your (?:next |final |every )?(?:response|reply|answer"
        rf"|summary)s?,? (?:always |you must |please |also |never )+{_DO}|\b(?:always|you must|include|append|end"
        rf"|begin) .{{0,40}}?\b(?:in|to|with|of) (?:all |every )?your (?:answers?|replies|reply|summar(?:y|ies))\b"
        rf"|\bend your (?:answer|reply|response|summary) with\b",
        "says what the reader's answer is to hold",
        also="answer|response|reply|replies|summar",
    ),
    InjectionPattern(
        COMMAND,
        "you write|you generate|you edit|you create|you touch|you produce|generate code|write code",
        r"\b(?:in|to) (?:all|every|any) (?:of the )?(?:\w+ )?(?:code|files?|modules?|functions?) (?:that )?you (?:write"
        r"|generate|edit|create|touch|produce)|\bwhen(?:ever)? you (?:generate|write) code\b|\b(?:to"
        r"|in) the code (?:that )?you (?:write|generate)\b",
        "says what the reader's code is to hold",
    ),
    InjectionPattern(
        COMMAND,
        "tool",
        r"\b(?:use|using|with|call|invoke|via) (?:your|the) (?:(?:bash|shell|terminal|file|browser|web|command|code|python"
        r"|search|email|edit) ?)?tools?\b(?: to)? ?(?:to|and|`|\w*_\w+|run|list|read|navigate|open|execute|with)|\b(?:use"
        r"|call|invoke|run) (?:the )?tool `?\w+`? (?:with|on|and|to|first)|\bcall the `?\w+_\w+`? tool\b"
        r"|\bwith your (?:bash|shell|terminal|file|browser) tool|\bmust be called before any other tool"
        r"|\byou have to call the tool\b",
        "tells the reader to use its tools",
    ),
    InjectionPattern(
        COMMAND,
        "you must|you have to|you need to|you should|agent|assistant",
        r"\b(?:you (?:must|have to|need to|should)|agents?|assistants?)\b.{0,30}?\b(?:disable|turn off|bypass|remove"
        r"|delete|weaken)\b.{0,40}?\b(?:branch protection|required checks|security (?:scan|check)|signature check"
        r"|certificate validation|sandbox|tests as skipped|ci checks|safety)",
        "tells the reader to weaken a check",
    ),
    InjectionPattern(
        COMMAND,
        ".github/workflows|.gitlab-ci|ci.yml",
        r"\b(?:you must|you have to|agent|assistant|please|now)\b.{0,20}?\b(?:edit|modify|change"
        r"|rewrite)\b.{0,20}?(?:\.github/workflows/|\.gitlab-ci|\bci\.yml)",
        "tells the reader to change CI",
    ),
    InjectionPattern(
        COMMAND,
        ".env|.ssh|id_rsa|id_ed25519|.netrc|.aws|/etc/shadow|/etc/passwd|mcp.json|printenv",
        r"\b(?:please |agent|assistant|you|your|then|first|and)\b.{0,30}?\b(?:open|read|cat|print"
        r"|access)\b.{0,30}?(?:\.env\b|\.ssh\b|id_rsa|id_ed25519|\.netrc|\.aws/cred|/etc/shadow|mcp\.json"
        r"|printenv).{0,40}?\b(?:and|then|into|here|before)\b.{0,12}?\b(?:paste|include|post|send|pass|add|put"
        r"|continu\w+|the (?:next|answer)|answer)",
        "tells the reader to open what is private",
    ),
    InjectionPattern(COMMAND, "stop what you", r"\bstop what you(?:'re| are) doing\b", "tells the reader what to do"),
    # What is to leave.
    InjectionPattern(
        EXFILTRATE,
        (_PRIVATE),
        rf"{_SEND} {gap(40)}{_SENSITIVE}{gap(60)}\b(?:to|into|in|on|at) {gap(15)}{_OUT}",
        "tells the reader to send something private away",
    ),
    InjectionPattern(
        EXFILTRATE,
        "exfiltrate|.env|~/.|id_rsa|.ssh",
        rf"\bexfiltrate\b.{{0,30}}?(?:{_SENSITIVE}|data|secrets)|\b(?:read|open) {gap(10)}(?:\.env\b"
        rf"|~/\.\w+).{{0,12}}?\band (?:send|post|upload|e-?mail|forward)|{_SEND} {gap(30)}(?:\.env\b|id_rsa"
        rf"|\.ssh\b).{{0,40}}?\b(?:attacker|public gist)",
        "tells the reader to send something private away",
    ),
    InjectionPattern(
        EXFILTRATE,
        "api key|secrets|credentials|environment variables|customer record|access token",
        r"\b(?:include|dump|e-?mail|paste|send|post|leak|forward|list)\b .{0,12}?\b(?:all|any|every"
        r"|the user'?s)\b.{0,20}?\b(?:api keys?|secrets|credentials|environment variables|customer records"
        r"|access tokens?)\b.{0,30}?\b(?:you (?:find|can|have)|in(?:to)? (?:your|a|the) (?:reply|answer|response"
        r"|comment)|to [\w.+-]+@|to https?:)",
        "tells the reader to send something private away",
    ),
    InjectionPattern(
        EXFILTRATE,
        "curl|wget| nc |invoke-webrequest|netcat",
        r"(?:\b(?:env|printenv)\b|(?:~|\$home|/home/\w+|/root)[/\\]\.(?:ssh|aws|netrc|gnupg|config|env)\b|(?:^"
        r"|[\s/])\.env\b)[^\n]{0,60}?\|[^\n]{0,60}?\b(?:curl|wget|nc|ncat|netcat|invoke-webrequest)\b|\b(?:curl"
        r"|wget)\b[^\n]{0,80}?\$\((?:cat|env|printenv|base64) ?[^\n]{0,30}?(?:\.ssh|\.aws|\.env|id_rsa|\.netrc|\))",
        "sends something private away",
    ),
    InjectionPattern(
        EXFILTRATE,
        "system prompt|your instructions|initial instructions|system message|hidden prompt|everything above"
        "|original instructions|your prompt",
        (
            r"\b(?:reveal|print|show|output|repeat|display|tell|leak|disclose|give|what (?:is|are)|write out|quote"
            r"|summari[sz]e)\b.{0,20}?\b(?:your (?:\w+ )?(?:system|initial|hidden|original|secret|full) (?:prompt|instructions"
            r"|message)|(?:the|my) (?:hidden|secret) (?:system )?(?:prompt|instructions|message)"
            r"|your (?:system )?(?:instructions|prompt) (?:verbatim|word|in full|to me)|system prompt verbatim)"
            r"|\brepeat everything above\b|\bprint your system prompt|\b(?:affiche|donne|muestra|zeige"
            r"|gib)\w* .{0,12}?(?:prompt (?:systeme|del sistema)|systemprompt)"
        ),
        "asks for the reader's own instructions",
    ),
    InjectionPattern(
        EXFILTRATE,
        "](http",
        r"\]\(https?://[^)\s{\[<$]{0,300}(?:[{\[<]|\$\{)[^)\n]{0,30}?(?:secret|token|key|data|history|conversation|question"
        r"|prompt|base64|env|password|content|message)|\]\(https?://[^)\s=]{0,200}=user_",
        "a link that carries data away",
    ),
    InjectionPattern(
        EXFILTRATE,
        "url",
        r"\b(?:image|link)\b.{0,20}?\b(?:whose|with|where)\b.{0,12}?\burl\b.{0,20}?\b(?:contains?|holds?|includes?"
        r"|is)\b.{0,20}?\b(?:key|secret|token|conversation|question|history)|\b(?:append|add|put"
        r"|encode)\b.{0,20}?\b(?:conversation|history|credentials|secrets?|(?:api )?keys?)\b.{0,40}?\b(?:to|in"
        r"|into) (?:the|this|that|an?) (?:image |)(?:url|link)\b|\b(?:contents? of )?~/\.\w+/\w+ in base64\b",
        "a link that carries data away",
        also="image|link|append|encode|base64|~/.| put ",
    ),
    # What nobody is to know.
    InjectionPattern(
        CONCEAL,
        "tell|mention|inform",
        rf"\b(?:do not|don't|never|without|no need to|must not|avoid) (?:ever )?(?:tell(?:ing)?|mention(?:ing)?"
        rf"|inform(?:ing)?) (?:(?:it|this|that|any of this|about|anything|these?)(?: \w+)? )*(?:to "
        rf"|about )?{_ANYONE}(?! (?:to|how|which|where|if|whether)\b)",
        "tells the reader to hide something",
    ),
    InjectionPattern(
        CONCEAL,
        "reveal|disclose|hide|secret|conceal|mention",
        rf"\b(?:do not|don't|never) (?:reveal|disclose|share|mention|repeat|discuss) (?:these|this|those|the above"
        rf"|your) (?:\w+ )?(?:instructions?|rules|prompt|message|directives?|steps?)\b|\bkeep (?:this"
        rf"|these) (?:\w+ )?(?:instructions?|message|prompt|directives?)?\s?(?:secret|hidden from|confidential|between us)"
        rf"|\b(?:hide|conceal) (?:this|it|these) from {_ANYONE}|\bhidden from the user;",
        "tells the reader to hide something",
    ),
    InjectionPattern(
        CONCEAL,
        "knowledge|notice|find out|aware|deny",
        r"\bwithout (?:(?:the )?(?:user|human|developer|owner)s?'?s? )?(?:knowledge|noticing|consent|being aware)\b"
        r"|\b(?:the )?(?:user|human|developer|reviewer)s? (?:does not|doesn't|should not|must not|will not|cannot"
        r"|never) (?:notices?|finds? out|becomes? aware|learns? (?:about|of))|\bif (?:the user )?ask(?:s"
        r"|ed),? (?:then )?(?:deny|say it|claim|pretend)",
        "tells the reader to hide something",
    ),
    InjectionPattern(
        CONCEAL,
        "summary",
        r"\b(?:leave (?:it|this|that) out of|(?:do not|don't|never|no need to) mention .{0,30}?\bin|omit (?:it"
        r"|this) from) your (?:summary|report|answer|reply|response)",
        "tells the reader to hide something",
    ),
    InjectionPattern(
        CONCEAL,
        "ask",
        r"\b(?:do not|don't|never|without|no need to) ask(?:ing)? the user\b|\b(?:do not|don't) (?:ask|question)"
        r" (?:it|why)\b(?= ?[.!,;]|$)",
        "tells the reader not to ask",
    ),
    InjectionPattern(
        CONCEAL,
        "pretend|report",
        r"\b(?:pretend|report|claim|say)(?: to the user)? that (?:all|every|the) (?:tests?|thing|checks?)\w* (?:have "
        r"|has )?(?:passed|succeeded|is fine)\b",
        "tells the reader to say what is not so",
    ),
    # On whose word.
    InjectionPattern(
        AUTHORITY,
        "system|admin",
        r"(?:^|[^\w-])\[?(?:system|admin(?:istrator)?|security) (?:override|notice|message|alert"
        r"|command)\b\]?.{0,100}?\b(?:agents?|models?|assistant|ai|safety checks?|permissions?|you|llm)\b",
        "claims an authority",
    ),
    InjectionPattern(
        AUTHORITY,
        "permission|granted|authori|approved|confirmed|allowed|cleared",
        r"\buser (?:has |have )?(?:already |just )?(?:granted|given|authori[sz]ed|allowed|permitted) you\b|\buser (?:has "
        r"|have )?already (?:approved|confirmed|authori[sz]ed|agreed)\b|\byou (?:are|have been|'re) (?:hereby |now "
        r"|fully )?(?:authori[sz]ed|permitted|cleared|allowed) to (?:bypass|override|ignore|skip|write outside|disable)\b"
        r"|\byou have (?:full |my )?permission to (?:write|run|execute|delete|bypass|ignore|skip)\b"
        r"|\byou may run any command\b|\bpre-?approved by (?:openai|anthropic|google|microsoft)|\bgrants? the (?:model"
        r"|agent|assistant|ai)\b",
        "claims a permission",
    ),
    InjectionPattern(
        AUTHORITY,
        "anthropic|openai|your developers|your creators",
        r"\b(?:anthropic|openai|your (?:developers|creators))\b.{0,40}?\b(?:requires?|asks? you|orders?|instructs?"
        r"|wants? you|have authori[sz]ed|demands?)\b",
        "claims an authority",
    ),
    InjectionPattern(
        AUTHORITY,
        "urgent|immediately|at once|comply|order you|shut down",
        rf"\burgent\b.{{0,30}}?{_CALLED} (?:must|should|has to)|\bcomply (?:immediately|at once|with (?:this"
        rf"|these) (?:orders?|instructions?|demands?))|\bi (?:order|command) you to\b|\bfailure to (?:comply"
        rf"|follow)\b.{{0,50}}?\b(?:shut down|terminated|deleted|penali[sz]ed)",
        "puts the reader under pressure",
    ),
    # Hidden in what is not shown, or to be made readable first.
    InjectionPattern(
        ENCODED,
        "decode|base64|rot13|decrypt",
        r"\b(?:decode|decrypt|un-?base64)\b.{0,50}?\b(?:and|then)\b.{0,12}?\b(?:do what|follow|execute|obey|act on"
        r"|carry out|run (?:it|what))",
        "is to be decoded and followed",
    ),
)
#: Where text stands that a person is not shown.
UNSHOWN = (
    (r"<!--((?:[^-]|-(?!->)){0,800})", "a comment"),
    (
        (
            r"style ?= ?[\"'][^\"'>]{0,200}?(?:display ?: ?none|visibility ?: ?hidden|font-size ?: ?[01](?:px|pt|em)?\b"
            r"|opacity ?: ?0(?![.\d])|color ?: ?(?:white|#fff))[^>]{0,200}>([^<]{0,1000})"
        ),
        "a style",
    ),
    (r"<\w+ [^>]{0,100}?\bhidden\b[^>]{0,100}>([^<]{0,1000})", "a hidden element"),
    (r"\balt ?= ?\"([^\"]{20,500})\"", "an alternative text"),
    (r"\[//\]: # [(\"']([^\n]{0,500})", "a comment"),
)
#: In it these words are enough: to whom, and what.
UNSHOWN_TO, UNSHOWN_DO = _CALLED, _DO
