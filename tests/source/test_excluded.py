"""Files that were left out of the index and would have matched: counted within bounds, never shown, never followed out."""

from __future__ import annotations

import os

import pytest

from sample_trees import write
from whence.source.excluded import ExcludedMatches, count_excluded_matches
from whence.source.walk import Walker

NOW = 2_000_000_000_000_000_000


def looked_for(root, *words, in_time=lambda: True, **bounds):
    skipped = Walker(str(root), max_file_bytes=1_000, hidden=False, now_ns=NOW).walk().skipped
    return count_excluded_matches(root, skipped, words, in_time=in_time, **bounds)


@pytest.fixture
def tree(tmp_path):
    return write(
        tmp_path / "tree",
        {
            ".gitignore": "generated/\nlocal.py\n",
            "app.py": "import rabbit\n",
            "local.py": "BROKER = RabbitConsumer('orders')\n",
            "generated/client.py": "def send_to_rabbit(order): ...\n",
            "generated/deep/down/more.py": "consumer = rabbit.Consumer()\n",
            "generated/other.py": "# myrabbitesque\n",
            "node_modules/lib/index.js": "export const broker = 'Rabbit'\n",
            "vendor/blob.bin": b"rabbit\0\1\2",
            "large.py": "x = 1\n" * 300 + "rabbit = 2\n",
        },
    )


def test_files_in_ignored_folders_and_single_ones_are_counted_and_named_but_not_what_is_indexed_or_binary(tree):
    found = looked_for(tree, "rabbit")
    # local.py, large.py, client.py, more.py and index.js; not app.py, which is indexed, nor a word that only holds it inside
    assert (found.matching, found.looked_at, found.of, found.more) == (5, 8, 8, False)
    assert found.examples == ("large.py", "local.py", "generated/client.py")
    assert str(found) == "5 files that were left out hold it: large.py, local.py, generated/client.py, ..."


def test_every_word_must_be_there(tree):
    assert looked_for(tree, "rabbit", "consum").examples == ("local.py", "generated/deep/down/more.py")
    assert looked_for(tree, "rabbit", "walrus") == ExcludedMatches(0, 8, 8)
    assert looked_for(tree, " ") == ExcludedMatches(0, 0, 0)
    assert str(looked_for(tree, "walrus")) == ""


def test_words_of_any_script_are_found(tmp_path):
    write(tmp_path, {".gitignore": "notes/\n", "notes/a.txt": "Ordnung muß sein, ÄRGER auch\n", "notes/b.txt": "데이터베이스 연결\n"})
    assert looked_for(tmp_path, "ärger").examples == ("notes/a.txt",)
    assert looked_for(tmp_path, "데이터베이스").examples == ("notes/b.txt",)


def test_bounds_are_kept_and_said(tree):
    few = looked_for(tree, "rabbit", max_files=3)
    assert (few.matching, few.looked_at, few.of) == (2, 3, 8)
    assert str(few) == "2 files that were left out hold it, of the 3 looked at: large.py, local.py"
    assert looked_for(tree, "rabbit", max_bytes=100).looked_at < 8
    left = iter([True, True, True])
    short = looked_for(tree, "rabbit", in_time=lambda: next(left, False))
    assert (short.looked_at, short.of, short.more) == (3, 3, True)
    assert "of the 3 looked at" in str(short)


def test_links_are_not_followed_even_where_a_folder_became_one_after_the_walk(tree, tmp_path):
    outside = write(tmp_path / "outside", {"secret.py": "rabbit\n", "plain.py": "rabbit\n"})
    (tree / "generated" / "way_out").symlink_to(outside)
    (tree / "generated" / "link.py").symlink_to(outside / "plain.py")
    (tree / "generated" / "loop").symlink_to(tree)
    assert looked_for(tree, "rabbit").matching == 5
    skipped = Walker(str(tree), max_file_bytes=1_000, hidden=False, now_ns=NOW).walk().skipped
    (tree / "node_modules").rename(tree / "moved")
    (tree / "node_modules").symlink_to(outside)
    found = count_excluded_matches(tree, skipped, ["rabbit"], in_time=lambda: True)
    assert (found.matching, found.of) == (4, 7)


def test_files_that_hold_passwords_or_keys_are_never_opened_and_records_of_tools_are_passed_over(tree):
    hidden = [".env", ".env.local", "prod.env", "id_rsa", "server.pem", "secrets.yaml", ".netrc", "db_password.txt", "credentials"]
    write(tree, {f"generated/{name}": "rabbit\n" for name in hidden})
    write(tree, {".git/COMMIT_EDITMSG": "rabbit\n", "generated/__pycache__/a.txt": "rabbit\n"})
    for name in hidden:
        (tree / "generated" / name).chmod(0)
    found = looked_for(tree, "rabbit")
    assert (found.matching, found.looked_at) == (5, 8)


def test_a_pipe_is_not_waited_for_and_a_root_that_is_gone_holds_nothing(tmp_path):
    write(tmp_path, {".gitignore": "out/\n", "out/a.py": "rabbit\n"})
    os.mkfifo(tmp_path / "out" / "pipe")
    assert looked_for(tmp_path, "rabbit") == ExcludedMatches(1, 2, 2, ("out/a.py",))  # and the rule file itself, which is hidden
    assert count_excluded_matches(tmp_path / "gone", [], ["rabbit"], in_time=lambda: True) == ExcludedMatches(0, 0, 0)
