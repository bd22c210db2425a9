"""The past of a tree as part of its index: messages point at the files they changed, as of the indexed commit (Z9)."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import examples
from sample_histories import commit
from sample_trees import git, whence, write
from whence import Index
from whence.core.profiles import Profile, Weight
from whence.index.history import MAX_TERMS, CommitIndex, load_commits, message_terms
from whence.index.reader import open_commits
from whence.source.history import MAX_FILES, Commit
from whence.source.walk import RACY_NS
from whence.storage.arrayfile import ArrayFile, write_arrays

FILES = {
    "lib/retry.py": "def again(request):\n    return send(request)\n",
    "lib/socket.py": "def connect(host):\n    return dial(host)\n",
    "lib/parser.py": "def parse(text):\n    return text.split()\n",
    "docs/guide.md": "# Guide\n\nHow to send.\n",
}
DAY = 86_400


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = write(tmp_path / "repository", FILES)
    git("init", cwd=root)
    commit(root, "Beginnings", DAY)
    return root


def change(root: Path, message: str, *paths: str, day: int = 2) -> str:
    """A commit that changes some files in a way that no question asks for."""
    for path in paths:
        before = (root / path).read_text() if (root / path).exists() else ""
        write(root, {path: before + f"# {day}\n"})
    return commit(root, message, day * DAY)


def found(root: Path, query: str, data_dir: Path | None = None, settings: Mapping[str, Any] | None = None) -> set[str]:
    """The files that words, of files or of messages, lead to."""
    with Index.open(root, data_dir=data_dir, settings=settings) as index:
        assert index.notes == []
        return {one.path for one in index.search(query, content="all", strategy="lexical")}


def said_by(index: Index, signal: str, query: str) -> dict[str, float]:
    """What one signal says of each file that is found."""
    ranked = index.ranked(query, Profile(signals={signal: Weight(1.0, 1.0)}))
    return {ranked.pool.snapshot.path(hit.file): hit.score for hit in ranked.hits}


def past_of(index: Index) -> list[tuple[int, list[str], list[str]]]:
    """Every commit that an index knows: time, terms, paths."""
    file = open_commits(index.layout, json.loads(index.store.meta().get("history", "{}")))
    return load_commits(file).listed() if file is not None else []


# Messages point at files.


def test_a_file_is_found_by_what_was_said_when_it_was_changed(repository: Path):
    change(repository, "Walruses can wait", "lib/retry.py")
    assert found(repository, "walrus") == {"lib/retry.py"}


def test_a_file_that_no_such_commit_changed_is_not_found_by_it(repository: Path):
    change(repository, "Walruses can wait", "lib/retry.py")
    change(repository, "Ducks cannot", "lib/socket.py", day=3)
    assert found(repository, "walrus") == {"lib/retry.py"}
    assert found(repository, "duck") == {"lib/socket.py"}


def test_a_commit_made_after_its_files_were_indexed_counts_at_the_next_opening(repository: Path):
    write(repository, {"lib/retry.py": FILES["lib/retry.py"] + "# more\n"})
    assert found(repository, "walrus") == set()
    commit(repository, "Walruses can wait", 2 * DAY)
    assert found(repository, "walrus") == {"lib/retry.py"}


def test_what_more_commits_like_the_question_changed_has_more_precedent(repository: Path):
    for day in (2, 3, 4):
        change(repository, "The walrus waits", "lib/retry.py", day=day)
    change(repository, "The walrus waits", "lib/socket.py", day=5)
    with Index.open(repository) as index:
        said = said_by(index, "precedent", "walrus waits")
    assert said["lib/retry.py"] == 1.0
    assert 0 < said["lib/socket.py"] < 1.0
    assert said.get("lib/parser.py", 0.0) == 0.0


def test_a_commit_of_one_file_says_more_of_it_than_one_of_ten(repository: Path):
    change(repository, "The walrus waits", "lib/retry.py")
    change(repository, "The walrus waits", "lib/socket.py", *(f"wide/{number}.py" for number in range(9)), day=3)
    with Index.open(repository) as index:
        said = said_by(index, "precedent", "walrus waits")
    assert said["lib/retry.py"] > said["lib/socket.py"] > 0


def test_a_file_changed_often_and_of_late_has_more_recency(repository: Path):
    change(repository, "once, long ago", "lib/parser.py", day=2)
    for day in (900, 950, 1000):
        change(repository, "often", "lib/socket.py", day=day)
    change(repository, "once, now", "lib/retry.py", day=1000)
    write(repository, {"lib/unknown.py": "def parse_text_of_host_request(): pass\n"})
    with Index.open(repository) as index:
        said = said_by(index, "recency", "parse text of host request")
    assert said["lib/socket.py"] > said["lib/retry.py"] > said["lib/parser.py"] > said["lib/unknown.py"] == 0


# As of the indexed commit.


def test_a_later_commit_is_unseen_after_the_checkout_of_an_earlier_one(repository: Path):
    earlier = change(repository, "Ducks cannot", "lib/socket.py")
    change(repository, "Walruses can wait", "lib/retry.py", day=3)
    assert found(repository, "walrus") == {"lib/retry.py"}
    git("checkout", "--quiet", earlier, cwd=repository)
    assert found(repository, "walrus") == set()
    assert found(repository, "duck") == {"lib/socket.py"}
    git("checkout", "--quiet", "main", cwd=repository)
    assert found(repository, "walrus") == {"lib/retry.py"}


def test_another_branch_is_unseen(repository: Path):
    git("checkout", "--quiet", "-b", "other", cwd=repository)
    change(repository, "Walruses can wait", "lib/retry.py")
    git("checkout", "--quiet", "main", cwd=repository)
    change(repository, "Ducks cannot", "lib/socket.py", day=3)
    assert (found(repository, "walrus"), found(repository, "duck")) == (set(), {"lib/socket.py"})
    git("checkout", "--quiet", "other", cwd=repository)
    assert (found(repository, "walrus"), found(repository, "duck")) == ({"lib/retry.py"}, set())


def test_a_commit_that_was_rewritten_says_its_new_words_only(repository: Path):
    change(repository, "Walruses can wait", "lib/retry.py")
    assert found(repository, "walrus") == {"lib/retry.py"}
    git("commit", "--amend", "--quiet", "-m", "Ducks cannot", cwd=repository)
    assert (found(repository, "walrus"), found(repository, "duck")) == (set(), {"lib/retry.py"})


def test_a_worktree_has_its_own_past(repository: Path, tmp_path: Path):
    git("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "tree"), cwd=repository)
    change(tmp_path / "tree", "Walruses can wait", "lib/retry.py")
    assert found(tmp_path / "tree", "walrus") == {"lib/retry.py"}
    assert found(repository, "walrus") == set()


# Files that come, go and move.


def test_a_deleted_file_is_not_found_by_its_past(repository: Path):
    change(repository, "Walruses can wait", "lib/retry.py", "lib/socket.py")
    (repository / "lib/retry.py").unlink()
    assert found(repository, "walrus") == {"lib/socket.py"}
    commit(repository, "Gone", 3 * DAY)
    assert found(repository, "walrus") == {"lib/socket.py"}
    assert found(repository, "gone") == set()


def test_a_renamed_file_is_found_by_what_was_said_of_the_renaming(repository: Path):
    change(repository, "Walruses can wait", "lib/retry.py")
    (repository / "lib/retry.py").rename(repository / "lib/again.py")
    commit(repository, "Ducks have better names", 3 * DAY)
    assert found(repository, "duck") == {"lib/again.py"}
    assert found(repository, "walrus") == set()


def test_edits_that_are_not_committed_leave_the_past_where_it_was(repository: Path):
    change(repository, "Walruses can wait", "lib/retry.py")
    assert found(repository, "walrus") == {"lib/retry.py"}
    write(repository, {"aaa.py": "def first(): pass\n", "lib/parser.py": "def other(): pass\n", "zzz.py": "def last(): pass\n"})
    (repository / "lib/socket.py").unlink()
    assert found(repository, "walrus") == {"lib/retry.py"}
    (repository / "aaa.py").unlink()
    assert found(repository, "walrus") == {"lib/retry.py"}


def test_a_commit_of_many_files_points_at_none(repository: Path):
    change(repository, "Walruses can wait", *(f"many/{number}.py" for number in range(MAX_FILES + 1)))
    assert found(repository, "walrus") == set()


def test_odd_names_and_messages_stop_nothing(repository: Path):
    odd = ["two\nlines.py", " space .py", "größe.py", "\x01.py"]
    write(repository, dict.fromkeys(odd, "def x(): pass\n"))
    commit(repository, b"Walrus \x01\x02 caf\xe9 \xff\n\n" + b"long " * 5000, 2 * DAY)
    change(repository, "", "lib/retry.py", day=3)
    change(repository, "the of and", "lib/retry.py", day=4)
    assert found(repository, "walrus") == set(odd)


# One read after the other is as good as one of all.


def edit_at_random(root: Path, chance: np.random.Generator, number: int) -> None:
    """Change, add, delete or rename some files, or very many, and commit; now and then on a branch that is merged."""
    words = np.array(["walrus", "duck", "socket", "retry", "parser", "the"])
    branch = chance.random() < 0.25
    if branch:
        git("checkout", "--quiet", "-b", f"branch{number}", cwd=root)
    count = MAX_FILES + 2 if chance.random() < 0.3 else int(chance.integers(1, 4))
    write(root, {f"some/{at}.py": f"# {number}\n" for at in chance.choice(40, count, replace=False)})
    if chance.random() < 0.3:
        files = sorted((root / "some").glob("*.py"))
        files[0].rename(root / f"some/renamed{number}.py") if chance.random() < 0.5 else files[0].unlink()
    commit(root, " ".join(chance.choice(words, 3)), (10 + 2 * number) * DAY)
    if branch:
        git("checkout", "--quiet", "main", cwd=root)
        change(root, "meanwhile", "lib/parser.py", day=11 + 2 * number)
        git("merge", "--quiet", "--no-ff", "-m", "joined", f"branch{number}", cwd=root)


@pytest.mark.parametrize(("seed", "count"), [(0, 3_000), (1, 4), (2, 7)])
def test_a_past_read_bit_by_bit_is_the_one_read_at_once(repository: Path, tmp_path: Path, seed: int, count: int):
    own, chance = {"index.history": count}, np.random.default_rng(seed)
    for number in range(8):
        edit_at_random(repository, chance, number)
        if chance.random() < 0.7:
            Index.open(repository, settings=own).close()
    with Index.open(repository, settings=own) as bits, Index.open(repository, data_dir=tmp_path / "once", settings=own) as once:
        assert past_of(bits) == past_of(once)
        assert len(past_of(once)) <= count
        for query in ("walrus", "duck socket", "retry the parser", "meanwhile"):
            assert said_by(bits, "precedent", query) == said_by(once, "precedent", query)
            assert said_by(bits, "recency", query) == said_by(once, "recency", query)


def test_where_nothing_was_committed_the_past_is_not_read_again(repository: Path):
    with Index.open(repository) as index:
        before = index.store.meta()["history"]
    write(repository, {"lib/retry.py": "def other(): pass\n"})
    with Index.open(repository) as index:
        assert index.last_refresh.read == 1
        assert index.store.meta()["history"] == before


# Where there is no past.


def test_a_folder_without_git_has_no_past_and_nothing_is_said_of_it(tmp_path: Path):
    tree = write(tmp_path / "plain", FILES)
    with Index.open(tree) as index:
        assert (index.notes, past_of(index), index.snapshot.commits) == ([], [], None)
        assert said_by(index, "recency", "send request")["lib/retry.py"] == 0
        assert said_by(index, "precedent", "send request")["lib/retry.py"] == 0


def test_without_the_git_program_answers_are_as_before_and_nothing_is_said(repository: Path, tmp_path: Path):
    change(repository, "Walruses can wait", "lib/retry.py")
    done = whence("search", "send request", "-l", cwd=repository, PATH=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "lib/retry.py" in done.stdout


def test_a_repository_with_no_commit_has_no_past(tmp_path: Path):
    tree = write(tmp_path / "new", FILES)
    git("init", cwd=tree)
    with Index.open(tree) as index:
        assert (index.notes, past_of(index)) == ([], [])
    commit(tree, "Walruses can wait", DAY)
    assert found(tree, "walrus") == set(FILES)


def test_a_repository_that_is_no_longer_one_has_no_past(repository: Path):
    change(repository, "Walruses can wait", "lib/retry.py")
    assert found(repository, "walrus") == {"lib/retry.py"}
    (repository / ".git").rename(repository.parent / "away")
    assert found(repository, "walrus") == set()


# Settings.


def test_with_a_history_of_0_nothing_is_read(repository: Path):
    change(repository, "Walruses can wait", "lib/retry.py")
    assert found(repository, "walrus", settings={"index.history": 0}) == set()


def test_only_so_many_commits_count_as_are_wished_for(repository: Path):
    change(repository, "Walruses can wait", "lib/retry.py")
    change(repository, "Ducks cannot", "lib/socket.py", day=3)
    assert found(repository, "walrus", settings={"index.history": 1}) == set()
    assert found(repository, "duck", settings={"index.history": 1}) == {"lib/socket.py"}


def test_another_wish_is_followed_at_the_next_opening_and_costs_no_file(repository: Path):
    change(repository, "Walruses can wait", "lib/retry.py")
    time.sleep(1.1 * RACY_NS / 1e9)  # what is younger is looked at again in any case
    assert found(repository, "walrus", settings={"index.history": 0}) == set()
    with Index.open(repository) as index:
        assert index.last_refresh.read == 0
        assert len(past_of(index)) == 2
    assert found(repository, "walrus") == {"lib/retry.py"}
    assert found(repository, "walrus", settings={"index.history": 0}) == set()


# Damage.


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(b"no arrays"), lambda path: path.write_bytes(b"")])
def test_a_damaged_past_costs_only_itself_and_comes_back_with_the_next_commit(repository: Path, harm):
    change(repository, "Walruses can wait", "lib/retry.py")
    with Index.open(repository) as index:
        (file,) = index.layout.segments.glob("*.history")
    harm(file)
    with Index.open(repository) as index:
        assert index.last_refresh.read == 0
        assert index.search("send request")[0].path == "lib/retry.py"
    change(repository, "Ducks cannot", "lib/socket.py", day=3)
    assert found(repository, "walrus") == {"lib/retry.py"}
    assert found(repository, "duck") == {"lib/socket.py"}


# A repository is data.


def test_a_hostile_repository_runs_nothing_when_it_is_searched(repository: Path, tmp_path: Path):
    trap, mark = tmp_path / "trap", tmp_path / "sprung"
    trap.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
    trap.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "gpg.program", "diff.external", "core.sshCommand"):
        git("config", name, str(trap), cwd=repository)
    git("config", "log.showSignature", "true", cwd=repository)
    mark.unlink(missing_ok=True)
    done = whence("search", "beginnings", "--content", "all", "-l", cwd=repository)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)  # only a message has the word: that is little to go by, and said
    assert set(done.stdout.split()) == set(FILES)
    assert not mark.exists()


# On disk.

MESSAGES = st.lists(st.sampled_from(["walrus", "duck", "the", "retryRequest", "größe", "\udcff", "?"]), max_size=8).map(" ".join)
PATHS = st.lists(st.sampled_from(["a.py", "b/c.py", "\udce9.py", "d\ne.py"]), min_size=1, max_size=4, unique=True).map(tuple)
COMMITS = st.lists(st.builds(Commit, st.integers(0, 1 << 40), MESSAGES, PATHS), max_size=12)


@settings(max_examples=examples(60), deadline=None)
@given(newer=COMMITS, older=COMMITS, count=st.integers(1, 20))
def test_a_past_comes_back_as_it_was_written(tmp_path_factory, newer: list[Commit], older: list[Commit], count: int):
    place = tmp_path_factory.mktemp("past") / "past"
    past = CommitIndex.of(newer, CommitIndex.of(older, count=count), count=count)
    file = ArrayFile(place, write_arrays(place, past.arrays(), {}))
    listed = load_commits(file).listed()
    assert listed == past.listed()
    assert [time for time, _, _ in listed] == sorted((time for time, _, _ in listed), reverse=True)
    newest = sorted((one.time for one in [*newer, *sorted(older, key=lambda one: -one.time)[:count]]), reverse=True)[:count]
    assert [time for time, _, _ in listed] == newest
    for row, term in enumerate(past.terms):
        a, b = file["offsets"][row : row + 2].tolist()
        assert file["postings"][a:b].tolist() == [at for at, (_, terms, _) in enumerate(listed) if term in terms]


def test_a_message_counts_by_its_distinct_terms_without_stop_words_up_to_a_limit():
    assert message_terms("The retry of the retries") == message_terms("retry")
    assert len(message_terms(" ".join(f"word{letter}x" for letter in map(str, range(500))))) == MAX_TERMS
    assert message_terms("") == []
