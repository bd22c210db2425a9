"""`whence remember`, `whence handoff` and `whence edit`: what is written down, and how it is mended."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.app.presenters.memory import note_json
from whence.app.presenters.text import safe
from whence.cli.completion import complete_note
from whence.cli.memory import open_notes, usual_options
from whence.cli.shared import FOUND, print_result, together
from whence.cli.terminal import open_in_editor
from whence.core.errors import UsageError, WhenceError
from whence.memory.front_matter import parse, render
from whence.source.git import repository_root

if TYPE_CHECKING:
    from whence.memory.memory import Memory
    from whence.memory.note import Note

_ABOUT = "Code it describes, such as src/app.py#App.run; recall reports when it changes. Repeatable."
#: The fields of a note, and the options that every command of notes has.
field_options = together(
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="Tag; repeatable."),
    click.option("--about", multiple=True, metavar="PATH[#SYMBOL]", help=_ABOUT),
    click.option("--source", default=None, metavar="TEXT", help="Where it comes from: a person, a page, a session."),
    click.option("--valid-from", metavar="TIME", help="Start of validity: 2026-01-31 or 2026-01-31T09:30:00Z."),
    click.option("--valid-until", metavar="TIME", help="Expiry date; expired notes are not recalled."),
    click.option("--redact", is_flag=True, help="Remove secrets from the text instead of refusing it."),
    usual_options,
)
project_option = click.option("--project", metavar="NAME", help="Project (default: the name of the repository's folder).")


@click.command(
    epilog="""\b
Examples:
  whence remember "Retries: five at most, then the queue." --topic "retry policy"
  whence remember --about src/net.py#Client.retry --tag net < decision.md
  git log -1 --format=%B | whence remember --topic "last release" --team"""
)
@click.argument("text", required=False)
@click.option("--topic", metavar="TEXT", help="Topic; replaces the project's note on this topic, which stays in the history.")
@project_option
@click.option("--kind", default="durable", show_default=True, metavar="NAME", help="durable, session, resource, skill, pack or summary.")
@field_options
def remember(text: str | None, **options: Any) -> int:
    """Save a note verbatim.

    Notes are Markdown files that you can read, edit and version. - reads TEXT
    from standard input. Text that contains a secret is refused.
    """
    with open_notes(options) as memory:
        began = _now()
        given = _given(memory, options)
        project = options["project"] if options["project"] is not None else memory.whose.name if memory.repository else None
        note = memory.remember(_text(text, memory), project=project, topic=options["topic"], kind=options["kind"], **given)
        return _say_stored(memory, note, began, as_json=options["as_json"])


@click.command(
    epilog="""\b
Example:
  whence handoff "Parser done, tests red in test_units.py; next: the Go grammar." """
)
@click.argument("text", required=False)
@click.option("--branch", metavar="NAME", help="Branch (default: the current one).")
@project_option
@field_options
def handoff(text: str | None, **options: Any) -> int:
    """Save the state of work on a branch, for whoever continues it.

    Replaces the branch's previous handoff, which stays in the history. - reads
    TEXT from standard input.
    """
    with open_notes(options) as memory:
        began = _now()
        given = _given(memory, options)
        note = memory.handoff(_text(text, memory), branch=options["branch"], project=options["project"], **given)
        return _say_stored(memory, note, began, as_json=options["as_json"])


@click.command(
    epilog="""\b
