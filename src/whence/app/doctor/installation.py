"""Whether what whence stands on is here: Python, packages, grammars, models, git."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from whence.app.doctor.finding import FAILED, OK, WARNING, Finding, one_line, some_of
from whence.app.doctor.load_check import GRAMMAR, MODEL, MODULE, QUERIES, LoadResult, Part
from whence.core.errors import ModelUnavailable
from whence.core.settings_schema import Settings
from whence.core.version import __version__
from whence.embed.registry import NONE, SHIPPED
from whence.parse.languages import LANGUAGES

OLDEST_PYTHON = (3, 10)
#: Languages whose queries are made ready as well, those with the most source: some take half a second.
IN_FULL = 5
#: Packages that are imported under another name.
IMPORTED_AS = {"pystemmer": "Stemmer", "pyyaml": "yaml"}
#: The files that a shipped model's fingerprint is made of, in this order (training/).
STATIC_FILES = ("vectors.npy", "weights.npy", "fields.npy", "vocabulary.txt")
PROSE_FILES = ("vectors.npy", "weights.npy", "vocabulary.txt")
AGAIN = "install whence again: pip install --force-reinstall whence"
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*\(?([^;)]*)\)?\s*(?:;(.*))?$")
_BOUND = re.compile(r"^\s*(>=|<=|==|!=|<|>|~=)\s*([0-9][0-9a-zA-Z.]*)\s*$")
_OLDER_PYTHON = re.compile(r"python_version\s*<\s*['\"](\d+)\.(\d+)['\"]")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A package that is needed, and the versions that will do."""

    package: str
    bounds: tuple[tuple[str, str], ...]

    @property
    def module(self) -> str:
        """What it is imported as."""
        return IMPORTED_AS.get(self.package.lower(), self.package.replace("-", "_"))

    def allows(self, version: str) -> bool:
        """Whether a version will do; by its numbers alone."""
        return all(_holds(_numbers(version), sign, _numbers(bound)) for sign, bound in self.bounds)

    def __str__(self) -> str:
        return self.package + ",".join(f"{sign}{bound}" for sign, bound in self.bounds)


def _numbers(version: str) -> tuple[int, ...]:
    found = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(one) for one in found.group().split(".")] if found else [0]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _holds(version: tuple[int, ...], sign: str, bound: tuple[int, ...]) -> bool:
    if sign == "~=":
        return version >= bound and version[: max(len(bound) - 1, 1)] == bound[: max(len(bound) - 1, 1)]
    return {
        ">=": version >= bound,
        "<=": version <= bound,
        "<": version < bound,
        ">": version > bound,
        "==": version == bound,
        "!=": version != bound,
    }[sign]


def requirements(listed: Sequence[str], python: tuple[int, int]) -> list[Requirement]:
    """What is needed here, from the lines of a package's metadata: without extras, and without what only an older Python needs."""
    found = []
    for line in listed:
        read = _REQUIREMENT.match(line)
        if read is None or "extra" in (read[3] or ""):
            continue
        older = _OLDER_PYTHON.search(read[3] or "")
        if older is None or python < (int(older[1]), int(older[2])):
            bounds = [_BOUND.match(one) for one in read[2].split(",") if one.strip()]
            found.append(Requirement(read[1], tuple((one[1], one[2]) for one in bounds if one)))
    return found


def needed_here() -> list[Requirement]:
    """What the installed package says that it needs; nothing where it is not installed as one."""
    from importlib.metadata import PackageNotFoundError, requires  # noqa: PLC0415  -- the doctor alone asks

    try:
        return requirements(requires("whence") or [], sys.version_info[:2])
    except PackageNotFoundError:
        return []


def parts_to_load(needed: Sequence[Requirement], languages: Sequence[str], settings: Settings) -> list[Part]:
    """Everything that is tried: packages, all grammars, the queries of some languages, models that are not shipped."""
    with_grammar = [one.name for one in LANGUAGES if one.grammar]
    others = [name for name in (settings.index.model, settings.memory.model) if ":" in name]
    return [
        *((MODULE, one.module) for one in needed),
        *((GRAMMAR, name) for name in with_grammar),
        *((QUERIES, name) for name in [name for name in languages if name in with_grammar][:IN_FULL]),
        *((MODEL, name) for name in dict.fromkeys(others)),
    ]


