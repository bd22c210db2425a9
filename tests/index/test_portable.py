"""An index in one file: what is taken in is what was packed, or nothing is (Z8)."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sample_trees import git, whence, write
from whence import Index
from whence.index.layout import Layout

FILES = {
    f"lib/{name}_{n}.py": f"def {name}_{n}(value):\n    return other_{n}(value)\n"
    for name in ("retry", "parse", "walrus")
    for n in range(4)
}
QUERIES = ("retry", "parse value", "walrus 2")


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository, its clone and a pack of it, beside one another."""
    place = tmp_path_factory.mktemp("packed")
    write(place / "here", FILES)
    git("init", "-b", "main", cwd=place / "here")
    git("add", ".", cwd=place / "here")
    git("commit", "-m", "first", cwd=place / "here")
    done = whence("pack", "export", str(place / "here"), "-o", "a.pack", "--json", cwd=place, WHENCE_DATA_DIR=str(place / "data"))
    (place / "said.json").write_text(done.stdout)
    return place


@pytest.fixture
def clone(packed: Path, tmp_path: Path) -> Path:
    git("clone", "-q", str(packed / "here"), str(tmp_path / "there"), cwd=tmp_path)
    return tmp_path / "there"


def taken_in(pack: Path, clone: Path, *more: str) -> tuple[int, str]:
    done = whence("pack", "import", str(pack), str(clone), *more, cwd=clone.parent, WHENCE_DATA_DIR=str(clone.parent / "data"))
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def answers(root: Path, data_dir: Path) -> list[list[tuple[str, float]]]:
    with Index.open(root, data_dir=data_dir) as index:
        return [[(one.path, one.score) for one in index.search(query)] for query in QUERIES]


def test_a_clone_that_takes_a_pack_in_reads_nothing_and_answers_like_a_clean_build(packed, clone, tmp_path):
    said = json.loads((packed / "said.json").read_text())
    assert (said["files"], len(said["commit"])) == (len(FILES), 40)
    code, text = taken_in(packed / "a.pack", clone, "--expect", said["digest"])
    assert (code, text) == (0, f"{clone}: {len(FILES)} files taken from the pack, 0 read here\n")
    assert answers(clone, tmp_path / "data") == answers(clone, tmp_path / "clean")
    assert not list(Layout(tmp_path / "data", clone.resolve()).directory.glob("pack-*"))


def test_only_the_difference_is_built(packed, clone, tmp_path):
    (clone / "lib/retry_0.py").write_text("def retried():\n    return walrus_9\n")
    (clone / "lib/parse_1.py").unlink()
    git("commit", "-qam", "second", cwd=clone)
    code, text = taken_in(packed / "a.pack", clone)
    assert code == 0
    assert f"{len(FILES) - 2} files taken from the pack, 1 read here; the pack is of" in text
    assert answers(clone, tmp_path / "data") == answers(clone, tmp_path / "clean")


