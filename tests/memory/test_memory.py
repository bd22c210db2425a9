"""Writing notes: what is stored is what is shown, nothing is lost, and what cannot be stored is refused in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime, timezone
from pathlib import Path

import pytest

from memory.stores import by_hand, opened, slugs, texts
from sample_histories import commit
from sample_trees import git, write
from whence import Memory
from whence.core.errors import QueryError, UsageError, WhenceError
from whence.memory.note import KINDS, Note

#: A token in the form of a service, put together here so that nobody takes this file for a leak.
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
LONG = "A word, a line.\r\n" * 30_000


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    with opened(tmp_path) as memory:
        yield memory


def files(memory: Memory) -> list[str]:
    return sorted(str(path.relative_to(memory.directory)) for path in memory.directory.rglob("*.md"))


def refusal(does: Callable[[], object]) -> WhenceError:
    """The error that something is refused with: one line that a person can read."""
    with pytest.raises(WhenceError) as caught:
        does()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    return caught.value


# What is stored is what is shown (M2).


@pytest.mark.parametrize(
    "text",
    [
        "One line",
        "ends with a line\n",
        "\n\n  begins with lines\n\n\n",
        "windows\r\nlines\r\n",
        "old\rlines\r",
        "---",
        "---\nkind: pack\n---\nlike front matter\n",
        "above\n---\nbelow\n---\n",
        "\ufeffa mark of order",
        "combining e\u0301 and é, 👩\u200d💻, עברית, 日本語, \u202eturned\u202c",
        "separators \x85 \u2028 \u2029 \x0b \x0c and \x1b[31mcolour\x1b[0m",
        "a NUL \0 inside",
        "tabs\t and spaces   \n   ",
        "# Heading\n\n```python\ndef f():\n    return '---'\n```\n",
        "topic: none\ntags: [a\n",
        LONG,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_a_text_is_shown_as_it_was_given(memory, tmp_path, text):
    note = memory.remember(text, topic="verbatim")
    assert note.text == text
    assert memory.get(note.key) == note
    assert texts(memory.recall("verbatim")) == [text]
    with opened(tmp_path) as again:
        assert again.get(note.key) == note


def test_every_field_is_kept(memory, tmp_path):
    note = memory.remember(
        "The lease ends.",
        kind="resource",
        project="Flat: Harbour St. 4",
        topic="Lease, and: what #2 says",
        tags=("home", "#legal", "two words"),
        source='mail of "Ada"',
        valid_from="2026-01-01",
        valid_until="2026-12-31T12:00:00+02:00",
        created="2025-12-24T18:30:00Z",
    )
    with opened(tmp_path) as again:
        read = again.get(note.key)
    assert read == note
    assert (read.kind, read.project, read.topic, read.source) == (
        "resource",
        "Flat: Harbour St. 4",
        "Lease, and: what #2 says",
        'mail of "Ada"',
    )
    assert read.tags == ("home", "legal", "two words")
    assert read.created == datetime(2025, 12, 24, 18, 30, tzinfo=timezone.utc)
    assert read.valid_until == datetime(2026, 12, 31, 10, 0, tzinfo=timezone.utc)


def test_the_same_project_and_topic_replace_what_was_there_and_keep_all_of_it(memory):
    first = memory.remember("Port 80", project="shop", topic="Server port", created="2026-01-01")
    memory.remember("Port 81", project="shop", topic="server  PORT")
    last = memory.remember("Port 82", project="shop", topic="Server port")
    assert first.key == last.key
    assert last.created == first.created
    assert last.updated is not None
    assert texts(memory.recall("server port")) == ["Port 82"]
    assert [note.text for note in memory.history(last.key)] == ["Port 80", "Port 81"]


def test_the_same_topic_elsewhere_is_another_note(memory):
    memory.remember("Of the shop", project="shop", topic="port")
    memory.remember("Of the bank", project="bank", topic="port")
    memory.remember("Of none", topic="port")
    assert sorted(note.text for note in memory.list()) == ["Of none", "Of the bank", "Of the shop"]


def test_projects_whose_names_make_one_folder_do_not_replace_each_other(memory):
    for project in ("C++", "C#", "C"):
        memory.remember(f"Build of {project}", project=project, topic="build")
    assert sorted(note.text for note in memory.list()) == ["Build of C", "Build of C#", "Build of C++"]
    assert [note.text for note in memory.list(project="C#")] == ["Build of C#"]


def test_what_is_said_again_makes_no_new_version(memory):
    note = memory.remember("Port 80", topic="port")
    assert memory.remember("Port 80", topic="port") == note
    assert memory.history(note.key) == []


def test_notes_without_a_topic_never_replace_each_other(memory):
    keys = {memory.remember("The same words").key for _ in range(3)}
    assert len(keys) == 3


# The life of one note.


def test_an_edit_changes_what_is_asked_and_nothing_else(memory):
    note = memory.remember("Port 80", project="shop", topic="port", tags=("a",), created="2026-01-01", valid_until="2099-01-01")
    edited = memory.edit(note.key, text="Port 81", tags=("b", "c"))
    assert (edited.text, edited.tags) == ("Port 81", ("b", "c"))
    assert (edited.key, edited.topic, edited.created, edited.valid_until) == (note.key, note.topic, note.created, note.valid_until)
    assert memory.edit(note.key, valid_until="").valid_until is None
    assert [old.text for old in memory.history(note.key)] == ["Port 80", "Port 81"]
    assert texts(memory.recall("port")) == ["Port 81"]


def test_an_edited_note_is_found_by_its_new_words_and_not_by_the_old(memory):
    note = memory.remember("We meet in the harbour", topic="place")
    memory.edit(note.key, text="We meet at the station")
    assert slugs(memory.recall("station")) == [note.slug]
    assert memory.recall("harbour", strategy="lexical") == []


def test_an_edit_is_refused_when_the_note_is_no_longer_what_was_read(memory, tmp_path):
    note = memory.remember("One", topic="port")
    with opened(tmp_path) as other:
        other.edit(note.key, text="Two")
    with pytest.raises(UsageError, match="has changed since it was read"):
        memory.write(Note("Three", note.slug, topic="port"), expected=note)
    assert memory.get(note.key).text == "Two"


def test_an_archived_note_is_not_recalled_until_it_is_restored(memory):
    note = memory.remember("The old gate code is blue", tags=("gate",))
    archived = memory.archive(note.key)
    assert archived.archived is not None
    assert memory.archive(note.key) == archived
    assert memory.recall("gate code") == []
    assert memory.list() == []
    assert texts(memory.recall("gate code", archived=True)) == [note.text]
    assert memory.restore(note.key) == note
    assert texts(memory.recall("gate code")) == [note.text]


def test_a_forgotten_note_is_gone_with_all_it_was(memory):
    note = memory.remember("Zebra one", topic="zebra")
    memory.remember("Zebra two", topic="zebra")
    kept = memory.remember("Lion")
    assert memory.forget(note.key).text == "Zebra two"
    assert files(memory) == [f"{kept.key}.md"]
    assert memory.recall("zebra", strategy="lexical") == []
    assert memory.remember("Zebra three", topic="zebra").created != note.created or memory.history(note.key) == []
    refusal(lambda: memory.forget("general/never"))


def test_after_the_last_note_is_forgotten_there_is_nothing_to_recall(memory):
    assert memory.recall("budget of last week") == []
    memory.forget(memory.remember("A budget").key)
    assert memory.recall("budget") == []
    assert memory.recall("yesterday") == []
    assert memory.list() == []
    assert memory.stale() == []


def test_a_note_whose_file_was_deleted_by_hand_still_has_its_past_which_can_be_forgotten(memory):
    note = memory.remember("One", topic="port")
    memory.remember("Two", topic="port")
    (memory.directory / f"{note.key}.md").unlink()
    assert memory.recall("port") == []
    assert [old.text for old in memory.history(note.key)] == ["One"]
    memory.forget(note.key)
    assert files(memory) == []


def test_a_note_is_asked_for_by_its_key_or_by_its_name_where_that_is_enough(memory):
    one = memory.remember("One", project="shop", topic="port")
    assert memory.get("shop/port") == memory.get("port") == memory.get("shop/port.md") == one
    memory.remember("Two", project="bank", topic="port")
    assert "bank/port; shop/port" in str(refusal(lambda: memory.get("port")))
    assert "shop/port" in str(refusal(lambda: memory.get("shop/prot")))
    assert memory.get("bank/port").text == "Two"


@pytest.mark.parametrize(
    "key", ["", "/", "..", "../up", "general/../../etc", "a/b/c", "general/\0", "\udcff", "x" * 5000, ".lock", "general/.history"]
)
def test_what_is_no_key_is_refused(memory, key):
    memory.remember("One")
    refusal(lambda: memory.get(key))
    refusal(lambda: memory.forget(key))
    assert len(memory.list()) == 1


def test_a_handoff_is_of_a_branch_and_replaces_the_one_before(tmp_path, monkeypatch):
    root = write(tmp_path / "shop", {"a.py": "x = 1\n"})
    git("init", "--quiet", "--initial-branch=payments", cwd=root)
    commit(root, "begin")
    monkeypatch.chdir(root)
    with opened(tmp_path) as memory:
        memory.handoff("Half done")
        last = memory.handoff("Nearly done", tags=("x",))
        memory.handoff("Of another", branch="cart")
        assert (last.kind, last.project, last.topic, last.tags) == ("handoff", "shop", "handoff payments", ("x",))
        assert sorted(note.text for note in memory.list(kinds=("handoff",))) == ["Nearly done", "Of another"]


def test_a_handoff_needs_a_branch(memory):
    assert "branch" in str(refusal(lambda: memory.handoff("Half done")))
    assert files(memory) == []


# Wrong requests: one line, and nothing is stored.


@pytest.mark.parametrize(
    "text", ["", " \n\t ", "word " * 4_000_000, "half of a character \ud800"], ids=["empty", "blank", "20 MB", "surrogate"]
)
def test_a_text_that_cannot_be_a_note_is_refused(memory, text):
    refusal(lambda: memory.remember(text))
    assert files(memory) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "secret"},
        {"kind": ""},
        {"topic": "\udcff"},
        {"created": "yesterday-ish"},
        {"valid_from": "2026-02-30"},
        {"valid_until": "9999-12-31T23:59:59-10:00"},
        {"valid_from": "0001-01-01T00:00:00+14:00"},
        {"valid_from": 5},
        {"valid_from": "2026-02-02", "valid_until": "2026-02-01"},
        {"valid_from": "2026-02-02", "valid_until": "2026-02-02"},
        {"about": ["src/app.py"]},
    ],
    ids=str,
)
def test_wrong_fields_are_refused(memory, fields):
    refusal(lambda: memory.remember("Text", **fields))
    assert files(memory) == []
    note = memory.remember("Text")
    if fields.keys() <= {"kind", "topic", "valid_from", "valid_until"}:
        refusal(lambda: memory.edit(note.key, **fields))
        assert memory.get(note.key) == note


def test_an_unknown_kind_is_told_what_is_allowed(memory):
    assert all(kind in refusal(lambda: memory.remember("Text", kind="memo")).hint for kind in KINDS)


@pytest.mark.parametrize(
    "asked",
    [
        {"k": 0},
        {"k": True},
        {"k": "3"},
        {"k": 10**9},
        {"strategy": "magic"},
        {"profile": "magic"},
        {"kinds": ("memo",)},
        {"max_distance": -1},
        {"max_distance": "near"},
        {"max_distance": float("nan")},
        {"max_distance": 0.5, "strategy": "lexical"},
        {"since": "sometime"},
        {"until": "2026-13-01"},
        {"since": 5},
        {"as_of": "0001-01-01T00:00:00+14:00"},
        {"as_of": "soon"},
        {"colour": "red"},
    ],
    ids=str,
)
def test_wrong_options_are_refused_before_any_work_on_every_path(memory, asked):
    refusal(lambda: memory.recall("anything", **asked))
    refusal(lambda: memory.rank("anything", **asked))
    refusal(lambda: memory.list(**asked))
    memory.remember("anything")
    refusal(lambda: memory.recall("anything", **asked))


@pytest.mark.parametrize("query", ["", "  \n"])
def test_an_empty_question_is_refused(memory, query):
    with pytest.raises(QueryError):
        memory.recall(query)


@pytest.mark.parametrize(
    "query", ["'", '"; DROP TABLE notes; --', "a AND (b", "*", "\0", "\udcff\ud800", "?!", "word " * 25_000, "🎉", "-", "%", "the of and"]
)
def test_any_question_is_safe(memory, query):
    note = memory.remember("We drop the table of notes")
    memory.recall(query)
    memory.recall(query, profile="classic", topic=query, tags=(query,), project=query)
    assert memory.get(note.key) == note


def test_one_word_where_a_list_is_wanted_is_that_one_word(memory):
    assert memory.remember("Boiler", tags="home").tags == ("home",)
    assert texts(memory.recall("boiler", tags="home", kinds="durable")) == ["Boiler"]


# Names.


@pytest.mark.parametrize(
    "name", ["a/b", "../up", "..", ".hidden", "Größe", "日本語", "CON", "x" * 300, "a\\b", "tab\tand\nline", "🎉", "-", "#1: \"x\" & 'y'"]
)
def test_any_name_of_a_project_and_a_topic_is_kept_and_leads_nowhere_else(memory, tmp_path, name):
    note = memory.remember("About the harbour", project=name, topic=name)
    assert (note.project, note.topic) == (name.strip(), name.strip())
    assert files(memory) == [f"{note.key}.md"]
    assert len(Path(note.key).parts) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "notes"]
    memory.remember("About the station", project=name, topic=name)
    with opened(tmp_path) as again:
        assert texts(again.recall("about", project=name, topic=name, any_time=True) or again.recall("station", project=name)) == [
            "About the station"
        ]
        assert [old.text for old in again.history(note.key)] == ["About the harbour"]


def test_moments_of_python_are_taken_as_dates_and_days_are_refused_by_name(memory):
    note = memory.remember("Text", valid_from=datetime(2026, 1, 1, tzinfo=timezone.utc), valid_until=datetime(2027, 1, 1))  # noqa: DTZ001
    assert note.valid_until == datetime(2027, 1, 1, tzinfo=timezone.utc)
    assert "valid_from" in str(refusal(lambda: memory.remember("Text", valid_from=date(2026, 1, 1))))


# A clock that goes backwards.


def test_a_note_is_never_changed_before_it_was_made(memory):
    made = memory.remember("One", topic="port", created="2090-01-01")
    replaced = memory.remember("Two", topic="port")
    edited = memory.edit(made.key, text="Three")
    archived = memory.archive(made.key)
    assert made.created == replaced.created == edited.created
    assert replaced.updated >= made.created
    assert edited.updated >= replaced.updated
    assert archived.archived >= made.created


# Secrets (Z10).


def test_a_secret_is_refused_by_its_line_and_kind_and_nothing_is_stored(memory, tmp_path):
    error = refusal(lambda: memory.remember(f"Deploy with\n\nthe token {TOKEN}\n"))
    assert "line 3: github" in str(error)
    assert TOKEN not in str(error)
    assert files(memory) == []
    note = memory.remember("Deploy", topic="deploy")
    refusal(lambda: memory.edit(note.key, text=f"now {TOKEN}"))
    refusal(lambda: memory.put(Note(f"now {TOKEN}", "")))
    refusal(lambda: memory.handoff(f"now {TOKEN}", branch="main"))
    assert not leaked(tmp_path)


def test_a_secret_can_be_stored_without_itself(memory, tmp_path):
    note = memory.remember(f"Deploy with {TOKEN} on Friday", redact=True)
    assert note.text.startswith("Deploy with [redacted: github")
    assert note.text.endswith("] on Friday")
    assert memory.edit(note.key, text=f"Not {TOKEN}", redact=True).text.startswith("Not [redacted: ")
    assert not leaked(tmp_path)


@pytest.mark.parametrize(
    "fields", [{"topic": f"token {TOKEN}"}, {"tags": (TOKEN,)}, {"source": f"curl {TOKEN}"}, {"project": TOKEN}], ids=min
)
def test_a_secret_beside_the_text_is_refused_too(memory, tmp_path, fields):
    refusal(lambda: memory.remember("Deploy", **fields))
    note = memory.remember("Deploy")
    if "project" not in fields:
        refusal(lambda: memory.edit(note.key, **fields))
    assert not leaked(tmp_path)


def test_a_secret_that_a_person_wrote_into_a_file_does_not_get_into_the_index(memory, tmp_path):
    by_hand(tmp_path, "general/deploy.md", f"---\ntopic: deploy {TOKEN}\n---\n\nThe token of the deploy is {TOKEN}, renew it.\n")
    assert slugs(memory.recall("token of the deploy")) == ["deploy"]
    memory.close()
    assert not leaked(tmp_path / "data")


def leaked(place: Path) -> list[Path]:
    """Files that hold the token, however its letters are written and joined."""
    forms = {form.encode() for form in (TOKEN, TOKEN.lower(), TOKEN.replace("_", ""), TOKEN.replace("_", "").lower())}
    return [path for path in place.rglob("*") if path.is_file() and any(form in path.read_bytes() for form in forms)]


def test_only_their_owner_can_read_notes_and_what_is_derived_from_them(memory, tmp_path, monkeypatch):
    monkeypatch.setattr("whence.memory.index.MAX_TAIL", 1)
    for number in range(3):
        memory.remember(f"Budget {number}")
    memory.recall("budget")
    derived = [path for path in (tmp_path / "data" / "memory").rglob("*") if path.is_file()]
    assert any(path.suffix == ".arrays" for path in derived)
    for path in [*derived, *memory.directory.rglob("*.md")]:
        assert path.stat().st_mode & 0o077 == 0, path
