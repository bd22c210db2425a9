"""Archives become records: what is kept of them, and what must not be."""

import gzip
import io
import json
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from small_cases import each

HOUSE = Path(__file__).parents[2]
sys.path.insert(0, str(HOUSE / "training"))

import apart  # noqa: E402
import mine  # noqa: E402
import obtain  # noqa: E402

MIT = "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software.\n"
GPL = "GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007\n"

PYTHON = '''"""Keeps answers of slow functions for later."""

import time


class Shelf:
    """A shelf that forgets what nobody has asked for in a while."""

    def fetch(self, key, make):
        """Return the kept answer, or make it and keep it.

        :param key: under which it is kept
        """
        if key not in self.kept:
            self.kept[key] = (time.monotonic(), make())
        return self.kept[key][1]

    def forget_old_answers(self, age):
        limit = time.monotonic() - age
        self.kept = {key: value for key, value in self.kept.items() if value[0] > limit}
'''
RUBY = """# Copyright 2020 by somebody. All rights reserved.

module Garden
  # Waters every plant that has been dry for too long.
  # @param days [Integer] how long
  def self.water(days)
    plants.select { |plant| plant.dry_for > days }.each(&:water)
  end
end
"""
CSHARP = """namespace Harbour
{
    /// <summary>
    /// Leads a <see cref="Ship"/> to a free place at the quay.
    /// </summary>
    /// <param name="ship">the ship</param>
    [Serializable]
    public class Pilot
    {
        public void Lead(Ship ship) { ship.MoveTo(quay.FirstFreePlace(ship.Length)); }
    }
}
"""
ELIXIR = '''defmodule Bakery do
  @moduledoc """
  Bakes bread in the order of its arrival.
  """

  @doc """
  Puts a loaf into the oven and waits until it is done.
  """
  @spec bake(loaf) :: bread
  def bake(loaf) do
    Oven.insert(loaf)
    receive do: ({:done, bread} -> bread)
  end
end
'''
ZIG = """//! Counts sheep in a field.

const std = @import("std");

/// Adds a sheep unless the field is full already.
pub fn add(self: *Field, sheep: Sheep) error{Full}!void {
    if (self.count == self.sheep.len) return error.Full;
    self.sheep[self.count] = sheep;
}
"""


def tar_of(path, files, top="thing-1.0"):
    with tarfile.open(path, "w:gz") as made:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size = len(text.encode())
            made.addfile(entry, io.BytesIO(text.encode()))
    return path


def zip_of(path, files, top="thing-1.0"):
    with zipfile.ZipFile(path, "w") as made:
        for name, text in files.items():
            made.writestr(f"{top}/{name}", text)
    return path


def mined(tmp_path, *archives, known=frozenset()):
    report = mine.mine(list(archives), tmp_path / "records", set(known))
    lines = [line for shard in sorted((tmp_path / "records").glob("*.jsonl")) for line in shard.read_text().splitlines()]
    return [json.loads(line) for line in lines], report


def units_of(records):
    return {unit["name"]: unit for record in records for unit in record["units"]}


@pytest.mark.parametrize("packed", [tar_of, zip_of])
def test_a_source_file_becomes_a_record_with_its_units(tmp_path, packed):
    archive = packed(tmp_path / "pypi=thing=thing-1.0.archive", {"LICENSE": MIT, "src/shelf.py": PYTHON, "notes.txt": "words " * 80})
    (record,), report = mined(tmp_path, archive)
    assert (record["package"], record["language"], record["path"], record["test"]) == ("pypi=thing", "python", "src/shelf.py", False)
    assert record["header"] == "Keeps answers of slow functions for later."
    units = units_of([record])
    assert list(units) == ["Shelf", "fetch", "forget_old_answers"]
    assert units["fetch"]["parents"] == ["Shelf"]
    assert units["fetch"]["signature"] == "def fetch(self, key, make)"
    assert units["fetch"]["doc"] == "Return the kept answer, or make it and keep it."
    assert units["forget_old_answers"]["doc"] == ""
    assert report.documented == {"python": 2}


@pytest.mark.parametrize(
    ("path", "text", "name", "doc"),
    [
        ("shelf.py", PYTHON, "fetch", "Return the kept answer, or make it and keep it."),
        ("garden.rb", RUBY, "water", "Waters every plant that has been dry for too long."),
        ("Pilot.cs", CSHARP, "Pilot", "Leads a Ship to a free place at the quay."),
        ("bakery.ex", ELIXIR, "bake", "Puts a loaf into the oven and waits until it is done."),
        ("field.zig", ZIG, "add", "Adds a sheep unless the field is full already."),
    ],
)
def test_a_doc_is_said_once_and_not_again_in_the_body(tmp_path, path, text, name, doc):
    records, _ = mined(tmp_path, tar_of(tmp_path / "npm=a=1.tgz", {path: text}))
    unit = units_of(records)[name]
    assert unit["doc"] == doc
    assert mine.letters(doc) not in mine.letters(unit["body"])
    assert "param" not in unit["body"]
    assert name in unit["body"]