def python_and_whence(python: tuple[int, int]) -> Iterator[Finding]:
    """The versions that run."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    said = f"Python {platform.python_version()}, whence {__version__}, {platform.system()} {platform.machine()}"
    facts = {"python": platform.python_version(), "whence": __version__, "system": platform.system(), "machine": platform.machine()}
    if python < OLDEST_PYTHON:
        yield Finding("versions", FAILED, said, "whence needs Python {}.{} or newer".format(*OLDEST_PYTHON), facts=facts)
        return
    try:
        installed = version("whence")
    except PackageNotFoundError:
        yield Finding("versions", WARNING, f"{said}; it runs from its source and is not installed", "pip install whence", facts=facts)
        return
    if installed != __version__:
        yield Finding("versions", WARNING, f"{said}; installed is {installed}", "pip install --upgrade whence", facts=facts)
    else:
        yield Finding("versions", OK, said, facts=facts)


def packages(needed: Sequence[Requirement], loaded: LoadResult) -> Iterator[Finding]:
    """Whether every package can be imported, and is of a version that will do."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    trouble, found = [], {}
    tried = loaded.of(MODULE)
    for one in needed:
        try:
            found[one.package] = version(one.package)
        except PackageNotFoundError:
            trouble.append(f"{one.package} is not installed")
            continue
        if not one.allows(found[one.package]):
            trouble.append(f"{one.package} is {found[one.package]}, needed is {one}")
        elif said := tried.get(one.module):
            trouble.append(f"{one.package} {found[one.package]} cannot be loaded: {one_line(said)}")
    late = loaded.missing(MODULE)
    if trouble:
        yield Finding("packages", FAILED, f"{len(trouble)} of {len(needed)} are not as they must be", AGAIN, tuple(trouble), found)
    elif late:
        yield Finding(
            "packages", WARNING, f"not loaded in time: {some_of(late)}", "run it again when the machine is less busy", facts=found
        )
    elif not needed:
        yield Finding("packages", WARNING, "not checked: whence is not installed as a package", "pip install whence")
    else:
        yield Finding("packages", OK, f"all {len(needed)} can be loaded, in versions that will do", facts=found)


def grammars(loaded: LoadResult) -> Iterator[Finding]:
    """Whether each grammar can be loaded and reads a line; in full for the languages of the repository."""
    tried, full = loaded.of(GRAMMAR), loaded.of(QUERIES)
    broken = {name: said for found in (full, tried) for name, said in found.items() if said}
    late = [*loaded.missing(GRAMMAR), *loaded.missing(QUERIES)]
    facts = {"languages": len(tried), "broken": sorted(broken), "with_queries": sorted(full), "not_reached": late}
    if broken:
        details = tuple(f"{name}: {one_line(said)}" for name, said in sorted(broken.items()))
        said = f"{len(broken)} of {len(tried)} cannot be used; files of theirs are found by lines, not by definitions"
        yield Finding("grammars", FAILED, said, AGAIN, details, facts)
    elif late:
        yield Finding(
            "grammars", WARNING, f"not reached in time: {some_of(late)}", "run it again when the machine is less busy", facts=facts
        )
    else:
        of_here = f", with the queries of {some_of(sorted(full), 4)}" if full else ""
        yield Finding("grammars", OK, f"{len(tried)} languages can be read{of_here}", facts=facts)


def models(settings: Settings, loaded: LoadResult) -> Iterator[Finding]:
    """Whether the shipped models are what was shipped, and whether another that was chosen can be used."""
    from whence.embed import prose, static  # noqa: PLC0415  -- numpy

    yield shipped_model("model of code", static.MODEL, STATIC_FILES, static.StaticEncoder, used=settings.index.model == SHIPPED)
    yield shipped_model("model of notes", prose.MODEL, PROSE_FILES, prose.ProseEncoder, used=settings.memory.model == "prose")
    tried, late = loaded.of(MODEL), loaded.missing(MODEL)
    for setting, name in (("index.model", settings.index.model), ("memory.model", settings.memory.model)):
        if name == NONE:
            yield Finding("chosen model", OK, f"{setting} = none: answers are by words alone", facts={"model": name})
        elif said := tried.get(name):
            yield Finding("chosen model", FAILED, f"{setting} = {name}: {one_line(said)}", "answers are by words alone until it is there")
        elif name in tried:
            yield Finding("chosen model", OK, f"{setting} = {name} can be used", facts={"model": name})
        elif name in late:
            yield Finding(
                "chosen model", WARNING, f"{setting} = {name} was not loaded in time", "run it again when the machine is less busy"
            )


def shipped_model(name: str, folder: Path, files: Sequence[str], kind: type, *, used: bool) -> Finding:
    """Whether a model that came with the package is whole: its files add up to its fingerprint and belong together."""
    trouble = FAILED if used else WARNING
    try:
        encoder = kind(folder)
        checksum = 0
        for one in files:
            checksum = zlib.crc32((folder / one).read_bytes(), checksum)
    except ModelUnavailable as error:
        return Finding(name, trouble, error.message, AGAIN)
    except OSError as error:
        return Finding(name, trouble, f"{error.filename}: {error.strerror}", AGAIN)
    told = encoder.fingerprint.rpartition("-")[2]
    if told != f"{checksum:08x}":
        return Finding(name, trouble, f"its files are not those that were shipped ({told}, they add up to {checksum:08x})", AGAIN)
    facts = {"fingerprint": encoder.fingerprint, "width": encoder.width}
    return Finding(name, OK, f"{encoder.fingerprint}, {encoder.width} wide, every file as shipped", facts=facts)


def git_program(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Whether git is here: it tells of past commits, and of changes."""
    try:
        done = subprocess.run(
            ["git", "--version"], capture_output=True, text=True, timeout=5, check=False, stdin=subprocess.DEVNULL, env=dict(environment)
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        said = "not found" if isinstance(error, FileNotFoundError) else "does not answer"
        yield Finding("git", WARNING, f"{said}: past commits have no part in answers", "install git")
        return
    told = one_line(done.stdout) or f"ends with code {done.returncode}"
    yield Finding("git", OK if done.returncode == 0 else WARNING, told, "" if done.returncode == 0 else "see what git --version says")
