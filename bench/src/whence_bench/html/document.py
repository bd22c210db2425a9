"""A result as one page: what was measured, on what, and everything it holds. It loads nothing and runs nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from whence.core.errors import StorageError, UsageError
from whence_bench.html.arrangements import arrangement_of
from whence_bench.html.blocks import Block, Folded, Listing, Plain, Prose, Section, Table
from whence_bench.html.comparison import compared
from whence_bench.html.markup import Markup, element, joined
from whence_bench.html.parts import Part
from whence_bench.html.style import DRAWING, PAGE, VARIABLES
from whence_bench.html.systems import UNKNOWN_SHAPE, Result
from whence_bench.html.walking import said, titled, walked

#: Fields that every result may have, and that are told at the end.
CIRCUMSTANCES = ("benchmark", "versions", "version", "machine", "settings", "missing", "notes", "seed")
#: Said where a part of a result has not the form that its benchmark gives it.
OTHERWISE = "This is not in the form that is known here, so it is shown as it is."


def as_html(result: Result, against: Result | None = None) -> str:
    """The page of a result, perhaps beside another of the same benchmark."""
    arrangement = arrangement_of(result)
    shown = {key for part in arrangement.parts for key in part.keys}
    sections = [compared(result, against)] if against is not None else []
    for part in arrangement.parts:
        sections += _shown(part, result)
    sections += [*_the_rest(result, shown), _circumstances({key: value for key, value in result.items() if key not in shown})]
    main = element("main", joined(one.markup(2, f"part-{number}") for number, one in enumerate(sections, 1)))
    header = element("header", element("h1", arrangement.title), _introduction(result, arrangement.about), _contents(sections))
    return "<!doctype html>\n" + _page(arrangement.title, element("body", header, main)) + "\n"


def _shown(part: Part, result: Result) -> list[Section]:
    """What a part shows; a result that it cannot read is shown by its shape, and says so."""
    try:
        return part.sections(result)
    except UNKNOWN_SHAPE:
        return [Section(titled(key), [Prose(OTHERWISE), *walked(key, result[key])]) for key in part.keys if result.get(key)]


def _contents(sections: Sequence[Section]) -> Markup:
    """Where everything is."""
    links = [element("a", one.title, href=f"#part-{number}") for number, one in enumerate(sections, 1)]
    return element("nav", joined(links), aria_label="Parts of the report")


def _page(title: str, body: Markup) -> Markup:
    # Nothing may be loaded or run, whatever a name in the figures would like to be.
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        element("title", f"{title} · whence bench"),
        element("style", Markup(VARIABLES + DRAWING + PAGE)),
    )
    return element("html", head, "\n", body, lang="en")


def _introduction(result: Result, about: str) -> list[Markup]:
    """What was measured, and in short with what and where."""
    name = str(result.get("benchmark", "figures")).partition(",")[0]
    versions, machine = _fields(result, "versions"), _fields(result, "machine")
    facts = [f"whence {versions['whence']}" if "whence" in versions else "", str(machine.get("platform", ""))]
    facts.append(f"{machine['cpus']} CPUs" if "cpus" in machine else "")
    where = "".join(f" · {fact}" for fact in facts if fact)
    return [element("p", about), element("p", element("code", f"whence bench {name}"), where, class_="dim")]


def _the_rest(result: Result, shown: set[str]) -> list[Section]:
    """What no part has shown."""
    rest = {name: value for name, value in result.items() if name not in shown and name not in CIRCUMSTANCES}
    plain = {name: value for name, value in rest.items() if value is not None and not isinstance(value, Mapping | list)}
    others = [Section(titled(name), walked(name, value)) for name, value in rest.items() if name not in plain and value]
    return [*([Section("Further figures", walked("", plain))] if plain else []), *others]


def _circumstances(result: Result) -> Section:
    """What it takes to repeat the figures."""
    blocks: list[Block] = []
    for name, title in (("missing", "Listed and not there, so left out"), ("notes", "Notes")):
        if lines := _lines(result.get(name)):
            blocks += [Prose(f"{title}:"), Listing(lines)]
    facts = {**_fields(result, "machine"), **{name: result[name] for name in ("version", "seed") if name in result}}
    for header, of in ((("machine", "what"), facts), (("package", "version"), _fields(result, "versions"))):
        if of:
            blocks.append(Table(header, [(str(name), said(value)) for name, value in of.items()]))
    if settings := _lines(result.get("settings")):
        blocks.append(Folded(f"Settings ({len(settings)})", [_settings(result["settings"])]))
    return Section("Circumstances", blocks or [Prose("Nothing is known of them.")])


def _settings(given: Any) -> Plain:
    """Settings as every benchmark writes them; others line by line."""
    try:
        rows = [(one["name"], json.dumps(one["value"]), one["source"]) for one in given]
        return Table(("setting", "value", "from"), rows, most=len(rows))
    except UNKNOWN_SHAPE:
        return Listing(_lines(given))


def _fields(result: Result, name: str) -> Mapping[str, Any]:
    """A field that holds others; none where it does not."""
    found = result.get(name)
    return found if isinstance(found, Mapping) else {}


def _lines(value: Any) -> list[str]:
    """A field that holds several things, or one, in words."""
    if isinstance(value, list):
        return [said(one) for one in value]
    return [] if value is None or value in ("", {}) else [said(value)]


def read_result(path: str | os.PathLike[str]) -> dict[str, Any]:
    """A result that was kept with `--json`."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no JSON: {error}", hint="give a file that `whence bench ... --json FILE` wrote") from error
    if not isinstance(found, dict):
        raise UsageError(f"{path} holds no figures", hint="give a file that `whence bench ... --json FILE` wrote")
    return found
