"""Questions from packages' own doc comments: `python training/questions.py ARCHIVES RECORDS CORPUS`.

For some packages of each language the tree is laid out with the comments of the
asked definitions blanked, so that the question is not its own answer: the doc
sentence must lead to the file by its code. CORPUS is laid out like the search
benchmark, so whatever reads one reads the other. Only packages that mine.py kept
are taken: it has set apart what must not be trained on.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from apart import members
from mine import doc_of, package_of, readable
from whence.core.types import CODE, Unit
from whence.parse.languages import language_of
from whence.parse.paths import Role, roles
from whence.parse.units import parse

SEED = 3
OF_LANGUAGE, OF_PACKAGE = 6, 14
FEWEST_FILES, MOST_FILES, MOST_BYTES = 15, 500, 6_000_000
FEWEST_WORDS, MOST_WORDS = 4, 24


@dataclass(frozen=True)
class Asked:
    """A doc sentence and the file it was written in."""

    sentence: str
    path: str


def packages(records: Path) -> dict[str, str]:
    """The packages that were kept, each with its main language."""
    counts: dict[str, dict[str, int]] = {}
    for shard in sorted(records.glob("*.jsonl")):
        with shard.open(encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                of = counts.setdefault(record["package"], {})
                of[record["language"]] = of.get(record["language"], 0) + sum(1 for unit in record["units"] if unit["doc"])
    return {name: max(of, key=of.__getitem__) for name, of in counts.items()}


def lay_out(archive: Path, root: Path) -> list[Asked]:
    """Write a package's source without the comments of what is asked; what is asked."""
    chance = random.Random(f"{SEED} {archive.name}")
    sources: dict[str, bytes] = {}
    for member in members(archive):
        language = language_of(member.path)
        if language.content == CODE and language.grammar and 200 < member.size < 200_000 and readable(content := member.read()):
            sources[member.path] = content
    total = sum(map(len, sources.values()))
    if not FEWEST_FILES <= len(sources) <= MOST_FILES or total > MOST_BYTES:
        return []
    asked = []
    for path in sorted(sources, key=lambda _: chance.random()):
        if len(asked) < OF_PACKAGE and not roles(path) & (Role.TEST | Role.EXAMPLE):
            blanked, sentence = without_one_doc(path, sources[path], chance)
            if sentence:
                sources[path] = blanked
                asked.append(Asked(sentence, path))
    for path, content in sources.items() if asked else ():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return asked


def without_one_doc(path: str, source: bytes, chance: random.Random) -> tuple[bytes, str]:
    """A file with every comment of one of its definitions blanked, and that definition's sentence."""
    parsed = parse(source, language_of(path).name)
    fit: list[tuple[Unit, str]] = []
    for unit in parsed.units:
        sentence = doc_of(source, unit, parsed.comments)
        if FEWEST_WORDS <= len(sentence.split()) <= MOST_WORDS:
            fit.append((unit, sentence))
    if not fit:
        return source, ""
    unit, sentence = chance.choice(fit)
    blanked = bytearray(source)
    for start, end in parsed.comments:
        if unit.start <= start and end <= unit.end:
            blanked[start:end] = bytes(byte if byte in b"\n\"'#/*" else 32 for byte in source[start:end])
    return bytes(blanked), sentence


def chosen(archives: Path, languages: dict[str, str]) -> Iterator[tuple[Path, str]]:
    """Archives in an order of chance, with the language of each."""
    found = [(path, languages[package_of(path)]) for path in sorted(archives.iterdir()) if package_of(path) in languages]
    random.Random(SEED).shuffle(found)
    yield from found


def main() -> None:
    """Lay out packages until every language has its share."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("archives", "records", "corpus"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args()
    (options.corpus / "annotations").mkdir(parents=True, exist_ok=True)
    listed: list[dict[str, str]] = []
    for archive, language in chosen(options.archives, packages(options.records)):
        if sum(one["language"] == language for one in listed) >= OF_LANGUAGE:
            continue
        name = f"package-{len(listed):03d}"
        asked = lay_out(archive, options.corpus / "repos" / name)
        if len(asked) < 5:
            continue
        listed.append({"name": name, "language": language, "url": package_of(archive), "revision": ""})
        tasks = [{"query": one.sentence, "relevant": [one.path], "category": "doc"} for one in asked]
        (options.corpus / "annotations" / f"{name}.json").write_text(json.dumps(tasks, indent=1) + "\n", encoding="utf-8")
    (options.corpus / "repos.json").write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    print(len(listed), "packages")


if __name__ == "__main__":
    main()
