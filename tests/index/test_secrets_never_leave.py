"""Secrets of a tree are not in its index and not in any answer (Z10)."""

from __future__ import annotations

import random

import whence
from sample_trees import git, write
from whence.context.feedback.verdicts import Verdict
from whence_bench.faults.planted_secrets import draw


def drawn(sample: str) -> tuple[str, str]:
    text, [planted] = draw("", sample, "", random.Random(sample))
    return text, planted.secret


def test_a_file_with_a_secret_is_found_by_its_other_words_and_not_by_the_secret(tmp_path):
    line, token = drawn('TOKEN = "«ghp_{a36}»"')
    settings, password = drawn("STAGE=production\nDB_PASS=«{l12}»\n")
    source = f"def open_till():\n    '''Opens the till.'''\n    return '{token}'\n\n{line}\n"
    root = write(tmp_path / "tree", {"till.py": source, ".env": settings})
    git("init", "-q", cwd=root)
    git("add", "-A", cwd=root)
    git("commit", "-q", "-m", f"Open the till with {token}", cwd=root)
    data = tmp_path / "data"
    with whence.Index.open(root, data_dir=data, settings={"index.hidden": True}) as index:
        [best, *_] = index.search("open the till")
        assert best.path == "till.py"
        assert (best.best_start, best.best_end) == (1, 3)  # what is hidden moves nothing
        assert token not in (index.read_text("till.py") or "")
        assert "[redacted: github-token]" in (index.read_text("till.py") or "")
        assert "production" in (index.read_text(".env") or "")
        for part in (token, token[6:20], password):
            assert index.search(pattern=part, fixed=True, content="all") == []
        assert token not in index.context("open the till").text
    held = b"".join(path.read_bytes().lower() for path in data.rglob("*") if path.is_file())
    assert token[4:].lower().encode() not in held
    assert password.lower().encode() not in held


def test_what_was_asked_is_remembered_without_the_secret_in_it():
    line, token = drawn("log in with «glpat-{w20}» and open the till")
    record = Verdict("till.py#open_till", True, "root", line, 1.0)
    assert token not in record.task
    assert record.task.endswith("and open the till")
