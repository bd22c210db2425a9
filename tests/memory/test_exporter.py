"""Notes leave as files and as lines, the same bytes for the same notes."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_cases import each
from whence.core.errors import StorageError, UsageError
from whence.memory.note import CodeRef, Note
from whence.memory.transfer import MANIFEST, lines_of, note_from_line, write_folder

NOON = datetime(2026, 11, 16, 12, 0, 5, tzinfo=timezone.utc)
TEA = Note(
    "Tea is at four.\n\nSinc\u00e8rement \U0001f375",
    slug="tea",
    project="House Rules",
    topic="Tea: when?",
    kind="durable",
    tags=("drinks", "caf\u00e9"),
    source="Ann",
    created=NOON,
    updated=NOON,
    valid_from=NOON,
    valid_until=NOON,
    about=(CodeRef("src/tea.py#brew", "0123456789abcdef", "/home/ann/kettle"), CodeRef("src/cup.py")),
    archived=NOON,
    folder="house-rules",
)
MILK = Note("Milk last.", slug="milk", kind="resource", created=NOON)


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }


def test_every_note_is_a_file_under_its_own_name(tmp_path):
    assert write_folder([TEA, MILK], tmp_path / "a" / "b") == 2
    found = tree(tmp_path / "a" / "b")
    assert set(found) == {"general/milk.md", "house-rules/tea.md", MANIFEST}
    assert b"Tea is at four." in found["house-rules/tea.md"]
    assert b"/home/ann/kettle" in found["house-rules/tea.md"]


def test_the_same_notes_give_the_same_bytes_in_whatever_order_they_come(tmp_path):
    write_folder([TEA, MILK], tmp_path / "one")
    write_folder(iter([MILK, TEA]), tmp_path / "two")
    assert tree(tmp_path / "one") == tree(tmp_path / "two")
    assert list(lines_of([TEA, MILK])) == list(lines_of([MILK, TEA]))


def test_an_export_that_changes_nothing_writes_nothing(tmp_path):
    write_folder([TEA, MILK], tmp_path)
    before = {path: path.stat().st_ino for path in tmp_path.rglob("*")}
    write_folder([TEA, MILK], tmp_path)
    assert {path: path.stat().st_ino for path in tmp_path.rglob("*")} == before


def test_notes_that_are_gone_leave_the_export_and_what_others_put_there_stays(tmp_path):
    write_folder([TEA, MILK], tmp_path)
    (tmp_path / "house-rules" / "mine.md").write_text("mine")
    (tmp_path / "README").write_text("mine")
    assert write_folder([replace(MILK, text="Milk first.")], tmp_path) == 1
    assert set(tree(tmp_path)) == {"general/milk.md", "house-rules/mine.md", "README", MANIFEST}
    assert write_folder([], tmp_path) == 0
    assert not (tmp_path / "general").exists()


def test_a_file_that_was_not_exported_is_not_replaced(tmp_path):
    write_folder([TEA], tmp_path)
    (tmp_path / "general").mkdir()
    (tmp_path / "general" / "milk.md").write_text("mine")
    with pytest.raises(UsageError, match=r"milk.md is in the way"):
        write_folder([TEA, MILK], tmp_path)
    assert (tmp_path / "general" / "milk.md").read_text() == "mine"


def test_a_folder_with_other_things_in_it_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(UsageError, match="neither empty nor an export"):
        write_folder([TEA], tmp_path)
    with pytest.raises(UsageError, match="not a folder"):
        write_folder([TEA], tmp_path / "thesis.tex")
    assert set(tree(tmp_path)) == {"thesis.tex"}


def test_a_folder_under_version_control_counts_as_empty(tmp_path):
    (tmp_path / ".git").mkdir()
    assert write_folder([TEA], tmp_path) == 1


@pytest.mark.parametrize("listed", ["../victim.md", "general/../../victim.md", "/victim.md", ".git/victim.md", "victim.md"])
def test_a_list_of_files_that_was_tampered_with_removes_nothing_outside(tmp_path, listed):
    export = tmp_path / "export"
    write_folder([TEA], export)
    for victim in (tmp_path / "victim.md", export / "victim.md"):
        victim.write_text("mine")
    (export / MANIFEST).write_text(json.dumps({"files": [listed, 7]}))
    with pytest.raises(UsageError, match="in the way"):
        write_folder([replace(TEA, text="other")], export)
    write_folder([MILK], export)
    assert (tmp_path / "victim.md").read_text() == (export / "victim.md").read_text() == "mine"


def test_nothing_is_written_through_a_link_out_of_the_export(tmp_path):
    export = tmp_path / "export"
    write_folder([TEA], export)
    (tmp_path / "elsewhere").mkdir()
    (export / "general").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="leads out of the export"):
        write_folder([TEA, MILK], export)
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("content", ["", "[]", "{}", "{", '{"files": 7}'])
def test_a_list_of_files_that_cannot_be_read_is_said_in_one_line(tmp_path, content):
    (tmp_path / MANIFEST).write_text(content)
    with pytest.raises(UsageError, match="cannot be read"):
        write_folder([TEA], tmp_path)


def test_a_place_that_cannot_be_written_is_said_in_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="could not be written"):
        write_folder([TEA], tmp_path / "file" / "export")


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "a\\b", ".hidden", "a\0b"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path, name):
    for note in (replace(MILK, slug=name), replace(MILK, folder=name or "..")):
        with pytest.raises(UsageError, match="cannot be a file name"):
            write_folder([note], tmp_path)
        with pytest.raises(UsageError, match="cannot be a file name"):
            note_from_line(next(lines_of([note])))
    assert tree(tmp_path) == {}


def test_a_note_with_trouble_leaves_as_the_file_it_was(tmp_path):
    write_folder([Note("---\ntags: [\n---\nhello\n", slug="odd", problem="line 2: not closed")], tmp_path)
    assert (tmp_path / "general" / "odd.md").read_text() == "---\ntags: [\n---\nhello\n"


def test_a_line_holds_every_field_in_plain_characters_and_reads_back(tmp_path):
    [milk, tea] = lines_of([TEA, MILK])
    assert (milk + tea).isascii()
    assert list(json.loads(tea)) == sorted({*TEA.__slots__, "trouble"} - {"problem"})
    assert [note_from_line(milk), note_from_line(tea)] == [MILK, TEA]


plain = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
moments = st.none() | st.integers(-(10**10), 10**11).map(lambda seconds: datetime.fromtimestamp(seconds, timezone.utc))


@given(
    st.builds(
        Note,
        plain,
        slug=st.just("s"),
        topic=plain,
        tags=st.lists(plain, max_size=3).map(tuple),
        created=moments,
        archived=moments,
        about=st.lists(st.builds(CodeRef, plain, plain, plain), max_size=2).map(tuple),
        other=st.lists(st.tuples(plain, plain), max_size=2).map(tuple),
        problem=plain,
    )
)
def test_any_note_reads_back_from_its_line(note):
    assert note_from_line(*lines_of([note])) == note


@each(
    ("change", "says"),
    [
        ({"kind": "opera"}, "unknown kind 'opera'"),
        ({"created": "soon"}, "created: 'soon' is not a time"),
        ({"tags": "tea"}, "tags: 'tea' is not a list"),
        ({"tags": [1]}, "tags: 1 is not text"),
        ({"text": 7}, "text: 7 is not text"),
        ({"text": "\ud800"}, "text: half of a surrogate pair"),
        ({"about": ["src/tea.py"]}, "names no code"),
        ({"other": [["a"]]}, "is not a key with its value"),
    ],
)
def test_a_line_that_is_no_note_says_why(change, says):
    with pytest.raises(UsageError) as refused:
        note_from_line(json.dumps(json.loads(next(lines_of([TEA]))) | change))
    assert says in str(refused.value)


@given(
    st.text(max_size=40)
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda x: st.lists(x) | st.dictionaries(st.sampled_from(TEA.__slots__), x),
        max_leaves=9,
    ).map(json.dumps)
)
def test_garbage_is_refused_and_nothing_else(line):
    with contextlib.suppress(UsageError):
        note_from_line(line)
