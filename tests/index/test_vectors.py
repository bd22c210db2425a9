"""Vectors on disk: what is nearest, in one file or several, in all or a part, and after edits and damage."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import examples
from sample_trees import truth, write
from small_cases import each
from whence import Index
from whence.embed.encoder import UnitText, Vectors, unit_length
from whence.embed.passages import Passage
from whence.index import vectors
from whence.index.segment import open_segment
from whence.index.vectors import PassageRows, SegmentVectors, SnapshotVectors, binary_vectors, merge_vectors, open_vectors
from whence.source.walk import RACY_NS
from whence.storage.arrayfile import write_arrays

WIDTH = 24


class Literal:
    """An encoder whose vectors stand in the texts themselves, so that a test knows them."""

    name = fingerprint = "literal"

    def __init__(self, width: int = WIDTH, *, late: bool = False) -> None:
        self.width, self.late = width, late

    def encode_units(self, units: Sequence[UnitText]) -> Vectors:
        rows = [np.frombuffer(unit.body, np.float32).reshape(-1, self.width) for unit in units]
        joined = np.concatenate([np.zeros((0, self.width), np.float32), *rows])
        return Vectors(unit_length(joined), np.cumsum([0, *(len(one) for one in rows)]))

    def encode_query(self, text: str) -> Vectors:
        return self.encode_units([UnitText("", "", text.encode("latin-1"))])


def asking(row: np.ndarray) -> Vectors:
    """A question with known rows."""
    rows = np.atleast_2d(row).astype(np.float32)
    return Vectors(unit_length(rows), np.array([0, len(rows)]))


def kept(place: Path, texts: Sequence[np.ndarray], *, late: bool = False, each: int = 1) -> SegmentVectors:
    """Passages of one unit each, or of several, written and opened again."""
    width = texts[0].shape[-1] if len(texts) else WIDTH
    found = PassageRows(Literal(width, late=late))
    for at in range(0, len(texts), 7):  # files of seven passages
        some = texts[at : at + 7]
        found.add(
            [Passage(UnitText("", "", np.asarray(one, np.float32).tobytes()), n * each, n * each + each - 1) for n, one in enumerate(some)],
            at * each,
        )
    stamp = write_arrays(place, found.arrays(), {"width": width})
    return open_vectors(place, stamp)


def random_rows(count: int, seed: int = 0, width: int = WIDTH) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, width)).astype(np.float32)


def clustered_rows(count: int, seed: int = 0, width: int = 128) -> np.ndarray:
    """Rows as models give them: not anywhere, but around some topics."""
    chance = np.random.default_rng(seed)
    topics = chance.standard_normal((count // 100, width))
    return (topics[chance.integers(len(topics), size=count)] + 0.9 * chance.standard_normal((count, width))).astype(np.float32)


def true_order(rows: np.ndarray, query: Vectors) -> np.ndarray:
    """Every row by its similarity, in full precision."""
    return np.argsort(-(unit_length(rows) @ query.rows[0]), kind="stable")


def view_of(parts: Sequence[SegmentVectors], each: int = 1) -> SnapshotVectors:
    sizes = [part.passages * each for part in parts]
    return SnapshotVectors(parts, np.cumsum([0, *sizes])[:-1].tolist())


# Nearest.


@settings(max_examples=examples(25), deadline=None)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 300), count=st.integers(1, 40), parts=st.integers(1, 4))
def test_nearest_is_what_comparing_every_row_finds(tmp_path_factory, seed: int, size: int, count: int, parts: int):
    place = tmp_path_factory.mktemp("rows")
    rows, query = random_rows(size, seed), asking(random_rows(1, seed + 1))
    cuts = np.array_split(rows, parts)
    view = view_of([kept(place / f"{number}.vectors", cut) for number, cut in enumerate(cuts)])
    found, similarity = view.nearest(query, count, None)
    exact = unit_length(rows) @ query.rows[0]
    assert len(found) == min(count, size)
    assert len(set(found.tolist())) == len(found)
    assert (np.diff(similarity) <= 0).all()
    assert np.allclose(similarity, exact[found], atol=0.02)
    assert similarity[-1] >= np.sort(exact)[-len(found)] - 0.02  # nothing better was passed over


@settings(max_examples=examples(25), deadline=None)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 200), count=st.integers(1, 30), share=st.floats(0, 1))
def test_inside_a_part_only_the_part_is_found_and_the_best_of_it(tmp_path_factory, seed: int, size: int, count: int, share: float):
    place = tmp_path_factory.mktemp("rows")
    rows, query = random_rows(size, seed), asking(random_rows(1, seed + 1))
    view = view_of([kept(place / "a", rows[: size // 2]), kept(place / "b", rows[size // 2 :])])
    allowed = np.random.default_rng(seed).random(size) < share
    found, similarity = view.nearest(query, count, allowed)
    exact = unit_length(rows) @ query.rows[0]
    assert allowed[found].all()
    assert len(found) == min(count, int(allowed.sum()))
    if len(found):
        assert similarity[-1] >= np.sort(exact[allowed])[-len(found)] - 0.02


def test_rows_lose_little_on_their_way_to_disk(tmp_path: Path):
    rows = unit_length(random_rows(500, width=256))
    view = view_of([kept(tmp_path / "rows", rows)])
    for row in random_rows(5, 9, 256):
        query = asking(row)
        exact = rows @ query.rows[0]
        assert np.abs(view.compare(query, np.arange(500)) - exact).max() < 0.005


def test_a_passage_that_says_nothing_is_like_nothing(tmp_path: Path):
    view = view_of([kept(tmp_path / "rows", np.zeros((3, WIDTH), np.float32))])
    assert view.compare(asking(random_rows(1)), np.arange(3)).tolist() == [0, 0, 0]


def test_an_index_with_no_passages_finds_nothing(tmp_path: Path):
    for view in (view_of([]), view_of([kept(tmp_path / "none", [])])):
        found, similarity = view.nearest(asking(random_rows(1)), 5, None)
        assert (len(found), len(similarity), view.passages) == (0, 0, 0)


def test_equal_passages_are_equally_near_wherever_they_stand(tmp_path: Path):
    """Floating point adds up in another order in another place of a file; ties are to be broken by path, not by place."""
    rows = random_rows(600, width=256)
    rows[[3, 97, 250, 251, 404, 599]] = rows[0]
    parts = [kept(tmp_path / f"{number}", cut) for number, cut in enumerate((rows[:97], rows[97:405], rows[405:]))]
    view, query = view_of(parts), asking(rows[0] + random_rows(1, 5, 256)[0])
    assert len(set(view.compare(query, np.array([0, 3, 97, 250, 251, 404, 599])).tolist())) == 1
    _, similarity = view.nearest(query, 600, None)
    assert np.array_equal(np.sort(similarity), np.sort(view.compare(query, np.arange(600))))


# Sketches.


@pytest.fixture
def sketched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sketches at a size that a test can afford, choosing as small a share as they do of a large tree."""
    monkeypatch.setattr(vectors, "MAX_FULL_SCAN", 1_000)
    monkeypatch.setattr(vectors, "MIN_CANDIDATES", 800)
    monkeypatch.setattr(vectors, "CANDIDATES_PER_RESULT", 8)


