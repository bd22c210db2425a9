"""What git tells of the past, asked of real repositories: the right commits, odd ones too, and nothing of theirs is run."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from sample_histories import commit, made_by_hand
from sample_trees import git, write
from whence.source.history import MAX_FILES, Commit, read_history


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = write(tmp_path / "repository", {"lib/retry.py": "a\n", "lib/socket.py": "b\n", "README.md": "c\n"})
    git("init", cwd=root)
    commit(root, "Start of it all", 1_000)
    return root


def told(root: Path, count: int = 100, since: str = "") -> list[Commit]:
    found = read_history(root, git("rev-parse", "HEAD", cwd=root), count, since)
    assert found is not None
    return found


# What is told.


def test_commits_come_newest_first_with_their_time_message_and_files(repository: Path):
    write(repository, {"lib/retry.py": "a2\n"})
    commit(repository, "Retry twice\n\nOnce was not enough.\n", 2_000)
    assert told(repository) == [
        Commit(2_000, "Retry twice\n\nOnce was not enough.", ("lib/retry.py",)),
        Commit(1_000, "Start of it all", ("README.md", "lib/retry.py", "lib/socket.py")),
    ]


def test_only_the_past_of_the_given_commit_is_told(repository: Path):
    first = git("rev-parse", "HEAD", cwd=repository)
    write(repository, {"lib/retry.py": "later\n"})
    commit(repository, "Unknown to the first")
    found = read_history(repository, first, 100)
    assert found is not None
    assert [one.message for one in found] == ["Start of it all"]


def test_a_rename_touches_both_names_and_a_deletion_its_file(repository: Path):
    (repository / "lib/retry.py").rename(repository / "lib/again.py")
    commit(repository, "Rename", 2_000)
    (repository / "lib/socket.py").unlink()
    commit(repository, "Delete", 3_000)
    assert [(one.message, set(one.paths)) for one in told(repository)[:2]] == [
        ("Delete", {"lib/socket.py"}),
        ("Rename", {"lib/retry.py", "lib/again.py"}),
    ]


def test_a_commit_of_many_files_is_left_out_and_one_of_just_enough_is_kept(repository: Path):
    write(repository, {f"many/{number}.py": "x\n" for number in range(MAX_FILES + 1)})
    commit(repository, "Too many", 2_000)
    write(repository, {f"many/{number}.py": "y\n" for number in range(MAX_FILES)})
    commit(repository, "Just enough", 3_000)
    assert [one.message for one in told(repository)] == ["Just enough", "Start of it all"]


def test_so_many_commits_are_told_as_are_asked_for_whatever_was_left_out(repository: Path):
    for number in range(12):
        wide = number % 3 != 0
        write(repository, {f"wide/{at}.py" if wide else "lib/retry.py": f"{number}\n" for at in range(MAX_FILES + 1)})
        commit(repository, f"Change {number}", 2_000 + number)
    assert [one.message for one in told(repository, 3)] == ["Change 9", "Change 6", "Change 3"]
    assert [one.message for one in told(repository, 5)] == ["Change 9", "Change 6", "Change 3", "Change 0", "Start of it all"]
    assert len(told(repository, 50)) == 5


def test_merges_are_not_told_and_what_they_bring_is(repository: Path):
    git("checkout", "-q", "-b", "side", cwd=repository)
    write(repository, {"side.py": "s\n"})
    commit(repository, "On the side", 2_000)
    git("checkout", "-q", "main", cwd=repository)
    write(repository, {"main.py": "m\n"})
    commit(repository, "On main", 3_000)
    git("merge", "-q", "--no-ff", "-m", "Join them", "side", cwd=repository)
    assert [one.message for one in told(repository)] == ["On main", "On the side", "Start of it all"]


def test_a_commit_that_changes_nothing_is_not_told(repository: Path):
    git("commit", "--allow-empty", "-m", "Nothing", cwd=repository)
    assert [one.message for one in told(repository)] == ["Start of it all"]


# Since.


def test_only_what_came_since_is_told(repository: Path):
    first = git("rev-parse", "HEAD", cwd=repository)
    write(repository, {"lib/retry.py": "a2\n"})
    commit(repository, "Second", 2_000)
    assert [one.message for one in told(repository, since=first)] == ["Second"]
    assert told(repository, since=git("rev-parse", "HEAD", cwd=repository)) == []


@pytest.mark.parametrize("since", ["later", "other branch", "0" * 40, "f" * 40])
def test_what_is_not_in_the_past_is_no_place_to_go_on_from(repository: Path, since: str):
    first = git("rev-parse", "HEAD", cwd=repository)
    write(repository, {"lib/retry.py": "a2\n"})
    later = commit(repository, "Second", 2_000)
    git("checkout", "-q", "-b", "other", first, cwd=repository)
    write(repository, {"lib/socket.py": "b2\n"})
    other = commit(repository, "Elsewhere", 3_000)
    start, head = {"later": (later, first), "other branch": (other, later)}.get(since, (since, later))
    assert read_history(repository, head, 100, since=start) is None


# Messages and names as they come.


def test_trailers_are_no_part_of_what_a_message_says(repository: Path):
    write(repository, {"lib/retry.py": "a2\n"})
    commit(repository, "Retry twice\n\nBecause.\n\nSigned-off-by: Ada\nCo-authored-by: Bob <b@c>\nChange-Id: I123\nFixes: #12\nCloses #7\n")
    assert told(repository)[0].message == "Retry twice\n\nBecause."


@pytest.mark.parametrize(
    "subject", ["http-client: retry on timeout", "Fixes a crash on port 80", "pre-commit: newer rules", "See that 2 is 2"]
)
def test_a_subject_that_looks_like_a_trailer_is_kept(repository: Path, subject: str):
    write(repository, {"lib/retry.py": "a2\n"})
    commit(repository, subject + "\n\nReviewed-by: Bob\n")
    assert told(repository)[0].message == subject


@pytest.mark.parametrize(
    "message",
    [
        "",
        "\n\n",
        "one \x01 two \x02 three\n\n\x02\x01",
        "x" * 100_000,
        "größe 読む 👩‍💻",
        "\x1b[31mred\x1b[0m",
        "0123456789abcdef" * 4,
        "%H %x00 %n",
    ],
    ids=["none", "blank", "control", "endless", "scripts", "escape", "digits", "format"],
)
def test_any_message_leaves_the_files_and_the_other_commits_as_they_are(repository: Path, message: str):
    write(repository, {"lib/retry.py": "a2\n"})
    commit(repository, message, 2_000)
    write(repository, {"lib/socket.py": "b2\n"})
    commit(repository, "After it", 3_000)
    after, odd, first = told(repository)
    assert (after.message, after.paths) == ("After it", ("lib/socket.py",))
    assert (odd.message, odd.paths, odd.time) == (message.strip(), ("lib/retry.py",), 2_000)
    assert first.message == "Start of it all"


def test_a_message_that_is_no_utf8_is_told_all_the_same(repository: Path):
    write(repository, {"lib/retry.py": "a2\n"})
    commit(repository, b"caf\xe9 \xff retry")
    assert "retry" in told(repository)[0].message


def test_odd_names_of_files_come_as_they_are(repository: Path):
    names = [
        "two\nlines.py",
        "\nfirst.py",
        "last\n",
        " space .py",
        "tab\t.py",
        "größe.py",
        'quote".py',
        "back\\slash.py",
        "\x01\x02.py",
        "-n",
        "a:b",
    ]
    odd = [*names, os.fsdecode(b"caf\xe9.py")]
    write(repository, dict.fromkeys(odd, "x\n"))
    commit(repository, "Odd names", 2_000)
    assert set(told(repository)[0].paths) == set(odd)


@pytest.mark.parametrize("date", ["0", "99999999999", "18446744073709551614"])
def test_a_clock_that_was_wrong_stops_nothing(repository: Path, date: str):
    write(repository, {"lib/retry.py": "a2\n"})
    found = read_history(repository, made_by_hand(repository, "Odd time", date), 100)
    assert found is not None
    assert {path for one in found for path in one.paths} >= {"lib/retry.py"}
    assert all(0 <= one.time < 1 << 62 for one in found)


def test_a_folder_inside_a_repository_is_told_its_own_files_by_its_own_names(repository: Path):
    write(repository, {"README.md": "c2\n"})
    commit(repository, "Only the readme", 2_000)
    assert told(repository / "lib") == [Commit(1_000, "Start of it all", ("retry.py", "socket.py"))]


# Where git cannot tell.


def test_no_repository_is_no_history(tmp_path: Path):
    assert read_history(tmp_path, "0" * 40, 100) is None


def test_a_commit_that_is_not_there_is_no_history(repository: Path):
    assert read_history(repository, "f" * 40, 100) is None


def test_no_git_is_no_history(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    head = git("rev-parse", "HEAD", cwd=repository)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert read_history(repository, head, 100) is None


def test_a_shallow_clone_tells_what_it_has(repository: Path, tmp_path: Path):
    write(repository, {"lib/retry.py": "a2\n"})
    commit(repository, "Second", 2_000)
    git("clone", "--quiet", "--depth=1", repository.as_uri(), str(tmp_path / "shallow"), cwd=tmp_path)
    assert [one.time for one in read_history(tmp_path / "shallow", git("rev-parse", "HEAD", cwd=tmp_path / "shallow"), 100) or []] in (
        [],
        [2_000],
    )


def test_variables_that_speak_of_another_repository_do_not_lead_there(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As in a hook, where git tells every program which repository is being worked on."""
    other = write(tmp_path / "other", {"o.py": "o\n"})
    git("init", cwd=other)
    commit(other, "Elsewhere")
    head, elsewhere = git("rev-parse", "HEAD", cwd=repository), git("rev-parse", "HEAD", cwd=other)
    for name, value in (("GIT_DIR", other / ".git"), ("GIT_WORK_TREE", other), ("GIT_INDEX_FILE", other / ".git/index")):
        monkeypatch.setenv(name, str(value))
    found = read_history(repository, head, 100)
    assert found is not None
    assert [one.message for one in found] == ["Start of it all"]
    assert read_history(repository, elsewhere, 100) is None