Examples:
  whence edit app/retry-policy
  whence edit retry-policy --tag net --tag http
  whence edit retry-policy --valid-until 2026-12-31
  whence edit retry-policy --text - < better.md"""
)
@click.argument("key", shell_complete=complete_note)
@click.option("--text", metavar="TEXT", help="The new text; - reads it from standard input.")
@click.option("--topic", metavar="TEXT", help="What it is about.")
@click.option("--kind", metavar="NAME", help="durable, handoff, session, resource, skill, pack or summary.")
@click.option(
    "--repository", type=click.Path(file_okay=False, exists=True), metavar="FOLDER", help="Make it a note of the repository there."
)
@field_options
def edit(key: str, **options: Any) -> int:
    """Change a note; earlier versions stay in its history.

    Without options, opens the note in your editor (VISUAL or EDITOR). If the
    result is not a valid note, it is kept aside and the note stays unchanged.
    --tag and --about replace existing values; '' clears them, or a time.
    """
    with open_notes(options) as memory:
        fields: dict[str, Any] = {name: options[name] for name in ("topic", "kind", "source", "valid_from", "valid_until", "repository")}
        fields |= {"tags": options["tags"] or None}
        if options["about"]:
            codes, root = codes_of(memory, options["about"])
            if root != memory.repository:
                raise UsageError(f"the code is in {safe(str(root))}", hint="run it in that repository")
            fields["about"] = codes
        text = None if options["text"] is None else _text(options["text"], memory)
        before = memory.get(key)
        if text is None and all(value is None for value in fields.values()):
            note = in_an_editor(memory, before, redact=options["redact"])
        else:
            note = memory.edit(before.key, text=text, redact=options["redact"], **fields)
        said = safe(note.key) if note != before else f"{safe(note.key)} is as it was"
        print_result(options["as_json"], {"note": note_json(note), "changed": note != before}, said)
    return FOUND


# What is given.
def _given(memory: Memory, options: dict[str, Any]) -> dict[str, Any]:
    """The fields that every new note has."""
    codes, root = codes_of(memory, options["about"])
    given = {name: options[name] for name in ("tags", "valid_from", "valid_until", "redact")}
    return {**given, "source": options["source"] or "", "about": codes, "repository": root if codes else None}


def _text(given: str | None, memory: Memory) -> str:
    """The text of a note: as it was given, or what standard input holds."""
    if given is not None and given != "-":
        return given
    if given is None and sys.stdin.isatty():
        raise UsageError("there is no text to remember", hint="give it as TEXT, or pipe it in")
    most = memory.settings.memory.max_bytes
    raw = sys.stdin.buffer.read(most + 1)
    if len(raw) > most:
        raise UsageError(f"standard input has more than {most} bytes", hint="memory.max_bytes sets the limit")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not UTF-8: line {raw.count(10, 0, error.start) + 1}; nothing was stored") from error


def codes_of(memory: Memory, given: Sequence[str]) -> tuple[list[str], Path | None]:
    """Code as it was named from the current folder, as a note names it, and the repository that it is in."""
    codes: list[str] = []
    root = memory.repository
    for one in filter(None, given):
        written, mark, symbol = one.partition("#")
        path = Path(os.path.abspath(written))  # noqa: PTH100  -- a link is named as it is
        if memory.repository is not None and not path.exists() and (memory.repository / written).is_file():
            path = memory.repository / written  # as answers name it: from the root
        around = repository_root(path.parent)
        if around is None:
            raise UsageError(f"{safe(written)} is in no repository", hint="--about names a file of a repository")
        if codes and around != root:
            raise UsageError("the code is of several repositories", hint="write a note for each")
        root = around
        codes.append(f"{path.relative_to(root).as_posix()}{mark}{symbol}")
    return codes, root


# What is said.
def _say_stored(memory: Memory, note: Note, began: datetime, *, as_json: bool) -> int:
    """The key of a note that was stored, and what it took the place of."""
    earlier = memory.store.history(note.key)
    unchanged = note.updated is not None and note.updated < began
    said = " (is as it was)" if unchanged else ""
    if earlier and not unchanged:
        last = earlier[-1].updated or earlier[-1].created
        of = f"the one of {last:%Y-%m-%d %H:%M} UTC" if last else "the one before"
        said = f" (replaces {of}; {len(earlier)} earlier version{'s' if len(earlier) > 1 else ''})"
    stored = {"note": note_json(note), "replaced": bool(earlier) and not unchanged, "earlier_versions": len(earlier)}
    print_result(as_json, stored, f"{safe(note.key)}{said}")
    return FOUND


def _now() -> datetime:
    return datetime.now(timezone.utc).replace(microsecond=0)


# In an editor.
def in_an_editor(memory: Memory, note: Note, *, redact: bool) -> Note:
    """A note as a person has changed it. A file that cannot be stored is kept, and named."""
    file = Path(tempfile.mkdtemp(prefix="whence-"), f"{note.slug}.md")
    before = render(note).encode()
    file.write_bytes(before)
    try:
        open_in_editor(file)
        after = file.read_bytes()
        stored = note if after == before else _stored(memory, note, after, redact=redact)
    except (WhenceError, OSError, KeyboardInterrupt) as trouble:
        if not file.exists() or file.read_bytes() == before:
            shutil.rmtree(file.parent, ignore_errors=True)
            raise
        told, hint = (trouble.message, trouble.hint) if isinstance(trouble, WhenceError) else (str(trouble) or "interrupted", "")
        kept = f"your edit is in {file}"
        raise UsageError(f"{safe(note.key)} is not changed: {told}", hint=f"{hint}; {kept}" if hint else kept) from trouble
    shutil.rmtree(file.parent, ignore_errors=True)  # with whatever an editor has put beside it
    return stored


def _stored(memory: Memory, note: Note, data: bytes, *, redact: bool) -> Note:
    """Store a note that was edited by hand, if it is one and nobody else has changed it."""
    edited = parse(data, folder=note.folder, slug=note.slug)
    if edited.problem:
        raise UsageError(edited.problem)
    about = tuple(one if one.hash else memory.code_ref(one.code, one.repository or None) for one in edited.about)
    if memory.get(note.key) != note:
        raise UsageError("another has changed it since")
    return memory.put(replace(edited, about=about, updated=max(_now(), edited.created or _now())), redact=redact)
