"""Around files and around a change: what is in them, what depends on them, what a change reaches (P3)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from context.mail_tree import FILES, mail_tree, names, place
from sample_histories import commit
from sample_trees import git, write
from whence import Index
from whence.context.pack import ContextPack
from whence.core.errors import UsageError

Asked = Iterator[Index]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    tree = mail_tree(tmp_path / "tree")
    git("init", "--quiet", cwd=tree)
    commit(tree, "first")
    return tree


def asked(root: Path, **what: object) -> ContextPack:
    """The answer of a fresh index; the symbols are read before it is closed."""
    with Index.open(root) as index:
        pack = index.context(**what)
        _ = pack.symbols, pack.text
        return pack


def edit(root: Path, path: str, old: str, new: str) -> None:
    text = (root / path).read_text(encoding="utf-8")
    assert old in text
    write(root, {path: text.replace(old, new)})


# Files.
def test_the_symbols_of_a_file_come_first_and_their_callers_follow(root):
    pack = asked(root, files=["mail/retry.py"])
    assert set(names(pack)[:2]) == {"LONGEST_WAIT", "wait_between"}
    assert names(pack)[2:] == ["Client.send"]
    assert "2**attempt" in pack.text
    assert pack.text.startswith("# files mail/retry.py\n")


def test_what_more_depend_on_stands_above_what_fewer_do(root):
    write(root, {f"mail/user{n}.py": "from mail.store import encode\n\n\ndef use():\n    return encode(1)\n" for n in range(3)})
    pack = asked(root, files=["mail/store.py"])
    assert place(pack, "encode") < place(pack, "save_message")


def test_a_folder_means_all_of_its_files(root):
    found = names(asked(root, files=["mail"]))
    assert {"Client", "Queue.drain", "wait_between", "save_message", "first_day_of_week"} <= set(found)
    assert names(asked(root, files=["mail/"])) == found


def test_the_root_means_everything(root):
    assert set(names(asked(root, files=["."]))) == {*names(asked(root, files=["mail", "tests"]))}


def test_several_files_are_answered_together_in_any_order(root):
    both = asked(root, files=["mail/retry.py", "mail/store.py"])
    assert {"wait_between", "save_message", "Queue.put", "Client.send"} <= set(names(both))
    assert names(asked(root, files=["mail/store.py", "mail/retry.py"])) == names(both)


def test_a_test_that_calls_is_listed_low(root):
    pack = asked(root, files=["mail/client.py"])
    assert names(pack)[-1] == "test_a_busy_server_is_asked_again"
    assert pack.symbols[-1].score < 0.5 * pack.symbols[0].score


def test_a_name_that_two_of_the_files_define_is_listed_for_both(root):
    write(root, {"one.py": "def main():\n    return 1\n", "two.py": "def main():\n    return 2\n"})
    assert [one.path for one in asked(root, files=["one.py", "two.py"]).symbols] == ["one.py", "two.py"]


def test_a_file_that_defines_nothing_has_an_empty_answer(root):
    pack = asked(root, files=["README.md"])
    assert pack.symbols == []
    assert "0 left out" in pack.text


@pytest.mark.parametrize("path", ["mail/none.py", "nothing", "../mail", "/", "", "mail/clien"])
def test_a_file_that_is_not_indexed_is_refused_by_its_name(root, path):
    with Index.open(root) as index, pytest.raises(UsageError, match="is not indexed") as refusal:
        index.context(files=[path])
    assert repr(path) in refusal.value.message


def test_an_ignored_file_is_refused_with_where_to_look(root):
    write(root, {".gitignore": "secret.py\n", "secret.py": "def hidden():\n    return 1\n"})
    with Index.open(root) as index, pytest.raises(UsageError, match="whence status --files"):
        index.context(files=["secret.py"])


# Changes.
def test_where_nothing_changed_the_answer_is_empty(root):
    pack = asked(root, diff="HEAD")
    assert pack.symbols == []
    assert pack.text.startswith("# changes since HEAD\n")


def test_the_symbol_whose_lines_changed_leads_and_what_it_touches_follows(root):
    edit(root, "mail/retry.py", "2**attempt", "3**attempt")
    pack = asked(root, diff="HEAD")
    assert names(pack)[0] == "wait_between"
    assert "Client.send" in names(pack)
    assert "first_day_of_week" not in names(pack)
    assert pack.budget == 8_000


def test_only_the_innermost_definition_counts_as_changed(root):
    edit(root, "mail/client.py", "self.host.accept(message, self.timeout)", "self.host.take(message)")
    seeds = [one.qualified_name for one in asked(root, diff="HEAD").symbols if "asked" in one.found_by]
    assert seeds == ["Client.deliver"]


def test_two_definitions_on_one_line_both_count(root):
    write(root, {"web/pair.js": "function left() { return 1 } function right() { return 2 }\nfunction other() { return 3 }\n"})
    commit(root, "a pair")
    edit(root, "web/pair.js", "return 2", "return 5")
    assert {one.qualified_name for one in asked(root, diff="HEAD").symbols if "asked" in one.found_by} == {"left", "right"}


def test_lines_that_were_taken_out_belong_to_the_symbol_they_were_in(root):
    edit(root, "mail/client.py", "            wait_between(attempt)\n", "")
    assert names(asked(root, diff="HEAD"))[0] == "Client.send"


def test_a_new_file_is_changed_from_end_to_end(root):
    write(root, {"mail/fresh.py": "def fresh_one():\n    return 1\n\n\ndef fresh_two():\n    return fresh_one()\n"})
    assert {"fresh_one", "fresh_two"} <= set(names(asked(root, diff="HEAD"))[:3])
    git("add", "--all", cwd=root)
    assert {"fresh_one", "fresh_two"} <= set(names(asked(root, diff="HEAD"))[:3])


def test_a_deleted_file_has_no_symbols_left_and_is_no_error(root):
    (root / "mail/calendar.py").unlink()
    assert asked(root, diff="HEAD").symbols == []
    (root / "mail/retry.py").unlink()
    edit(root, "mail/client.py", "from mail.retry import wait_between\n", "")
    edit(root, "mail/client.py", "            wait_between(attempt)\n", "")
    found = names(asked(root, diff="HEAD"))
    assert found[0] == "Client.send"
    assert "wait_between" not in found


def test_a_change_is_told_against_a_branch_and_a_commit(root):
    first = git("rev-parse", "HEAD", cwd=root)
    git("checkout", "--quiet", "-b", "feature/wait", cwd=root)
    edit(root, "mail/retry.py", "2**attempt", "3**attempt")
    commit(root, "wait longer")
    edit(root, "mail/store.py", "str(message)", "repr(message)")
    assert names(asked(root, diff="HEAD"))[0] == "encode"
    for base in ("main", first, "HEAD~1"):
        seeds = {one.qualified_name for one in asked(root, diff=base).symbols if "asked" in one.found_by}
        assert seeds == {"encode", "wait_between"}


@pytest.mark.parametrize("base", ["-x", "--output=stolen", "--no-index", "nowhere", "", "nowhere..HEAD", ":/", "a b", "\n"])
def test_what_is_no_commit_is_refused_and_runs_nothing(root, base):
    with Index.open(root) as index, pytest.raises(UsageError, match="git cannot compare"):
        index.context(diff=base)
    assert not (root / "stolen").exists()


def test_without_a_repository_a_change_cannot_be_told(tmp_path):
    with Index.open(mail_tree(tmp_path / "tree")) as index, pytest.raises(UsageError, match="git cannot compare"):
        index.context(diff="HEAD")


def test_a_repository_without_a_commit_has_nothing_to_compare_with(tmp_path):
    tree = mail_tree(tmp_path / "tree")
    git("init", "--quiet", cwd=tree)
    with Index.open(tree) as index, pytest.raises(UsageError, match="'HEAD'"):
        index.context(diff="HEAD")


def test_an_index_of_a_subfolder_sees_the_changes_below_it_alone(root):
    edit(root, "mail/retry.py", "2**attempt", "3**attempt")
    edit(root, "tests/test_client.py", "hello", "goodbye")
    pack = asked(root / "mail", diff="HEAD")
    assert names(pack)[0] == "wait_between"
    assert {one.path for one in pack.symbols} <= {name.removeprefix("mail/") for name in FILES if name.startswith("mail/")}


def test_a_name_with_letters_of_another_alphabet_or_a_space_is_followed(root):
    write(root, {"mail/größe und weite.py": "def breadth():\n    return 1\n"})
    commit(root, "a file")
    edit(root, "mail/größe und weite.py", "1", "2")
    assert names(asked(root, diff="HEAD")) == ["breadth"]


def test_the_settings_of_the_repository_that_run_programs_have_no_part(root):
    edit(root, "mail/retry.py", "2**attempt", "3**attempt")
    git("config", "diff.external", "touch ran", cwd=root)
    git("config", "core.fsmonitor", "touch ran", cwd=root)
    write(root, {".gitattributes": "*.py diff=made\n"})
    git("config", "diff.made.textconv", "touch ran;", cwd=root)
    assert names(asked(root, diff="HEAD"))[0] == "wait_between"
    assert not (root / "ran").exists()
