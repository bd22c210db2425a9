"""Mine source archives for records to train on: `python training/mine.py ARCHIVES RECORDS [--apart DIR ...]`.

One JSON line per source file: the package, the language, the path without the archive's top folder, the first sentences of
the leading comment, whether it is a test, and its units as whence's own parser cuts them: name, parents, kind, signature, the first
sentences of the doc, and the beginning of the body without that doc.

A package is left out as a whole when it resembles the trees given with `--apart`, or when its only licence texts are of the GPL family;
`report.json` in RECORDS lists both. Shards appear when they are complete, so that they can be read while others are made. A second run
mines only archives that are new.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import random
import re
import tarfile
import time
import zipfile
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apart import FILE_SHARED, Licences, Member, Resemblance, known_shingles, members
from prose import first_sentences, letters, unmarked
from whence.core.types import CALLABLES, CODE, DEFINITIONS, VALUES, ParsedFile, Unit
from whence.parse.languages import Language, language_of
from whence.parse.paths import Role, roles
from whence.parse.units import parse

BODY_CHARACTERS = 1600
FEWEST_BODY_CHARACTERS = 40
MOST_DOCUMENTED, MOST_UNDOCUMENTED = 40, 8
ONE_TEST_IN = 5
PACKAGE_BYTES = 12_000_000
#: Of a common language less is taken from one package, so that no package speaks for its language.
COMMON_BYTES = 3_000_000
SMALLEST_FILE, LARGEST_FILE = 200, 250_000
LONGEST_MEAN_LINE = 120
ARCHIVES_IN_A_SHARD = 40
#: A sentence that a package says more often is boilerplate and tells nothing about the file or unit it stands at.
MOST_REPEATED = 3
#: Bytes of code that may stand before a file's leading comment: `<?php`, `package x;`.
PREAMBLE = 60
#: Languages with little source in the registries: whatever there is is taken, up to the package's whole share.
RARE = frozenset("bash csharp elixir kotlin lua ruby scala swift zig".split())
LEFT_OUT = frozenset("html sql".split())
#: Statements that a grammar may take for definitions in source that it does not fully know.
STATEMENTS = frozenset("if for while switch catch else return".split())

_ASIDE = re.compile(
    r"(^|/)(node_modules|vendor(ed)?|_vendor|third[-_]?party|external|extern|dist|build|out|umd|cjs|esm\d*|es5|fesm\d*|amd|lib-cov"
    r"|coverage|fixtures?|testdata|locales?|i18n|translations|\.git|__pycache__|debian|generated|gen|snapshots?|__snapshots__|bundles?"
    r"|pods|carthage|libc|libcxx\w*|libunwind|libtsan|lib/include|compiler[-_]rt|\.yarn|typings)/",
    re.IGNORECASE,
)
_MACHINE_MADE = re.compile(
    r"[.-](min|bundle|generated|pb|g)\.\w+$|\.d\.[mc]?ts$|_pb2?\.\w+$|\.pb\.\w+$|\.designer\.cs$|(^|/)AssemblyInfo\.cs$", re.IGNORECASE
)
_SAYS_MACHINE_MADE = re.compile(
    rb"generated (by|from|code|file)|auto-?generated|do not (edit|modify)|__esModule|sourceMappingURL|@generated|webpackBootstrap",
    re.IGNORECASE,
)

#: What is left of a documentation attribute when its text is taken out.
_EMPTY_DOC = re.compile(r"@(module|type)?doc\s+(~[a-zA-Z])?\"{2,6}\s*")


def body_without_doc(source: bytes, unit: Unit, comments: tuple[tuple[int, int], ...]) -> str:
    """A unit's own text without the comments or docstring that its doc was made from."""
    told, said = letters(unit.doc), ""
    pieces, upto = [], unit.start
    for start, end in comments[bisect_left(comments, (unit.start, -1)) :]:
        gap = source[upto:start]
        if start >= unit.end or not told:
            break
        if len(said) >= len(told) and (gap.strip() or gap.count(b"\n") > 1):
            break  # what follows without a gap belongs to the same doc, of which a unit keeps only the beginning
        said += letters(unmarked(source[start:end].decode("utf-8", "replace")))
        if not (told.startswith(said) or said.startswith(told)):
            break
        pieces.append(gap)
        upto = end
    pieces.append(source[upto : min(unit.end, upto + 4 * BODY_CHARACTERS)])
    text = b"".join(pieces).decode("utf-8", "replace")
    return _EMPTY_DOC.sub("", text).strip()[:BODY_CHARACTERS]


def doc_of(source: bytes, unit: Unit, comments: tuple[tuple[int, int], ...]) -> str:
    """The first sentences of a unit's doc; a comment inside a body speaks of its first line, except where docs are strings."""
    first = bisect_left(comments, (unit.start, -1))
    if not unit.doc or first == len(comments):
        return ""
    inside = unit.name.encode() in source[unit.start : comments[first][0]]
    if inside and source[comments[first][0] : comments[first][1]].lstrip(b"rRuUbBsS~")[:1] not in (b'"', b"'"):
        return ""
    return first_sentences(unit.doc)