def recall(view: SnapshotVectors, rows: np.ndarray, queries: np.ndarray, count: int, allowed: np.ndarray | None = None) -> float:
    """The share of the truly best that is found."""
    hits = 0
    for row in queries:
        query = asking(row)
        found, _ = view.nearest(query, count, allowed)
        order = true_order(rows, query)
        best = order if allowed is None else order[allowed[order]]
        hits += len(set(found.tolist()) & set(best[:count].tolist()))
    return hits / (count * len(queries))


@pytest.mark.usefixtures("sketched")
def test_sketches_pass_over_few_of_the_best(tmp_path: Path):
    rows = clustered_rows(20_000)
    view = view_of([kept(tmp_path / f"{number}", cut) for number, cut in enumerate(np.array_split(rows, 3))])
    queries = rows[::2000] + 0.5 * random_rows(10, 5, rows.shape[1])
    assert recall(view, rows, queries, 100) > 0.95


@pytest.mark.usefixtures("sketched")
def test_sketches_inside_a_part_find_the_best_of_the_part(tmp_path: Path):
    rows = clustered_rows(12_000)
    view = view_of([kept(tmp_path / "rows", rows)])
    allowed = np.zeros(len(rows), bool)
    allowed[1::3] = True
    queries = rows[::3000] + 0.5 * random_rows(4, 5, rows.shape[1])
    for row in queries:
        assert allowed[view.nearest(asking(row), 100, allowed)[0]].all()
    assert recall(view, rows, queries, 30, allowed) > 0.95


