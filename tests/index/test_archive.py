"""An index in one file: what is taken in is what was packed, or nothing is (Z8)."""

from __future__ import annotations

import contextlib
import json
import os
import zipfile
import zlib
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
} | {"lib/walrus.strange": "walrus, in a language nobody knows\n"}
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
    assert not list((tmp_path / "data").rglob("pack-*"))


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
        a[3:], b[3:] = b[3:], a[3:]

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
    "rows that are not there": edited(lambda manifest: manifest["files"][0].__setitem__(4, 999)),
    "a segment that lies elsewhere": edited(lambda manifest: manifest["segments"][0].update(name="/etc/passwd")),
    "a segment outside": edited(lambda manifest: manifest["segments"][0].update(name="../" + manifest["segments"][0]["name"])),
    "a segment twice": edited(lambda manifest: manifest["segments"].append(manifest["segments"][0])),
    "vectors of no segment": edited(lambda manifest: manifest["vectors"][0].update(segment=99)),
    "a row with two owners": edited(lambda manifest: manifest["files"][0].__setitem__(4, manifest["files"][1][4])),
    "a file twice": edited(lambda manifest: manifest["files"].append(manifest["files"][0])),
    "a row before the first": edited(lambda manifest: manifest["files"][0].__setitem__(4, -1)),
    "more bytes than there are": edited(lambda manifest: manifest["segments"][0].update(bytes=10**30)),
    "no bytes": edited(lambda manifest: manifest["segments"][0].update(bytes=None)),
    "a commit that is a number": edited(lambda manifest: manifest.update(commit=5)),
    "a commit that writes to the terminal": edited(lambda manifest: manifest.update(commit="\x1b[2J")),
    "a language that writes to the terminal": edited(lambda manifest: manifest["files"][0].__setitem__(2, "\x1b]0;evil\x07")),
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
    assert not layout.directory.exists()
    assert not list(layout.directory.parent.iterdir())
    assert not list(tmp_path.rglob("evil*"))
    assert taken_in(packed / "a.pack", clone)[0] == 0, "the right one still can be taken in"


def test_a_pack_that_was_made_consistently_by_somebody_else_is_told_by_its_digest(packed, clone, tmp_path):
    pack = tmp_path / "b.pack"
    pack.write_bytes((packed / "a.pack").read_bytes())
    edited(lambda manifest: manifest.update(version="other"))(pack)
    code, text = taken_in(pack, clone, "--expect", json.loads((packed / "said.json").read_text())["digest"])
    assert code == 2
    assert "its digest is blake2b:" in text


def test_nothing_of_files_that_are_not_in_the_commit_is_packed(packed, tmp_path):
    """Neither of those that lie there, whatever git is told of them, nor of those that were there once."""
    root = tmp_path / "dirty"
    git("clone", "-q", str(packed / "here"), str(root), cwd=tmp_path)
    write(root, {"gone.py": "def zebracorn_gone():\n    pass\n"})
    whence("index", cwd=root)
    (root / "gone.py").unlink()
    write(root, {"private.py": "def zebracorn_private():\n    pass\n", ".gitignore": "local.py\n", ".whenceignore": "!local.py\n"})
    write(root, {"local.py": "def zebracorn_local():\n    pass\n", "nested/deep.py": "def zebracorn_nested():\n    pass\n"})
    git("init", "-q", cwd=root / "nested")
    git("update-index", "--assume-unchanged", "lib/retry_0.py", cwd=root)
    write(root, {"lib/retry_0.py": "def zebracorn_assumed():\n    pass\n"})
    done = whence("pack", "export", "--json", "-o", str(tmp_path / "a.pack"), cwd=root)
    told = json.loads(done.stdout)
    assert (told["files"], told["left_out"]) == (len(FILES) - 1, 4)
    for data in members(tmp_path / "a.pack").values():
        assert b"zebracorn" not in data
        assert not any(b"zebracorn" in blob for blob in unpacked_parts(data))
    clone = tmp_path / "there"
    git("clone", "-q", str(packed / "here"), str(clone), cwd=tmp_path)
    assert f"{len(FILES) - 1} files taken from the pack, 1 read here" in taken_in(tmp_path / "a.pack", clone)[1]
    assert answers(clone, tmp_path / "data") == answers(clone, tmp_path / "clean")


def unpacked_parts(data: bytes) -> list[bytes]:
    """Whatever in some bytes was compressed by itself."""
    found = []
    for at in range(len(data)):
        if data[at : at + 1] == b"x":
            with contextlib.suppress(zlib.error):
                found.append(zlib.decompressobj().decompress(data[at:], 1_000_000))
    return found


def test_line_ends_that_git_changes_are_no_difference(packed, tmp_path):
    root = tmp_path / "ends"
    git("clone", "-q", "-c", "core.autocrlf=true", str(packed / "here"), str(root), cwd=tmp_path)
    assert b"\r\n" in (root / "lib/retry_0.py").read_bytes()
    told = json.loads(whence("pack", "export", "--json", "-o", str(tmp_path / "a.pack"), cwd=root).stdout)
    assert (told["files"], told["left_out"]) == (len(FILES), 0)


def test_a_pack_made_with_other_index_settings_is_refused(packed, clone, tmp_path):
    other = ["--set", "index.max_line_bytes=200"]
    assert whence("pack", "export", str(packed / "here"), "-o", str(tmp_path / "o.pack"), *other, cwd=tmp_path).returncode == 0
    code, text = taken_in(tmp_path / "o.pack", clone)
    assert (code, "other index settings" in text) == (2, True)


def test_wrong_requests_are_one_line(packed, clone, tmp_path):
    plain = write(tmp_path / "plain", FILES)
    assert "has no commit" in whence("pack", "export", cwd=plain).stderr
    assert "is a part of" in whence("pack", "export", str(clone / "lib"), cwd=tmp_path).stderr
    assert "is there already" in whence("pack", "export", str(packed / "here"), "-o", str(packed / "a.pack"), cwd=tmp_path).stderr
    assert "no such file" in taken_in(tmp_path / "nowhere.pack", clone)[1]
    assert taken_in(packed / "a.pack", clone)[0] == 0
    assert "is indexed already (whence clear" in taken_in(packed / "a.pack", clone)[1]


def test_the_same_index_gives_the_same_pack_byte_for_byte(packed, tmp_path):
    data = str(packed / "data")
    assert whence("pack", "export", str(packed / "here"), "-o", str(tmp_path / "again"), cwd=tmp_path, WHENCE_DATA_DIR=data).returncode == 0
    assert (tmp_path / "again").read_bytes() == (packed / "a.pack").read_bytes()
