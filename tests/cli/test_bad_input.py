"""Bad input at the command line: one clear line, the right exit code, and an index that answers as before."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindrances import environment, obeying_permissions, small_disk
from sample_trees import git, whence, whence_process, write

FILES = {
    "lib/retry.py": "def retry(request):\n    return send(request)\n",
    "lib/parser.py": "def parse(text):\n    return text.split()\n",
    "docs/guide.md": "# Guide\n\nHow to retry.\n",
}
FOUND, NOTHING, FAILED = 0, 1, 2


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write(tmp_path / "tree", FILES)


@contextlib.contextmanager
def unharmed(tree: Path) -> Iterator[None]:
    """Whatever happens inside, the index answers afterwards as it did before."""
    before = whence("search", "retry", "--content", "all", "-l", cwd=tree)
    assert (before.returncode, before.stderr) == (FOUND, "")
    yield
    after = whence("search", "retry", "--content", "all", "-l", cwd=tree)
    assert (after.returncode, after.stderr, after.stdout) == (FOUND, "", before.stdout)


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """Exit code 2, nothing on standard output, one line on standard error that holds these words."""
    assert (done.returncode, done.stdout) == (FAILED, ""), done
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("whence: ")
    for word in words:
        assert word in done.stderr


# Queries.


def test_bad_queries_are_refused_in_one_line_and_harm_nothing(tree: Path) -> None:
    with unharmed(tree):
        refused(whence("search", "", cwd=tree), "the query is empty")
        refused(whence("search", " \t\n", cwd=tree), "the query is empty")
        refused(whence("search", "?!. () -> \"' ***", cwd=tree), "no word")
        refused(whence("search", "retry", "--operator", "xor", cwd=tree), "xor", "or, and")
        refused(whence("search", "retry", "--relaxation", ">2", cwd=tree), "--relaxation", "and")
        refused(whence("search", "retry", "--operator", "and", "--relaxation", "2", cwd=tree), "'2'", ">N")
        refused(whence("search", "retry", "-k", "0", cwd=tree), "0")
        refused(whence("search", "retry", "-k", "many", cwd=tree), "many")


def test_bad_filters_are_refused_in_one_line_and_harm_nothing(tree: Path) -> None:
    with unharmed(tree):
        refused(whence("search", "retry", "--include", "[a", cwd=tree), "bad glob", "[a")
        refused(whence("search", "retry", "--include", "src\\", cwd=tree), "bad glob", "src")
        refused(whence("search", "retry", "--exclude", "", cwd=tree), "glob")
        refused(whence("search", "retry", "--lang", "klingon", cwd=tree), "klingon", "python")
        refused(whence("search", "retry", "--kind", "gadget", cwd=tree), "gadget", "function")
        refused(whence("search", "retry", "--content", "music", cwd=tree), "music", "docs")
        refused(whence("search", "retry", "-F", cwd=tree), "-e")


@pytest.mark.parametrize("pattern", ["(", "[a", "*", "\\"])
def test_a_bad_regular_expression_is_refused_with_a_caret_under_the_mistake(tree: Path, pattern: str) -> None:
    done = whence("search", "-e", pattern, cwd=tree)
    assert (done.returncode, done.stdout) == (FAILED, "")
    said, *shown = done.stderr.splitlines()
    assert "bad pattern" in said
    assert not shown or (len(shown) == 2 and shown[1].strip() == "^")


def test_a_query_of_only_stop_words_searches_for_them(tree: Path) -> None:
    with unharmed(tree):
        done = whence("search", "how to", "--content", "all", "-l", cwd=tree)
        assert (done.returncode, done.stdout.split(), done.stderr) == (FOUND, ["docs/guide.md"], "")
        nowhere = whence("search", "whose whom", "-l", cwd=tree)
        assert (nowhere.returncode, nowhere.stdout) == (NOTHING, "")


def test_a_query_of_100_kb_is_answered(tree: Path) -> None:
    pasted = 'retry the request "quoted" (and) NOT [this] OR * {that}: \\ \' ; -- \n' * 1500
    assert len(pasted) > 100_000
    with unharmed(tree):
        done = whence("search", pasted, "-l", cwd=tree)
        assert (done.returncode, done.stderr) == (FOUND, "")
        assert done.stdout.split()[0] == "lib/retry.py"


@pytest.mark.parametrize("query", ["-retry", "NEAR(retry parse)", 'retry" OR 1=1 --', "(((retry*"])
def test_marks_of_query_languages_are_only_text(tree: Path, query: str) -> None:
    done = whence("search", "-l", "--", query, cwd=tree)
    assert done.returncode in (FOUND, NOTHING)
    assert "Traceback" not in done.stderr


# Places.


def test_an_empty_folder_has_nothing_to_find(tmp_path: Path) -> None:
    done = whence("search", "retry", str(tmp_path), cwd=tmp_path)
    assert done.returncode == NOTHING
    assert "0 of 0 files" in done.stdout
    assert len(done.stderr.splitlines()) == 1
    assert whence("index", str(tmp_path), cwd=tmp_path).returncode == FOUND


def test_a_path_that_does_not_exist_is_refused_by_name(tree: Path) -> None:
    with unharmed(tree):
        for command in (("search", "retry", "nowhere"), ("index", "nowhere"), ("status", "nowhere"), ("search", "retry", "a\nb")):
            refused(whence(*command, cwd=tree), "no such file or folder")


def test_a_path_below_a_file_or_too_long_is_refused(tree: Path) -> None:
    refused(whence("search", "retry", "lib/retry.py/inner", cwd=tree))
    refused(whence("search", "retry", "x" * 5000, cwd=tree))


def test_a_file_narrows_a_search_to_itself(tree: Path) -> None:
    git("init", cwd=tree)
    with unharmed(tree):
        done = whence("search", "text request", "lib/parser.py", "-l", cwd=tree)
        assert (done.returncode, done.stdout.split()) == (FOUND, ["lib/parser.py"])


def test_indexing_a_file_indexes_the_repository_it_is_in(tree: Path) -> None:
    git("init", cwd=tree)
    done = whence("index", "lib/parser.py", cwd=tree)
    assert (done.returncode, done.stderr) == (FOUND, "")
    assert f"{tree.resolve()}: 3 files" in done.stdout


def test_a_folder_that_cannot_be_opened_is_refused(tree: Path) -> None:
    (tree / "lib").chmod(0)
    done = subprocess.run(
        [sys.executable, "-m", "whence", "search", "retry", "lib"],
        cwd=tree,
        env=environment(),
        preexec_fn=obeying_permissions(),
        capture_output=True,
        text=True,
        check=False,
    )
    (tree / "lib").chmod(0o755)
    refused(done, "ermission denied")


def test_loops_and_links_out_of_the_root_are_left_out(tree: Path, tmp_path: Path) -> None:
    write(tmp_path / "outside", {"secret.py": "def walrus(): pass\n"})
    with unharmed(tree):
        (tree / "out").symlink_to(tmp_path / "outside")
        (tree / "secret.py").symlink_to(tmp_path / "outside/secret.py")
        (tree / "lib/up").symlink_to(tree)
        (tree / "self").symlink_to("self")
        done = whence("search", "walrus", "-l", cwd=tree)
        assert (done.returncode, done.stdout) == (NOTHING, "")
        refused(whence("search", "retry", "self", cwd=tree), "self")


def test_strange_names_are_indexed_and_printed_safely(tree: Path) -> None:
    names = ["***/walrus.py", "two\nlines.py", os.fsdecode(b"caf\xe9.py"), "-l.py", "\x1b[31mred.py"]
    write(tree, dict.fromkeys(names, "def walrus(): pass\n"))
    done = whence("search", "walrus", "-l", cwd=tree)
    assert (done.returncode, done.stderr) == (FOUND, "")
    assert len(done.stdout.splitlines()) == len(names)
    assert "\x1b" not in done.stdout
    narrowed = whence("search", "walrus", "***", "-l", cwd=tree)
    assert narrowed.stdout.split() == ["***/walrus.py"]
    assert whence("search", "walrus", "--json", cwd=tree).returncode == FOUND


def test_a_root_that_is_a_strange_name_is_searched(tmp_path: Path) -> None:
    for name in ("***", os.fsdecode(b"caf\xe9"), "two\nlines"):
        root = write(tmp_path / name, FILES)
        done = whence("search", "retry", "-l", cwd=root)
        assert (done.returncode, done.stdout.split(), done.stderr) == (FOUND, ["lib/retry.py"], "")
        assert whence("index", cwd=root).returncode == FOUND
        assert whence("status", cwd=root).returncode == FOUND


# Files.


def test_files_that_cannot_be_indexed_are_left_out_counted_and_harm_nothing(tree: Path) -> None:
    with unharmed(tree):
        with (tree / "huge.py").open("wb") as file:
            file.truncate(200_000_000)
        write(
            tree,
            {
                "line.js": b"x" * 50_000_000,
                "binary.py": bytes(range(256)) * 10,
                "wrong.py": b"def walrus(): return '\xff\xfe'\n",
                "late.c": b"int x;\n" * 2000 + b" \0 " * 5000,
            },
        )
        done = whence("search", "walrus", "-l", cwd=tree)
        assert (done.returncode, done.stdout.split(), done.stderr) == (FOUND, ["wrong.py"], "")
        status = whence("status", cwd=tree)
        assert "2 larger than 1500000 bytes" in status.stdout
        assert "binary" in status.stdout


def test_a_line_of_50_mb_is_left_out_even_where_large_files_are_allowed(tree: Path) -> None:
    with unharmed(tree):
        write(tree, {"line.js": b"x" * 50_000_000})
        done = whence("search", "retry", "-l", "--set", "index.max_file_bytes=100000000", cwd=tree)
        assert (done.returncode, done.stdout.split()) == (FOUND, ["lib/retry.py"])
        status = whence("status", "--set", "index.max_file_bytes=100000000", cwd=tree)
        assert "a line longer than" in status.stdout
        (tree / "line.js").unlink()
        assert whence("index", cwd=tree).returncode == FOUND


def test_a_file_that_cannot_be_read_is_left_out_and_the_rest_is_found(tree: Path) -> None:
    (tree / "lib/parser.py").chmod(0)
    done = subprocess.run(
        [sys.executable, "-m", "whence", "search", "retry", "-l"],
        cwd=tree,
        env=environment(),
        preexec_fn=obeying_permissions(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.split(), done.stderr) == (FOUND, ["lib/retry.py"], "")
    assert "cannot be read: Permission denied" in whence("status", cwd=tree).stdout


# Settings.


def test_bad_settings_are_refused_with_their_source_and_harm_nothing(tree: Path) -> None:
    with unharmed(tree):
        refused(whence("search", "retry", "--set", "search.k=zero", cwd=tree), "command line", "search.k", "whole number")
        refused(whence("search", "retry", "--set", "serach.k=1", cwd=tree), "serach.k", "did you mean search.k?")
        refused(whence("search", "retry", "--set", "search.k", cwd=tree), "NAME=VALUE")
        refused(whence("search", "retry", cwd=tree, WHENCE_SEARCH_K="-1"), "environment", "search.k")
        refused(whence("search", "retry", cwd=tree, WHENCE_SERCH_K="1"), "WHENCE_SERCH_K", "did you mean WHENCE_SEARCH_K?")
        refused(whence("search", "retry", "--set", "index.lock_wait=nan", cwd=tree), "index.lock_wait")


def test_a_bad_project_file_is_refused_by_name(tree: Path) -> None:
    with unharmed(tree):
        for text in (b"[search]\nk = 'ten'\n", b"[search\n", b"k = 1\n", b"\xff\xfe\n", b"[search]\nk = true\n", b"[search.k]\nx = 1\n"):
            write(tree, {".whence.toml": text})
            refused(whence("search", "retry", cwd=tree), ".whence.toml")
        (tree / ".whence.toml").unlink()


# The disk.


def test_no_space_left_gives_one_line_and_harms_nothing(tree: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "3m") as disk, unharmed_on(tree, disk):
        write(tree, {f"more/part_{n}.py": f"def part_{n}():\n    return {n}\n" * 200 for n in range(40)})
        filler = disk / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 4096)
        done = whence_process("search", "retry", cwd=tree, WHENCE_DATA_DIR=str(disk))
        assert done.returncode == FOUND, "what was indexed before is still answered"
        assert "results are from before the last changes: the index cannot be written" in done.stderr
        assert "No space left" in done.stderr
        filler.unlink()
        for path in (tree / "more").iterdir():
            path.unlink()


def test_no_space_left_for_a_first_build_gives_one_line_and_can_be_made_good(tree: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "40k") as disk:
        refused(whence_process("search", "retry", cwd=tree, WHENCE_DATA_DIR=str(disk)), "free some space")
        subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
        done = whence_process("search", "retry", cwd=tree, WHENCE_DATA_DIR=str(disk))
        assert (done.returncode, done.stderr) == (FOUND, "")
        assert "function retry" in done.stdout


@contextlib.contextmanager
def unharmed_on(tree: Path, disk: Path) -> Iterator[None]:
    before = whence_process("search", "retry", "-l", cwd=tree, WHENCE_DATA_DIR=str(disk))
    assert before.returncode == FOUND, before.stderr
    yield
    after = whence_process("search", "retry", "-l", cwd=tree, WHENCE_DATA_DIR=str(disk))
    assert (after.returncode, after.stderr, after.stdout) == (FOUND, "", before.stdout)


# Ctrl-C during a first build, two writers at once and a killed process: see tests/index/test_interruption.py.
# A data directory that cannot be written: see tests/index/test_refresh.py.
