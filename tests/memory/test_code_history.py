"""What the code was that a note speaks of is found in git, and compared with what it is; where it cannot be found, that is said."""

from __future__ import annotations

import os
import random
import stat
from datetime import datetime, timezone
from pathlib import Path
from string import ascii_letters, digits

import pytest

from memory.stores import opened
from sample_histories import commit
from sample_trees import git, whence, write
from whence.memory import staleness
from whence.memory.note import CodeRef
from whence.memory.staleness import CodeHistory, CodeState, code_ref, history_of
from whence.text.line_diff import diff_lines, number_lines

DAY = 86_400
FIRST = 1_700_000_000
TOKEN = "ghp_" + "".join(random.Random(7).choices(ascii_letters + digits, k=36))
SHOP = '''RATE = 0.1


class Cart:
    def total(self):
        """The sum."""

        return sum(self.prices) * (1 - RATE)

    def empty(self):
        self.prices = []
'''


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with one commit."""
    place = write(tmp_path / "shop", {"src/cart.py": SHOP})
    git("init", "-q", cwd=place)
    commit(place, "A cart", FIRST)
    return place


def edited(root: Path, old: str, new: str, path: str = "src/cart.py") -> None:
    text = (root / path).read_text()
    assert old in text
    (root / path).write_text(text.replace(old, new))


def signs(past: CodeHistory) -> list[str]:
    return [f"{line.sign}{line.text}".rstrip() for line in past.lines]


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)


# What is found.
def test_code_that_is_as_it_was_has_nothing_to_compare(root):
    past = history_of(code_ref("src/cart.py#Cart.total", root), root, at(FIRST))
    assert (past.state, past.lines, past.commit) == (CodeState.FRESH, (), "")


def test_code_that_changed_is_compared_with_what_the_note_was_written_about(root):
    about = code_ref("src/cart.py#Cart.total", root)
    edited(root, "(1 - RATE)", "(1 - RATE / 2)")
    past = history_of(about, root, at(FIRST + DAY))
    assert past.state is CodeState.CHANGED
    assert past.commit == git("rev-parse", "HEAD", cwd=root)
    assert past.time == FIRST
    assert signs(past) == [
        " def total(self):",
        '     """The sum."""',
        "",
        "-    return sum(self.prices) * (1 - RATE)",
        "+    return sum(self.prices) * (1 - RATE / 2)",
    ]
    assert [(line.old_number, line.new_number) for line in past.lines] == [(5, 5), (6, 6), (7, 7), (8, None), (None, 8)]


def test_what_the_code_became_in_between_does_not_matter(root):
    edited(root, "(1 - RATE)", "2")
    second = commit(root, "Twice", FIRST + DAY)
    about = code_ref("src/cart.py#Cart.total", root)
    for number in range(3, 12):
        edited(root, f"* {number - 1}\n", f"* {number}\n")
        commit(root, "More", FIRST + number * DAY)
    past = history_of(about, root, at(FIRST + DAY))
    assert past.commit == second
    assert signs(past)[-2:] == ["-    return sum(self.prices) * 2", "+    return sum(self.prices) * 11"]
    assert history_of(about, root, None).commit == second, "a note without a time is looked for from the newest on"


def test_a_file_that_moved_is_followed_to_its_earlier_name(root):
    about = code_ref("src/cart.py#Cart.total", root)
    (root / "src/cart.py").rename(root / "src/basket.py")
    commit(root, "A better name", FIRST + DAY)
    edited(root, "(1 - RATE)", "1", "src/basket.py")
    commit(root, "No discount", FIRST + 2 * DAY)
    past = history_of(CodeRef("src/basket.py#Cart.total", about.hash), root, at(FIRST))
    assert (past.state, past.time) == (CodeState.CHANGED, FIRST)


def test_code_that_is_gone_is_shown_as_it_was(root):
    about = code_ref("src/cart.py#Cart.empty", root)
    for gone in (lambda: edited(root, "def empty", "def clear"), (root / "src/cart.py").unlink):
        gone()
        past = history_of(about, root, at(FIRST))
        assert past.state is CodeState.GONE
        assert signs(past) == ["-def empty(self):", "-    self.prices = []"]


def test_a_whole_file_is_compared_as_such(root):
    about = code_ref("src/cart.py", root)
    edited(root, "RATE = 0.1", "RATE = 0.2")
    past = history_of(about, root, at(FIRST))
    assert signs(past)[:2] == ["-RATE = 0.1", "+RATE = 0.2"]
    assert signs(past)[-1].startswith(" "), "a few lines around a change are enough"


def test_secrets_are_covered_on_both_sides(root):
    write(root, {"src/login.py": f'def login():\n    token = "{TOKEN}"\n    return token\n'})
    commit(root, "A login", FIRST)
    about = code_ref("src/login.py#login", root)
    other = TOKEN[:4] + TOKEN[:3:-1]
    write(root, {"src/login.py": f'def login():\n    token = "{other}"\n    return token, 1\n'})
    past = history_of(about, root, at(FIRST))
    assert past.state is CodeState.CHANGED
    text = "\n".join(signs(past))
    assert "return token, 1" in text
    assert TOKEN[4:] not in text
    assert other[4:] not in text
    write(root, {"src/login.py": f'def login():\n    token = "{other}"\n    return token\n'})
    past = history_of(about, root, at(FIRST))
    assert past.lines == ()
    assert "nothing but a secret" in past.message


# What is not.
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda root: None, "the only version in git does not match"),
        (
            lambda root: git("rm", "-q", "--cached", "src/cart.py", cwd=root) and git("commit", "-qm", "x", cwd=root),
            "in git does not match",
        ),
    ],
    ids=["never committed so", "deleted since"],
)
def test_code_that_was_never_committed_as_it_was_is_said_to_be_unknown(root, spoil, said):
    edited(root, "(1 - RATE)", "3")
    about = code_ref("src/cart.py#Cart.total", root)
    edited(root, "* 3", "* 4")
    spoil(root)
    past = history_of(about, root, at(FIRST))
    assert (past.state, past.lines) == (CodeState.CHANGED, ())
    assert said in past.message


def test_a_file_that_git_does_not_know_is_said_so(root):
    write(root, {"new.py": "def new(): ...\n"})
    about = code_ref("new.py#new", root)
    write(root, {"new.py": "def new(): return 1\n"})
    assert "never committed" in history_of(about, root, None).message


def test_without_git_what_it_was_is_not_known(tmp_path):
    write(tmp_path, {"a.py": "def a(): ...\n"})
    about = code_ref("a.py#a", tmp_path)
    write(tmp_path, {"a.py": "def a(): return 1\n"})
    assert "not in a git repository" in history_of(about, tmp_path, None).message


def test_what_cannot_be_judged_says_why(root, tmp_path):
    about = code_ref("src/cart.py#Cart.total", root)
    assert history_of(about, None, None).message == "its repository is not known here"
    assert history_of(CodeRef(about.code), root, None).message == "the note has no hash of it"
    assert "is not a folder on this machine" in history_of(about, tmp_path / "elsewhere", None).message


def test_looking_through_the_past_has_an_end(root, monkeypatch):
    for number in range(30):
        edited(root, "self.prices = []", f"self.prices = []  # {number}") if number == 0 else edited(
            root, f"# {number - 1}\n", f"# {number}\n"
        )
        commit(root, "Again", FIRST + number * DAY)
    about = CodeRef("src/cart.py#Cart.total", "0" * 16)
    monkeypatch.setattr(staleness, "MAX_SECONDS", 60.0)
    monkeypatch.setattr(staleness, "MAX_VERSIONS", 5)
    assert "none of the 5 versions" in history_of(about, root, None).message
    monkeypatch.setattr(staleness, "MAX_SECONDS", 0.0)
    assert history_of(about, root, None).message.endswith(("git has no history of this file", "nearest to the note matches"))


def test_nothing_that_the_repository_configures_is_run(root, tmp_path):
    """Filters, converters, pagers and signature checks of a repository are programs of whoever wrote it."""
    about = code_ref("src/cart.py#Cart.total", root)
    edited(root, "(1 - RATE)", "1")
    commit(root, "No discount", FIRST + DAY)
    ran, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    write(root, {".gitattributes": "* filter=evil diff=evil\n"})
    for name in (
        "filter.evil.smudge",
        "filter.evil.clean",
        "diff.evil.textconv",
        "diff.external",
        "core.pager",
        "core.fsmonitor",
        "gpg.program",
    ):
        git("config", name, str(program), cwd=root)
    git("config", "log.showSignature", "true", cwd=root)
    assert signs(history_of(about, root, at(FIRST)))
    assert not ran.exists()


def test_a_path_is_never_read_as_a_pattern(root):
    write(root, {"[s]rc.py": "def a(): ...\n"})
    commit(root, "Odd", FIRST)
    about = code_ref("[s]rc.py#a", root)
    write(root, {"[s]rc.py": "def a(): return 1\n"})
    assert history_of(about, root, at(FIRST)).commit


# How it is asked for.
def test_a_memory_tells_the_past_of_the_code_of_a_note(root, tmp_path):
    with opened(tmp_path) as memory:
        note = memory.remember("The total is without taxes.", about=["src/cart.py#Cart.total", "src/cart.py#Cart.empty"], repository=root)
        edited(root, "(1 - RATE)", "1")
        states = [past.state for past in memory.code_history(note)]
        assert states == [CodeState.CHANGED, CodeState.FRESH]
        assert [memory.code_state(about) for about in note.about] == states


def test_a_note_that_still_holds_knows_the_code_as_it_is_now(root, tmp_path):
    with opened(tmp_path) as memory:
        note = memory.remember("The total is without taxes.", about=["src/cart.py#Cart.total"], repository=root)
        edited(root, "(1 - RATE)", "1")
        assert memory.code_changes(note)
        after = memory.affirm(note.key)
        assert not memory.code_changes(after)
        assert after.text == note.text
        assert memory.history(note.key) == [note]


def test_the_command_line_shows_what_became_of_the_code(root, tmp_path):
    home = {"WHENCE_DATA_DIR": str(tmp_path / "data"), "HOME": os.environ.get("HOME", str(tmp_path))}
    assert whence("remember", "Without taxes.", "--topic", "taxes", "--about", "src/cart.py#Cart.total", cwd=root, **home).returncode == 0
    edited(root, "(1 - RATE)", "1")
    done = whence("show", "taxes", "--diff", cwd=root, **home)
    assert (done.returncode, done.stderr) == (0, "")
    first, *rest = done.stdout.splitlines()
    assert first.startswith("src/cart.py#Cart.total  changed: compared with commit ")
    assert rest[-2:] == ["-     return sum(self.prices) * (1 - RATE)", "+     return sum(self.prices) * 1"]
    assert '"state": "changed"' in whence("show", "taxes", "--diff", "--json", cwd=root, **home).stdout


# Comparing.
def test_lines_far_from_a_change_are_left_out_and_that_shows():
    then = number_lines("\n".join(f"line {number}" for number in range(1, 41)))
    now = [*then[:19], then[19]._replace(text="another"), *then[20:]]
    found = diff_lines(then, now)
    assert found is not None
    assert [line.sign for line in found] == ["@", " ", " ", " ", "-", "+", " ", " ", " "]
    assert diff_lines(then, then) == []


def test_texts_that_are_too_long_are_not_compared():
    long = number_lines("x\n" * 5_001)
    assert diff_lines(long, long[:-1]) is None
