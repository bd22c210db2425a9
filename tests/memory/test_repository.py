"""Whose notes are: repositories are known by their history, and nothing crosses from one to another."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from sample_histories import commit
from sample_trees import git, write
from whence import Memory
from whence.app.presenters.memory import recall_content, recall_json
from whence.core.errors import UsageError
from whence.memory.repository import KNOWN, identify
from whence.source.git import has_commit, remote_of

pytestmark = pytest.mark.process


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's data folder, with their notes."""
    monkeypatch.setenv("WHENCE_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


def repository(place: Path, text: str = "x = 1\n") -> Path:
    """A repository with one commit, unlike any other."""
    root = write(place, {"src/app.py": f"def run():\n    return 1\n# {place}\n{text}"})
    git("init", "-q", "-b", "main", cwd=root)
    commit(root, f"first of {place}")
    return root


def opened(root: Path, **how: bool) -> Memory:
    return Memory.open(repository=root, **how)


def recalled(root: Path, query: str = "how do we retry", **options: object) -> list[str]:
    with opened(root) as memory:
        return [one.note.text for one in memory.recall(query, **options)]  # type: ignore[arg-type]


# One repository.
def test_worktrees_clones_and_moved_folders_share_their_notes(data, tmp_path):
    root = repository(tmp_path / "shop")
    git("worktree", "add", "-q", str(tmp_path / "feature"), cwd=root)
    git("clone", "-q", str(root), str(tmp_path / "copy"), cwd=tmp_path)
    with opened(root) as memory:
        last = memory.remember("We retry five times.", project="shop", topic="retry")
    assert last.repository.startswith("commit:")
    for place in ("feature", "copy"):
        assert recalled(tmp_path / place) == [last.text]
        with opened(tmp_path / place) as memory:  # and each replaces the one note
            last = memory.remember(f"We retry as {place} says.", project=memory.whose.name, topic="Retry")
            assert (last.key, last.project) == ("shop/retry", "shop")
    root.rename(tmp_path / "moved")
    assert recalled(tmp_path / "moved") == ["We retry as copy says."]


def test_a_shallow_clone_is_the_repository_with_its_remote(data, tmp_path):
    root = repository(tmp_path / "shop")
    write(root, {"b.py": "y = 1\n"})
    commit(root, "second")
    git("clone", "-q", f"file://{root}", str(tmp_path / "full"), cwd=tmp_path)
    git("clone", "-q", "--depth=1", f"file://{root}", str(tmp_path / "shallow"), cwd=tmp_path)
    alone = identify(tmp_path / "shallow", tmp_path / "elsewhere")
    assert alone.id == f"remote:/{root}".replace("//", "/")
    assert alone.id in identify(tmp_path / "full", data).own
    assert identify(tmp_path / "shallow", data).id == identify(tmp_path / "full", data).id


def test_a_repository_keeps_its_notes_from_before_its_first_commit(data, tmp_path):
    root = write(tmp_path / "new", {"a.py": "x = 1\n"})
    git("init", "-q", cwd=root)
    with opened(root) as memory:
        assert memory.remember("We retry twice.", project="new").repository == f"folder:{root}"
    commit(root, "first")
    assert identify(root, data).id.startswith("commit:")
    assert recalled(root) == ["We retry twice."]


def test_a_branch_without_the_common_history_is_of_the_same_repository(data, tmp_path):
    root = repository(tmp_path / "shop")
    known = identify(root, data).id
    git("checkout", "-q", "--orphan", "pages", cwd=root)
    commit(root, "first page")
    assert identify(root, data).id == known


def test_what_is_cached_of_another_clone_at_the_same_place_is_not_believed(data, tmp_path):
    first = identify(repository(tmp_path / "shop"), data).id
    shutil.rmtree(tmp_path / "shop")
    second = identify(repository(tmp_path / "shop", "y = 2\n"), data).id
    assert first != second
    (data / KNOWN).write_text("[broken")
    assert identify(tmp_path / "shop", data).id == second


def test_a_packed_commit_is_found_and_a_missing_one_is_not(tmp_path):
    root = repository(tmp_path / "shop")
    (first, *_) = (root / ".git/refs/heads/main").read_text().split()
    for packed in (False, True):
        if packed:
            git("gc", "-q", cwd=root)
        assert has_commit(root, first)
        assert not has_commit(root, "ff" * 20)
        assert not has_commit(root, "00" * 20)


@pytest.mark.parametrize(
    ("url", "remote"),
    [
        ("git@github.com:ann/shop.git", "github.com/ann/shop"),
        ("https://ann:token@GitHub.com/ann/shop.git", "github.com/ann/shop"),
        ("ssh://git@github.com:22/ann/shop", "github.com/ann/shop"),
        ("https://github.com/ann/shop/", "github.com/ann/shop"),
    ],
)
def test_a_remote_is_one_however_it_is_written(url, remote, tmp_path):
    git("init", "-q", cwd=write(tmp_path / "shop", {"a": "b"}))
    git("remote", "add", "origin", url, cwd=tmp_path / "shop")
    assert remote_of(tmp_path / "shop") == remote


# Several.
def test_two_folders_of_one_name_share_nothing(data, tmp_path):
    one, two = repository(tmp_path / "one/api"), repository(tmp_path / "two/api")
    for root, text in ((one, "We retry five times."), (two, "We retry never.")):
        with opened(root) as memory:
            memory.remember(text, project="api", topic="retry policy")
            memory.handoff(f"{text} Next: the tests.", branch="main")
    for root, text in ((one, "We retry five times."), (two, "We retry never.")):
        assert sorted(recalled(root)) == [text, f"{text} Next: the tests."]
        with opened(root) as memory:
            assert len(memory.list()) == 2
            assert all(not memory.history(note.key) for note in memory.list())
    with opened(one, everywhere=True) as memory:
        assert len(memory.list()) == 4


def test_two_hundred_tries_to_reach_the_notes_of_another_repository_fail(data, tmp_path):
    one, two = repository(tmp_path / "one/api"), repository(tmp_path / "two/api")
    with opened(two) as memory:
        theirs = [memory.remember(f"The zebra secret number {n}.", project="api", topic=f"zebra {n}", tags=["zebra"]) for n in range(20)]
    before = {path: path.read_bytes() for path in (data / "notes").rglob("*.md")}
    succeeded, tries = [], 0

    def attempt(what: str, act: object) -> None:
        nonlocal tries
        tries += 1
        try:
            if act():  # type: ignore[operator]
                succeeded.append(what)
        except UsageError:
            pass

    with opened(one) as memory:
        for note in theirs:
            attempt("recall", lambda note=note: [one for one in memory.recall(note.text) if "zebra" in one.note.text])
            attempt("recall by topic", lambda note=note: list(memory.recall("zebra", topic=note.topic, any_time=True, archived=True)))
            attempt("list", lambda note=note: memory.list(topic=note.topic, tags=["zebra"], archived=True))
            attempt("get", lambda note=note: memory.get(note.key))
            attempt("get by name", lambda note=note: memory.get(note.slug, gone=True))
            attempt("history", lambda note=note: memory.history(note.key))
            attempt("edit", lambda note=note: memory.edit(note.key, text="mine now"))
            attempt("archive", lambda note=note: memory.archive(note.key))
            attempt("forget", lambda note=note: memory.forget(note.key))
            attempt("replace", lambda note=note: memory.remember("mine now", project="api", topic=note.topic).key == note.key)
    assert (tries, succeeded) == (200, [])
    assert all(path.read_bytes() == kept for path, kept in before.items())


def test_notes_of_the_user_are_recalled_everywhere_and_others_when_asked_for(data, tmp_path):
    one, two = repository(tmp_path / "one"), repository(tmp_path / "two")
    with opened(one) as memory:
        memory.remember("We retry five times.", project="one")
        memory.remember("I like to retry with jitter.")
    assert recalled(two) == ["I like to retry with jitter."]
    assert sorted(recalled(two, everywhere=True)) == ["I like to retry with jitter.", "We retry five times."]
    with opened(two) as memory:
        found = memory.recall("how do we retry", project="one")
        assert recall_content(memory, found, with_why=False).items[0][1] == "  OF ANOTHER REPOSITORY: ONE"
        assert recall_json(memory, "", found, with_why=False)["notes"][0]["provenance"]["ours"] is False
    plain = tmp_path / "plain"
    plain.mkdir()
    assert recalled(plain) == ["I like to retry with jitter."]


def test_a_folder_without_git_has_notes_of_its_own(data, tmp_path):
    for name in ("a/docs", "b/docs"):
        (tmp_path / name).mkdir(parents=True)
    with opened(tmp_path / "a/docs") as memory:
        memory.remember("We retry by hand.", project=memory.whose.name)
    assert recalled(tmp_path / "a/docs") == ["We retry by hand."]
    assert recalled(tmp_path / "b/docs") == []


# Damaged files.
def test_a_damaged_note_is_still_of_the_repository_that_its_file_names(data, tmp_path):
    one, two = repository(tmp_path / "one/api"), repository(tmp_path / "two/api")
    with opened(one) as memory:
        key = memory.remember("We retry five times.", project="api", topic="retry").key
    file = data / f"notes/{key}.md"
    whole = file.read_bytes()
    for damaged in (whole.replace(b"kind: ", b"kind: no "), whole.replace(b"five", b"\xff"), whole[: whole.index(b"kind: ")]):
        file.write_bytes(damaged)
        with opened(one) as memory:
            assert [(note.key, bool(note.problem)) for note in memory.list()] == [(key, True)]
        with opened(two) as memory:
            assert memory.list() == []


@pytest.mark.parametrize("at", [b"y: commit:", b"mmit:"], ids=["in the key", "in the identity"])
def test_a_note_cut_off_before_it_names_its_repository_is_listed_for_its_folder_until_it_is_repaired(data, tmp_path, at):
    one, two, other = (repository(tmp_path / name) for name in ("one/api", "two/api", "other"))
    with opened(two) as memory:
        memory.remember("We retry never.", project="api")
    with opened(one) as memory:
        key = memory.remember("We retry five times.", project="api", topic="retry").key
    file = data / f"notes/{key}.md"
    file.write_bytes(file.read_bytes().partition(at)[0])
    cut = file.read_bytes()
    for root, listed in ((one, True), (two, True), (other, False)):
        with opened(root) as memory:
            assert [note.problem for note in memory.list() if note.key == key] == (
                ["line 1: the front matter is not closed by a line with `---` alone"] * listed
            )
    assert file.read_bytes() == cut
    with opened(one) as memory:
        memory.edit(key, text="We retry five times.")
    assert recalled(one) == ["We retry five times."]
    assert recalled(two) == ["We retry never."]


# Notes from before repositories were known.
OLD = "---\nproject: shop\ntopic: retry\nkind: durable\n{about}---\n\nWe retry five times.\n"


def test_an_older_note_is_of_the_repository_with_its_projects_name_while_only_one_has_it(data, tmp_path):
    file = write(data / "notes/shop", {"retry.md": OLD.format(about="")}) / "retry.md"
    shop, other = repository(tmp_path / "shop"), repository(tmp_path / "other")
    assert recalled(shop) == ["We retry five times."]
    assert recalled(other) == []
    with opened(shop) as memory:
        assert memory.remember("We retry six times.", project="shop", topic="retry").key == "shop/retry"
    assert "repository: commit:" in file.read_text()
    file.write_text(OLD.format(about=""))
    namesake = repository(tmp_path / "elsewhere/shop")
    assert recalled(namesake) == []
    assert recalled(shop) == []  # nobody knows whose it is
    with opened(shop, everywhere=True) as memory:
        assert memory.edit("shop/retry", repository=shop).repository == identify(shop, data).id
    assert recalled(shop) == ["We retry five times."]
    assert recalled(namesake) == []


def test_an_older_note_about_code_is_of_the_repository_in_that_folder(data, tmp_path):
    shop, namesake = repository(tmp_path / "shop"), repository(tmp_path / "elsewhere/shop")
    about = f"about:\n  - code: src/app.py#run\n    repository: {shop}\n"
    write(data / "notes/shop", {"retry.md": OLD.format(about=about)})
    assert recalled(namesake) == []
    assert recalled(shop) == ["We retry five times."]


# The checkout that asks.
def test_whether_code_has_changed_is_judged_in_the_checkout_that_asks(data, tmp_path):
    root = repository(tmp_path / "shop")
    with opened(root) as memory:
        memory.remember("Run retries.", project="shop", about=["src/app.py#run"])
    side = tmp_path / "side"
    git("worktree", "add", "-q", str(side), cwd=root)
    (side / "src/app.py").write_text("def run():\n    return 2\n")
    changed = {}
    for place in (root, side):
        with opened(place) as memory:
            changed[place] = memory.recall("retries")[0].changed
    assert changed == {root: "", side: "src/app.py#run: the code has changed since"}


def test_what_is_known_of_repositories_is_private(data, tmp_path):
    identify(repository(tmp_path / "shop"), data)
    assert (data / KNOWN).stat().st_mode & 0o077 == 0
    assert [one["name"] for one in json.loads((data / KNOWN).read_text()).values()] == ["shop"]
