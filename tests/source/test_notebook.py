"""Notebooks are searched by their cells: as code and prose in the kernel's language, with the cell in each result."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from sample_trees import git, whence, write
from small_cases import each
from whence import Index
from whence.parse.languages import language_of
from whence.source.notebook import cell_at
from whence.source.read import decode
from whence_bench.faults.planted_secrets import draw

LOAD = "def load_customers(path):\n    return pd.read_csv(path)\n"
IMAGE = {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo" * 5_000, "text/plain": ["walrusoutput"]}}


def code(source: str | list[str], *outputs: Any) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "execution_count": 1, "source": source, "outputs": list(outputs)}


def prose(source: str | list[str], kind: str = "markdown") -> dict[str, Any]:
    return {"cell_type": kind, "metadata": {}, "source": source}


def notebook(*cells: Any, language: str = "python", **more: Any) -> str:
    metadata = {"kernelspec": {"name": "kernel", "language": language}, "language_info": {"name": language}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5, **more})


CHURN = notebook(
    prose(["# Churn\n", "\n", "Which subscribers leave the aquarium."]),
    code(["%matplotlib inline\n", "import pandas as pd\n", "!pip install plotly"]),
    code(""),
    code(LOAD, IMAGE),
    code("frame = load_customers('a.csv')\nframe.plot()", IMAGE),
)
TEXT = """\
# jupyter: python

# %% [markdown] cell 1
# # Churn
#
# Which subscribers leave the aquarium.

# %% cell 2
# %matplotlib inline
import pandas as pd
# !pip install plotly

# %% cell 3

# %% cell 4
def load_customers(path):
    return pd.read_csv(path)

