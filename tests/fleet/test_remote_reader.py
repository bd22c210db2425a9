"""Pieces of files, gathered: they rank as the index that they were cut from, to the last digit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sample_histories import commit
from sample_trees import SOURCES, git, write
from small_cases import each
from whence import Index
from whence.core.errors import IndexDamaged
from whence.core.types import DocumentFrequency
from whence.fleet import counts, file_blobs
from whence.fleet.counts import CountTable, TermCounter, TermCounts, merge_tables
from whence.fleet.file_blobs import Arrays, FileBlob, make_blobs
from whence.fleet.remote_reader import RemoteSnapshot
from whence.index.segment import name_hash
from whence.query.plan import make_plan
from whence.retrieval.files import CommitMatches
from whence.search.pipeline import answer
from whence.search.request import SearchRequest

QUERIES = (
    "where are words split into tokens",
    "random walk with restart",
    "Snapshot",
    "read_text",
    "how is a damaged file noticed",
    "fix: crash when the cache is empty",
    "path penalty for tests",
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index of real source with two commits, one file edited and one removed since it was first built."""
    place = tmp_path_factory.mktemp("pieces")
    files = {path.relative_to(SOURCES).as_posix(): path.read_text(encoding="utf-8") for path in sorted((SOURCES / "whence").glob("*/*.py"))}
    root = write(place / "tree", files)
    git("init", "-q", cwd=root)
    commit(root, "Words are split, walks return")
    with Index.open(root, data_dir=place / "data"):
        pass
    write(root, {"whence/text/analyzer.py": files["whence/text/analyzer.py"] + "\n# A damaged cache is noticed.\n"})
    (root / "whence/ranking/pool.py").unlink()
    commit(root, "A damaged cache is noticed")
    with Index.open(root, data_dir=place / "data") as opened:
        yield opened


@pytest.fixture(scope="module")
def cut(index: Index) -> list[FileBlob]:
    return list(make_blobs(index.snapshot))


def counts_of(arrays: list[Arrays]) -> CountTable:
    counting = TermCounter()
    for one in arrays:
        counting.add(one)
    return counting.table()


def gathered(cut: list[FileBlob]) -> RemoteSnapshot:
    """All pieces, read back from their bytes."""
    arrays = [file_blobs.decode_blob(file_blobs.encode_blob(one.arrays)) for one in cut]
    table = counts.decode_table(counts.encode_table(counts_of(arrays)))
    totals = table.holding(counts.TOTALS)
    assert totals is not None
    known = {int(one): table.holding(int(one)) or DocumentFrequency(0, 0, 0) for one in table.terms}
    mentioned = {int(one): table.files_mentioning(int(one)) for one in table.words}
    all_counts = TermCounts(totals.files, totals.units, totals.windows, known, mentioned)
    return RemoteSnapshot(arrays, [one.path for one in cut], all_counts, lambda row: cut[row].parsed, 256)


def test_every_live_file_is_a_piece(index, cut):
    snapshot = index.snapshot
    assert sorted(one.path for one in cut) == sorted(path for path, alive in zip(snapshot.paths, snapshot.alive, strict=True) if alive)
    assert "whence/ranking/pool.py" not in {one.path for one in cut}


@each("query", QUERIES)
def test_gathered_pieces_rank_as_their_index_does(index, cut, query):
    whole, apart = index.snapshot, gathered(cut)
    asking = index._searcher().run_of(SearchRequest(query, k=10))
    plan = make_plan(query, decay=asking.profile.decay, quoted=asking.profile.quoted)
    of_files = CommitMatches(whole, plan)._scores
    rows = {path: row for row, path in enumerate(whole.paths) if whole.alive[row]}
    apart.precedents = np.array([of_files[rows[one.path]] for one in cut], np.float32)
    expected = [(whole.path(one.hit.file), round(one.hit.score, 5)) for one in answer(query, asking)]
    found = [(apart.path(one.hit.file), round(one.hit.score, 5)) for one in answer(query, replace(asking, snapshot=apart))]
    assert expected
    assert found == expected


