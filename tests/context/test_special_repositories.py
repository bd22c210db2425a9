"""Repositories that are unlike others: each has a sensible answer, and none takes long."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from context.mail_tree import folded, names
from sample_trees import write
from whence import Index
from whence.context.builder import ContextBuilder, ContextRequest
from whence.core.errors import UsageError
from whence.core.types import EDGE_KINDS
from whence.graph.reader import Graph
from whence.storage.arrayfile import pack_strings

PROFILES = ["default", "classic"]
WORDS = "timeout retry queue message server client cache token parser buffer".split()


def open_tree(root: Path, files: dict[str, str]) -> Index:
    root.mkdir()
    return Index.open(write(root, files))


# Little or nothing.
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    "files",
    [
        {},
        {"a.txt": "change the timeout\n"},
        {"c.yaml": "timeout: 3\n", "d.json": '{"timeout": 3}\n'},
        {"README.md": "# Timeout\n\nHow to change it.\n"},
    ],
    ids=["empty folder", "text", "configuration", "prose"],
)
def test_where_nothing_is_defined_nothing_is_found_and_the_text_says_so(tmp_path, files, profile):
    with open_tree(tmp_path / "tree", files) as index:
        pack = index.context("change the timeout", profile=profile)
        assert pack.symbols == []
        assert "0 with body, 0 with signature, 0 named, 0 left out" in pack.text


def test_an_empty_folder_has_no_files_to_ask_about(tmp_path):
    with open_tree(tmp_path / "tree", {}) as index, pytest.raises(UsageError, match="is not indexed"):
        index.context(files=["."])


@pytest.mark.parametrize("profile", PROFILES)
def test_a_single_file_is_answered_from(tmp_path, profile):
    with open_tree(tmp_path / "tree", {"one.py": "def only(value):\n    return value\n"}) as index:
        pack = index.context("change only", profile=profile)
        assert names(pack) == ["only"]
        assert "return value" in pack.text


@pytest.mark.parametrize("profile", PROFILES)
def test_where_all_code_is_tests_or_examples_they_are_answered_from(tmp_path, profile):
    files = {"tests/test_retry.py": "def test_retry_waits():\n    assert 1\n", "examples/retry.py": "def retry_example():\n    return 1\n"}
    with open_tree(tmp_path / "tree", files) as index:
        assert "test_retry_waits" in names(index.context("make the retry wait longer", profile=profile))


@pytest.mark.parametrize("profile", PROFILES)
def test_files_with_mistakes_in_their_syntax_are_answered_from(tmp_path, profile):
    files = {"broken.py": "def retry(:\n    pass\n\n\ndef wait_longer():\n    return 1\n", "half.js": "function retryLater( {\n"}
    with open_tree(tmp_path / "tree", files) as index:
        assert names(index.context("wait longer", profile=profile))[0] == "wait_longer"


# Circles.
@pytest.mark.parametrize("profile", PROFILES)
def test_imports_in_a_circle_are_walked_and_the_walk_ends(tmp_path, profile):
    ring = "abcd"
    files = {
        f"{name}.py": f"from {after} import turn_{after}\n\n\ndef turn_{name}():\n    return turn_{after}()\n"
        for name, after in zip(ring, ring[1:] + ring[0], strict=True)
    }
    files["self.py"] = "import self\n\n\ndef again():\n    return again()\n"
    with open_tree(tmp_path / "tree", files) as index:
        found = names(index.context("make `turn_a` faster", profile=profile))
        assert found[0] == "turn_a"
        assert {"turn_b", "turn_d"} <= set(found)
        assert "again" in names(index.context("`again`", profile=profile))


def test_types_that_inherit_from_one_another_in_a_circle_are_answered(tmp_path):
    files = {
        "a.py": "from b import B\n\n\nclass A(B):\n    def go(self):\n        return 1\n",
        "b.py": "from a import A\n\n\nclass B(A):\n    def go(self):\n        return 2\n",
    }
    with open_tree(tmp_path / "tree", files) as index:
        assert {"A", "B", "A.go"} <= set(names(index.context("how does `A` go")))


# Much of one thing.
def test_a_file_that_defines_one_name_ten_thousand_times_lists_it_once(tmp_path):
    files = {
        "big.py": "".join(f"def same(value):\n    return value + {number}\n" for number in range(10_000)),
        "user.py": "from big import same\n\n\ndef use_it():\n    return same(1)\n",
    }
    with open_tree(tmp_path / "tree", files) as index:
        assert index.snapshot.units > 10_000
        for profile in PROFILES:
            found = index.context("make `same` faster", profile=profile)
            assert names(found).count("same") == 1
            assert names(found)[0] == "same"
            assert found.tokens < 500
        began = time.process_time()
        pack = index.context(files=["big.py"])
        assert names(pack).count("same") == 1
        assert index.why_symbol("make `same` faster", "same").rank == 1
        assert time.process_time() - began < 5


def grown(index: Index, edges: int) -> Graph:
    """The graph of an index with so many edges beside its own, all of them calls."""
    own, chance = index.open_graph(), np.random.default_rng(7)
    defined = np.flatnonzero(index.snapshot.symbols.defines)
    source, target = (np.concatenate([old, chance.choice(defined, edges).astype(np.int32)]) for old in (own.source, own.target))
    order = np.lexsort((target, source))
    source, target = source[order], target[order]
    into = np.argsort(target, kind="stable")
    places = np.arange(own.nodes + 1)

    def column(old: np.ndarray, value: float) -> np.ndarray:
        return np.concatenate([old, np.full(edges, value, old.dtype)])[order]

    return Graph(
        {
            "source": source, "target": target, "kind": column(own.kind, EDGE_KINDS.index("calls")), "provenance": column(own.provenance, 0),
            "confidence": column(own.confidence, 0.7), "line": column(own.line, 1), "seen": column(own.seen, 0),
            "starts": np.searchsorted(source, places).astype(np.int64), "in_edges": into.astype(np.int32),
            "in_starts": np.searchsorted(target[into], places).astype(np.int64), "outcomes": own.outcomes,
            **pack_strings("outside", own.endpoints),
        },
        index.snapshot.symbols,
    )  # fmt: skip


def test_half_a_million_edges_are_walked_in_a_moment(tmp_path):
    files = {
        f"package_{at}/module_{at}.py": "".join(
            f"def {WORDS[at % 10]}_{WORDS[n % 10]}_{at}_{n}(value):\n    return value + {n}\n" for n in range(100)
        )
        for at in range(50)
    }
    with open_tree(tmp_path / "tree", files) as index:
        graph = grown(index, 500_000)
        assert len(graph.source) >= 500_000
        packing = ContextBuilder(index.reader, graph, index.package_hash, [])
        for asked in (
            {"task": "retry_queue_1_2"},
            {"task": "the message queue waits for a token", "profile": "classic"},
            {"task": "", "files": ("package_1",)},
        ):
            began = time.process_time()
            pack = packing.build(ContextRequest(**asked), 0.0)
            assert pack.tokens <= pack.budget
            assert pack.symbols
            assert folded(pack.symbols[0]) == pytest.approx(pack.symbols[0].score)
            assert time.process_time() - began < 5
        assert names(packing.build(ContextRequest("`retry_queue_1_2`"), 0.0))[0] == "retry_queue_1_2"
