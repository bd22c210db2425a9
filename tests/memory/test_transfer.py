"""Many notes at once: compaction archives what has had its time and loses nothing, imports and exports can be done again."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from string import ascii_letters, digits

import pytest

from memory.stores import by_hand, opened
from sample_histories import commit
from sample_trees import git
from whence import Memory
from whence.core.errors import StorageError, UsageError
from whence.memory.compaction import CompactionStep, apply, near_duplicates, plan
from whence.memory.note import Note
from whence.memory.transfer import ImportSummary, export_notes, exported_notes, import_notes, lines_of

NOW = datetime(2026, 5, 4, 12, tzinfo=timezone.utc)
DAY = timedelta(days=1)
TOKEN = "ghp_" + "".join(random.Random(5).choices(ascii_letters + digits, k=36))
LONG = "The gateway retries a failed payment three times with growing pauses, then hands the order to the night shift."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path) as memory:
        yield memory


def put(memory: Memory, text: str, name: str, *, age: int = 0, **fields: object) -> Note:
    """A note that was written some days ago."""
    made = Note(text, slug=name, **{"project": "app", "folder": "app", "created": NOW - age * DAY, "updated": NOW - age * DAY, **fields})  # type: ignore[arg-type]
    return memory.put(made)


def done(steps: list[CompactionStep]) -> list[tuple[str, str]]:
    return [(step.action, step.key) for step in steps]


def everything(place: Path) -> dict[str, bytes]:
    """Every file below a place but for the lock, by its path."""
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file() and path.name != ".lock"}


def compacted(memory: Memory) -> list[tuple[str, str]]:
    """What compaction planned and did: the same, and afterwards nothing is left to do."""
    before = everything(memory.directory)
    steps = plan(memory, NOW)
    assert everything(memory.directory) == before  # a plan changes nothing
    assert apply(memory, steps, NOW) == steps
    assert plan(memory, NOW) == []
    return done(steps)


# Notes that say the same.


def test_of_two_notes_that_say_nearly_the_same_the_older_is_archived_and_its_tags_go_to_the_newer(memory):
    put(memory, LONG, "older", age=9, tags=("payment", "Retry"))
    put(memory, f"{LONG} Always so since spring.", "newer", age=1, tags=("retry",))
    put(memory, "Deployments are frozen from Friday noon until Monday morning.", "other", age=5)
    (step,) = plan(memory, NOW)
    assert (step.action, step.key, step.into) == ("merge", "app/older", "app/newer")
    assert step.because == "shares 86% of its words with a newer note"
    assert compacted(memory) == [("merge", "app/older")]
    assert memory.get("app/older").archived == NOW
    assert memory.get("app/newer").tags == ("retry", "payment")
    assert memory.history("app/newer")[-1].tags == ("retry",)
    assert [one.note.slug for one in memory.recall("failed payment retries")] == ["newer"]
    assert memory.restore("app/older").text == LONG


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({"project": "web", "folder": "web"}, {}),
        ({"kind": "resource"}, {}),
        ({"text": "Do not deploy"}, {"text": "Deploy"}),
        ({"text": "Yes", "topic": "tabs"}, {"text": "Yes", "topic": "spaces"}),
        ({"kind": "handoff", "topic": "handoff one"}, {"kind": "handoff", "topic": "handoff two"}),
    ],
    ids=["another project", "another kind", "few words", "another question", "another branch"],
)
def test_notes_that_are_not_of_one_kind_and_matter_stay_apart(memory, older, newer):
    put(memory, **{"text": LONG, "name": "older", "age": 3} | older)
    put(memory, **{"text": LONG, "name": "newer"} | newer)
    assert plan(memory, NOW) == []


def test_notes_that_name_different_code_stay_apart(memory, tmp_path):
    (tmp_path / "net.py").write_text("def one(): ...\ndef two(): ...\n")
    for name in ("one", "two"):
        memory.remember(LONG, topic=name, about=[f"net.py#{name}"], repository=tmp_path)
    assert plan(memory, NOW) == []


def test_a_chain_of_notes_each_like_the_next_is_not_archived_as_a_whole(memory):
    words = [f"word{chr(97 + number)}" for number in range(24)]
    for age in range(4):
        put(memory, " ".join(words[age : age + 20]), f"n{age}", age=age)
    assert compacted(memory) == [("merge", "app/n1"), ("merge", "app/n3")]  # 19 of 21 words are enough, 18 of 22 are not


def test_many_doubles_give_all_their_tags_to_the_newest(memory):
    for age in range(5):
        put(memory, LONG, f"n{age}", age=age, tags=(f"t{age}",))
    assert compacted(memory) == [("merge", f"app/n{age}") for age in range(1, 5)]
    assert set(memory.get("app/n0").tags) == {f"t{age}" for age in range(5)}


def test_whoever_was_stopped_between_giving_the_tags_and_archiving_goes_on_where_it_was(memory):
    put(memory, LONG, "older", age=9, tags=("payment",))
    put(memory, LONG, "newer", age=1)
    steps = plan(memory, NOW)
    memory.edit("app/newer", tags=("payment",))
    assert plan(memory, NOW) == steps
    assert compacted(memory) == [("merge", "app/older")]


def test_finding_doubles_by_rare_words_finds_just_what_comparing_all_finds():
    some = random.Random(7)
    for share in (0.1, 0.3, 0.5, 0.85, 0.9, 1.0):
        sets = [frozenset(some.choices(ascii_letters, k=some.randint(1, 40)))]
        for _ in range(150):
            near = sets[some.randrange(len(sets))] ^ frozenset(some.choices(ascii_letters, k=some.randint(0, 6)))
            sets.append(near or frozenset("a"))
        expected, kept = [], []
        for row, words in enumerate(sets):
            shared = [(other, len(words & sets[other]) / len(words | sets[other])) for other in kept]
            found = next(((row, *one) for one in shared if one[1] >= share - 1e-9), None)
            kept += [row] if found is None else []
            expected += [found] if found else []
        assert list(near_duplicates(sets, share)) == expected


def test_hundreds_of_notes_are_planned_in_a_moment(memory):
    some = random.Random(3)
    words = [f"{one}{other}{end}" for one in "bdfgklmnprst" for other in "aeiou" for end in ("ron", "mel", "tik", "var", "sol")]
    for number in range(300):
        text = " ".join(some.choices(words, k=60))
        by_hand(memory.directory.parent, f"app/n{number}.md", text)
        if number % 3 == 0:
            by_hand(memory.directory.parent, f"app/n{number}-again.md", f"{text} changed")
    memory.index.refresh(full=True)
    began = time.process_time()
    steps = plan(memory, NOW)
    assert time.process_time() - began < 3
    assert len(steps) == 100
    assert {step.key.removesuffix("-again") for step in steps} | {step.into.removesuffix("-again") for step in steps} == {
        f"app/n{number}" for number in range(0, 300, 3)
    }


# Notes that have had their time.


def test_what_holds_no_longer_is_archived_and_nothing_is_merged_into_it(memory):
    put(memory, LONG, "holds", age=9)
    put(memory, LONG, "held", age=2, valid_until=NOW)
    put(memory, "The freeze lasts for another hour at least.", "still", valid_until=NOW + timedelta(hours=1))
    assert [step.because for step in plan(memory, NOW)] == ["expired on 2026-05-04"]
    assert compacted(memory) == [("archive", "app/held")]
    assert memory.get("app/holds").archived is None


def test_old_handoffs_are_archived(memory):
    put(memory, "Half of the parser is done.", "old", age=40, kind="handoff", topic="handoff one")
    put(memory, "All of the lexer is done.", "young", age=20, kind="handoff", topic="handoff two")
    put(memory, "A decision from long ago.", "decision", age=400)
    assert compacted(memory) == [("archive", "app/old")]


def test_handoffs_of_branches_that_are_gone_are_archived(tmp_path, monkeypatch):
    root = tmp_path / "app"
    root.mkdir()
    git("init", "--quiet", "-b", "main", cwd=root)
    (root / "a.txt").write_text("a")
    commit(root, "first")
    for name in ("packed", "fix/loose", "gone", "elsewhere"):
        git("branch", name, cwd=root)
    git("update-ref", "refs/remotes/origin/elsewhere", "HEAD", cwd=root)
    git("pack-refs", "--all", cwd=root)
    git("branch", "-f", "fix/loose", "HEAD", cwd=root)
    git("worktree", "add", "-q", "-b", "tree", str(tmp_path / "side"), cwd=root)
    monkeypatch.chdir(root)
    with opened(tmp_path) as memory:
        for name in ("main", "packed", "fix/loose", "gone", "elsewhere", "tree", "0123456789"):
            memory.handoff(f"State of the work on {name}", branch=name)
        memory.handoff("State of something else", branch="gone", project="web")
        memory.handoff("State under a name of its own", branch="gone", topic="the big move")
        now = datetime.now(timezone.utc)
        assert plan(memory, now) == []
        git("branch", "-D", "gone", "elsewhere", cwd=root)
        (step,) = plan(memory, now)
        assert (step.action, step.key, step.because) == ("archive", "app/handoff-gone", "the branch gone is gone")
    monkeypatch.chdir(tmp_path / "side")  # a worktree is the same repository under another name
    with opened(tmp_path) as memory:
        memory.handoff("State of the tree", branch="main")
        memory.handoff("State of nothing", branch="nothing")
        assert done(plan(memory, now)) == [("archive", "app/handoff-gone"), ("archive", "app/handoff-nothing")]


# Histories.


def test_only_the_oldest_versions_beyond_the_limit_are_deleted_and_only_when_applied(tmp_path):
    with opened(tmp_path, history=3) as memory:
        for number in range(6):
            memory.remember(f"Count {number}", topic="count", project="app")
        (step,) = plan(memory, NOW)
        assert (step.action, step.key, step.count) == ("prune", "app/count", 2)
        assert len(memory.history("app/count")) == 5
        assert compacted(memory) == [("prune", "app/count")]
        assert [note.text for note in memory.history("app/count")] == ["Count 2", "Count 3", "Count 4"]
        memory.remember("Count 6", topic="count", project="app")
        assert compacted(memory) == [("prune", "app/count")]
        assert [note.text for note in memory.history("app/count")] == ["Count 3", "Count 4", "Count 5"]


def test_what_compaction_itself_adds_to_a_history_is_counted(tmp_path):
    with opened(tmp_path, history=0) as memory:
        put(memory, LONG, "older", age=2, tags=("a",))
        put(memory, LONG, "newer", age=1)
        expected = [("merge", "app/older"), ("prune", "app/newer"), ("prune", "app/older")]
        assert compacted(memory) == expected
        assert memory.history("app/older") == []
        assert memory.get("app/older").text == LONG


def test_the_past_of_a_note_whose_file_was_deleted_by_hand_is_kept(tmp_path):
    with opened(tmp_path, history=0) as memory:
        for text in ("First", "Second", "Third"):
            memory.remember(text, topic="lost", project="app")
        steps = plan(memory, NOW)
        (memory.directory / "app" / "lost.md").unlink()
        assert plan(memory, NOW) == []
        assert apply(memory, steps, NOW) == []
        assert memory.store.prune("app/lost", 0) == 0
        assert [note.text for note in memory.history("app/lost")] == ["First", "Second"]


# What is left alone.


def test_notes_in_trouble_and_notes_made_from_others_are_left_alone(tmp_path):
    with opened(tmp_path, history=1) as memory:
        put(memory, LONG, "summary", age=9, kind="summary", valid_until=NOW - DAY)
        put(memory, LONG, "pack", age=9, kind="pack")
        put(memory, LONG, "pack-again", age=1, kind="pack")
        for number in range(4):
            memory.remember(f"Count {number}", topic="count", project="app")
        for name in ("broken", "broken-again"):
            by_hand(tmp_path, f"app/{name}.md", f"---\nkind: nonsense\nvalid_until: 2020-01-01\n---\n\n{LONG}\n")
        by_hand(tmp_path, "app/count.md", "---\nkind: nonsense\n---\n\nCount\n")
        assert plan(memory, NOW) == []
        assert (
            apply(
                memory,
                [
                    CompactionStep("prune", "app/count"),
                    CompactionStep("archive", "app/summary"),
                    CompactionStep("merge", "app/pack", "app/pack-again"),
                ],
                NOW,
            )
            == []
        )


def test_a_step_whose_reason_is_gone_is_not_done(memory):
    put(memory, LONG, "older", age=9)
    put(memory, LONG, "newer", age=1)
    put(memory, "The freeze is over.", "held", valid_until=NOW - DAY)
    put(memory, "The lift is out of order.", "deleted", valid_until=NOW - DAY)
    steps = plan(memory, NOW)
    assert len(steps) == 3
    memory.edit("app/older", text="Something else entirely: the kitchen is closed on Sundays.")
    memory.edit("app/held", valid_until=NOW + DAY)
    memory.forget("app/deleted")
    assert apply(memory, steps, NOW) == []
    assert apply(memory, [CompactionStep("merge", "app/newer", "app/newer")], NOW) == []
    with pytest.raises(UsageError, match="unknown step 'burn'"):
        apply(memory, [CompactionStep("burn", "app/older")], NOW)


# Taking in.


def write(place: Path, **files: str) -> Path:
    for name, content in files.items():
        path = place / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return place


def counts(brought: ImportSummary) -> tuple[int, int, int, int]:
    return brought.new, brought.changed, brought.unchanged, len(brought.problems)


def test_a_folder_is_taken_in_once_however_often_it_is_imported(memory, tmp_path):
    vault = write(tmp_path / "vault", tea="# Tea\n\nAt four.\n", deep__milk="# Milk\n\nLast.\n", empty="\n", bare="---\ntitle: x\n---\n")
    seen: list[tuple[int, int]] = []
    brought = import_notes(memory, vault, project="House Rules", now=NOW, progress=lambda *one: seen.append(one))
    assert counts(brought) == (2, 0, 0, 2)
    assert brought.problems == ["empty.md: empty", "bare.md: it has no text"]
    assert (brought.keys, seen[-1]) == (["house-rules/milk", "house-rules/tea"], (3, 3))
    before = everything(memory.directory)
    assert counts(import_notes(memory, vault, project="House Rules", now=NOW + DAY)) == (0, 0, 2, 2)
    assert everything(memory.directory) == before
    write(vault, tea="# Tea\n\nAt five.\n")
    again = import_notes(memory, vault, project="House Rules", now=NOW + DAY)
    assert (counts(again), again.keys) == ((0, 1, 1, 2), ["house-rules/tea"])
    assert [note.text for note in memory.history("house-rules/tea")] == ["# Tea\n\nAt four."]
    assert memory.recall("tea at five")[0].note.text == "# Tea\n\nAt five."


def test_an_imported_note_is_as_old_as_its_file_and_stays_so(memory, tmp_path):
    vault = write(tmp_path / "vault", old="Of old.\n", new="Of tomorrow.\n")
    talk = vault / "odd: name.jsonl"
    talk.write_text('{"role": "user", "content": "Where is the tea?"}\n{"role": "assistant", "content": "In the pot."}\n')
    then = NOW - 100 * DAY
    for name, moment in (("old.md", then), ("new.md", NOW + DAY), (talk.name, then - DAY)):
        os.utime(vault / name, (moment.timestamp(), moment.timestamp()))
    new, said, old = (memory.get(key) for key in sorted(import_notes(memory, vault, now=NOW).keys))
    assert (old.created, new.created, said.created) == (then, NOW, then - DAY)
    os.utime(vault / "old.md")
    write(vault, new="Of the day after.\n")
    assert counts(import_notes(memory, vault, now=NOW + DAY)) == (0, 1, 2, 0)
    assert (memory.get(old.key).created, memory.get(new.key).created, memory.get(new.key).updated) == (then, NOW, NOW + DAY)


def test_what_was_added_to_an_imported_note_here_is_still_there_after_the_next_import(memory, tmp_path):
    (tmp_path / "net.py").write_text("def one(): ...\n")
    vault = write(tmp_path / "vault", tea="---\ntags: [hot]\n---\n\nTea is served at four.\n", milk="Milk is poured last.\n")
    import_notes(memory, vault, now=NOW)
    memory.edit("general/tea", tags=("drinks",), kind="durable", valid_until=NOW + DAY, about=[])
    memory.archive("general/milk")
    brought = import_notes(memory, vault, now=NOW)
    assert counts(brought) == (0, 1, 1, 0)  # the tag of its file is back beside the new one
    tea = memory.get("general/tea")
    assert (tea.tags, tea.kind, tea.valid_until) == (("drinks", "hot"), "durable", NOW + DAY)
    assert memory.get("general/milk").archived
    write(vault, milk="Milk is poured first.\n")
    assert counts(import_notes(memory, vault, now=NOW)) == (0, 1, 1, 0)
    assert memory.get("general/milk").archived is None
    assert import_notes(memory, vault, kind="skill", now=NOW).changed == 2


def test_a_note_from_elsewhere_is_not_replaced_by_one_of_its_topic(memory, tmp_path):
    mine = memory.remember("I like mine black.", topic="tea")
    theirs = memory.remember("Theirs is green.", topic="Tea (tea.md)")
    vault = write(tmp_path / "vault", tea="# Tea\n\nAt four.\n")
    assert counts(import_notes(memory, vault, now=NOW)) == (1, 0, 0, 0)
    assert counts(import_notes(memory, vault, now=NOW)) == (0, 0, 1, 0)
    assert [memory.get(note.key) for note in (mine, theirs)] == [mine, theirs]
    assert {note.topic for note in memory.list()} == {"tea", "Tea (tea.md)", "Tea (tea.md) 2"}


def test_a_file_with_a_secret_is_refused_by_its_line_and_stored_without_it_on_request(memory, tmp_path):
    vault = write(
        tmp_path / "vault",
        front=f"---\ntitle: Ways in\nwatchword: {TOKEN}\n---\n\nNothing here.\n",
        heading=f"# Use {TOKEN}\n\nAnd no other.\n",
        text=f"---\ntags: [a]\n---\nOne\n\nTwo {TOKEN}\n",
        clean="Clean.\n",
    )
    refused = import_notes(memory, vault, now=NOW)
    assert counts(refused) == (1, 0, 0, 3)
    for name, line in (("front.md", 3), ("heading.md", 1), ("text.md", 6)):
        (problem,) = [one for one in refused.problems if one.startswith(f"{name}: ")]
        assert f"(line {line}: github-token); not stored (--redact stores it without)" in problem
    talk = tmp_path / "talk.jsonl"
    talk.write_text(f'{{"role": "user", "content": "Use {TOKEN}"}}\n')
    assert "of its text: github-token" in import_notes(memory, talk, now=NOW).problems[0]
    assert counts(import_notes(memory, vault, redact=True, now=NOW)) == (3, 0, 1, 0)
    assert counts(import_notes(memory, vault, redact=True, now=NOW)) == (0, 0, 4, 0)
    assert counts(import_notes(memory, talk, redact=True, now=NOW)) == (1, 0, 0, 0)
    memory.close()
    kept = everything(tmp_path / "notes") | everything(tmp_path / "data")
    assert all(TOKEN.encode() not in data and TOKEN.lower() not in name.lower() for name, data in kept.items())


def test_a_conversation_that_grew_replaces_what_was_taken_in_before(memory, tmp_path):
    talk = tmp_path / "talk.jsonl"
    talk.write_text('{"role": "user", "content": "Where is the tea?"}\n')
    assert counts(import_notes(memory, talk, project="app", topic="the tea", now=NOW)) == (1, 0, 0, 0)
    with talk.open("a") as file:
        file.write('{"role": "assistant", "content": "In the pot."}\n')
    (key,) = import_notes(memory, talk, project="app", topic="the tea", now=NOW).keys
    assert (memory.get(key).topic, memory.get(key).kind, len(memory.history(key))) == ("the tea", "session", 1)


def test_the_folder_of_notes_is_not_imported_into_itself(memory):
    put(memory, "Text", "one")
    with pytest.raises(UsageError, match="inside the notes folder"):
        import_notes(memory, memory.directory / "app", now=NOW)
    with pytest.raises(UsageError, match="no such file"):
        import_notes(memory, memory.directory.parent / "nowhere", now=NOW)


# Giving out, and taking in again.


def filled(memory: Memory) -> list[Note]:
    put(memory, LONG, "one", age=3, topic="retries", tags=("a", "b"), source="Ada", valid_until=NOW + DAY)
    put(memory, "Archived long ago.", "two", archived=NOW - DAY)
    put(memory, "A summary.", "three", kind="summary", project="", folder="general")
    by_hand(memory.directory.parent, "web/by hand.md", "Written by hand, with a key of another program.\n")
    return sorted(memory.list(archived=True), key=lambda note: note.key)


@pytest.mark.parametrize("name", ["export", "export.jsonl"])
def test_what_was_exported_comes_back_as_it_was_and_only_once(memory, tmp_path, name):
    notes = filled(memory)
    destination = tmp_path / "out" / name
    assert export_notes(memory, destination) == len(notes) == 4
    first = everything(destination.parent)
    assert export_notes(memory, destination) == 4
    assert everything(destination.parent) == first
    assert counts(import_notes(memory, destination, now=NOW)) == (0, 0, 4, 0)
    with opened(tmp_path / "other") as other:
        assert counts(import_notes(other, destination, now=NOW)) == (4, 0, 0, 0)
        assert sorted(other.list(archived=True), key=lambda note: note.key) == notes
        assert counts(import_notes(other, destination, now=NOW)) == (0, 0, 4, 0)
        assert "".join(f"{line}\n" for line in lines_of(exported_notes(other))) == "".join(
            f"{line}\n" for line in lines_of(exported_notes(memory))
        )


def test_an_old_export_takes_back_nothing_that_was_done_since(memory, tmp_path):
    filled(memory)
    export_notes(memory, tmp_path / "out")
    edited = memory.edit("app/one", text="Now the gateway gives up at once.")
    memory.archive("general/three")
    brought = import_notes(memory, tmp_path / "out", now=NOW)
    assert counts(brought) == (0, 0, 2, 2)
    assert "app/one has a newer version here" in "".join(brought.problems)
    assert memory.get("app/one") == edited
    assert memory.get("general/three").archived


def test_a_newer_export_brings_its_changes(memory, tmp_path):
    notes = filled(memory)
    with opened(tmp_path / "other") as other:
        for note in notes:
            other.put(note)
        other.put(replace(other.get("app/one"), text="Now the gateway gives up at once.", updated=NOW + DAY))
        export_notes(other, tmp_path / "out")
    assert counts(import_notes(memory, tmp_path / "out", now=NOW)) == (0, 1, 3, 0)
    assert [note.text for note in memory.history("app/one")] == [LONG]


def test_an_exported_note_does_not_take_the_place_of_another_of_its_name(memory, tmp_path):
    mine = put(memory, "Mine.", "same", age=5)
    other_name = put(memory, "Tea at four.", "drinks", topic="tea")
    with opened(tmp_path / "other") as other:
        put(other, "Theirs.", "same", age=2)
        put(other, "Tea at five.", "tea", topic="Tea", updated=NOW + DAY)
        export_notes(other, tmp_path / "out")
    assert counts(import_notes(memory, tmp_path / "out", now=NOW)) == (1, 1, 0, 0)
    assert counts(import_notes(memory, tmp_path / "out", now=NOW)) == (0, 0, 2, 0)
    assert memory.get(mine.key) == mine
    assert memory.get(other_name.key).text == "Tea at five."  # a topic is one note, whatever its file is called
    assert sorted(note.text for note in memory.list()) == ["Mine.", "Tea at five.", "Theirs."]


def test_an_export_can_be_narrowed_and_one_of_nothing_leaves_what_is_there(memory, tmp_path):
    filled(memory)
    assert [len(list(exported_notes(memory, **asked))) for asked in ({"project": "app"}, {"archived": False}, {"project": ""})] == [2, 3, 1]
    export_notes(memory, tmp_path / "out")
    before = everything(tmp_path / "out")
    assert export_notes(memory, tmp_path / "out", project="ap") == 0
    assert everything(tmp_path / "out") == before


def test_an_export_is_whole_where_a_person_made_a_file_too_large_and_says_what_is_in_trouble(tmp_path):
    with opened(tmp_path, max_bytes=1_000) as memory:
        by_hand(tmp_path, "app/large.md", "word " * 1_000 + "end\n")
        by_hand(tmp_path, "app/broken.md", "---\nkind: nonsense\n---\n\nText\n")
        by_hand(tmp_path, "app/away.md", "x").unlink()
        (tmp_path / "notes" / "app" / "away.md").symlink_to(tmp_path)
        assert export_notes(memory, tmp_path / "out") == 2
        assert (tmp_path / "out" / "app" / "large.md").read_text().endswith("word end\n")
        assert (tmp_path / "out" / "app" / "broken.md").read_text() == "---\nkind: nonsense\n---\n\nText\n"
        assert [note for note in memory.remarks if note.startswith("app/broken was exported as plain text")]


def test_a_secret_that_a_person_wrote_into_a_file_does_not_leave_with_an_export(memory, tmp_path):
    by_hand(tmp_path, "app/keys.md", f"---\nwatchword: {TOKEN}\n---\n\nUse {TOKEN} there.\n")
    export_notes(memory, tmp_path / "out")
    export_notes(memory, tmp_path / "out.jsonl")
    left = everything(tmp_path / "out") | {"lines": (tmp_path / "out.jsonl").read_bytes()}
    assert all(TOKEN.encode() not in data for data in left.values())
    assert b"there." in left["app/keys.md"]
    assert "app/keys was exported without its secrets" in memory.remarks
    assert TOKEN in memory.get("app/keys").text


def test_an_export_that_cannot_be_written_says_so_in_one_line(memory, tmp_path):
    filled(memory)
    with pytest.raises(UsageError, match="inside the notes folder"):
        export_notes(memory, memory.directory / "backup")
    (tmp_path / "taken.jsonl").mkdir()
    with pytest.raises(StorageError, match=r"cannot write .*taken\.jsonl"):
        export_notes(memory, tmp_path / "taken.jsonl")
    assert list(tmp_path.glob(".write-*")) == []
