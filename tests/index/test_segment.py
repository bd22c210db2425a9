"""Segments: several merged into one answer exactly as if all files had been digested at once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whence.index.merge import merge
from whence.index.segment import FILE_COLUMNS, UNIT_COLUMNS, Segment, name_hash
from whence.index.segment_writer import SegmentWriter
from whence.parse.languages import language_of
from whence.parse.units import parse
from whence.storage.arrayfile import ArrayFile, write_arrays

FILES = {
    "lib/http_client.py": "class HttpClient:\n    def retry(self, request):\n        return send(request)\n",
    "lib/parser.py": "def parse(text):\n    # parse the text\n    return text.split()\n\nLIMIT = 10\n",
    "docs/guide.md": "# Guide\n\nHow to retry a request.\n\n## Parsing\n\nText.\n",
    "src/größe.js": "function größe(x) { return x.length }\n",
    os.fsdecode(b"src/caf\xe9.go"): "package main\n\nfunc Retry() {}\n",
    "config.yaml": "retry: 3\nlimit: 10\n",
    "long.txt": "words in many windows\n" * 400,
}


def digest(directory: Path, name: str, paths: Iterable[str]) -> Segment:
    found = SegmentWriter()
    for path in paths:
        source = FILES[path].encode()
        parsed = parse(source, language_of(path, source).name)
        found.add(path, source, parsed)
    return Segment(ArrayFile(directory / name, write_arrays(directory / name, found.arrays(), {})))


def merged(directory: Path, parts: list[tuple[Segment, list[bool]]]) -> Segment:
    arrays = merge([(segment, np.array(keep, bool)) for segment, keep in parts])
    return Segment(ArrayFile(directory / "merged", write_arrays(directory / "merged", arrays, {})))


def plain(segment: Segment) -> dict[str, Any]:
    """Everything a segment can be asked, as plain values. Terms that no file holds any more say nothing."""
    told: dict[str, Any] = {
        "paths": segment.paths.all(),
        "languages": segment.languages(),
        "names": segment.unit_names.all(),
        "unit ends": segment.unit_ends.tolist(),
        "window ends": segment.window_ends.tolist(),
        "sizes": (segment.files, segment.units, segment.windows),
    }
    for column in (*FILE_COLUMNS, *UNIT_COLUMNS, "files.stem_ends", "files.directory_ends"):
        told[column] = segment.arrays[column].tolist()
    for what, ask in (("units", segment.unit_postings), ("windows", segment.window_postings), ("in paths", segment.path_postings)):
        answers = {segment.terms[term]: tuple(array.tolist() for array in ask(term)) for term in range(len(segment.terms))}
        told[what] = {term: found for term, found in answers.items() if found[0]}
    told["mentions"] = {
        word: segment.files_with_word(name_hash(word)).tolist() for word in ("retry", "request", "parse", "windows", "größe", "absent")
    }
    parts = np.array(segment.arrays["parts.ends"])
    told["stems"] = _words(segment, "files.stem_parts") if len(parts) else []
    told["directories"] = _words(segment, "files.directory_parts") if len(parts) else []
    return told


def _words(segment: Segment, column: str) -> list[str]:
    from whence.storage.arrayfile import unpack_strings

    names = unpack_strings(segment.arrays, "parts").all()
    return [names[row] for row in segment.arrays[column].tolist()]


def test_two_parts_merged_are_one_digest_of_all(tmp_path: Path) -> None:
    first, second = list(FILES)[:3], list(FILES)[3:]
    found = merged(tmp_path, [(digest(tmp_path, "a", first), [True] * 3), (digest(tmp_path, "b", second), [True] * 4)])
    assert plain(found) == plain(digest(tmp_path, "all", FILES))


def test_a_part_for_each_file_merged_is_one_digest_of_all(tmp_path: Path) -> None:
    parts = [(digest(tmp_path, str(number), [path]), [True]) for number, path in enumerate(FILES)]
    assert plain(merged(tmp_path, parts)) == plain(digest(tmp_path, "all", FILES))


@pytest.mark.parametrize("gone", [{0}, {2, 3}, {6}, {0, 1, 2}, {0, 2, 4, 6}, {0, 1, 2, 3, 4, 5}], ids=str)
def test_files_removed_in_a_merge_leave_nothing_behind(tmp_path: Path, gone: set[int]) -> None:
    paths = list(FILES)
    keep = [number not in gone for number in range(len(paths))]
    parts = [(digest(tmp_path, "a", paths[:4]), keep[:4]), (digest(tmp_path, "b", paths[4:]), keep[4:])]
    rest = [path for path, kept in zip(paths, keep, strict=True) if kept]
    assert plain(merged(tmp_path, parts)) == plain(digest(tmp_path, "rest", rest))


def test_a_merge_of_a_merge_is_the_same_again(tmp_path: Path) -> None:
    paths = list(FILES)
    inner = merged(tmp_path, [(digest(tmp_path, "a", paths[:2]), [True, True]), (digest(tmp_path, "b", paths[2:4]), [False, True])])
    outer = merge([(inner, np.array([True, True, False])), (digest(tmp_path, "c", paths[4:]), np.array([True] * 3))])
    found = Segment(ArrayFile(tmp_path / "outer", write_arrays(tmp_path / "outer", outer, {})))
    assert plain(found) == plain(digest(tmp_path, "rest", [*paths[:2], *paths[4:]]))


def test_postings_name_the_units_that_hold_a_term(tmp_path: Path) -> None:
    segment = digest(tmp_path, "a", ["lib/http_client.py", "lib/parser.py"])
    rows, _ = segment.unit_postings(segment.terms.find("limit"))
    assert [segment.unit_names[row] for row in rows.tolist()] == ["LIMIT"]


def test_the_terms_of_a_segment_are_sorted_so_that_they_can_be_found(tmp_path: Path) -> None:
    segment = digest(tmp_path, "a", FILES)
    assert [segment.terms.find(term) for term in segment.terms.all()] == list(range(len(segment.terms)))


def test_a_nul_far_into_a_file_moves_no_word_to_another_unit(tmp_path: Path) -> None:
    source = b"def first():\n    alpha()\n\n# \0 \0 \0\n\ndef second():\n    omega()\n"
    found = SegmentWriter()
    found.add("a.py", source, parse(source, "python"))
    segment = Segment(ArrayFile(tmp_path / "a", write_arrays(tmp_path / "a", found.arrays(), {})))
    rows, _ = segment.unit_postings(segment.terms.find("omega"))
    assert [segment.unit_names[row] for row in rows.tolist()] == ["second"]