@pytest.mark.usefixtures("sketched")
def test_a_small_part_of_a_large_index_is_compared_in_full(tmp_path: Path):
    rows = random_rows(3_000)
    view = view_of([kept(tmp_path / "rows", rows)])
    allowed = np.zeros(len(rows), bool)
    allowed[::5] = True
    query = asking(random_rows(1, 8))
    order = true_order(rows, query)
    found, _ = view.nearest(query, 50, allowed)
    assert len(set(found.tolist()) & set(order[allowed[order]][:50].tolist())) >= 48  # the last places may swap by rounding


@pytest.mark.usefixtures("sketched")
def test_more_can_be_asked_for_than_sketches_choose_from(tmp_path: Path):
    rows = random_rows(2_000)
    view = view_of([kept(tmp_path / "rows", rows)])
    found, _ = view.nearest(asking(random_rows(1, 8)), 5_000, None)
    assert sorted(found.tolist()) == list(range(2_000))


@each("width", [1, 8, 63, 64, 65, 256])
def test_a_sketch_has_a_bit_for_each_sign_whatever_the_width(width: int):
    rows = random_rows(5, width, width)
    sketch = binary_vectors(rows)
    assert sketch.shape == (-(-width // 64), 5)
    differing = np.bitwise_count(sketch[:, 1:] ^ sketch[:, :1]).sum(axis=0)
    assert differing.tolist() == ((rows[1:] > 0) != (rows[:1] > 0)).sum(axis=1).tolist()


# Units and passages.


def test_a_unit_knows_the_passages_it_has_a_part_in(tmp_path: Path):
    found = PassageRows(Literal())
    body = random_rows(1).tobytes()
    spans = [(0, 2), (3, 3), (3, 3), (3, 5), (6, 6)]  # unit 3 is long, 0 to 2 are small
    found.add([Passage(UnitText("", "", body), first, last) for first, last in spans], 0)
    found.add([Passage(UnitText("", "", body), 0, 0)], 9)  # units 7 and 8 have none
    view = view_of([open_vectors(tmp_path / "v", write_arrays(tmp_path / "v", found.arrays(), {"width": WIDTH}))])
    low, high = view.passages_of_units(np.arange(10))
    assert [list(range(a, b)) for a, b in zip(low, high, strict=True)] == [[0], [0], [0], [1, 2, 3], [3], [3], [4], [], [], [5]]
    mask = np.zeros(10, bool)
    mask[[4, 8]] = True
    assert np.flatnonzero(view.passages_with_units(mask)).tolist() == [3]
    assert view.passages_with_units(None) is None


# Merging.


@settings(max_examples=examples(20), deadline=None)
@given(seed=st.integers(0, 999), sizes=st.lists(st.integers(0, 40), min_size=1, max_size=5), late=st.booleans(), dead=st.floats(0, 0.9))
def test_several_files_merged_are_one_made_of_all(tmp_path_factory, seed: int, sizes: list[int], late: bool, dead: float):
    place = tmp_path_factory.mktemp("merged")
    chance = np.random.default_rng(seed)
    texts = [[chance.standard_normal((chance.integers(1, 6) if late else 1, WIDTH)) for _ in range(size)] for size in sizes]
    keeps = [chance.random(size) >= dead for size in sizes]
    parts, base = [], 0
    for number, (some, keep) in enumerate(zip(texts, keeps, strict=True)):
        rows = np.where(keep, np.cumsum(keep) - 1 + base, -1)
        base += int(keep.sum())
        parts.append((kept(place / f"{number}", some, late=late), rows))
    merged = merge_vectors(parts)
    alive = [text for some, keep in zip(texts, keeps, strict=True) for text, stays in zip(some, keep, strict=True) if stays]
    at_once = kept(place / "all", alive, late=late)
    stamp = write_arrays(place / "merged", merged, {"width": WIDTH})
    from_parts = open_vectors(place / "merged", stamp)
    assert (place / "merged").read_bytes() == (place / "all").read_bytes()
    assert from_parts.passages == at_once.passages == len(alive)


# A row for each token.


@pytest.mark.parametrize("width", [7, 8, 48])
def test_token_rows_lose_little_and_are_compared_the_best_of_each(tmp_path: Path, width: int):
    chance = np.random.default_rng(1)
    texts = [unit_length(chance.standard_normal((int(chance.integers(1, 30)), width))) for _ in range(60)]
    view = view_of([kept(tmp_path / "a", texts[:25], late=True), kept(tmp_path / "b", texts[25:], late=True)])
    query = asking(chance.standard_normal((6, width)))
    exact = np.array([(text @ query.rows.T).max(axis=0).mean() for text in texts])
    found = view.compare(query, np.arange(60))
    assert np.abs(found - exact).max() < 0.05
    assert np.corrcoef(found, exact)[0, 1] > 0.99
    some = np.array([59, 3, 30, 3])
    assert np.allclose(view.compare(query, some), found[some])


def test_the_nearest_by_tokens_come_in_their_order(tmp_path: Path):
    chance = np.random.default_rng(2)
    texts = [unit_length(chance.standard_normal((8, 16))) for _ in range(40)]
    query = asking(texts[17][:4])
    view = view_of([kept(tmp_path / "a", texts, late=True)])
    found, similarity = view.nearest(query, 10, None)
    assert found[0] == 17
    assert (np.diff(similarity) <= 0).all()
    assert np.allclose(similarity, view.compare(query, found))


def test_token_rows_take_half_a_byte_for_each_number(tmp_path: Path):
    texts = [random_rows(50, seed, 128) for seed in range(40)]
    kept(tmp_path / "tokens", texts, late=True)
    assert (tmp_path / "tokens").stat().st_size < 50 * 40 * (128 / 2 + 2) + 40 * 128 * 1.5 + 4096


# In an index.

FILES = {
    "net/retry.py": "def retry_request(request):\n    '''Send a request again after a network failure.'''\n    return send(request)\n",
    "net/socket.py": "class Socket:\n    def connect(self, host):\n        return open_connection(host)\n",
    "ui/color.py": "def pick_color(red, green, blue):\n    return Color(red, green, blue)\n",
    "ui/window.js": "function drawWindow(frame) { return paint(frame) }\n",
    "data/parse.go": "package data\n\nfunc ParseTable(text string) Table {\n\treturn split(text)\n}\n",
    "docs/guide.md": "# Guide\n\nHow to try a failed request again.\n",
    "settings.json": '{"color": "red", "retries": 3}\n',
}
QUERIES = ("send again after failure", "open a network connection", "paint the window frame", "colour of a pixel", "table from text")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write(tmp_path / "tree", FILES)


Row = tuple[int, int, bytes, float]


def vectors_by_path(index: Index) -> dict[str, list[Row]]:
    """Of each file that is alive its passages: first and last unit in the file, and the vector as stored."""
    found: dict[str, list[Row]] = {}
    listed = index.store.vectors()
    for row in index.store.segments():
        segment = open_segment(index.layout.segments / row.name, row.stamp)
        stored = open_vectors(index.layout.segments / listed[row.id].name, listed[row.id].stamp)
        starts = np.concatenate([[0], segment.unit_ends]).astype(np.int64)
        for at, path in index.store.paths_of(row.id):
            mine = np.flatnonzero((stored.first >= starts[at]) & (stored.first < starts[at + 1]))
            found[path] = [
                (int(stored.first[p] - starts[at]), int(stored.last[p] - starts[at]), stored.rows[p].tobytes(), float(stored.scale[p]))
                for p in mine
            ]
    return found


def answers(index: Index) -> dict[tuple[str, str], list[tuple[str, float]]]:
    """What an index says, by vectors alone and by all."""
    asked = [(query, profile, strategy) for query in QUERIES for profile, strategy in (("semantic", "vector"), ("default", "union"))]
    return {
        (query, strategy): [(one.path, one.score) for one in index.search(query, content="all", profile=profile, strategy=strategy)]
        for query, profile, strategy in asked
    }


def test_every_file_has_its_vectors_and_is_found_by_them_with_its_own_words(tree: Path):
    with Index.open(tree) as index:
        assert set(vectors_by_path(index)) == set(FILES)
        assert all(vectors_by_path(index).values())
        for path, text in FILES.items():
            assert path in [one.path for one in index.search(text, content="all", strategy="vector")]


def test_an_edited_tree_has_exactly_the_vectors_and_answers_of_one_built_afresh(tree: Path, tmp_path: Path):
    Index.open(tree).close()
    write(tree, {"ui/color.py": "def mix_paint(brush):\n    return brush\n", "net/new.py": "def dial(number):\n    return number\n"})
    with Index.open(tree) as index:
        assert index.last_refresh.read == 2
    (tree / "ui/window.js").rename(tree / "ui/frame.js")
    (tree / "settings.json").unlink()
    write(tree, {"data/long.py": "def long():\n" + "    total = add(total, 1)\n" * 400})
    with Index.open(tree) as edited, Index.open(tree, data_dir=tmp_path / "afresh") as afresh:
        assert vectors_by_path(edited) == vectors_by_path(afresh)
        assert answers(edited) == answers(afresh)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_however_edits_are_gathered_vectors_and_answers_are_the_same(tree: Path, tmp_path: Path, share: float):
    """With share 0 everything is rewritten at once, with 1 edits stay beside and dead files stay inside."""
    own = {"index.overlay_share": share}
    Index.open(tree, settings=own).close()
    for number, path in enumerate(FILES):
        write(tree, {path: FILES[path] + f"\nedit_{number} = {number}\n", f"more/file{number}.py": f"def more_{number}():\n    pass\n"})
        Index.open(tree, settings=own).close()
    with Index.open(tree, settings=own) as edited, Index.open(tree, data_dir=tmp_path / "afresh") as afresh:
        assert len(edited.store.segments()) > 1 or share == 0
        assert vectors_by_path(edited) == vectors_by_path(afresh)
        assert answers(edited) == answers(afresh)


def test_dead_passages_are_never_returned(tree: Path):
    own = {"index.overlay_share": 1.0}
    Index.open(tree, settings=own).close()
    (tree / "net/retry.py").unlink()
    write(tree, {"ui/color.py": "def nothing_of_the_kind():\n    pass\n"})
    with Index.open(tree, settings=own) as index:
        view = index.snapshot.vectors
        assert view is not None
        assert view.passages > sum(len(rows) for rows in vectors_by_path(index).values())  # the dead are still in the file
        for query in (*QUERIES, FILES["net/retry.py"], FILES["ui/color.py"]):
            for strategy in ("vector", "union"):
                found = index.search(query, content="all", strategy=strategy, k=50)
                assert "net/retry.py" not in [one.path for one in found]
                assert all("pick_color" not in one.name for one in found)


def test_a_new_time_stamp_alone_makes_no_vector_anew(tree: Path):
    time.sleep(1.1 * RACY_NS / 1e9)
    with Index.open(tree) as index:
        before = index.store.vectors()
    for path in FILES:
        (tree / path).touch()
    with Index.open(tree) as index:
        assert (index.last_refresh.read, index.last_refresh.touched) == (0, len(FILES))
        assert index.store.vectors() == before


def test_vector_files_that_nobody_lists_are_removed(tree: Path):
    with Index.open(tree) as index:
        segments = index.layout.segments
    for number in range(4):
        write(tree, {f"more{number}.py": "def more():\n    pass\n"})
        Index.open(tree).close()
    with Index.open(tree) as index:
        listed = {row.name for row in index.store.vectors().values()}
        assert {path.name for path in segments.glob("*.vectors")} == listed


# Damage: what is derived can be made again, and nothing else is lost.


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def overwritten(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def replaced(path: Path) -> None:
    path.write_bytes(b"something else altogether" * 200)


@pytest.mark.parametrize("harm", [Path.unlink, cut_short, overwritten, emptied, replaced])
def test_a_damaged_vector_file_is_noticed_and_made_again_and_the_rest_is_kept(tree: Path, harm):
    with Index.open(tree) as index:
        before, rows = answers(index), vectors_by_path(index)
        segments, listed = index.store.segments(), index.store.vectors()
        directory = index.layout.segments
    for row in listed.values():
        harm(directory / row.name)
    with Index.open(tree) as index:
        assert len(index.notes) == 1, index.notes
        assert index.last_refresh.read == 0
        assert index.store.segments() == segments
        assert vectors_by_path(index) == rows
        assert answers(index) == before
    with Index.open(tree) as index:
        assert index.notes == []


def test_a_vector_file_that_is_not_listed_is_made_again(tree: Path):
    with Index.open(tree) as index:
        before, segments = answers(index), index.store.segments()
        database = index.layout.database
    with truth(database) as db:
        db.execute("DELETE FROM vectors")
    db.close()
    with Index.open(tree) as index:
        assert (index.last_refresh.read, index.notes) == (0, [])
        assert index.store.segments() == segments
        assert answers(index) == before


def test_without_a_refresh_a_damaged_vector_file_costs_the_vectors_and_not_the_answer(tree: Path):
    with Index.open(tree) as index:
        words = [one.path for one in index.search("retry_request", strategy="lexical")]
        path = index.layout.segments / next(iter(index.store.vectors().values())).name
    path.unlink()
    with Index.open(tree, refresh=False) as index:
        assert [one.path for one in index.search("retry_request", strategy="lexical")] == words