def test_a_doc_longer_than_the_parser_keeps_leaves_the_body_as_a_whole(tmp_path):
    doc = "// Weighs the load of a wagon before it leaves.\n" + "".join(f"// Remark {n} on wagons of every make.\n" for n in range(40))
    records, _ = mined(
        tmp_path, tar_of(tmp_path / "npm=a=1.tgz", {"a.go": f"package a\n\n{doc}func Weigh(w Wagon) int {{\n\treturn w.Sum(w.Load)\n}}\n"})
    )
    assert units_of(records)["Weigh"]["body"].startswith("func Weigh(")


def test_a_comment_on_the_first_line_of_a_body_is_no_doc(tmp_path):
    text = (
        "function lift(crate) {\n  // the hook needs a moment to catch hold\n  wait(20);\n  return hook.pull(crate, crate.weight * 2);\n}\n"
        * 3
    )
    records, _ = mined(tmp_path, tar_of(tmp_path / "npm=a=1.tgz", {"a.js": text}))
    assert units_of(records)["lift"]["doc"] == ""


def renamed_copies(tree):
    """The files of a tree under other names and with other indentation."""
    return {f"other/name{n}.py": path.read_text().replace("    ", "\t") for n, path in enumerate(sorted(tree.rglob("*.py")))}


def test_a_renamed_copy_of_a_tree_to_be_kept_apart_is_left_out_and_reported(tmp_path):
    known = apart.known_shingles([HOUSE / "src/whence/parse"])
    copy = tar_of(tmp_path / "npm=innocent=1.tgz", renamed_copies(HOUSE / "src/whence/parse"))
    other = tar_of(tmp_path / "npm=other=1.tgz", renamed_copies(HOUSE / "src/whence/query"))
    records, report = mined(tmp_path, copy, other, known=known)
    assert {record["package"] for record in records} == {"npm=other"}
    assert list(report.left_out) == ["npm=innocent=1.tgz"]
    written = json.loads((tmp_path / "records/report.json").read_text())
    assert "nearly equal" in written["left_out"]["npm=innocent=1.tgz"]


def test_a_small_part_of_a_known_tree_inside_a_large_package_gives_it_away(tmp_path):
    known = apart.known_shingles([HOUSE / "src/whence/parse"])
    files = renamed_copies(HOUSE / "src/whence/index") | {"copied.py": (HOUSE / "src/whence/parse/units.py").read_text()}
    _, report = mined(tmp_path, tar_of(tmp_path / "npm=large=1.tgz", files), known=known)
    assert "shingles known" in report.left_out["npm=large=1.tgz"]


def test_a_licence_header_shared_with_a_known_tree_is_no_resemblance(tmp_path):
    header = "".join(f"# clause {n} of a licence that very many files begin with\n" for n in range(30))
    tree = tmp_path / "tree"
    tree.mkdir()
    for n in range(20):
        (tree / f"known{n}.py").write_text(f"{header}value = {n}\n")
    archive = tar_of(tmp_path / "npm=a=1.tgz", {"shelf.py": header + "\n\n" + PYTHON})
    records, report = mined(tmp_path, archive, known=apart.known_shingles([tree]))
    assert report.left_out == {}
    assert "fetch" in units_of(records)


@pytest.mark.parametrize(
    ("licences", "kept"),
    [
        ({"LICENSE": MIT}, True),
        ({}, True),
        ({"COPYING": GPL}, False),
        ({"COPYING": GPL, "LICENSE.MIT": MIT}, True),
        ({"COPYING": GPL, "bundled/LICENSE": MIT}, False),
    ],
)
def test_a_package_with_only_copyleft_licences_is_left_out(tmp_path, licences, kept):
    records, report = mined(tmp_path, tar_of(tmp_path / "npm=a=1.tgz", {"a.py": PYTHON} | licences))
    assert bool(records) is kept
    assert bool(report.left_out) is not kept


@pytest.mark.parametrize("path", ["node_modules/a/shelf.py", "vendor/shelf.py", "src/locale/de.py", "thing_pb2.py"])
def test_what_others_or_machines_wrote_is_passed_over(tmp_path, path):
    records, _ = mined(tmp_path, tar_of(tmp_path / "npm=a=1.tgz", {path: PYTHON}))
    assert records == []


def test_generated_and_minified_files_are_passed_over(tmp_path):
    files = {"a.py": "# Code generated by a tool.\n" + PYTHON, "b.js": "function f(){return 1};" * 400}
    records, _ = mined(tmp_path, tar_of(tmp_path / "npm=a=1.tgz", files))
    assert records == []


