"""What a grammar could not read is stored with a file, survives merging, and is told (status, doctor, graph questions)."""

from __future__ import annotations

import json
from pathlib import Path

from sample_trees import whence, write
from whence import Index

BROKEN = "context(project: Project)\nfun report(label: String) = helperThing(label)\n"


def tree(root: Path) -> Path:
    clean = {f"src/Clean{number}.kt": f"class Clean{number} {{ fun run() = {number} }}\n" for number in range(5)}
    return write(root, {"src/Broken.kt": BROKEN, "src/ok.py": "def fine():\n    return 1\n", **clean})


def test_status_counts_files_and_lines_that_did_not_parse(tmp_path: Path) -> None:
    root = tree(tmp_path / "tree")
    whence("index", cwd=root)
    languages = {one["language"]: one for one in json.loads(whence("status", "--json", cwd=root).stdout)["languages"]}
    assert (languages["kotlin"]["files_with_errors"], languages["kotlin"]["error_lines"]) == (1, 2)
    assert (languages["python"]["files_with_errors"], languages["python"]["error_lines"]) == (0, 0)
    said = [line for line in whence("status", cwd=root).stdout.splitlines() if "did not parse" in line]
    assert len(said) == 1
    assert "1 did not parse cleanly (2 lines)" in said[0]


def test_doctor_lists_them_by_language(tmp_path: Path) -> None:
    root = tree(tmp_path / "tree")
    whence("index", cwd=root)
    found = json.loads(whence("doctor", "--json", "--questions", "0", cwd=root).stdout)
    parsing = next(one for one in found["checks"] if one["name"] == "parsing")
    assert parsing["level"] == "ok"
    assert parsing["facts"]["languages"] == {"kotlin": {"files_with_errors": 1, "error_lines": 2}}


def test_a_graph_question_names_the_file_that_did_not_parse(tmp_path: Path) -> None:
    root = tree(tmp_path / "tree")
    answer = whence("callers", "helperThing", cwd=root)
    assert answer.returncode == 2
    assert "src/Broken.kt, which did not parse cleanly (lines 1-2)" in answer.stderr
    assert "no such symbol" in whence("callers", "helperThink", cwd=root).stderr


def test_counts_follow_edits_and_merges(tmp_path: Path) -> None:
    root = tree(tmp_path / "tree")
    with Index.open(root, data_dir=tmp_path / "data") as index:
        assert index.snapshot.parse_errors() == {"kotlin": (1, 2)}
    for number in range(3):
        write(root, {f"src/New{number}.kt": BROKEN})
        with Index.open(root, data_dir=tmp_path / "data") as index:
            assert index.snapshot.parse_errors() == {"kotlin": (number + 2, 2 * number + 4)}
    (root / "src/Broken.kt").write_text("fun report(label: String) = 1\n")
    with Index.open(root, data_dir=tmp_path / "data") as index:
        assert index.snapshot.parse_errors() == {"kotlin": (3, 6)}
        assert [path for path, _ in index.snapshot.misread_files_with("helperThing")] == [f"src/New{number}.kt" for number in range(3)]
