"""What use teaches: a verdict raises a symbol until its code changes, a session what it was shown (L1 to L3, L5, L6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from context.mail_tree import FILES, TASK, answer, mail_tree, names, place
from sample_trees import whence, write
from whence import Index
from whence.cli.main import main
from whence.context.feedback.store import FeedbackStore
from whence.context.pack import ContextPack
from whence.index.layout import Layout

LOW = "Queue.drain"

pytestmark = pytest.mark.shared_data


@pytest.fixture(autouse=True)
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WHENCE_SESSION", raising=False)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return mail_tree(tmp_path / "tree")


def asked(tree: Path, task: str = TASK, settings: dict[str, object] | None = None, **what: object) -> ContextPack:
    with Index.open(tree, settings=settings) as index:
        pack = index.context(task, **what)
        _ = pack.symbols, pack.text
        return pack


def part(pack: ContextPack, name: str, signal: str) -> float:
    """What a signal adds to a symbol."""
    one = next(symbol for symbol in pack.symbols if symbol.qualified_name == name)
    return next((line.contribution for line in one.why if line.signal == signal), 0.0)


def feedback(tree: Path, *arguments: str) -> None:
    assert main(["feedback", *arguments, "--path", str(tree)]) == 0


# Verdicts.
@pytest.mark.parametrize("profile", ["default", "classic"])
def test_a_symbol_that_was_useful_rises_for_the_same_task_and_others_keep_their_order(tree, profile):
    before = asked(tree, profile=profile)
    feedback(tree, "useful", LOW, "--task", TASK)
    after = asked(tree, profile=profile)
    assert place(after, LOW) < place(before, LOW)
    assert part(after, LOW, "feedback") > 0
    elsewhere = [one.qualified_name for one in before.symbols if not one.qualified_name.startswith("Queue")]
    assert [name for name in names(after) if name in elsewhere] == elsewhere


def test_a_symbol_that_was_useless_sinks(tree):
    before = asked(tree)
    feedback(tree, "useless", names(before)[0])
    assert part(asked(tree), names(before)[0], "feedback") < 0


def test_a_verdict_counts_no_longer_when_the_package_changed(tree):
    feedback(tree, "useful", LOW, "--task", TASK)
    assert part(asked(tree), LOW, "feedback") > 0
    write(tree, {"mail/calendar.py": FILES["mail/calendar.py"].replace("Monday", "Saturday")})
    assert part(asked(tree), LOW, "feedback") == 0
    write(tree, {"mail/calendar.py": FILES["mail/calendar.py"]})
    assert part(asked(tree), LOW, "feedback") > 0


def test_a_change_elsewhere_leaves_a_verdict_as_it_was(tree):
    feedback(tree, "useful", LOW, "--task", TASK)
    write(tree, {"tests/test_client.py": "def test_other():\n    assert 1\n", "shop/new.py": "def other():\n    return 1\n"})
    assert part(asked(tree), LOW, "feedback") > 0


def test_an_open_index_sees_a_verdict_that_came_after_its_first_answer(tree):
    with Index.open(tree) as index:
        before = index.context(TASK)
        feedback(tree, "useful", LOW, "--task", TASK)
        assert place(index.context(TASK), LOW) < place(before, LOW)


def test_words_that_led_to_a_symbol_twice_lead_to_it_again(tree):
    task = "the flamingo stands in the way"
    assert "learned" not in [how for one in asked(tree, task).symbols for how in one.found_by]
    feedback(tree, "useful", "first_day_of_week", "--task", "a flamingo came by")
    feedback(tree, "useful", "first_day_of_week", "--task", "flamingo feathers")
    found = asked(tree, task)
    assert names(found)[0] == "first_day_of_week"
    assert "learned" in found.symbols[0].found_by


def test_where_learning_is_off_verdicts_make_no_difference(tree):
    off = {"learn.enabled": False}
    before = asked(tree)
    feedback(tree, "useful", LOW, "--task", TASK)
    feedback(tree, "useful", LOW, "--task", f"{TASK} again")
    assert answer(asked(tree, settings=off)) == answer(before)
    assert answer(asked(tree)) != answer(before)


def test_what_was_reset_counts_no_longer(tree):
    before = asked(tree)
    feedback(tree, "useful", LOW, "--task", TASK)
    feedback(tree, "reset", "--yes")
    assert answer(asked(tree)) == answer(before)


def test_a_damaged_file_of_verdicts_is_a_note_and_the_answer_comes_all_the_same(tree, data):
    before = asked(tree)
    write(
        Layout(data, tree.resolve()).directory,
        {FeedbackStore.beside(Layout(data, tree.resolve()).directory).path.name: b"no database " * 1000},
    )
    with Index.open(tree) as index:
        assert answer(index.context(TASK)) == answer(before)
        assert "feedback is not used for this answer" in " ".join(index.notes)


# Sessions.
def test_what_a_session_was_shown_counts_more_in_its_next_answer(tree):
    first = asked(tree, session="talk")
    again = asked(tree, session="talk")
    shown = names(first)[0]
    assert part(first, shown, "session") == 0
    assert part(again, shown, "session") > 0
    assert part(asked(tree, session="other"), shown, "session") == 0


def test_without_a_session_nothing_is_remembered_and_nothing_changes(tree, data):
    before = asked(tree)
    assert not FeedbackStore.beside(Layout(data, tree.resolve()).directory).path.exists()
    asked(tree, session="talk")
    assert answer(asked(tree)) == answer(before)
    assert asked(tree).text == before.text


def test_what_was_left_out_of_the_text_was_not_shown(tree):
    first = asked(tree, session="talk", budget=150)
    left = first.left_out[-1].partition("#")[2]
    again = asked(tree, session="talk")
    assert part(again, names(first)[0], "session") > 0
    assert part(again, left, "session") == 0


def test_where_learning_is_off_a_session_remembers_nothing(tree, data):
    off = {"learn.enabled": False}
    before = asked(tree, settings=off, session="talk")
    assert answer(asked(tree, settings=off, session="talk")) == answer(before)
    assert not FeedbackStore.beside(Layout(data, tree.resolve()).directory).path.exists()


def test_the_session_of_the_environment_reaches_from_one_command_to_the_next(tree):
    question = ("context", TASK, "--list", "--why")
    plain = whence(*question, cwd=tree)
    assert whence("context", TASK, cwd=tree, WHENCE_SESSION="talk").returncode == 0
    assert "session  " in whence(*question, cwd=tree, WHENCE_SESSION="talk").stdout
    assert "session  " not in whence(*question, cwd=tree, WHENCE_SESSION="other").stdout
    assert whence(*question, cwd=tree).stdout == plain.stdout