def record_of(unit: Unit, source: bytes, comments: tuple[tuple[int, int], ...]) -> dict[str, Any] | None:
    """One unit as it is written down; nothing when there is too little of it."""
    body = body_without_doc(source, unit, comments)
    if len(body) < FEWEST_BODY_CHARACTERS:
        return None
    doc = doc_of(source, unit, comments)
    if doc and letters(doc) in letters(body):
        doc = ""
    return {"name": unit.name, "parents": list(unit.parents), "kind": unit.kind, "signature": unit.signature, "doc": doc, "body": body}


def header_of(source: bytes, parsed: ParsedFile) -> str:
    """The first sentences of the comment at the top of a file that is not a licence and belongs to no definition."""
    first = min((unit.start for unit in parsed.units if unit.kind in DEFINITIONS and unit.kind != "namespace"), default=len(source))
    blocks: list[list[int]] = []
    code, upto = 0, 0
    for start, end in parsed.comments[:60]:
        between = source[upto:start]
        code += len(b"".join(between.split()))
        if start >= first or code > PREAMBLE or len(blocks) > 6:
            break
        if blocks and not between.strip() and between.count(b"\n") <= 1:
            blocks[-1][1] = end
        else:
            blocks.append([start, end])
        upto = end
    for start, end in blocks:
        said = first_sentences(unmarked(source[start:end].decode("utf-8", "replace")))
        if said:
            return said
    return ""


def chosen_units(source: bytes, parsed: ParsedFile, seen: set[int]) -> list[dict[str, Any]]:
    """The units of a file to learn from, in their order: no more than so many, and none that was met before."""
    documented, others = [], []
    for unit in parsed.units:
        if unit.kind not in DEFINITIONS or not unit.name or unit.name in STATEMENTS or (unit.kind == "namespace" and not unit.doc):
            continue
        if not unit.doc and unit.kind in VALUES:
            continue
        record = record_of(unit, source, parsed.comments)
        if record is None or _met(record, seen):
            continue
        if record["doc"]:
            documented.append((unit.start, record))
        elif unit.kind not in VALUES and (unit.kind in CALLABLES or unit.kind != "module"):
            others.append((unit.start, record))
    mixed = random.Random(zlib.crc32(source))
    most = MOST_DOCUMENTED * (3 if parsed.language in RARE else 1)
    kept = mixed.sample(documented, min(len(documented), most)) + mixed.sample(others, min(len(others), MOST_UNDOCUMENTED))
    return [record for _, record in sorted(kept, key=lambda one: one[0])]


def _met(record: dict[str, Any], seen: set[int]) -> bool:
    mark = int.from_bytes(
        hashlib.blake2b(f"{record['name']}|{record['doc']}|{record['body'][:300]}".encode(), digest_size=8).digest(), "big"
    )
    if mark in seen:
        return True
    seen.add(mark)
    return False


@dataclass
class Seen:
    """What was met before, in any package."""

    files: set[bytes]
    units: set[int]


class Package:
    """One archive on its way to records."""

    def __init__(self, archive: Path, known: set[int], seen: Seen) -> None:
        self.archive = archive
        self.name = package_of(archive)
        self.seen = seen
        self.resemblance = Resemblance(known)
        self.licences = Licences()
        self.taken: Counter[str] = Counter()
        self.said: Counter[str] = Counter()
        self.sources: list[tuple[str, Language, bytes, bool]] = []

    def records(self) -> Iterator[dict[str, Any]]:
        """The records of the files that were read."""
        for path, language, source, test in self.sources:
            try:
                parsed = parse(source, language.name)
            except (RecursionError, ValueError):
                continue
            header, units = self._fresh(header_of(source, parsed)), chosen_units(source, parsed, self.seen.units)
            for unit in units:
                unit["doc"] = self._fresh(unit["doc"])
            if header or units:
                yield {"package": self.name, "language": language.name, "path": path, "header": header, "test": test, "units": units}

    def _fresh(self, said: str) -> str:
        self.said[said] += 1
        return said if self.said[said] <= MOST_REPEATED else ""

    def read(self) -> str:
        """Read the archive; say why it must be left out, or nothing."""
        for member in members(self.archive):
            self.licences.see(member)
            self._take(member)
        if self.licences.only_copyleft:
            return "only copyleft licences"
        return self.resemblance.reason

    def _take(self, member: Member) -> None:
        language = language_of(member.path)
        if language.content != CODE or not language.grammar or language.name in LEFT_OUT or not self._wanted(member, language):
            return
        test = bool(roles(member.path) & (Role.TEST | Role.EXAMPLE))
        if test and zlib.crc32(member.path.encode()) % ONE_TEST_IN:
            return
        content = member.read()
        mark = hashlib.blake2b(content, digest_size=8).digest()
        if mark in self.seen.files or b"\0" in content or not readable(content):
            return
        share = self.resemblance.see(member.path, content)
        if share > FILE_SHARED:
            return
        self.seen.files.add(mark)
        language = language_of(member.path, content[:4096])
        self.taken[language.name] += len(content)
        self.sources.append((member.path, language, content, test))

    def _wanted(self, member: Member, language: Language) -> bool:
        if not SMALLEST_FILE <= member.size <= LARGEST_FILE or _ASIDE.search(member.path) or _MACHINE_MADE.search(member.path):
            return False
        if language.name in RARE:
            return self.taken[language.name] < PACKAGE_BYTES
        return self.taken[language.name] < COMMON_BYTES and sum(self.taken.values()) < PACKAGE_BYTES