# A repository is data. Nothing that its configuration names is run.


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A program that leaves a mark beside itself when it is run."""
    program = tmp_path / "trap"
    program.write_text(f"#!/bin/sh\ntouch '{tmp_path}/sprung'\ncat >/dev/null 2>&1\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


PROGRAMS = {
    "core.fsmonitor": "{}",
    "core.pager": "{}",
    "pager.log": "{}",
    "core.editor": "{}",
    "core.sshCommand": "{}",
    "core.askPass": "{}",
    "core.alternateRefsCommand": "{}",
    "gpg.program": "{}",
    "gpg.ssh.program": "{}",
    "diff.external": "{}",
    "diff.trap.textconv": "{}",
    "diff.trap.command": "{}",
    "filter.trap.clean": "{}",
    "filter.trap.smudge": "{}",
    "filter.trap.process": "{}",
    "merge.trap.driver": "{}",
    "credential.helper": "{}",
    "alias.log": "!{}",
    "alias.merge-base": "!{}",
}


def test_no_program_of_a_hostile_configuration_is_run(repository: Path, trap: Path):
    write(repository, {".gitattributes": "* diff=trap filter=trap merge=trap\n", "lib/retry.py": "a2\n"})
    first = git("rev-parse", "HEAD", cwd=repository)
    commit(repository, "Second", 3_000)
    hooks = write(
        repository / ".git/hooks", {name: trap.read_text() for name in ("post-index-change", "post-checkout", "reference-transaction")}
    )
    for hook in hooks.iterdir():
        hook.chmod(0o755)
    for name, value in (*PROGRAMS.items(), ("log.showSignature", "true"), ("core.untrackedCache", "true")):
        git("config", name, value.format(trap), cwd=repository)
    (trap.parent / "sprung").unlink(missing_ok=True)
    head = (repository / ".git/refs/heads/main").read_text().strip()
    found = read_history(repository, head, 100)
    assert found is not None
    assert [one.message for one in found] == ["Second", "Start of it all"]
    assert read_history(repository, head, 100, since=first) is not None
    assert not (trap.parent / "sprung").exists()


def test_a_signed_commit_is_told_without_asking_who_signed_it(repository: Path, trap: Path):
    write(repository, {"lib/retry.py": "a2\n"})
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQEz\n -----END PGP SIGNATURE-----\n"
    head = made_by_hand(repository, "Signed", extra=signature)
    git("config", "gpg.program", str(trap), cwd=repository)
    git("config", "log.showSignature", "true", cwd=repository)
    found = read_history(repository, head, 100)
    assert found is not None
    assert [one.message for one in found] == ["Signed", "Start of it all"]
    assert not (trap.parent / "sprung").exists()


@pytest.mark.parametrize("address", ["{root}", "ssh://host/path", "ext::{trap}"])
def test_what_is_missing_is_not_fetched_by_the_program_that_a_configuration_names(repository: Path, trap: Path, address: str):
    """In a partial clone git fetches what it misses, by the address and the programs of the repository's own configuration."""
    head, tree = git("rev-parse", "HEAD", cwd=repository), git("rev-parse", "HEAD^{tree}", cwd=repository)
    values = {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.partialclonefilter": "tree:0",
        "remote.origin.url": address.format(root=repository, trap=trap),
        "remote.origin.uploadpack": str(trap),
        "core.sshCommand": str(trap),
        "protocol.ext.allow": "always",
    }
    for name, value in values.items():
        git("config", name, value, cwd=repository)
    (repository / ".git/objects" / tree[:2] / tree[2:]).unlink()
    assert read_history(repository, head, 100) is None
    assert not (trap.parent / "sprung").exists()


def test_settings_of_the_repository_do_not_change_what_is_told(repository: Path):
    write(repository, {"lib/retry.py": "a2\n", "größe.py": "x\n"})
    commit(repository, "größe", 2_000)
    before = told(repository)
    settings = {
        "log.showRoot": "false",
        "log.follow": "true",
        "log.decorate": "full",
        "log.date": "relative",
        "color.ui": "always",
        "core.quotePath": "true",
        "diff.renames": "copies",
        "diff.noprefix": "true",
        "i18n.logOutputEncoding": "latin1",
        "format.pretty": "oneline",
    }
    for name, value in settings.items():
        git("config", name, value, cwd=repository)
    assert told(repository) == before
