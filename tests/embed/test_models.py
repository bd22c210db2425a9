"""Which model reads meaning: none, the shipped one, or one of the user's own, through the whole engine (F5, I4)."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from embed.tiny_models import RECIPE, late_model, model2vec_model, save_network
from sample_trees import whence, whence_process, write
from whence import Index
from whence.core.errors import SettingError
from whence.embed.encoder import LATE, MODEL2VEC, NONE, SHIPPED, UnitText, open_encoder
from whence.ranking.pool import DENSE
from whence.source.walk import RACY_NS

FILES = {
    "src/read.py": "def read(path):\n    file = open(path)\n    return file\n",
    "src/socket.go": "package main\n\nfunc write(socket Socket) {\n\tsocket.write(body)\n}\n",
    "lib/tree.rs": "fn parse(token: Token) -> Tree {\n    token.tree\n}\n",
    "lib/close.js": "function close(file) { return file.close() }\n",
    "docs/guide.md": "# Read\n\nHow to read a file.\n",
}
KINDS = ("shipped", "late", "model2vec")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("models")
    late_model(place / "late")
    late_model(place / "late2", seed=2)
    model2vec_model(place / "model2vec")
    return place


def chosen(kind: str, models: Path) -> dict[str, str]:
    """The settings that choose a model."""
    return {
        "index.model": {"shipped": SHIPPED, "none": NONE, "model2vec": f"{MODEL2VEC}{models}/model2vec"}.get(kind, f"{LATE}{models}/{kind}")
    }


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write(tmp_path / "tree", FILES)


def paths(index: Index, query: str, **asked: Any) -> list[str]:
    return [one.path for one in index.search(query, content="all", **asked)]


def answers(index: Index) -> list[list[tuple[str, float]]]:
    """What an index says by vectors, each score as exactly as models of any kind repeat it."""
    queries = ("read a file", "write socket", "parse token tree")
    return [
        [(one.path, round(one.score, 4)) for one in index.search(query, content="all", strategy="vector", profile="semantic")]
        for query in queries
    ]


def units_table(index: Index) -> list[tuple[str, bytes | None]]:
    return sorted((path, index.snapshot.parsed_of(path)) for path in index.snapshot.paths)


# Each kind answers.


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_of_each_kind_finds_by_vectors_what_is_near(tree: Path, models: Path, kind: str):
    with Index.open(tree, settings=chosen(kind, models)) as index:
        assert index.notes == []
        assert index.writer.model
        assert "src/read.py" in paths(index, "read file", strategy="vector")
        assert set(paths(index, "parse token tree", strategy="vector")) <= set(paths(index, "parse token tree"))
        encoder = open_encoder(index.settings.index.model)
        assert encoder is not None
        assert {row.model for row in index.store.vectors().values()} == {encoder.fingerprint}


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_of_each_kind_put_the_file_first_that_says_the_same(tmp_path: Path, models: Path, kind: str):
    tree = write(tmp_path / "tree", {"a.py": "read file\n", "b.py": "socket tree\n", "c.py": "parse token\n"})
    with Index.open(tree, settings=chosen(kind, models)) as index:
        for query, path in (("read file", "a.py"), ("socket tree", "b.py"), ("parse token", "c.py")):
            assert paths(index, query, strategy="vector", profile="semantic")[0] == path


def test_without_a_model_words_answer_and_vectors_have_nothing_to_say(tree: Path, models: Path):
    with Index.open(tree, settings=chosen("none", models)) as index:
        assert (index.notes, index.writer.model, index.store.vectors()) == ([], "", {})
        assert paths(index, "parse token")[0] == "lib/tree.rs"
        assert paths(index, "parse token", strategy="vector") == []
        assert not list(index.layout.segments.glob("*.vectors"))


@pytest.mark.parametrize("kind", KINDS)
def test_an_edited_tree_answers_as_one_built_afresh_with_the_same_model(tree: Path, models: Path, tmp_path: Path, kind: str):
    own = chosen(kind, models)
    Index.open(tree, settings=own).close()
    write(tree, {"src/read.py": "def read_token(tree):\n    return tree\n", "src/new.py": "def write_socket(): pass\n"})
    (tree / "lib/close.js").unlink()
    with Index.open(tree, settings=own) as edited, Index.open(tree, settings=own, data_dir=tmp_path / "afresh") as afresh:
        assert answers(edited) == answers(afresh)
        assert edited.last_refresh.read == 2


# Another model.


@pytest.mark.parametrize(
    ("first", "then"), [("shipped", "late"), ("late", "late2"), ("late", "shipped"), ("none", "model2vec"), ("model2vec", "shipped")]
)
def test_another_model_makes_vectors_anew_and_nothing_else(tree: Path, models: Path, tmp_path: Path, first: str, then: str):
    with Index.open(tree, settings=chosen(first, models)) as index:
        segments, units, words = index.store.segments(), units_table(index), paths(index, "read file", strategy="lexical")
    with Index.open(tree, settings=chosen(then, models)) as index:
        assert (index.last_refresh.read, index.notes) == (0, [])
        assert index.store.segments() == segments
        assert units_table(index) == units
        assert paths(index, "read file", strategy="lexical") == words
        assert {row.model for row in index.store.vectors().values()} == {index.writer.model}
        listed = {row.name for row in index.store.vectors().values()}
        assert {path.name for path in index.layout.segments.glob("*.vectors")} == listed
        with Index.open(tree, settings=chosen(then, models), data_dir=tmp_path / "afresh") as afresh:
            assert answers(index) == answers(afresh)


def test_another_model_is_noticed_when_nothing_else_has_changed_for_long(tree: Path, models: Path):
    time.sleep(1.1 * RACY_NS / 1e9)  # what is younger is looked at again in any case
    Index.open(tree, settings=chosen("shipped", models)).close()
    with Index.open(tree, settings=chosen("late", models)) as index:
        assert index.last_refresh.read == 0
        assert {row.model for row in index.store.vectors().values()} == {index.writer.model}


def test_the_same_model_makes_no_vector_anew(tree: Path, models: Path):
    with Index.open(tree, settings=chosen("late", models)) as index:
        before = index.store.vectors()
    with Index.open(tree, settings=chosen("late", models)) as index:
        assert index.store.vectors() == before


def test_without_a_refresh_another_model_answers_by_words_until_its_vectors_are_made(tree: Path, models: Path):
    Index.open(tree, settings=chosen("shipped", models)).close()
    with Index.open(tree, settings=chosen("late", models), refresh=False) as index:
        assert paths(index, "parse token")[0] == "lib/tree.rs"
        assert paths(index, "parse token", strategy="vector") == []


def test_an_edit_gives_only_the_edited_file_to_a_slow_model(tree: Path, models: Path):
    """Whether or not segments are rewritten afterwards: vectors that are there are taken along."""
    own = {**chosen("late", models), "index.overlay_share": 0.0}  # everything is rewritten at every edit
    write(tree, {f"more/file{number}.py": f"def more_{number}(name):\n    return name\n" for number in range(20)})
    Index.open(tree, settings=own).close()
    edited = "def edited(token):\n    return token\n"
    write(tree, {"more/file7.py": edited})
    totals: list[int] = []
    with Index.open(tree, settings=own, progress=lambda _, total: totals.append(total)) as index:
        assert index.last_refresh.read == 1
    assert totals
    assert max(totals) <= 2 * len(edited)


# A model that cannot be had.


def unavailable(models: Path, tmp_path: Path) -> dict[str, str]:
    (tmp_path / "empty").mkdir(exist_ok=True)
    write(tmp_path / "damaged", {"tokenizer.json": "{}", "model.onnx": "no network"})
    return {
        "no such directory": f"{LATE}{tmp_path}/nowhere",
        "nothing in it": f"{LATE}{tmp_path}/empty",
        "damaged": f"{LATE}{tmp_path}/damaged",
        "of another kind": f"{MODEL2VEC}{models}/late/tokenizer.json",
        "not on this machine": f"{LATE}ada/no-such-model",
    }


@pytest.mark.parametrize("what", ["no such directory", "nothing in it", "damaged", "of another kind", "not on this machine"])
def test_a_model_that_cannot_be_had_is_one_line_and_words_answer(tree: Path, models: Path, tmp_path: Path, what: str):
    name = unavailable(models, tmp_path)[what]
    done = whence_process(
        "search", "parse token", "--set", f"index.model={name}", "-l", cwd=tree, HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path / "hub")
    )
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "lib/tree.rs"
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("whence: tree: model ")
    assert "words only" in done.stderr


def test_programs_are_told_in_the_notes(tree: Path, tmp_path: Path):
    done = whence("search", "parse token", "--set", f"index.model={LATE}{tmp_path}/nowhere", "--json", cwd=tree)
    found = json.loads(done.stdout)
    assert found["results"][0]["path"] == "lib/tree.rs"
    assert any("words only" in note for note in found["indexes"][0]["notes"])


def test_vectors_that_were_made_are_kept_while_a_model_cannot_be_had(tree: Path, models: Path, tmp_path: Path):
    late_model(tmp_path / "own")
    own = {"index.model": f"{LATE}{tmp_path}/own"}
    with Index.open(tree, settings=own) as index:
        before = index.store.vectors()
    open_encoder.cache_clear()
    (tmp_path / "own").rename(tmp_path / "away")
    with Index.open(tree, settings=own) as index:
        assert len(index.notes) == 1
        assert paths(index, "parse token", strategy="lexical")[0] == "lib/tree.rs"
    (tmp_path / "away").rename(tmp_path / "own")
    with Index.open(tree, settings=own) as index:
        assert (index.notes, index.store.vectors()) == ([], before)
        assert paths(index, "parse token", strategy="vector")


@pytest.fixture
def failing(tmp_path: Path) -> str:
    """A model that can be opened and that fails on most texts: its table is shorter than its vocabulary."""
    tiny = late_model(tmp_path / "failing", {**RECIPE, "query_prefix_id": 2, "document_prefix_id": 2})
    save_network(tiny.directory / "model.onnx", tiny.table[:8], tiny.projection)
    return f"{LATE}{tiny.directory}"


def test_a_model_that_fails_while_it_reads_is_one_line_and_words_answer(tree: Path, failing: str):
    for _ in range(2):
        done = whence("search", "parse token", "--set", f"index.model={failing}", "-l", cwd=tree)
        assert (done.returncode, done.stdout.splitlines()[:1]) == (0, ["lib/tree.rs"]), done
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert "words only" in done.stderr


def test_a_model_that_fails_on_the_question_only_lets_words_answer(tree: Path, models: Path):
    """A query is data too: a byte that is no UTF-8 on the command line, say."""
    with Index.open(tree, settings=chosen("late", models)) as index:
        assert paths(index, "parse token \udcff")[0] == "lib/tree.rs"


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_name_that_is_no_utf8_is_no_trouble_for_a_model(tree: Path, models: Path, kind: str):
    write(tree, {"caf\udce9.py": "def parse_token(tree):\n    return tree\n"})
    with Index.open(tree, settings=chosen(kind, models)) as index:
        assert "caf\udce9.py" in paths(index, "parse token", strategy="vector")


# A name that can be no model.


@pytest.mark.parametrize("name", ["shiped", "", "late:", "model2vec:", "LATE:x", "onnx:", "/some/dir"])
def test_a_name_that_can_be_no_model_is_refused_before_any_work(tree: Path, own_data_dir: Path, name: str):
    with pytest.raises(SettingError, match=r"index\.model = .* is not allowed") as refused:
        Index.open(tree, settings={"index.model": name})
    assert refused.value.hint.startswith("allowed: shipped | none | late:")
    assert not list(own_data_dir.rglob("*.segment"))


@pytest.mark.parametrize(
    "command", [("search", "parse"), ("index",), ("status",), ("related", "src/read.py:1"), ("config", "index.model")], ids=" ".join
)
def test_every_command_refuses_such_a_name_with_exit_code_2(tree: Path, command: tuple[str, ...]):
    done = whence(*command, "--set", "index.model=shiped", cwd=tree)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done
    assert "index.model" in done.stderr
    assert "shipped | none" in done.stderr


# What is shown.


def test_config_shows_the_model_and_where_it_was_chosen(tree: Path):
    def shown(**environment: str) -> tuple[str, str]:
        done = whence("config", "index.model", "--json", cwd=tree, **environment)
        assert done.returncode == 0
        (setting,) = json.loads(done.stdout)
        return setting["value"], Path(setting["source"]).name

    assert shown() == (SHIPPED, "default")
    assert shown(WHENCE_INDEX_MODEL="none") == (NONE, "environment")
    write(tree, {".whence.toml": '[index]\nmodel = "none"\n'})
    assert shown() == (NONE, ".whence.toml")


@pytest.mark.parametrize("kind", ["none", *KINDS])
def test_status_shows_which_model_answers(tree: Path, models: Path, kind: str):
    own = chosen(kind, models)
    with Index.open(tree, settings=own) as index:
        model = index.writer.model
    done = whence("status", "--set", f"index.model={own['index.model']}", cwd=tree)
    assert (done.returncode, done.stderr) == (0, "")
    assert own["index.model"].partition(":")[0] in done.stdout
    assert model in done.stdout


def test_similarities_of_a_model_are_those_of_its_own_vectors(tmp_path: Path, models: Path):
    """What is on disk, asked through the engine, against the encoder itself: little is lost on the way."""
    own, body = chosen("model2vec", models), "parse token\n"
    encoder = open_encoder(own["index.model"])
    assert encoder is not None
    with Index.open(write(tmp_path / "tree", {"tree.py": body}), settings=own) as index:
        (found,) = index.search("parse token tree", strategy="vector")
    exact = encoder.encode_units([UnitText("tree.py", "", body.encode())]).rows[0] @ encoder.encode_query("parse token tree").rows[0]
    assert found._found.ranked.pool.retrieved[DENSE].tolist() == [pytest.approx(float(exact), abs=0.01)]
