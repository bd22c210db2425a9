"""A second look at files, symbols and notes, with a tiny model: what it changes, what it costs, what it says."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from embed.tiny_models import sentence_model
from sample_trees import whence, write
from whence.app.index import Index
from whence.app.workspace import IndexSession
from whence.core.errors import SettingError
from whence.memory.memory import Memory
from whence.ranking.rerank import SecondLook

#: The words of the question are in all files alike; the tiny model knows these and the others.
QUESTION = "read the token tree"
#: Files are read only where they are to count.
READS_FILES = {"profiles.default.signals.rerank.short": 0.5, "profiles.default.signals.rerank.long": 0.5}
FILES = {
    "one.py": "def read_tree(token):\n    return open(token).read()\n",
    "two.py": "def tree_token(path):\n    # read\n    socket = path\n    return socket\n",
    "three.py": "class Token:\n    def read(self, tree):\n        return tree.body\n",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"onnx:{sentence_model(tmp_path_factory.mktemp('models') / 'tiny', pooling='mean_tokens', length=64).directory}"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write(tmp_path / "tree", FILES)


@pytest.fixture
def index(tree: Path, tmp_path: Path, model: str) -> Iterator[Index]:
    with Index.open(tree, data_dir=tmp_path / "data", settings={**READS_FILES, "rerank.model": model}) as opened:
        yield opened


def reread(tree: Path, tmp_path: Path, model: str, **settings: object) -> dict[str, float]:
    """What a second look says of each file to somebody who opens the index now."""
    chosen = {**READS_FILES, "rerank.model": model, **{f"rerank.{name}": value for name, value in settings.items()}}
    with Index.open(tree, data_dir=tmp_path / "data", settings=chosen) as opened:
        return values(opened.search(QUESTION))


def values(results) -> dict[str, float]:
    return {one.path: line.value for one in results for line in one.why if line.signal == "rerank"}


def test_the_first_files_are_read_and_the_signal_is_in_their_receipts(index: Index):
    found = values(index.search(QUESTION))
    assert found.keys() == FILES.keys()
    assert min(found.values()) == 0
    assert max(found.values()) > 0
    assert np.isclose(np.std(list(found.values())), 1)


def test_a_score_is_the_sum_of_its_ledger_with_the_second_look(index: Index):
    for one in index.search(QUESTION):
        assert np.isclose(one.score, sum(line.contribution for line in one.why))


def test_symbols_are_read_too(index: Index):
    lines = {one.qualified_name: line.value for one in index.context(QUESTION).symbols for line in one.why if line.signal == "rerank"}
    assert {"read_tree", "tree_token"} <= lines.keys()
    assert max(lines.values()) > 0


def test_why_has_the_signal_and_the_rank_without_it(index: Index):
    lines = [one for one in index.why(QUESTION, "two.py").lines if one.line.signal == "rerank"]
    assert len(lines) == 1
    assert lines[0].rank_without in (1, 2, 3)
    assert "on a second look" in lines[0].line.because


def test_without_a_model_nothing_says_anything_of_it(tree: Path, tmp_path: Path):
    with Index.open(tree, data_dir=tmp_path / "data") as opened:
        assert values(opened.search(QUESTION)) == {}
    assert not (tmp_path / "data" / "rerank").exists()


def test_the_same_question_has_the_same_answer_from_cache_and_in_another_process(tree: Path, tmp_path: Path, model: str):
    first = reread(tree, tmp_path, model)
    assert reread(tree, tmp_path, model) == first
    (tmp_path / "data" / "rerank" / "vectors.db").unlink()
    assert reread(tree, tmp_path, model) == first


def test_only_so_many_candidates_are_read(tree: Path, tmp_path: Path, model: str):
    assert sum(value > 0 for value in reread(tree, tmp_path, model, candidates=2).values()) == 1


def test_what_there_is_no_time_for_is_read_the_next_time_and_the_answer_says_so(tree: Path, tmp_path: Path, model: str):
    chosen = {**READS_FILES, "rerank.model": model, "rerank.milliseconds": 0}
    with Index.open(tree, data_dir=tmp_path / "data", settings=chosen) as opened:
        hurried = opened.search(QUESTION)
    assert "the second look read 0 of the first 4 texts; the same question again reads more" in hurried.notes
    complete = reread(tree, tmp_path, model)
    assert max(complete.values()) > 0
    with Index.open(tree, data_dir=tmp_path / "data", settings=chosen) as opened:
        again = opened.search(QUESTION)
    assert values(again) == complete
    assert not any("second look" in note for note in again.notes)


def test_a_file_that_has_changed_since_it_was_indexed_is_not_read_as_something_else(tree: Path, tmp_path: Path, model: str):
    with Index.open(tree, data_dir=tmp_path / "data", settings={**READS_FILES, "rerank.model": model}) as opened:
        state = (tree / "one.py").stat()
        (tree / "one.py").write_text(FILES["two.py"])
        os.utime(tree / "one.py", ns=(state.st_atime_ns, state.st_mtime_ns))
        found = opened.search(QUESTION)
        assert values(found)["one.py"] == 0
        assert any("read 3 of the first 4 texts" in note for note in found.notes)


def test_another_worktree_with_the_same_content_has_nothing_to_read(tree: Path, tmp_path: Path, model: str):
    first = reread(tree, tmp_path, model)
    copy = write(tmp_path / "copy", FILES)
    assert reread(copy, tmp_path, model, milliseconds=0) == first


def test_a_model_that_cannot_be_loaded_costs_one_line_and_the_answer_is_that_of_words(tree: Path, tmp_path: Path):
    missing = tmp_path / "nowhere"
    with Index.open(tree, data_dir=tmp_path / "data", settings={**READS_FILES, "rerank.model": f"onnx:{missing}"}) as opened:
        found = opened.search(QUESTION)
        remark = f"model {missing}: no such directory (give a directory or a hub id such as owner/name); no second look"
        assert len(found) == len(FILES)
        assert not any(values(found).values())
        assert remark in found.notes
        assert opened.context(QUESTION).remark == remark
    with Memory.open(tmp_path / "notes", data_dir=tmp_path / "data", settings={**READS_FILES, "rerank.model": f"onnx:{missing}"}) as memory:
        memory.remember(QUESTION)
        assert memory.recall(QUESTION).remark == remark


def test_the_command_line_says_that_line_once(tree: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("WHENCE_RERANK_MODEL", f"onnx:{tmp_path}/nowhere")
    done = whence("context", QUESTION, cwd=tree)
    assert done.returncode == 0
    assert (done.stdout + done.stderr).count("no second look") == 1


def test_a_repository_may_not_have_a_model_loaded(tree: Path, tmp_path: Path, model: str):
    write(tree, {".whence.toml": f'rerank.model = "{model}"\n'})
    with pytest.raises(SettingError, match=r"a repository may not set rerank\.model"):
        Index.open(tree, data_dir=tmp_path / "data")


def test_notes_are_read_passage_by_passage(tmp_path: Path, model: str):
    settings = {**READS_FILES, "rerank.model": model}
    with Memory.open(tmp_path / "notes", data_dir=tmp_path / "data", settings=settings, repository=tmp_path) as memory:
        memory.remember("read the tree of tokens\n" + "socket body path\n" * 60, topic="long")
        memory.remember("tree token read", topic="short")
        memory.remember("the socket of a tree is closed", topic="other")
        found = {one.note.topic: line for one in memory.recall(QUESTION) for line in one.why if line.signal == "note_rerank"}
        assert found.keys() == {"long", "short", "other"}
        assert max(line.value for line in found.values()) > 0
        again = {one.note.topic: line for one in memory.recall(QUESTION) for line in one.why if line.signal == "note_rerank"}
        assert again == found


def test_a_server_takes_the_time_that_is_set_for_servers(tree: Path, own_data_dir: Path):
    async def asked() -> int:
        session = IndexSession(tree, {"rerank.milliseconds": "1", "rerank.server_milliseconds": "2"})
        try:
            found: int = await session.ask(lambda index, _: index.settings.rerank.milliseconds if index is not None else 0)
            return found
        finally:
            await session.aclose()

    Index.open(tree, data_dir=own_data_dir).close()
    assert asyncio.run(asked()) == 2


def test_what_was_not_read_counts_as_the_least_similar_that_was():
    look = SecondLook(np.array([0.9, np.nan, 0.5, 0.7]), 3, 4)
    assert look.values()[1] == look.values()[2] == 0
    assert look.values()[0] == pytest.approx(2 * look.values()[3])


@pytest.mark.parametrize("similarity", [[np.nan, np.nan], [0.5, np.nan], [0.5, 0.5]])
def test_candidates_of_which_none_is_nearer_are_left_as_they_are(similarity: list[float]):
    assert not SecondLook(np.array(similarity), 1, 2).values().any()
