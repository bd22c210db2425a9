"""Checks of the installation: Python, packages, grammars, models, git."""

from __future__ import annotations

import operator
import platform
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from whence.app.doctor.finding import FAILED, OK, WARNING, Finding, first_few, one_line
from whence.app.doctor.load_check import GRAMMAR, MODEL, MODULE, QUERIES, LoadResult, Part
from whence.core.errors import ModelUnavailable
from whence.core.settings import Settings
from whence.core.version import __version__
from whence.embed.encoder import NONE, SHIPPED
from whence.parse.languages import LANGUAGES

MIN_PYTHON = (3, 10)
#: For this many languages, those with the most source, queries are compiled too: some take half a second.
LANGUAGES_WITH_QUERIES = 5
#: Packages that are imported under another name.
IMPORT_NAMES = {"google-re2": "re2", "pystemmer": "Stemmer", "pyyaml": "yaml"}
#: What a re-ranker would bring (docs/experiments/embeddings.md).
NO_SECOND_LOOK = "a sentence encoder would read symbols and notes once more before they are answered with (docs/rerank.md)"
#: The files behind a shipped model's fingerprint, in this order (training/).
STATIC_FILES = ("vectors.npy", "weights.npy", "fields.npy", "vocabulary.txt")
PROSE_FILES = ("vectors.npy", "weights.npy", "vocabulary.txt")
REINSTALL = "reinstall whence: pip install --force-reinstall whence"
RETRY = "run it again when the machine is less busy"
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*\(?([^;)]*)\)?\s*(?:;(.*))?$")
_BOUND = re.compile(r"^\s*(>=|<=|==|!=|<|>|~=)\s*([0-9][0-9a-zA-Z.]*)\s*$")
_OLDER_PYTHON = re.compile(r"python_version\s*<\s*['\"](\d+)\.(\d+)['\"]")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A required package and its version bounds."""

    package: str
    bounds: tuple[tuple[str, str], ...]

    @property
    def module(self) -> str:
        """The name it is imported under."""
        return IMPORT_NAMES.get(self.package.lower(), self.package.replace("-", "_"))

    def allows(self, version: str) -> bool:
        """Whether a version satisfies the bounds, compared by numbers alone."""
        return all(_satisfies(_numbers(version), sign, _numbers(bound)) for sign, bound in self.bounds)

    def __str__(self) -> str:
        return self.package + ",".join(f"{sign}{bound}" for sign, bound in self.bounds)


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(one) for one in match.group().split(".")] if match else [0]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _satisfies(version: tuple[int, ...], sign: str, bound: tuple[int, ...]) -> bool:
    if sign == "~=":
        return version >= bound and version[: max(len(bound) - 1, 1)] == bound[: max(len(bound) - 1, 1)]
    compare = {">=": operator.ge, "<=": operator.le, "<": operator.lt, ">": operator.gt, "==": operator.eq, "!=": operator.ne}
    return bool(compare[sign](version, bound))


def parse_requirements(lines: Sequence[str], python: tuple[int, int]) -> list[Requirement]:
    """The requirements in a package's metadata, without extras and without those of older Pythons only."""
    requirements = []
    for line in lines:
        match = _REQUIREMENT.match(line)
        if match is None or "extra" in (match[3] or ""):
            continue
        older = _OLDER_PYTHON.search(match[3] or "")
        if older is None or python < (int(older[1]), int(older[2])):
            bounds = [_BOUND.match(one) for one in match[2].split(",") if one.strip()]
            requirements.append(Requirement(match[1], tuple((one[1], one[2]) for one in bounds if one)))
    return requirements


def own_requirements() -> list[Requirement]:
    """The requirements of the installed package; empty if whence runs from its source tree."""
    from importlib.metadata import PackageNotFoundError, requires  # noqa: PLC0415  -- only the doctor needs it

    try:
        return parse_requirements(requires("whence") or [], sys.version_info[:2])
    except PackageNotFoundError:
        return []


def parts_to_load(requirements: Sequence[Requirement], languages: Sequence[str], settings: Settings) -> list[Part]:
    """Everything to load on trial: packages, all grammars, the queries of some languages, models that are not shipped."""
    with_grammar = [one.name for one in LANGUAGES if one.grammar]
    models = [name for name in (settings.index.model, settings.memory.model, settings.rerank.model) if ":" in name]
    return [
        *((MODULE, one.module) for one in requirements),
        *((GRAMMAR, name) for name in with_grammar),
        *((QUERIES, name) for name in [name for name in languages if name in with_grammar][:LANGUAGES_WITH_QUERIES]),
        *((MODEL, name) for name in dict.fromkeys(models)),
    ]


