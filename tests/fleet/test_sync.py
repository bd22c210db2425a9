"""What an index sends to the engine: what is not there, nothing else; and what is no more is gone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sample_trees import git, write
from whence import Index
from whence.core.errors import FleetError, IndexDamaged
from whence.fleet import counts, sync
from whence.fleet.counts import group_scope, read_table, refresh_totals, write_counts
from whence.fleet.engine import EVERYTHING, SCHEMAS, SPARSE, Engine, equals
from whence.fleet.file_blobs import decode_blob
from whence.fleet.registry import READY, WAITING, Registry, Repository
from whence.fleet.rows import decode_text, encode_text, fetch_archive, file_key, join_blob, part_key
from whence.fleet.sync import SyncSummary, fingerprint, sync_index
from whence.index.archive import unpack_archive as unpacked_pack
from whence.index.layout import Layout
from whence.index.segment import name_hash

#: No real one: put together so that no scanner of this file takes it for one.
SECRET = "AKIA" + "X3M5ZQ7NPW2KTRYV"
FILES = {
    "shop/session.py": "class SessionStore:\n    def open(self):\n        return 'quagga'\n\n\ndef expire_idle(now):\n    return now\n",
    "shop/cart.py": f"class Cart:\n    key = '{SECRET}'\n\n    def total(self):\n        return 2\n",
    "docs/guide.md": "# Guide\n\nHow carts are filled, and what a session is for.\n",
}
ROWS = ("files", "texts", "units", "passages", "commits", "counts", "packs")
Sending = Callable[..., SyncSummary]

pytestmark = pytest.mark.shared_data


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = write(tmp_path / "shop", FILES)
    git("init", "-q", cwd=root)
    commit(root, "Sessions expire when nobody comes back")
    return root


@pytest.fixture
def sent(engine: Engine, tree: Path) -> Sending:
    """Sends the tree as it is now to a fleet that has it."""
    registry = Registry(engine)
    registry.add("acme/shop", str(tree), ["sales"])

    def run(**options: Any) -> SyncSummary:
        found = registry.get("acme/shop")
        assert found is not None
        with Index.open(tree) as index:
            return sync_index(engine, found, index.writer, **options)

    return run


def commit(root: Path, message: str) -> str:
    git("add", "-A", cwd=root)
    git("commit", "-q", "-m", message, cwd=root)
    return git("rev-parse", "HEAD", cwd=root)


def rows_of(engine: Engine, name: str) -> dict[str, dict[str, Any]]:
    """All rows of a collection, without what the engine makes itself."""
    kept = [one for one in SCHEMAS[name] if one != SPARSE]
    return {row["id"]: row for row in engine.rows(name, EVERYTHING, kept)}


def everything(engine: Engine, *, but: tuple[str, ...] = ()) -> dict[str, dict[str, dict[str, Any]]]:
    return {name: rows_of(engine, name) for name in ROWS if name not in but}


def files_of(engine: Engine, name: str) -> set[str]:
    return {row["file"] for row in rows_of(engine, name).values()}


def test_a_sent_repository_is_ready_and_says_what_it_cost(engine: Engine, sent: Sending, tree: Path):
    done = sent()
    found = Registry(engine).get("acme/shop")
    assert found == done.repository
    assert (found.state, found.commit, found.branch) == (READY, git("rev-parse", "HEAD", cwd=tree), "main")
    assert found.files == done.files == len(FILES)
    assert found.units == engine.count("units") > len(FILES)
    assert found.passages == engine.count("passages") > 0
    assert found.bytes_sent == done.bytes > 1_000
    assert found.bytes_source == sum(map(len, FILES.values()))
    assert found.seconds > 0
    assert found.cpu > 0
    assert found.fingerprint.startswith("static-")
    assert found.indexed_at > 0


def test_rows_hold_what_a_search_needs(engine: Engine, sent: Sending):
    sent()
    key = file_key("acme/shop", "shop/session.py")
    (row,) = engine.get("files", [part_key(key, 0)], ("path", "language", "content", "words", "blob", "parts", "groups"))
    assert (row["path"], row["language"], row["content"], row["parts"], row["groups"]) == (
        "shop/session.py",
        "python",
        "code",
        1,
        ["sales"],
    )
    assert "session" in row["words"].split()
    assert decode_blob(join_blob([row["blob"]]))["files.path"].tobytes() == b"shop/session.py"
    (text,) = engine.get("texts", [part_key(key, 0)], ("blob",))
    assert decode_text(join_blob([text["blob"]]))[0] == FILES["shop/session.py"]
    (unit,) = engine.rows("units", equals("name", "expire_idle"), ("file", "kind", "number"))
    assert (unit["file"], unit["kind"]) == (key, "function")
    assert {hit.fields["file"] for hit in engine.search_words("units", "quagga", 5, fields=("file",))} == {key}
    (past,) = engine.rows("commits", EVERYTHING, ("words", "touched", "terms"))
    assert "expir" in past["words"]
    assert sorted(json.loads(past["touched"])) == sorted(FILES)
    assert past["terms"] == len(past["words"].split())


def test_passages_are_found_by_the_signs_of_their_vectors(engine: Engine, sent: Sending, tree: Path):
    sent()
    with Index.open(tree) as index:
        rows = index.writer.encoder.encode_query("how a cart is filled").rows
    bits = np.packbits(rows.mean(axis=0) > 0).tobytes()
    best = engine.search_bits("passages", bits, 3, fields=("file",))
    assert {hit.fields["file"] for hit in best} <= files_of(engine, "files")


def test_what_is_sent_twice_is_sent_once(engine: Engine, sent: Sending):
    first = sent()
    before = everything(engine)
    again = sent()
    assert again.is_empty
    assert (again.files, again.bytes) == (0, 0)
    assert everything(engine) == before
    assert again.repository.bytes_sent == first.bytes  # what the last work came to


def test_force_sends_everything_and_leaves_the_same(engine: Engine, sent: Sending):
    first = sent()
    before = everything(engine)
    again = sent(force=True)
    assert again.files == first.files
    assert everything(engine) == before


def test_an_edited_file_sends_only_itself_and_its_old_words_are_gone(engine: Engine, sent: Sending, tree: Path):
    sent()
    before = rows_of(engine, "texts")
    write(tree, {"shop/session.py": "def okapi():\n    return 1\n"})
    assert sent().files == 1
    after = rows_of(engine, "texts")
    key = file_key("acme/shop", "shop/session.py")
    assert {name for name in before if before[name] != after[name]} == {part_key(key, 0)}
    assert engine.search_words("units", "quagga", 5) == []
    assert engine.search_words("units", "okapi", 5)
    mine = [row for row in rows_of(engine, "units").values() if row["file"] == key]
    assert [row["name"] for row in mine if row["name"]] == ["okapi"]


def test_a_tree_that_moved_leaves_what_a_clean_run_leaves(engine: Engine, sent: Sending, tree: Path):
    sent()
    write(tree, {"shop/session.py": "def okapi():\n    return 1\n", "shop/new.py": "def bongo():\n    return okapi()\n"})
    (tree / "docs/guide.md").unlink()
    commit(tree, "Other animals")
    sent()
    moved = everything(engine, but=("packs",))
    Registry(engine).remove("acme/shop")
    Registry(engine).add("acme/shop", str(tree), ["sales"])
    sent()
    clean = everything(engine, but=("packs",))
    for rows in (moved["files"], clean["files"]):  # how a file stands among the others is sent when it is news
        for row in rows.values():
            del row["blob"], row["hash"]
    assert moved == clean


def test_a_deleted_file_is_gone_from_every_collection(engine: Engine, sent: Sending, tree: Path):
    sent()
    key = file_key("acme/shop", "docs/guide.md")
    assert all(key in files_of(engine, name) for name in ("files", "texts", "units", "passages"))
    (tree / "docs/guide.md").unlink()
    done = sent()
    assert (done.files, done.removed_files) == (0, 1)
    assert not any(key in files_of(engine, name) for name in ("files", "texts", "units", "passages"))
    assert read_table(engine, "acme/shop", [name_hash("guid"), name_hash("guide")]).holding(name_hash("guide")) is None


def test_other_groups_reach_every_row(engine: Engine, sent: Sending, tree: Path):
    sent()
    registry = Registry(engine)
    registry.update(replace(registry.get("acme/shop"), groups=("board", "sales")))
    sent()
    for name, rows in everything(engine).items():
        assert rows, name
        assert {tuple(sorted(row["groups"])) for row in rows.values()} == {("board", "sales")}, name


def test_no_row_holds_a_secret(engine: Engine, sent: Sending):
    sent()
    assert SECRET in FILES["shop/cart.py"]
    held = json.dumps(everything(engine), default=repr)
    assert SECRET not in held
    assert SECRET.lower() not in held.lower()
    for row in rows_of(engine, "texts").values():
        text, parsed = decode_text(join_blob([row["blob"]]))
        assert SECRET not in text
        assert SECRET.encode() not in parsed


def test_whoever_is_cut_off_and_repeats_it_ends_with_the_same(engine: Engine, sent: Sending, tree: Path, monkeypatch):
    monkeypatch.setattr(sync, "FILE_BATCH", 1)
    sent()
    write(tree, {"shop/session.py": "def okapi():\n    return 1\n", "shop/cart.py": "def bongo():\n    return 1\n"})
    (tree / "docs/guide.md").unlink()
    at, reached = 0, False
    while not reached:  # cut off at the first message, then at the second, ...
        calls: Iterator[int] = iter(range(at))

        def check_lease(calls: Iterator[int] = calls) -> None:
            if next(calls, None) is None:
                raise InterruptedError

        try:
            sent(check_lease=check_lease)
            reached = True
        except InterruptedError:
            at += 1
    assert at > 6
    found = everything(engine)
    Registry(engine).remove("acme/shop")
    Registry(engine).add("acme/shop", str(tree), ["sales"])
    sent()
    assert found == everything(engine)


def test_rows_of_nothing_are_swept_away_where_work_was_cut_off(engine: Engine, sent: Sending):
    sent()
    before = everything(engine)
    key = file_key("acme/shop", "shop/cart.py")
    (unit,) = list(engine.rows("units", equals("name", "total"), [one for one in SCHEMAS["units"] if one != SPARSE]))
    engine.put("units", [{**unit, "id": f"{key}.u900", "number": 900}, {**unit, "id": "lost.u0", "file": "lost"}])
    registry = Registry(engine)
    registry.update(replace(registry.get("acme/shop"), state=WAITING))
    assert sent().deleted == 2
    assert everything(engine) == before


def test_what_was_asked_for_meanwhile_is_still_to_be_done(engine: Engine, sent: Sending):
    registry = Registry(engine)

    def check_lease() -> None:
        registry.update(replace(registry.get("acme/shop"), requested_at=7.0))

    assert sent(check_lease=check_lease).repository.state == WAITING
    assert registry.get("acme/shop").requested_at == 7.0


def test_a_repository_that_was_removed_meanwhile_does_not_come_back(engine: Engine, sent: Sending):
    with pytest.raises(FleetError, match="was removed"):
        sent(check_lease=lambda: Registry(engine).remove("acme/shop") if Registry(engine).get("acme/shop") else None)
    assert Registry(engine).all() == []


def test_the_pack_of_a_clean_tree_is_there_and_can_be_taken_in(engine: Engine, sent: Sending, tree: Path, tmp_path: Path):
    sent()
    portable, raw = fetch_archive(engine, "acme/shop")
    assert portable.commit == git("rev-parse", "HEAD", cwd=tree)
    file = tmp_path / "taken.whence-pack"
    file.write_bytes(raw)
    with Index.open(tree) as index:
        fingerprint = index.settings.index_fingerprint()
    with unpacked_pack(file, Layout(tmp_path / "elsewhere", tree), fingerprint, f"blake2b:{portable.digest}") as (manifest, _):
        assert manifest.files == len(FILES)


def test_a_tree_that_is_as_no_commit_has_no_pack(engine: Engine, sent: Sending, tree: Path):
    sent()
    write(tree, {"shop/session.py": "def okapi():\n    return 1\n"})
    sent()
    assert fetch_archive(engine, "acme/shop") is None
    assert engine.count("packs") == 0
    commit(tree, "Okapis")
    sent()
    assert fetch_archive(engine, "acme/shop")[0].commit == git("rev-parse", "HEAD", cwd=tree)


def test_totals_are_the_sums_of_repositories(engine: Engine, sent: Sending, tmp_path: Path):
    sent()
    other = Registry(engine).add("zoo", str(write(tmp_path / "zoo", {"zebra.py": "def quagga():\n    return 'session'\n"})), ["zoo"])
    with Index.open(tmp_path / "zoo") as index:
        sync_index(engine, other, index.writer)
    refresh_totals(engine)
    wanted = [counts.TOTALS, name_hash("quagga"), name_hash("cart")]
    shop, zoo, both = (read_table(engine, scope, wanted) for scope in ("acme/shop", "zoo", counts.ALL))
    assert both.holding(counts.TOTALS).files == len(FILES) + 1
    for hashed in wanted[:2]:
        assert both.holding(hashed).units == shop.holding(hashed).units + zoo.holding(hashed).units
    assert zoo.holding(name_hash("cart")) is None
    sales = read_table(engine, group_scope("sales"), wanted)
    assert sales.holding(name_hash("quagga")) == shop.holding(name_hash("quagga"))
    groups = {row["scope"]: row["groups"] for row in engine.rows("counts", EVERYTHING, ("scope", "groups"))}
    assert groups == {"acme/shop": ["sales"], "zoo": ["zoo"], counts.ALL: [], "@sales": ["sales"], "@zoo": ["zoo"]}


def test_totals_that_nobody_needs_are_removed(engine: Engine, sent: Sending):
    sent()
    refresh_totals(engine)
    Registry(engine).remove("acme/shop")
    refresh_totals(engine)
    assert engine.count("counts") == 0


def test_counts_that_do_not_fit_into_a_row_are_read_whole(engine: Engine):
    terms = np.arange(60_000, dtype=np.uint32)
    held = np.random.default_rng(7).integers(1, 1 << 30, (len(terms), 3)).astype(np.uint32)
    table = counts.CountTable(terms, held, terms[:0], terms[:0])
    write_counts(engine, "huge", table, "huge", [])
    assert engine.count("counts", equals("bucket", 0)) > 4
    found = read_table(engine, "huge", [0])
    assert np.array_equal(found.terms, terms)
    assert np.array_equal(found.held, held)
    assert write_counts(engine, "huge", table, "huge", []) == (0, 0)


def test_a_text_comes_back_as_it_was():
    assert decode_text(encode_text("a\N{SNOWMAN}\n", b"\0parsed")) == ("a\N{SNOWMAN}\n", b"\0parsed")
    for raw in (b"", b"nonsense", encode_text("text", b"")[:-4] + b"abcd"):
        with pytest.raises(IndexDamaged):
            decode_text(raw)


def test_rows_are_made_with_a_model_and_a_form():
    assert fingerprint("static-1") != fingerprint("static-2")
    assert fingerprint("").startswith("none")


def test_names_that_are_no_unicode_and_empty_files_are_sent(engine: Engine, tmp_path: Path):
    root = write(tmp_path / "odd", {"empty.py": "", "plain.py": "x = 1\n"})
    (root / "caf\udce9.py").write_bytes(b"def r\xc3\xa9gler():\n    return 1\n")
    repository: Repository = Registry(engine).add("odd", str(root), [])
    with Index.open(root) as index:
        live = index.snapshot.live_files
        assert sync_index(engine, repository, index.writer).files == live
    with Index.open(root) as index:
        assert sync_index(engine, Registry(engine).get("odd"), index.writer).is_empty
