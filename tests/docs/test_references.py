"""The references are written from the program itself; `make docs` writes them again."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from conftest import Golden
from docs.api_reference import api_reference
from docs.man_page import man_page
from whence.app.workspace import Workspace
from whence.cli.main import COMMANDS, cli
from whence.core.profiles import PROFILES, Weight
from whence.core.settings import PROJECT_FILE, merge
from whence.core.version import __version__
from whence.ranking.ledger import Operation, signal_named, signal_names
from whence.ui.app import make_app

ROOT = Path(__file__).parents[2]
MADE = "<!-- Written from the program by `make docs`; a test compares them. -->\n"
#: Wide enough that help texts are not broken by the width of whoever's terminal.
WIDTH = 100


def test_commands_are_documented_as_their_help_says(golden: Golden):
    golden(ROOT / "docs/commands.md", commands())


def test_the_manual_page_holds_every_command(golden: Golden):
    golden(ROOT / "man/whence.1", man_page(walked(cli, "whence", None), __version__))


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
def test_the_manual_page_is_read_without_complaint():
    command = ["man", "--warnings", "-E", "UTF-8", "-l", str(ROOT / "man/whence.1")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "MANWIDTH": "100"})
    assert done.stderr == ""
    assert re.search(r"^   whence callers \[OPTIONS\] SYMBOL", done.stdout, re.MULTILINE)


def test_settings_are_documented_with_default_and_variable(golden: Golden):
    golden(ROOT / "docs/settings.md", settings())


def test_signals_are_documented_with_their_weights(golden: Golden):
    golden(ROOT / "docs/signals.md", signals())


def test_the_api_is_documented_for_programs(golden: Golden, tmp_path: Path):
    golden(ROOT / "docs/openapi.json", json.dumps(openapi(tmp_path), sort_keys=True, indent=1, ensure_ascii=False) + "\n")


def test_the_api_is_documented_for_people(golden: Golden, tmp_path: Path):
    golden(ROOT / "docs/api.md", api_reference(openapi(tmp_path), MADE))


def openapi(root: Path) -> dict[str, Any]:
    return make_app(Workspace([root], {})).openapi()


def test_every_command_has_a_section_in_the_reference():
    reference = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    assert [command for command in COMMANDS if f"\n## whence {command}\n" not in reference] == []


def test_links_to_files_lead_somewhere():
    broken = []
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        links = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
        broken += [f"{page.name}: {link}" for link in links if "://" not in link and not (page.parent / link).exists()]
    assert broken == []


def test_every_page_of_the_documentation_is_linked_from_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in sorted((ROOT / "docs").glob("*.md")) if f"(docs/{page.name})" not in readme] == []


def commands() -> str:
    parts = [f"# Commands\n\n{MADE}"]
    for name, command, context in walked(cli, "whence", None):
        parts.append(f"## {name}\n\n```text\n{command.get_help(context).strip()}\n```\n")
    return "\n".join(parts)


def walked(command: click.Command, name: str, parent: click.Context | None) -> Iterator[tuple[str, click.Command, click.Context]]:
    """A command and all below it, each with the context its help is printed in."""
    context = click.Context(
        command, info_name=name.rpartition(" ")[2], parent=parent, max_content_width=WIDTH, terminal_width=WIDTH, **command.context_settings
    )
    yield name, command, context
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from walked(found, f"{name} {below}", context)


def settings() -> str:
    rows = [
        f"| `{one.name}` | {value(one.value)} | {one.doc} | {one.allowed.replace(' | ', ', ')} | `{one.variable}` |"
        for one in merge([])[1]
        if ".signals." not in one.name
    ]
    return "\n".join(
        [
            f"# Settings\n\n{MADE}",
            "The first source that sets a value wins: the Python call, `--set NAME=VALUE`, an environment variable,",
            f"`{PROJECT_FILE}` in the repository, `config.toml` in the user's configuration folder, the default.",
            "`whence config` prints every value and where it came from.\n",
            "| setting | default | what it does | allowed | variable |\n|---|---|---|---|---|",
            *rows,
            "\nSignal weights are settings too, one for short questions and one for long ones:",
            "`profiles.PROFILE.signals.SIGNAL.short` and `.long`. See [signals.md](signals.md).\n",
        ]
    )


def signals() -> str:
    rows = []
    for name in sorted(signal_names(), key=lambda name: (signal_named(name).phase, name)):
        one = signal_named(name)
        how = "multiplies" if one.operation is Operation.MULTIPLY else "adds a share of the best score" if one.relative else "adds"
        weights = " | ".join(weight(PROFILES[profile].signals.get(name)) for profile in PROFILES)
        rows.append(f"| `{name}` | {one.phase.name.lower()} | {how} | {weights} | {' '.join(one.doc.split())} |")
    heads = " | ".join(PROFILES)
    return "\n".join(
        [
            f"# Signals\n\n{MADE}",
            "Signals add up to the score, phase by phase. A weight that differs between short and long questions is written short / long.",
            "A signal without a weight is not computed.\n",
            f"| signal | phase | how | {heads} | what it says |\n|---|---|---|{'---|' * len(PROFILES)}---|",
            *rows,
            "",
        ]
    )


def weight(found: Weight | None) -> str:
    if found is None:
        return ""
    return f"{found.short:g}" if found.short == found.long else f"{found.short:g} / {found.long:g}"


def value(found: object) -> str:
    return str(found).lower() if isinstance(found, bool) else f"{found:g}" if isinstance(found, float) else str(found)


def test_paths_of_modules_in_the_documents_exist():
    """Of the package: `index/segment.py`, `graph/builder/`, `*/request.py`."""
    package = ROOT / "src/whence"
    rooms = {path.name for path in package.iterdir() if path.is_dir()} | {"*"}
    missing = []
    for page in ("ARCHITECTURE.md", "GLOSSARY.md", "CONTRIBUTING.md"):
        named = re.findall(r"`([a-z_*]+/[\w*/.]*)`", (ROOT / page).read_text(encoding="utf-8"))
        missing += [f"{page}: {path}" for path in named if path.split("/")[0] in rooms and not list(package.glob(path.rstrip("/")))]
    assert missing == []


def test_every_room_has_a_heading_in_the_architecture():
    headings = re.findall(r"^## (.+)$", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"), re.MULTILINE)
    described = {room for heading in headings for room in re.split(r", | and ", heading)}
    assert {path.parent.name for path in (ROOT / "src/whence").glob("*/__init__.py")} - described == set()