def versions(python: tuple[int, int]) -> Iterator[Finding]:
    """The versions of Python and whence."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    message = f"Python {platform.python_version()}, whence {__version__}, {platform.system()} {platform.machine()}"
    facts = {"python": platform.python_version(), "whence": __version__, "system": platform.system(), "machine": platform.machine()}
    if python < MIN_PYTHON:
        yield Finding("versions", FAILED, message, "whence needs Python {}.{} or newer".format(*MIN_PYTHON), facts=facts)
        return
    try:
        installed = version("whence")
    except PackageNotFoundError:
        yield Finding("versions", WARNING, f"{message}; running from source, not installed", "pip install whence", facts=facts)
        return
    if installed != __version__:
        yield Finding("versions", WARNING, f"{message}, but {installed} is installed", "pip install --upgrade whence", facts=facts)
    else:
        yield Finding("versions", OK, message, facts=facts)


def packages(requirements: Sequence[Requirement], loaded: LoadResult) -> Iterator[Finding]:
    """Whether every required package can be imported, in a version that satisfies its bounds."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    errors, found = [], {}
    tried, untried = loaded.errors_of(MODULE), loaded.untried_of(MODULE)
    for one in requirements:
        try:
            found[one.package] = version(one.package)
        except PackageNotFoundError:
            errors.append(f"{one.package} is not installed")
            continue
        if not one.allows(found[one.package]):
            errors.append(f"{one.package} is {found[one.package]}, but {one} is required")
        elif error := tried.get(one.module):
            errors.append(f"{one.package} {found[one.package]} cannot be loaded: {one_line(error)}")
    if errors:
        yield Finding("packages", FAILED, f"{len(errors)} of {len(requirements)} are missing or broken", REINSTALL, tuple(errors), found)
    elif untried:
        yield Finding("packages", WARNING, f"not loaded in time: {first_few(untried)}", RETRY, facts=found)
    elif not requirements:
        yield Finding("packages", WARNING, "not checked: whence is not installed as a package", "pip install whence")
    else:
        yield Finding("packages", OK, f"all {len(requirements)} load, in supported versions", facts=found)


def grammars(loaded: LoadResult) -> Iterator[Finding]:
    """Whether each grammar loads and parses a line; for the repository's main languages, also the queries."""
    tried, queries = loaded.errors_of(GRAMMAR), loaded.errors_of(QUERIES)
    broken = {name: error for errors in (queries, tried) for name, error in errors.items() if error}
    untried = [*loaded.untried_of(GRAMMAR), *loaded.untried_of(QUERIES)]
    facts = {"languages": len(tried), "broken": sorted(broken), "with_queries": sorted(queries), "not_reached": untried}
    if broken:
        details = tuple(f"{name}: {one_line(error)}" for name, error in sorted(broken.items()))
        message = f"{len(broken)} of {len(tried)} cannot be used; their files are found by lines, not by definitions"
        yield Finding("grammars", FAILED, message, REINSTALL, details, facts)
    elif untried:
        yield Finding("grammars", WARNING, f"not loaded in time: {first_few(untried)}", RETRY, facts=facts)
    else:
        compiled = f", with the queries of {first_few(sorted(queries), 4)}" if queries else ""
        yield Finding("grammars", OK, f"{len(tried)} languages can be parsed{compiled}", facts=facts)


def models(settings: Settings, loaded: LoadResult) -> Iterator[Finding]:
    """Whether the shipped models are intact, and whether another configured model can be used."""
    from whence.embed import prose, static  # noqa: PLC0415  -- numpy

    yield shipped_model("model of code", static.MODEL, STATIC_FILES, static.StaticEncoder, used=settings.index.model == SHIPPED)
    yield shipped_model("model of notes", prose.MODEL, PROSE_FILES, prose.ProseEncoder, used=settings.memory.model == "prose")
    tried, untried = loaded.errors_of(MODEL), loaded.untried_of(MODEL)
    for setting, name in (
        ("index.model", settings.index.model),
        ("memory.model", settings.memory.model),
        ("rerank.model", settings.rerank.model),
    ):
        if name == NONE:
            without = NO_SECOND_LOOK if setting == "rerank.model" else "search is lexical only"
            yield Finding("chosen model", OK, f"{setting} = none: {without}", facts={"model": name})
        elif error := tried.get(name):
            without = "there is no second look" if setting == "rerank.model" else "search is lexical only"
            yield Finding("chosen model", FAILED, f"{setting} = {name}: {one_line(error)}", f"{without} until it is available")
        elif name in tried:
            yield Finding("chosen model", OK, f"{setting} = {name} works", facts={"model": name})
        elif name in untried:
            yield Finding("chosen model", WARNING, f"{setting} = {name} was not loaded in time", RETRY)


def shipped_model(name: str, folder: Path, files: Sequence[str], encoder_type: type, *, used: bool) -> Finding:
    """Whether a model that came with the package is intact: its files match its fingerprint."""
    level = FAILED if used else WARNING
    try:
        encoder = encoder_type(folder)
        checksum = 0
        for one in files:
            checksum = zlib.crc32((folder / one).read_bytes(), checksum)
    except ModelUnavailable as error:
        return Finding(name, level, error.message, REINSTALL)
    except OSError as error:
        return Finding(name, level, f"{error.filename}: {error.strerror}", REINSTALL)
    expected = encoder.fingerprint.rpartition("-")[2]
    if expected != f"{checksum:08x}":
        return Finding(name, level, f"its files are damaged (checksum {checksum:08x}, expected {expected})", REINSTALL)
    facts = {"fingerprint": encoder.fingerprint, "width": encoder.width}
    return Finding(name, OK, f"{encoder.fingerprint}, {encoder.width} dimensions, all files intact", facts=facts)


def git_program(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Whether git runs: commits and changes come from it."""
    try:
        done = subprocess.run(
            ["git", "--version"], capture_output=True, text=True, timeout=5, check=False, stdin=subprocess.DEVNULL, env=dict(environment)
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = "not found" if isinstance(error, FileNotFoundError) else "not responding"
        yield Finding("git", WARNING, f"{problem}: search cannot use past commits", "install git")
        return
    message = one_line(done.stdout) or f"git --version exits with code {done.returncode}"
    yield Finding("git", OK if done.returncode == 0 else WARNING, message, "" if done.returncode == 0 else "run git --version")
