"""What a terminal can do: follow links to a line, page long output, and hold an editor."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import click

from whence.cli import standby
from whence.core.errors import UsageError
from whence.core.settings import load_settings

#: What `shell.links` is for `auto`, where the terminal is known to follow links (OSC 8): others might print them.
FILE_LINK = "file://{host}{path}"
_FOLLOWS_LINKS = (
    "ALACRITTY_WINDOW_ID GHOSTTY_RESOURCES_DIR ITERM_SESSION_ID KITTY_WINDOW_ID KONSOLE_VERSION VTE_VERSION WEZTERM_PANE WT_SESSION"
).split()
#: What editors are given for a line, by the names of their programs; all others get what vi, nano and emacs take.
_PLUS_LINE = ("+{line}", "{path}")
_AT_LINE: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("code", "code-insiders", "codium", "cursor", "windsurf"), ("--goto", "{path}:{line}")),
    **dict.fromkeys(("hx", "helix", "subl", "zed"), ("{path}:{line}",)),
    **dict.fromkeys(("idea", "pycharm", "webstorm", "goland", "clion", "rubymine", "phpstorm", "rider"), ("--line", "{line}", "{path}")),
    "notepad": ("{path}",),
}


# Links.
def link_template(environment: Mapping[str, str]) -> str:
    """The address of a line, with {host}, {path} and {line} in it; empty if the terminal gets no links."""
    chosen = load_settings(None)[0].shell.links
    if chosen != "auto":
        return "" if chosen == "none" else chosen
    follows = any(name in environment for name in _FOLLOWS_LINKS) or environment.get("TERM_PROGRAM") == "vscode"
    return FILE_LINK if follows else ""


def linked(text: str, template: str, path: str, line: int) -> str:
    """A text that leads to a line of a file."""
    values = {"host": socket.gethostname(), "path": quote(os.path.abspath(path)), "line": str(line)}  # noqa: PTH100  -- links are kept
    address = re.sub(r"\{(host|path|line)\}", lambda found: values[found[1]], template)
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"


# Paging.
def can_page(values: Mapping[str, str]) -> bool:
    """Whether output may be paged: on a terminal, unless the setting `shell.pager` says never."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb":
        return False
    return load_settings(None, command_line=values)[0].shell.pager == "auto"


def page(text: str) -> None:
    """Show a text, by the program in PAGER (else less) if it is longer than the terminal."""
    if text.count("\n") < shutil.get_terminal_size().lines:
        click.echo(text, nl=False, color=True)
        return
    if standby.is_answering():
        standby.page_elsewhere(text)
        return
    os.environ.setdefault("LESS", "FRX")  # as git does: colours, and no paging of what fits after all
    click.echo_via_pager(text.removesuffix("\n"), color=True)


# Editors.
def editor_command(environment: Mapping[str, str], path: Path, line: int = 0) -> list[str]:
    """How the user's editor is started for a file, at a line if one is given."""
    editor = environment.get("VISUAL") or environment.get("EDITOR")
    if not editor:
        raise UsageError("there is no editor", hint="set VISUAL or EDITOR")
    try:
        words = shlex.split(editor)
    except ValueError as error:
        raise UsageError(f"the editor {editor!r} cannot be run: {error}", hint="VISUAL or EDITOR names it") from error
    form = _AT_LINE.get(Path(words[0]).stem.lower(), _PLUS_LINE) if line else ("{path}",)
    return [*words, *(part.replace("{line}", str(line)).replace("{path}", str(path)) for part in form)]


def open_in_editor(path: Path, line: int = 0) -> None:
    """Open a file in the editor of VISUAL or EDITOR, and wait for it."""
    command = editor_command(os.environ, path, line)
    try:
        code = subprocess.run(command, check=False).returncode
    except OSError as error:
        raise UsageError(f"the editor {command[0]!r} cannot be run: {error.strerror}", hint="VISUAL or EDITOR names it") from error
    if code:
        raise UsageError(f"the editor {command[0]!r} ended with {code}")