def test_some_of_the_pieces_score_as_all_of_them_do(index, cut):
    """What is counted over all files is given, so that a file scores the same whoever stands beside it."""
    query = "random walk with restart"
    apart = gathered(cut)
    asking = replace(index._searcher().run_of(SearchRequest(query, k=3)), snapshot=apart)
    best = [(apart.path(one.hit.file), one.hit.score) for one in answer(query, asking)]
    few = [one for one in cut if one.path in dict(best)]
    table = counts_of([one.arrays for one in cut])
    totals = table.holding(counts.TOTALS)
    assert totals is not None
    known = {int(one): table.holding(int(one)) or DocumentFrequency(0, 0, 0) for one in table.terms}
    mentioned = {int(one): table.files_mentioning(int(one)) for one in table.words}
    arrays = [file_blobs.decode_blob(file_blobs.encode_blob(one.arrays)) for one in few]
    alone = RemoteSnapshot(
        arrays,
        [one.path for one in few],
        TermCounts(totals.files, totals.units, totals.windows, known, mentioned),
        lambda row: few[row].parsed,
        256,
    )
    found = {alone.path(one.hit.file): one.hit.score for one in answer(query, replace(asking, snapshot=alone))}
    first, score = best[0]
    assert found[first] == pytest.approx(score, abs=0.3)  # signals against the best of the pool see fewer
    assert max(found, key=lambda path: found[path]) == first


def test_counts_are_those_of_the_index(index, cut):
    snapshot, table = index.snapshot, counts_of([one.arrays for one in cut])
    for term in ("walk", "snapshot", "restart", "token"):
        rows = snapshot.find_term(term)
        units, windows = snapshot.unit_postings(rows)[0], snapshot.window_postings(rows)[0]
        files = set(snapshot.file_of_unit[units].tolist()) | set(snapshot.path_postings(rows)[0].tolist())
        assert table.holding(name_hash(term)) == DocumentFrequency(len(units), len(windows), len(files))
    assert table.holding(counts.TOTALS) == DocumentFrequency(snapshot.live_units, snapshot.live_windows, snapshot.live_files)
    assert table.holding(name_hash("nobodysaysthis")) is None


def test_counts_of_parts_add_up_and_are_found_in_their_buckets(cut):
    half = len(cut) // 2
    parts = [counts_of([one.arrays for one in some]) for some in (cut[:half], cut[half:])]
    whole, joined = counts_of([one.arrays for one in cut]), merge_tables(parts)
    assert whole.terms.tolist() == joined.terms.tolist()
    assert whole.held.tolist() == joined.held.tolist()
    assert whole.mentions.tolist() == joined.mentions.tolist()
    hashed = name_hash("walk")
    bucket = whole.bucket(hashed >> (32 - counts.BITS), counts.BITS)
    assert bucket.holding(hashed) == whole.holding(hashed)
    assert len(bucket.terms) < len(whole.terms) / 8


@pytest.mark.parametrize("raw", [b"", b"no piece", b"x" * 1000])
def test_what_is_no_piece_is_refused(raw):
    with pytest.raises(IndexDamaged):
        file_blobs.decode_blob(raw)
    with pytest.raises(IndexDamaged):
        counts.decode_table(raw)


def test_a_piece_that_is_cut_off_is_refused(cut):
    raw = file_blobs.encode_blob(cut[0].arrays)
    with pytest.raises(IndexDamaged):
        file_blobs.decode_blob(raw[: len(raw) // 2])


def test_the_engine_is_told_the_words_of_units_and_paths(cut):
    one = next(piece for piece in cut if piece.path == "whence/graph/walk.py")
    assert len(one.unit_words) == len(one.arrays["units.first"])
    assert any("restart" in words.split() for words in one.unit_words)
    assert "walk" in one.path_words.split()


def test_no_file_of_the_package_is_needed(cut, tmp_path: Path):
    """A piece stands by itself: nothing in it names a folder of this machine."""
    assert str(tmp_path.parent).encode() not in b"".join(file_blobs.encode_blob(one.arrays) for one in cut)
