"""A review: the hunks of a change, then what it does to symbols, and what it reaches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from context.mail_tree import mail_tree
from sample_histories import commit
from sample_trees import git, whence, write
from whence import Index
from whence.context.changes import innermost
from whence.context.sections import ALSO, CALLERS, CHANGED, DELETED, HUNKS, TESTS
from whence.text.token_estimate import count_tokens


@pytest.fixture
def root(tmp_path: Path) -> Path:
    tree = mail_tree(tmp_path / "tree")
    git("init", "--quiet", "-b", "main", cwd=tree)
    commit(tree, "first")
    return tree


def edit(root: Path, path: str, old: str, new: str) -> None:
    text = (root / path).read_text(encoding="utf-8")
    assert old in text
    write(root, {path: text.replace(old, new)})


def text_of(root: Path, **what: object) -> str:
    with Index.open(root) as index:
        return index.context(**({"diff": "HEAD"} | what)).text


def sections(root: Path, **what: object) -> Mapping[str, str]:
    """The parts of a review by their headings."""
    _, *parts = text_of(root, **what).split("\n# ")
    return dict(part.split("\n", 1) for part in parts)


def test_the_hunks_come_first_with_the_lines_around_them(root):
    edit(root, "mail/retry.py", "2**attempt", "3**attempt")
    found = sections(root)
    assert next(iter(found)) == HUNKS
    assert "-    return min(2**attempt, LONGEST_WAIT)\n+    return min(3**attempt, LONGEST_WAIT)\n" in found[HUNKS]
    assert " def wait_between(attempt):" in found[HUNKS]
    assert "@@ -5,4 +5,4 @@" in found[HUNKS]


def test_a_changed_body_is_no_changed_signature(root):
    edit(root, "mail/retry.py", "2**attempt", "3**attempt")
    found = sections(root)
    assert "`mail/retry.py:6 wait_between` `def wait_between(attempt)` (changed)" in found[CHANGED]
    assert CALLERS not in found
    assert "`mail/client.py:15 Client.send` calls wait_between, whose code changed" in found[ALSO]


def test_a_changed_signature_tells_what_it_was_and_shows_the_calls_that_were_not_changed(root):
    edit(root, "mail/retry.py", "def wait_between(attempt):", "def wait_between(attempt, most):")
    found = sections(root)
    assert "was: def wait_between(attempt)" in found[CHANGED]
    assert "(signature changed)" in found[CHANGED]
    assert "Client.send" in found[CALLERS]
    assert "uses wait_between: line 20" in found[CALLERS]
    assert "wait_between(attempt)" in found[CALLERS]
    edit(root, "mail/client.py", "wait_between(attempt)", "wait_between(attempt, 9)")
    assert CALLERS not in sections(root)


def test_a_comment_or_an_empty_line_in_a_signature_changes_none(root):
    edit(root, "mail/retry.py", "def wait_between(attempt):", "def wait_between(attempt):  # from 0")
    found = sections(root)
    assert "signature changed" not in found[CHANGED]
    git("checkout", "--quiet", ".", cwd=root)
    edit(root, "mail/retry.py", "LONGEST_WAIT = 60\n", "LONGEST_WAIT = 60\n\n")
    assert list(sections(root)) == [HUNKS]


def test_a_deleted_symbol_is_named_with_what_it_leaves_behind(root):
    edit(root, "mail/store.py", '\n\ndef encode(message):\n    """A message as text."""\n    return str(message)\n', "")
    found = sections(root)
    assert "`mail/store.py:10 encode` `def encode(message)` (deleted; 1 place still names it)" in found[DELETED]
    assert "save_message" in found[DELETED]
    assert "names encode, which is deleted: line 7" in found[DELETED]


def test_an_import_of_a_deleted_file_is_left_behind_too(root):
    (root / "mail/retry.py").unlink()
    found = sections(root)
    assert "`mail/retry.py` deleted, -5" in found[HUNKS]
    assert "2 places still name it" in found[DELETED]
    assert "from mail.retry import wait_between" in found[DELETED]
    edit(root, "mail/client.py", "from mail.retry import wait_between\n", "")
    edit(root, "mail/client.py", "            wait_between(attempt)\n", "")
    assert "wait_between` `def wait_between(attempt)` (deleted; nothing names it any more)" in sections(root)[DELETED]


def test_a_name_that_others_have_is_not_taken_for_the_deleted_one(root):
    write(root, {"web/page.py": "def encode(page):\n    return page\n\n\ndef show(page):\n    return encode(page)\n"})
    commit(root, "a page")
    (root / "web/page.py").write_text("def show(page):\n    return page\n", encoding="utf-8")
    assert "encode` `def encode(page)` (deleted; nothing names it any more)" in sections(root)[DELETED]


def test_the_tests_that_reach_a_change_are_named_with_the_way_there(root):
    edit(root, "mail/retry.py", "2**attempt", "3**attempt")
    assert "test_a_busy_server_is_asked_again` reaches wait_between through Client.send" in sections(root)[TESTS]


def test_code_that_no_test_reaches_is_said_to_be_so(root):
    edit(root, "mail/calendar.py", '"Monday"', '"Saturday"')
    assert "first_day_of_week` `def first_day_of_week(country)` (changed; no test is known to reach it)" in sections(root)[CHANGED]


def test_a_renamed_file_keeps_its_symbols_and_a_moved_one_is_moved(root):
    git("mv", "mail/retry.py", "mail/waiting.py", cwd=root)
    found = sections(root)
    assert "`mail/waiting.py` renamed from mail/retry.py" in found[HUNKS]
    assert DELETED not in found
    commit(root, "renamed")
    edit(root, "mail/store.py", '\n\ndef encode(message):\n    """A message as text."""\n    return str(message)\n', "")
    edit(root, "mail/calendar.py", '"""Dates."""\n', '"""Dates."""\n\n\ndef encode(message):\n    return message\n')
    found = sections(root)
    assert "moved from mail/store.py" in found[CHANGED]
    assert DELETED not in found


def test_what_overrides_a_changed_method_is_worth_reading(root):
    write(
        root,
        {
            "mail/fast.py": "from mail.client import Client\n\n\nclass FastClient(Client):\n    def deliver(self, message):\n        return True\n"
        },
    )
    commit(root, "fast")
    edit(root, "mail/client.py", "def deliver(self, message):", "def deliver(self, message, again=False):")
    found = sections(root)
    assert "`mail/fast.py:5 FastClient.deliver` overrides Client.deliver" in found[ALSO]


def test_files_that_usually_change_together_and_pages_that_name_a_symbol_are_worth_reading(root):
    write(root, {"docs/waiting.md": "# Waiting\n\nUse `wait_between` between attempts.\n"})
    for count in range(4):
        write(root, {"mail/calendar.py": f"DAY = {count}\n", "mail/store.py": f"PLACE = {count}\n"})
        commit(root, f"step {count}", 1_700_000_000 + count)
    edit(root, "mail/calendar.py", "DAY = 3", "DAY = 9")
    edit(root, "mail/retry.py", "def wait_between(attempt):", "def wait_between(attempt, most):")
    found = sections(root)
    assert "`mail/store.py` changed in 5 of the 5 commits that changed mail/calendar.py" in found[ALSO]
    assert "`docs/waiting.md` names wait_between" in found[ALSO]


def test_a_range_is_read_from_git_whatever_lies_in_the_tree(root):
    edit(root, "mail/retry.py", "2**attempt", "3**attempt")
    second = commit(root, "three")
    edit(root, "mail/retry.py", "def wait_between(attempt):", "def wait_for(attempt, most):")
    third = commit(root, "renamed")
    edit(root, "mail/retry.py", "wait_for", "wait_at_all")
    found = sections(root, diff=f"{second}~1..{second}")
    assert "+    return min(3**attempt, LONGEST_WAIT)" in found[HUNKS]
    assert "wait_between" in found[CHANGED]
    assert "wait_at_all" not in text_of(root, diff=f"{second}..{third}")
    found = sections(root, diff=f"{second}..{third}")
    assert "wait_for" in found[CHANGED]
    assert "wait_between` `def wait_between(attempt)` (deleted; 2 places still name it)" in found[DELETED]


def test_three_dots_compare_with_where_a_branch_began(root):
    git("checkout", "--quiet", "-b", "side", cwd=root)
    edit(root, "mail/store.py", "str(message)", "repr(message)")
    commit(root, "side")
    git("checkout", "--quiet", "main", cwd=root)
    edit(root, "mail/retry.py", "2**attempt", "3**attempt")
    commit(root, "main")
    assert "mail/retry.py" in text_of(root, diff="main..side")
    assert "mail/retry.py" not in text_of(root, diff="main...side")


def test_what_is_staged_is_told_from_what_is_not(root):
    edit(root, "mail/retry.py", "2**attempt", "3**attempt")
    git("add", "--all", cwd=root)
    edit(root, "mail/retry.py", "3**attempt", "5**attempt")
    edit(root, "mail/store.py", "str(message)", "repr(message)")
    staged = text_of(root, diff=None, staged=True)
    assert staged.startswith("# staged changes since HEAD\n")
    assert "+    return min(3**attempt" in staged
    assert "5**attempt" not in staged
    assert "mail/store.py" not in staged
    assert whence("context", "--staged", cwd=root).stdout == whence("context", "--diff", "--staged", cwd=root).stdout


def test_a_new_file_is_shown_whole_and_a_binary_one_by_its_name(root):
    write(root, {"mail/fresh.py": "def fresh():\n    return 1\n"})
    (root / "mail/logo.png").write_bytes(b"\x89PNG\0\1\2" * 20)
    git("add", "--all", cwd=root)
    found = sections(root)
    assert "+def fresh():\n+    return 1\n" in found[HUNKS]
    assert "`fresh" not in found[HUNKS]
    assert "mail/fresh.py:1 fresh` `def fresh()` (added; no test is known to reach it)" in found[CHANGED]
    assert "logo.png" not in text_of(root) or "not text" in text_of(root)


def test_a_secret_in_a_change_is_not_shown(root):
    write(root, {"mail/keys.py": "KEY = 'AKIAIOSFODNN7EXAMPLQ'\n"})
    commit(root, "keys")
    write(root, {"mail/keys.py": "KEY = 'AKIAIOSFODNN7EXAMPLW'\nMORE = 1\n"})
    text = text_of(root)
    assert "+MORE = 1" in text
    assert "AKIAIOSFODNN7" not in text


def test_a_filter_narrows_the_change(root):
    edit(root, "mail/retry.py", "2**attempt", "3**attempt")
    edit(root, "mail/store.py", "str(message)", "repr(message)")
    text = text_of(root, include=("mail/store.py",))
    assert "repr(message)" in text
    assert "mail/retry.py" not in text


@pytest.mark.parametrize("budget", [150, 300, 600, 2_000, 8_000])
@pytest.mark.parametrize("form", ["markdown", "xml", "json"])
def test_a_review_keeps_its_budget_in_every_format(root, budget, form):
    write(root, {f"mail/new{n}.py": "".join(f"def made_{n}_{m}():\n    return {m}\n\n\n" for m in range(30)) for n in range(5)})
    edit(root, "mail/retry.py", "def wait_between(attempt):", "def wait_between(attempt, most):")
    with Index.open(root) as index:
        pack = index.context(diff="HEAD", budget=budget, format=form)
    assert count_tokens(pack.text) == pack.tokens <= budget
    assert "mail/new0.py" in pack.text or budget < 300
    if form == "json":
        assert {one["section"] for one in json.loads(pack.text)["symbols"]} <= {HUNKS, CHANGED, CALLERS, TESTS, ALSO}
    if form == "xml":
        assert all(one.get("section") for one in ET.fromstring(pack.text).iter("symbol"))


def test_small_budgets_still_name_callers_and_tests(root):
    write(root, {"mail/long.py": "".join(f"VALUE_{n} = {n}\n" for n in range(2_000))})
    edit(root, "mail/retry.py", "def wait_between(attempt):", "def wait_between(attempt, most):")
    found = sections(root, budget=1_500)
    assert "uses wait_between: line 20" in found[CALLERS]
    assert "test_a_busy_server_is_asked_again" in found[TESTS]


def test_a_review_is_never_one_of_an_earlier_state(root):
    edit(root, "mail/retry.py", "2**attempt", "3**attempt")
    with Index.open(root) as index:
        assert index.context(diff="HEAD").text.count("3**attempt")
        commit(root, "done")
        assert index.context(diff="HEAD").is_empty


def test_where_nothing_changed_the_command_says_so(root):
    done = whence("context", "--diff", cwd=root)
    assert done.returncode == 1
    assert "there are no changes since HEAD" in done.stderr


# The innermost definitions of lines.
@pytest.mark.parametrize(
    ("lines", "rows"),
    [([5], [1]), ([1], [0]), ([3, 9], [1, 2]), ([2, 3], [0, 1]), ([], []), ([99], []), ([12], [3, 4])],
)
def test_a_line_belongs_to_the_innermost_definitions_that_hold_it(lines, rows):
    assert innermost([(1, 11), (3, 6), (8, 10), (12, 12), (12, 12)], lines) == rows
