"""Files of arrays: what is written is read, and what was altered is refused."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.core.errors import IndexDamaged
from whence.storage.arrayfile import MAGIC, ArrayFile, Stamp, StringTable, checksum_of, pack_strings, unpack_strings, write_arrays

ARRAYS = {
    "small": np.arange(5, dtype=np.uint8),
    "none": np.empty(0, np.uint32),
    "wide": np.linspace(0, 1, 1000),
    "signed": np.array([-1, 7], np.int64),
}


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, Stamp]:
    path = tmp_path / "a.segment"
    return path, write_arrays(path, ARRAYS, {"made": "now", "count": 3})


def flip(path: Path, at: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.write_bytes(raw)


def test_arrays_and_facts_come_back_as_they_were(written: tuple[Path, Stamp]) -> None:
    file = ArrayFile(*written)
    assert file.facts == {"made": "now", "count": 3}
    assert file.names() == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert file[name].dtype == array.dtype
        np.testing.assert_array_equal(file[name], array)


def test_a_file_without_arrays_is_a_file(tmp_path: Path) -> None:
    assert ArrayFile(tmp_path / "x", write_arrays(tmp_path / "x", {}, {})).names() == []


def test_a_file_knows_what_it_holds(written: tuple[Path, Stamp]) -> None:
    assert "wide" in ArrayFile(*written)
    assert "other" not in ArrayFile(*written)


def test_the_stamp_is_of_the_whole_file(written: tuple[Path, Stamp]) -> None:
    path, stamp = written
    assert stamp.checksum == checksum_of(path)
    assert stamp.size == path.stat().st_size


def test_nothing_is_left_beside_a_file_that_was_written(written: tuple[Path, Stamp]) -> None:
    assert [path.name for path in written[0].parent.iterdir()] == ["a.segment"]


def test_a_file_that_was_only_touched_is_still_good(written: tuple[Path, Stamp]) -> None:
    os.utime(written[0])
    assert len(ArrayFile(*written)["wide"]) == 1000


def test_a_file_that_was_copied_is_still_good(written: tuple[Path, Stamp]) -> None:
    path, stamp = written
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    assert len(ArrayFile(copy, stamp)["wide"]) == 1000


@pytest.mark.parametrize("kept", [0, 1, 7, 8, 15, 100, -1])
def test_a_truncated_file_is_refused(written: tuple[Path, Stamp], kept: int) -> None:
    path, stamp = written
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(IndexDamaged, match=r"a\.segment"):
        ArrayFile(path, stamp)


@pytest.mark.parametrize("kept", [0, 1, 7, 8, 15, 100, 2000])
def test_a_truncated_file_is_refused_even_where_no_stamp_is_known(written: tuple[Path, Stamp], kept: int) -> None:
    path, _ = written
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(IndexDamaged):
        ArrayFile(path)


def test_a_longer_file_is_refused(written: tuple[Path, Stamp]) -> None:
    path, stamp = written
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(IndexDamaged, match="instead of"):
        ArrayFile(path, stamp)


def test_one_flipped_bit_anywhere_is_seen(written: tuple[Path, Stamp]) -> None:
    path, stamp = written
    for at in range(0, stamp.size, 97):
        flip(path, at)
        with pytest.raises(IndexDamaged):
            ArrayFile(path, stamp)
        flip(path, at)


def test_a_flipped_bit_in_the_header_never_does_worse_than_be_refused(written: tuple[Path, Stamp]) -> None:
    """As when a disk forgets: the time stamp is as it was, so that no checksum is computed."""
    path, _ = written
    header = path.read_bytes().index(b"\0" * 20)
    for at in range(header):
        flip(path, at)
        with contextlib.suppress(IndexDamaged):
            ArrayFile(path)
        flip(path, at)


def test_a_wrong_magic_word_is_refused(written: tuple[Path, Stamp]) -> None:
    path, _ = written
    path.write_bytes(b"WHENCE99" + path.read_bytes()[len(MAGIC) :])
    with pytest.raises(IndexDamaged, match="header"):
        ArrayFile(path)


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"SQLite format 3\0" * 100)
    with pytest.raises(IndexDamaged):
        ArrayFile(tmp_path / "x")


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(IndexDamaged, match=r"gone\.segment cannot be opened"):
        ArrayFile(tmp_path / "gone.segment")


def test_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IndexDamaged):
        ArrayFile(tmp_path)


@given(st.lists(st.text(max_size=20) | st.binary(max_size=20).map(os.fsdecode)))
def test_strings_come_back_as_they_were_even_when_they_are_no_unicode(texts: list[str]) -> None:
    arrays = pack_strings("s", texts)
    table = StringTable(arrays["s.blob"], arrays["s.ends"])
    assert table.all() == texts
    assert [table[row] for row in range(len(table))] == texts


@given(st.sets(st.text(max_size=10)), st.text(max_size=10))
def test_a_string_is_found_in_a_sorted_table_exactly_when_it_is_there(texts: set[str], wanted: str) -> None:
    ordered = sorted(texts, key=str.encode)
    arrays = pack_strings("s", ordered)
    row = StringTable(arrays["s.blob"], arrays["s.ends"]).find(wanted)
    assert row == (ordered.index(wanted) if wanted in texts else -1)


def test_strings_are_read_from_a_file(tmp_path: Path) -> None:
    stamp = write_arrays(tmp_path / "x", pack_strings("words", ["a", "", "über"]), {})
    assert unpack_strings(ArrayFile(tmp_path / "x", stamp), "words").all() == ["a", "", "über"]