def test_one_test_file_in_five_is_kept_and_marked(tmp_path):
    files = {f"tests/test_{n}.py": PYTHON.replace("fetch", f"fetch_{n}") for n in range(100)}
    records, _ = mined(tmp_path, tar_of(tmp_path / "npm=a=1.tgz", files))
    assert 8 <= len(records) <= 35
    assert all(record["test"] for record in records)


def test_a_file_gives_no_more_than_forty_documented_units_and_the_same_ones_each_time(tmp_path):
    body = "    answer = table[key] + len(table) * 2\n    return answer or None\n"
    text = "".join(f'def look_up_{n}(table, key):\n    """Look up entry number {n} in a table."""\n{body}\n' for n in range(90))
    archive = tar_of(tmp_path / "npm=a=1.tgz", {"a.py": text})
    first, _ = mined(tmp_path, archive)
    (tmp_path / "again").mkdir()
    second, _ = mined(tmp_path / "again", archive)
    assert len(units_of(first)) == 40
    assert first == second


def test_the_same_file_in_two_packages_is_mined_once(tmp_path):
    archives = [tar_of(tmp_path / f"npm={name}=1.tgz", {"src/shelf.py": PYTHON}) for name in ("one", "two")]
    records, _ = mined(tmp_path, *archives)
    assert [record["package"] for record in records] == ["npm=one"]


def test_a_second_run_mines_only_what_is_new(tmp_path):
    one = tar_of(tmp_path / "npm=one=1.tgz", {"shelf.py": PYTHON})
    mined(tmp_path, one)
    two = tar_of(tmp_path / "npm=two=1.tgz", {"garden.rb": RUBY, "shelf.py": PYTHON + "\n"})
    records, report = mined(tmp_path, one, two)
    assert sorted(units_of(records)) == ["Shelf", "fetch", "forget_old_answers", "water"]
    assert sum(len(record["units"]) for record in records) == 4
    assert report.shards == 2


def test_a_damaged_archive_is_reported_and_the_others_are_mined(tmp_path):
    broken = tmp_path / "npm=broken=1.tgz"
    broken.write_bytes(gzip.compress(b"no archive at all" * 99)[:60])
    records, report = mined(tmp_path, broken, tar_of(tmp_path / "npm=good=1.tgz", {"shelf.py": PYTHON}))
    assert records
    assert "cannot be read" in report.left_out["npm=broken=1.tgz"]


@each(
    ("comment", "said"),
    [
        ("Opens the door.\nIt creaks.\n\nMore about doors.", "Opens the door. It creaks."),
        (
            "Opens the door to the cellar and leaves it ajar. Nobody knows why this is so.",
            "Opens the door to the cellar and leaves it ajar.",
        ),
        ("\\brief Opens the `door` of a {@link House}.\n@param door the door", "Opens the door of a House."),
        ("<summary>\nOpens the <c>door</c> of a house.\n</summary>", "Opens the door of a house."),
        ("@param door the door of the house", ""),
        ("Copyright 1999 by the makers of the door", ""),
        ("TODO: open the door when it rings", ""),
        ("if (door.isOpen()) { return door; }", ""),
        ("eslint-disable-next-line no-unused-vars in doors", ""),
        ("die Tür wird geöffnet, übermütig, größer und schöner als früher für Gäste", ""),
        ("door", ""),
    ],
)
def test_the_first_sentences_of_a_comment_are_prose_or_nothing(comment, said):
    assert mine.first_sentences(comment) == said


def test_an_archive_is_of_use_when_it_carries_the_wanted_source(tmp_path):
    group = obtain.Group("ruby", "debian", ".rb", 1, files=2)
    two = tar_of(tmp_path / "two", {"a.rb": RUBY, "b.rb": RUBY}).read_bytes()
    one = tar_of(tmp_path / "one", {"a.rb": RUBY, "b.py": PYTHON}).read_bytes()
    copyleft = tar_of(tmp_path / "copyleft", {"a.rb": RUBY, "b.rb": RUBY, "COPYING": GPL}).read_bytes()
    verdicts = [obtain.verdict(group, content, tmp_path / "scratch") for content in (two, one, copyleft)]
    assert verdicts == ["", "no source", "copyleft"]


def test_a_bundle_is_split_into_the_wanted_folders(tmp_path):
    group = obtain.Group("zig", "debian", ".zig", 1, parts=r"^(one|two)/")
    files = {"one/a.zig": ZIG, "one/LICENSE": MIT, "two/b.zig": ZIG, "two/c.py": PYTHON, "three/d.zig": ZIG}
    parts = dict(obtain.parts_of(tar_of(tmp_path / "bundle", files).read_bytes(), group, tmp_path / "scratch"))
    for name, content in parts.items():
        (tmp_path / name).write_bytes(content)
    assert {name: [member.path for member in apart.members(tmp_path / name)] for name in parts} == {
        "one": ["a.zig", "LICENSE"],
        "two": ["b.zig"],
    }