def members(pack: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(pack) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def repacked(pack: Path, content: dict[str, bytes]) -> None:
    with zipfile.ZipFile(pack, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)


def edited(change: Callable[[dict], object]) -> Callable[[Path], None]:
    def edit(pack: Path) -> None:
        content = members(pack)
        manifest = json.loads(content["manifest.json"])
        change(manifest)
        repacked(pack, content | {"manifest.json": json.dumps(manifest).encode()})

    return edit


def with_a_bit_flipped(pack: Path, suffix: str) -> None:
    content = members(pack)
    name = next(name for name in content if name.endswith(suffix))
    raw = bytearray(content[name])
    raw[len(raw) // 2] ^= 1
    repacked(pack, content | {name: bytes(raw)})


def swapped(pack: Path) -> None:
    """A file of the tree is said to be what another is."""

    def change(manifest: dict) -> None:
        a, b = manifest["files"][:2]
        a[1], b[1] = b[1], a[1]
        a[4:], b[4:] = b[4:], a[4:]

    edited(change)(pack)


def renamed(pack: Path, to: str) -> None:
    content = members(pack)
    name = next(name for name in content if name.endswith(".segment"))
    manifest = json.loads(content["manifest.json"])
    manifest["members"][to] = manifest["members"].pop(name)
    manifest["segments"][0]["name"] = to
    content[to] = content.pop(name)
    repacked(pack, content | {"manifest.json": json.dumps(manifest).encode()})


def bomb(pack: Path) -> None:
    repacked(pack, members(pack) | {"0123456789abcdef.segment": b"\0" * 50_000_000})


TAMPERED: dict[str, Callable[[Path], object]] = {
    "a bit of a segment": lambda pack: with_a_bit_flipped(pack, ".segment"),
    "a bit of the vectors": lambda pack: with_a_bit_flipped(pack, ".vectors"),
    "a bit of the archive": lambda pack: pack.write_bytes(
        bytes(b ^ (at == len(pack.read_bytes()) // 2) for at, b in enumerate(pack.read_bytes()))
    ),
    "cut off": lambda pack: pack.write_bytes(pack.read_bytes()[:-200]),
    "empty": lambda pack: pack.write_bytes(b""),
    "no zip": lambda pack: pack.write_text("#!/bin/sh\n"),
    "a member more": lambda pack: repacked(pack, members(pack) | {"more.segment": b"x"}),
    "a member less": lambda pack: repacked(pack, {name: data for name, data in members(pack).items() if not name.endswith(".vectors")}),
    "a member that leads out": lambda pack: renamed(pack, "../../../evil.segment"),
    "a member with a root": lambda pack: renamed(pack, "/tmp/evil.segment"),
    "a bomb": bomb,
    "rows of another file": swapped,
    "no manifest": lambda pack: repacked(pack, {name: data for name, data in members(pack).items() if name != "manifest.json"}),
    "a manifest that is a list": lambda pack: repacked(pack, members(pack) | {"manifest.json": b"[]"}),
    "a manifest of noise": lambda pack: repacked(pack, members(pack) | {"manifest.json": os.urandom(500)}),
    "another version": edited(lambda manifest: manifest.update(format=3)),
    "a wrong hash": edited(lambda manifest: next(iter(manifest["members"].values())).update(blake2b="0" * 64)),
    "a wrong size": edited(lambda manifest: next(iter(manifest["members"].values())).update(size=10)),
    "rows that are not there": edited(lambda manifest: manifest["files"][0].__setitem__(5, 999)),
    "texts for numbers": edited(lambda manifest: manifest["segments"][0].update(files="many")),
}


@pytest.mark.parametrize("tampering", TAMPERED)
def test_a_tampered_pack_is_refused_and_nothing_of_it_is_used(packed, clone, tmp_path, tampering):
    pack = tmp_path / "b.pack"
    pack.write_bytes((packed / "a.pack").read_bytes())
    TAMPERED[tampering](pack)
    code, text = taken_in(pack, clone)
    assert code == 2, text
    assert len(text.splitlines()) == 1
    layout = Layout(tmp_path / "data", clone.resolve())
    assert not layout.exists()
    assert not list(layout.segments.iterdir())
    assert not list(tmp_path.rglob("evil*"))
    assert taken_in(packed / "a.pack", clone)[0] == 0, "the right one still can be taken in"


def test_a_pack_that_was_made_consistently_by_somebody_else_is_told_by_its_digest(packed, clone, tmp_path):
    pack = tmp_path / "b.pack"
    pack.write_bytes((packed / "a.pack").read_bytes())
    edited(lambda manifest: manifest.update(root="other"))(pack)
    code, text = taken_in(pack, clone, "--expect", json.loads((packed / "said.json").read_text())["digest"])
    assert code == 2
    assert "its digest is blake2b:" in text


def test_what_is_in_the_tree_and_not_in_the_commit_is_not_packed(packed, tmp_path):
    git("clone", "-q", str(packed / "here"), str(tmp_path / "dirty"), cwd=tmp_path)
    (tmp_path / "dirty/private.py").write_text("PRIVATE = 1\n")
    done = whence("pack", "export", str(tmp_path / "dirty"), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("whence: private.py differ from the commit (commit them")
    assert not list(tmp_path.glob("*.whence-pack"))


def test_wrong_requests_are_one_line(packed, clone, tmp_path):
    plain = write(tmp_path / "plain", FILES)
    assert "has no commit" in whence("pack", "export", str(plain), cwd=tmp_path).stderr
    assert "is a part of" in whence("pack", "export", str(clone / "lib"), cwd=tmp_path).stderr
    assert "is there already" in whence("pack", "export", str(packed / "here"), "-o", str(packed / "a.pack"), cwd=tmp_path).stderr
    assert "no such file" in taken_in(tmp_path / "nowhere.pack", clone)[1]
    assert taken_in(packed / "a.pack", clone)[0] == 0
    assert "is indexed already (whence clear" in taken_in(packed / "a.pack", clone)[1]


def test_the_same_index_gives_the_same_pack_byte_for_byte(packed, tmp_path):
    data = str(packed / "data")
    assert whence("pack", "export", str(packed / "here"), "-o", str(tmp_path / "again"), cwd=tmp_path, WHENCE_DATA_DIR=data).returncode == 0
    assert (tmp_path / "again").read_bytes() == (packed / "a.pack").read_bytes()