# %% cell 5
frame = load_customers('a.csv')
frame.plot()
"""


def text_of(content: str) -> str:
    return (decode(content.encode(), "a.ipynb") or b"").decode()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write(tmp_path / "tree", {"churn.ipynb": CHURN, "other.py": "def unrelated():\n    return 1\n"})


def test_cells_follow_their_markers_prose_and_magics_are_comments_and_outputs_are_left_out():
    assert text_of(CHURN) == TEXT
    assert decode(CHURN.encode(), "a.json") == CHURN.encode()


@each(
    ("language", "name", "mark"),
    [
        ("R", "r", "#"),
        ("julia", "julia", "#"),
        ("C++", "cpp", "//"),
        ("scala", "scala", "//"),
        ("Haskell", "haskell", "--"),
        ("x", "unknown", "#"),
    ],
)
def test_the_language_is_the_kernels(language, name, mark):
    text = text_of(notebook(prose("Hello"), code("x <- 1"), language=language))
    assert text.split("\n")[2:7] == [f"{mark} %% [markdown] cell 1", f"{mark} Hello", "", f"{mark} %% cell 2", "x <- 1"]
    assert language_of("a.ipynb", text.encode()).name == name


def test_without_metadata_it_is_python_and_old_formats_and_odd_cells_are_read():
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": ["a = 1\n", "b = 2"]}, prose("x\ty", "raw"), None, code([1, "c"])]}]}
    assert text_of(json.dumps(old)).split("\n")[:9] == [
        "# jupyter: python", "", "# %% cell 1", "a = 1", "b = 2", "", "# %% [raw] cell 2", "# x\ty", "",
    ]  # fmt: skip
    assert text_of(notebook(code("%%bash\nls\nrm x"), code("x = '\ud800'"))).split("\n")[2:] == [
        "# %% cell 1", "# %%bash", "# ls", "# rm x", "", "# %% cell 2", "x = '?'", "",
    ]  # fmt: skip
    assert text_of(notebook(code(" \n"), prose(""))) == text_of(notebook()) == ""


@each("damaged", [CHURN[:400], "[1, 2]", '{"cells": 3}', "[" * 100_000, "<<<<<<< HEAD\n" + CHURN])
def test_a_damaged_notebook_is_plain_text(damaged):
    assert text_of(damaged) == damaged
    assert language_of("a.ipynb", damaged.encode()).name == "unknown"


def test_a_line_that_looks_like_a_marker_does_not_mislead():
    lines = text_of(notebook(code("a = 1\n# %% cell 7\n# %% cell 1"), code("b = 2"))).split("\n")
    assert [cell_at(lines, lines.index(line) + 1) for line in ("# jupyter: python", "a = 1", "# %% cell 7", "b = 2")] == [None, 1, 1, 2]


def test_results_have_lines_of_the_text_and_the_cell(tree):
    said = whence("search", "load customers", cwd=tree).stdout.splitlines()
    assert said[0].startswith(" 1 churn.ipynb:16-17 (cell 4)  function load_customers")
    [first, *_] = json.loads(whence("search", "load customers", "--json", cwd=tree).stdout)["results"]
    assert (first["cell"], first["best_start_line"], first["language"], first["lines"][0]["text"]) == (
        4,
        16,
        "python",
        "def load_customers(path):",
    )
    [first, *_] = json.loads(whence("search", "subscribers leave the aquarium", "--json", cwd=tree).stdout)["results"]
    assert (first["path"], first["cell"], first["best_start_line"], first["kind"]) == ("churn.ipynb", 1, 3, "raw")
    [first, *_] = json.loads(whence("search", "unrelated", "--json", cwd=tree).stdout)["results"]
    assert "cell" not in first


def test_patterns_context_callers_and_why_speak_of_the_same_lines(tree):
    assert whence("search", "-n", "-e", r"read_csv\(", cwd=tree).stdout == "churn.ipynb:17:    return pd.read_csv(path)\n"
    assert whence("search", "-e", "walrusoutput", cwd=tree).returncode == 1
    packed = json.loads(whence("context", "load customers", "--json", cwd=tree).stdout)["symbols"]
    bodies = {one["name"]: (one["start_line"], one["body"].strip()) for one in packed if one["form"] == "body"}
    assert bodies["load_customers"] == (16, LOAD.strip())
    assert "churn.ipynb:20" in whence("callers", "load_customers", cwd=tree).stdout
    assert whence("why", "load customers", "churn.ipynb", cwd=tree).stdout.startswith("churn.ipynb:16  function load_customers\n")


def test_neither_long_lines_of_json_nor_large_outputs_leave_it_out(tmp_path):
    image = {"data": {"image/png": "A" * 1_600_000}}
    inline = "![](data:image/png;base64," + "QUJD" * 20_000 + ")"
    files = {"plots.ipynb": notebook(code(LOAD, image)), "inline.ipynb": notebook(prose(inline), code("inlined = 1"))}
    files |= {"long.ipynb": notebook(code("x = 1\n" * 300_000)), "empty.ipynb": notebook(), "bad.ipynb": "{" + "A" * 1_600_000}
    root = write(tmp_path, files)
    whence("index", cwd=root)
    listed = json.loads(whence("status", "--files", "--json", cwd=root).stdout)
    assert {one["path"]: one["reason"] for one in listed} == {
        "plots.ipynb": "", "inline.ipynb": "", "long.ipynb": "larger than 1500000 bytes", "empty.ipynb": "empty",
        "bad.ipynb": "larger than 1500000 bytes",
    }  # fmt: skip


def test_an_edit_is_seen_and_a_new_time_stamp_is_not(tree, tmp_path):
    with Index.open(tree, data_dir=tmp_path / "data") as index:
        write(tree, {"churn.ipynb": CHURN})
        assert index.refresh().read == 0
        write(tree, {"churn.ipynb": CHURN.replace("load_customers", "fetch_walruses")})
        assert index.refresh().read == 1
        assert [(one.name, one.cell) for one in index.search("fetch walruses", k=1)] == [("fetch_walruses", 4)]


def test_an_archive_holds_it(tree, tmp_path):
    git("init", "-b", "main", cwd=tree)
    git("add", ".", cwd=tree)
    git("commit", "-m", "first", cwd=tree)
    git("clone", "-q", str(tree), str(tmp_path / "there"), cwd=tmp_path)
    assert whence("pack", "export", str(tree), "-o", "a.pack", cwd=tmp_path, WHENCE_DATA_DIR=str(tmp_path / "a")).returncode == 0
    done = whence("pack", "import", "a.pack", "there", cwd=tmp_path, WHENCE_DATA_DIR=str(tmp_path / "b"))
    assert (done.returncode, "2 files taken from the pack, 0 read here" in done.stdout) == (0, True)
    said = whence("search", "load customers", cwd=tmp_path / "there", WHENCE_DATA_DIR=str(tmp_path / "b")).stdout
    assert "churn.ipynb:16-17 (cell 4)  function load_customers" in said


def test_secrets_in_a_cell_are_masked_where_they_are(tmp_path):
    line, [planted] = draw("", "token = '«ghp_{a36}»'", "", random.Random(1))
    root = write(tmp_path / "tree", {"a.ipynb": notebook(code(f"{line}\n{LOAD}"))})
    for arguments in (
        ("search", "load customers token"),
        ("search", "-e", "token"),
        ("search", "token", "--json"),
        ("context", "load customers"),
    ):
        assert planted.secret not in whence(*arguments, cwd=root).stdout
    with Index.open(root, data_dir=tmp_path / "data") as index:
        text = index.read_text("a.ipynb") or ""
        assert text.split("\n")[3].startswith("token = '[redacted: github-token]")
        parsed = index.parsed("a.ipynb")
        assert parsed is not None
        [unit] = [one for one in parsed.units if one.name == "load_customers"]
        assert text[unit.start : unit.end] == LOAD.strip()
