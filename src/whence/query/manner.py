"""How a query is written: as a few words, a sentence, code or a command line. Only among a few words are all operators meant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

#: Words that only sentences have: questions, articles, pronouns, forms of to be and to have.
_SENTENCE_WORDS = frozenset(
    "how what when where which who whom whose why whether a an the is are was were be been am do does did doing can could should would "
    "will shall must might see "
    "has have had i me my we our us you your it its he she his her this that these those they their them there if then than so but "
    "because while either neither nor please also just".split()
)
#: Words that a sentence is held together by, and that a few words may have too: one of them makes no sentence.
_BINDING_WORDS = frozenset(
    "in of for with to from on by at into as and or via within without onto through under over between about".split()
)
#: A text without any of these is a sentence all the same when it has this many words.
_MANY_WORDS = 9
_CONTRACTION = re.compile(r"\w['\u2019](?:t|s|re|ve|m|ll|d)\b")
#: The marks of a list, a heading, a quotation or a prompt in front of a text.
_TEXT_MARKS = frozenset("- * # ## ### > + • 1. 1) [ ] [x] // -- ;; <!-- /* \"\"\" ''' ```".split())
#: What no question in words holds, whatever the language of the code is.
_CODE = re.compile(r"[;{}=]|&&|\|\||\$\(|</?\w+[^>]*>|\":|^[#@]\w+|^//|^/\*|\*/|^\[.*\]$|^[|+*/%&^~!]$|<<|>>", re.MULTILINE)
#: What is code, or a name as it stands in code: a call, an item, a quoted argument, a label, a mark by itself.
_NEAR_CODE = re.compile(r"\w[(\[]|[)\]]\.|\w[\"']|[\"']\w*[,)\]]|->|\w:$|^\$\w|^@\w|\\|^[^\w\s]+$", re.MULTILINE)
_SQL = frozenset(
    "SELECT FROM WHERE INSERT INTO VALUES UPDATE DELETE JOIN ON AND NOT NULL IN LIKE BETWEEN GROUP ORDER BY HAVING LIMIT CREATE ALTER "
    "DROP TABLE INDEX VIEW IF THEN ELSE END WHEN CASE EXISTS REPLACE UNION SET".split()
)
#: Programs that are called with options. A query may begin with such a word and be none: then it has no option.
_PROGRAMS = frozenset(
    "adb ag ansible apt apt-get awk aws az bash bazel brew bun bundle cargo cat cd chmod chown clang clang++ cmake code composer conda "
    "cp cron crontab curl cut date dd deno df diff dig docker docker-compose dotnet du echo egrep emacs env esbuild exec export fd ffmpeg "
    "ffplay ffprobe find flutter g++ gcc gcloud gdb gem gh ghc git go gofmt golangci-lint gpg gradle grep gunzip gzip head helm heroku "
    "hg host id ifconfig install ip iptables java javac jest journalctl jq kill killall kubectl ld ldd less ln ls lsof make man mkdir "
    "mount mv mvn mypy mysql nano nc netstat nginx nice nmap node npm npx nvim nvm objdump openssl pacman perl pgrep php ping pip pip3 "
    "pipenv pkill pnpm podman poetry powershell ps psql pwsh pytest python python3 rails rake readelf redis-cli rg rm rsync ruby ruff run "
    "rustc rustup scp screen sed service sh sort sqlite3 ssh strace strip su sudo svn swift systemctl tail tar tee terraform time tmux top "
    "touch tox tr tree tsc ulimit uname uniq unzip uv uvicorn vagrant valgrind vi vim virtualenv wc webpack wget whence which xargs "
    "xcodebuild yarn yum zip zsh".split()
)
#: Programs whose names are no words of a question: what follows them in quotes is their argument.
_SHELL_ONLY = frozenset(
    "ag awk aws bash brew cargo cat cd chmod cp curl docker echo egrep fd gcc gh git grep jq kubectl ls mkdir mv mysql npm npx pip "
    "printf psql rg rm sed sh ssh sqlite3 sudo tar touch wget whence xargs yarn".split()
)
_OPTION = re.compile(r"--?[A-Za-z][\w-]*(?:[=:]\S*)?|--|-\d+")
_PLAIN_OPTION = re.compile(r"--[\w-]+(?:=\S*)?|-[A-Za-z0-9#@]|--")
#: Options of one dash and several letters that need no program in front of them to be known as options.
_KNOWN_OPTIONS = frozenset(
    "-name -iname -type -exec -print -path -maxdepth -mindepth -mtime -newer -jar -cp -classpath -verbose -version -help -force -rf -fr "
    "-rn -ri -rin -la -lah -ltr -al -xzf -xvf -xzvf -czf -cvf -czvf -tvf -Wall -Wextra -Werror -std -march -static -shared -fPIC -pthread "
    "-Recurse -Filter -Path -Command -File -Force -Verbose -ErrorAction -auto-approve -run -race -bench -count -tags -timeout "
    "-ldflags -vet -new -nodes -keyout -aux -ef -nlpt -tulpn -sSL -fsSL -LO -sS -it -dit -rm".split()
)
_POWERSHELL = re.compile(r"[A-Z][a-z]+-[A-Z]\w+")
_SHELL_MARKS = frozenset("| > >> < && || 2>&1 & \\".split())
#: A word before an option: the prompt, or a program that runs the next.
_BEFORE_PROGRAMS = frozenset("$ % > sudo time env nohup exec".split())


@dataclass(frozen=True, slots=True)
class Manner:
    """How the plain words of a query are written."""

    sentence: bool = False
    binding: bool = False  # a word that holds sentences together is there
    code: bool = False
    near_code: bool = False  # a call or a label: a name as it stands in code
    command: bool = False
    shell: bool = False  # it begins with a program that is nothing else
    shouting: bool = False  # all in capitals
    sql: bool = False

    @property
    def free(self) -> bool:
        """Whether operators may stand anywhere: a few words, and nothing else."""
        return not (self.sentence or self.code or self.near_code or self.command)

    @property
    def foreign(self) -> bool:
        """Whether it is text of another language than ours or English."""
        return self.code or self.command


def manner_of(words: Sequence[str], dashed: Sequence[str] = ()) -> Manner:
    """How some words are written; `dashed` are those with a dash in front, which may be options or what is not wanted."""
    letters = [word.strip(".,:;!?()[]`'\"*_").lower() for word in words]
    text = "\n".join(words)
    capitals = [word for word in words if word.isalpha() and len(word) > 1]
    options = [*dashed, *(word for word in words if _OPTION.fullmatch(word))]
    begin = [word for word in words if word not in _BEFORE_PROGRAMS][:1]
    sql = sum(word in _SQL for word in words)
    return Manner(
        sentence=_is_sentence(words, letters),
        binding=any(one in _BINDING_WORDS for one in letters),
        code=_CODE.search(text) is not None or sql > 1,
        near_code=_NEAR_CODE.search(text) is not None,
        command=_is_command(begin[0] if begin else "", options, words),
        shell=bool(begin) and begin[0] in _SHELL_ONLY,
        shouting=len(capitals) > 2 and all(word.isupper() for word in capitals),
        sql=sql > 0,
    )


def _is_sentence(words: Sequence[str], letters: Sequence[str]) -> bool:
    if any(one in _SENTENCE_WORDS for one in letters) or sum(one in _BINDING_WORDS for one in letters) > 1:
        return True
    if not words:
        return False
    ends = words[-1].endswith(("?", "!", "...")) or (len(words) > 2 and words[-1].endswith("."))
    return (
        ends
        or len(words) >= _MANY_WORDS
        or words[0] in _TEXT_MARKS
        or any(word.endswith((",", "?")) and len(word) > 1 for word in words)
        or _CONTRACTION.search(" ".join(words)) is not None
    )


def _is_command(first: str, options: Sequence[str], words: Sequence[str]) -> bool:
    if any(_PLAIN_OPTION.fullmatch(one) or one in _KNOWN_OPTIONS for one in options) or any(word in _SHELL_MARKS for word in words):
        return True
    program = first.rpartition("/")[2]
    known = program in _PROGRAMS or first.startswith("./") or _POWERSHELL.fullmatch(first) is not None
    return known and bool(options)
