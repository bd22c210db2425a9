"""The language servers that are known, and where one is found."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whence.enrich.client import ServerTrouble

#: While a project loads, a second process that knows single files alone would answer, with less than there is to say.
_ONE_PROCESS = {"useSyntaxServer": "never"}
#: Definitions need types to be known, not judged: no complaints, and nothing beyond the files that are opened.
_NO_COMPLAINTS = {"typeCheckingMode": "off", "diagnosticMode": "openFilesOnly", "autoImportCompletions": False}


@dataclass(frozen=True, slots=True)
class ServerKind:
    """Servers for some languages that can stand in for one another, the best first."""

    name: str
    languages: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...] = ()
    install: str = ""
    configuration: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)  # said at the start, and never again


SERVERS = (
    ServerKind(
        "python",
        ("python",),
        (("basedpyright-langserver", "--stdio"), ("pyright-langserver", "--stdio")),
        "pip install basedpyright",
        {
            "python": {"analysis": _NO_COMPLAINTS},
            "basedpyright": {"analysis": _NO_COMPLAINTS, "disableLanguageServices": False},
        },
    ),
    ServerKind(
        "typescript",
        ("typescript", "tsx", "javascript"),
        (("typescript-language-server", "--stdio"), ("vtsls", "--stdio")),
        "npm i -g typescript-language-server typescript@5",
        {"typescript": {"tsserver": _ONE_PROCESS}},  # where vtsls looks
        {"tsserver": _ONE_PROCESS, "disableAutomaticTypingAcquisition": True},
    ),
)
KNOWN_SERVERS = tuple(kind.name for kind in SERVERS)
_PROTOCOL_NAMES = {"tsx": "typescriptreact", "bash": "shellscript"}


def server_kind(language: str) -> ServerKind:
    """The servers for a language; for one that is not in the table, a kind without commands of its own."""
    return next((kind for kind in SERVERS if language == kind.name or language in kind.languages), ServerKind(language, (language,)))


def language_id(path: str, language: str) -> str:
    """What the protocol calls the language of a file."""
    return "javascriptreact" if path.endswith(".jsx") else _PROTOCOL_NAMES.get(language, language)


def find_server(kind: ServerKind, root: Path, chosen: str = "") -> list[str]:
    """The command line of a server: the one chosen, or the first that is installed."""
    if chosen:
        return _split(chosen)
    for name, *arguments in kind.commands:
        # Beside the interpreter: where pip puts it when whence has an environment of its own.
        for place in (_search_path(), str(Path(sys.executable).parent)):
            found = shutil.which(name, path=place)
            if found is not None:
                return [found, *arguments]
    for name, *arguments in kind.commands:  # a program that a repository brought along is run for who says so, never by itself
        if brought := shutil.which(name, path=str(root / "node_modules" / ".bin")):
            hint = f"if you trust the one in the repository, name it: --server {shlex.quote(shlex.join([brought, *arguments]))}"
            raise ServerTrouble(f"there is no language server for {kind.name} but the repository's own", hint=hint)
    hint = kind.install or f"give one with --server, and --lang {kind.name}"
    raise ServerTrouble(f"there is no language server for {kind.name}", hint=hint)


def _search_path() -> str:
    """Where the user's programs are. A place such as `.` is another one in every tree, and no choice of the user's."""
    return os.pathsep.join(one for one in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(one).is_absolute())


def _split(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ServerTrouble(f"{command!r} is no command: {error}") from error
    if not words:
        raise ServerTrouble("the command of the language server is empty")
    found = shutil.which(words[0], path=_search_path())
    if found is None:
        raise ServerTrouble(f"{words[0]}: no such program")
    return [str(Path(found).absolute()), *words[1:]]  # it is started in the root, where the same words may name another program