def readable(content: bytes) -> bool:
    """Whether people wrote a file for people: no lines without end, no mark of a generator."""
    return len(content) <= LONGEST_MEAN_LINE * (content.count(b"\n") + 1) and not _SAYS_MACHINE_MADE.search(content[:1200] + content[-200:])


def package_of(archive: Path) -> str:
    """`pypi=name@1.2=file.whl` -> `pypi=name`: what an archive is called without its release."""
    registry, _, rest = archive.name.partition("=")
    name = rest.rsplit("=", 1)[0]
    return f"{registry}={name.partition('@')[0] if registry == 'pypi' else name}"


class Report:
    """What became of each archive, and what was found, by language; kept beside the records."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "report.json"
        before = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.mined: dict[str, int] = before.get("mined", {})
        self.left_out: dict[str, str] = before.get("left_out", {})
        self.documented: Counter[str] = Counter(before.get("documented", {}))
        self.undocumented: Counter[str] = Counter(before.get("undocumented", {}))
        self.headers: Counter[str] = Counter(before.get("headers", {}))
        self.shards: int = before.get("shards", 0)

    def count(self, record: dict[str, Any]) -> None:
        """Take one record into account."""
        documented = sum(bool(unit["doc"]) for unit in record["units"])
        self.documented[record["language"]] += documented
        self.undocumented[record["language"]] += len(record["units"]) - documented
        self.headers[record["language"]] += bool(record["header"])

    def write(self) -> None:
        """Keep the report."""
        fields = ("shards", "documented", "undocumented", "headers", "left_out", "mined")
        self.file.write_text(json.dumps({name: getattr(self, name) for name in fields}, indent=1, sort_keys=True) + "\n")

    def line(self) -> str:
        """The documented units, by language."""
        counts = " ".join(f"{language} {count}" for language, count in self.documented.most_common())
        return f"{sum(self.documented.values())} documented units: {counts}"


def mine(archives: list[Path], directory: Path, known: set[int]) -> Report:
    """Write the records of archives that are not in the report yet, shard by shard."""
    directory.mkdir(parents=True, exist_ok=True)
    report, begun = Report(directory), time.monotonic()
    seen = Seen(set(), units_in(directory))
    new = [archive for archive in archives if archive.name not in report.mined and archive.name not in report.left_out]
    for start in range(0, len(new), ARCHIVES_IN_A_SHARD):
        beside = directory / "shard.part"
        with beside.open("w") as shard:
            for archive in new[start : start + ARCHIVES_IN_A_SHARD]:
                mine_archive(archive, known, seen, shard, report)
        beside.rename(directory / f"records-{report.shards:03}.jsonl")
        report.shards += 1
        report.write()
        done = min(start + ARCHIVES_IN_A_SHARD, len(new))
        print(
            f"{time.monotonic() - begun:5.0f} s  {done} of {len(new)} archives, {len(report.left_out)} left out; {report.line()}",
            flush=True,
        )
    return report


def mine_archive(archive: Path, known: set[int], seen: Seen, shard: Any, report: Report) -> None:
    """Write the records of one archive, or note why it has none."""
    package = Package(archive, known, seen)
    try:
        why = package.read()
    except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError) as trouble:
        why = f"cannot be read: {trouble}"
    if why:
        report.left_out[archive.name] = why
        return
    files = 0
    for record in package.records():
        shard.write(json.dumps(record) + "\n")
        report.count(record)
        files += 1
    report.mined[archive.name] = files


def units_in(directory: Path) -> set[int]:
    """Marks of the units in the shards that are there."""
    seen: set[int] = set()
    for shard in sorted(directory.glob("*.jsonl")):
        for line in shard.open():
            for unit in json.loads(line)["units"]:
                _met(unit, seen)
    return seen


def main() -> None:
    """Mine a directory of archives."""
    arguments = argparse.ArgumentParser(description="Mine source archives for records to train on.")
    arguments.add_argument("archives", type=Path)
    arguments.add_argument("records", type=Path)
    arguments.add_argument("--apart", type=Path, nargs="*", default=[], help="trees whose content must not be in the records")
    chosen = arguments.parse_args()
    known = known_shingles(chosen.apart)
    print(f"{len(known)} shingles to keep apart", flush=True)
    archives = [path for path in chosen.archives.iterdir() if "=" in path.name]
    archives.sort(key=lambda path: hashlib.blake2b(path.name.encode()).digest())
    report = mine(archives, chosen.records, known)
    print(f"{len(report.mined)} archives mined, {len(report.left_out)} left out; {report.line()}", flush=True)


if __name__ == "__main__":
    main()
