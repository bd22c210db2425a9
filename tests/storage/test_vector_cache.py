"""The cache of vectors: what it gives back, its bounds, other processes, and damage."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from sample_trees import SOURCES
from whence.storage.vector_cache import VectorCache, stored

WIDTH = 64


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[VectorCache]:
    with closing(VectorCache(tmp_path / "rerank" / "vectors.db", 1 << 20)) as opened:
        yield opened


def rows(count: int, seed: int = 0) -> dict[bytes, np.ndarray]:
    """Some vectors of length 1 by key."""
    found = np.random.default_rng(seed).standard_normal((count, WIDTH)).astype(np.float32)
    return {b"%16d" % (seed * 1_000_000 + at): row / np.linalg.norm(row) for at, row in enumerate(found)}


def test_vectors_come_back_by_their_keys_nearly_as_they_were(cache: VectorCache):
    given = rows(20)
    cache.add(given)
    found = cache.find([*given, b"another"])
    assert found.keys() == given.keys()
    assert all(np.allclose(found[key], given[key], atol=0.01) for key in given)


def test_what_comes_back_is_what_is_told_beforehand_to_the_last_bit(cache: VectorCache):
    given = rows(5)
    cache.add(given)
    found = cache.find(list(given))
    assert all(np.array_equal(found[key], stored(given[key])) for key in given)


def test_a_vector_of_zeros_stays_one(cache: VectorCache):
    cache.add({b"nothing": np.zeros(WIDTH, np.float32)})
    assert not cache.find([b"nothing"])[b"nothing"].any()


def test_a_full_cache_drops_what_was_not_needed_for_longest(tmp_path: Path):
    with closing(VectorCache(tmp_path / "vectors.db", 100_000)) as cache:
        old, needed = rows(300, 1), rows(300, 2)
        cache.add(old | needed)
        age(cache, [*old, *needed])
        cache.find(list(needed))  # needed again today
        for seed in range(3, 30):
            before = len(cache)
            cache.add(rows(50, seed))
            if len(cache) < before:
                break
        assert len(cache.find(list(needed))) == len(needed)
        assert len(cache.find(list(old))) < len(old)
        assert (tmp_path / "vectors.db").stat().st_size < 200_000


def age(cache: VectorCache, keys: list[bytes]) -> None:
    """Have vectors be needed for the last time long ago."""
    with cache._database.transaction() as db:
        db.executemany("UPDATE vectors SET day = 1 WHERE key = ?", [(key,) for key in keys])


def test_another_process_finds_what_one_has_written(cache: VectorCache):
    cache.add(rows(3))
    program = (
        f"import sys; sys.path.insert(0, {str(SOURCES)!r})\n"
        "from pathlib import Path\nfrom whence.storage.vector_cache import VectorCache\n"
        "print(len(VectorCache(Path(sys.argv[1]), 1 << 20)))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(cache.path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "3"


def test_two_that_write_at_once_both_keep_what_they_wrote(cache: VectorCache):
    with closing(VectorCache(cache.path, 1 << 20)) as other:
        cache.add(rows(10, 1))
        other.add(rows(10, 2))
        assert len(cache) == len(other) == 20


def test_a_vector_that_was_altered_is_missing(cache: VectorCache):
    given = rows(4)
    cache.add(given)
    cache.close()
    content = cache.path.read_bytes()
    stored_bytes = next(content.find(key) for key in given)
    assert stored_bytes > 0
    altered = bytearray(content)
    altered[stored_bytes + 24] ^= 0xFF  # within the vector that follows its key
    cache.path.write_bytes(altered)
    with closing(VectorCache(cache.path, 1 << 20)) as again:
        assert 0 < len(again.find(list(given))) < len(given)


@pytest.mark.parametrize("content", [b"", b"no database at all", b"SQLite format 3\0" + b"\xff" * 5_000])
def test_a_file_that_is_no_cache_is_made_again(tmp_path: Path, content: bytes):
    path = tmp_path / "vectors.db"
    path.write_bytes(content)
    with closing(VectorCache(path, 1 << 20)) as cache:
        cache.add(rows(2))
        cache.add(rows(2))  # the first may have found the damage
        assert len(cache.find(list(rows(2)))) == 2


def test_where_nothing_can_be_written_nothing_is_kept_and_nothing_fails(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    cache = VectorCache(tmp_path / "file" / "vectors.db", 1 << 20)
    cache.add(rows(2))
    cache.set_speed("model", 5.0)
    assert cache.find(list(rows(2))) == {}
    assert cache.speed("model") is None
    assert len(cache) == 0


def test_the_first_speed_of_a_model_stays(cache: VectorCache):
    assert cache.speed("model") is None
    cache.set_speed("model", 5.0)
    cache.set_speed("model", 7.0)
    assert cache.speed("model") == 5.0
