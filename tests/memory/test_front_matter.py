"""A note's file: what is written is read again, and what a person wrote is understood or told."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from campaigns import examples
from small_cases import each
from whence.core.errors import UsageError
from whence.memory import front_matter
from whence.memory.front_matter import normalized, parse, render
from whence.memory.note import GENERAL, KINDS, CodeRef, Note

NOON = datetime(2026, 11, 16, 12, 0, 0, tzinfo=timezone.utc)

ODD = st.one_of(
    st.text(),
    st.text(alphabet="-#:'\"\\\n\r\t {}[],&*!|>%@`?~=.019enulTZ\x00\x7f\x85\u2028\ufeff\uffff😀é", max_size=12),
    st.sampled_from(
        ["no", "1.10", "null", "~", "2026-11-16", "0x1F", "1e5", "12:30", "a: b", "a #b", "-", "- a", "---", "<<", "x" * 5_000]
    ),
)
TIMES = st.none() | st.datetimes(timezones=st.sampled_from([timezone.utc, timezone(timedelta(hours=-7))])).filter(
    lambda time: 1 < time.year < 9999
)
ABOUT = st.builds(CodeRef, ODD, ODD, ODD)
NOTES = st.builds(
    Note,
    text=ODD,
    slug=st.just("a-note"),
    project=ODD,
    topic=ODD,
    kind=st.sampled_from(KINDS),
    tags=st.lists(ODD, max_size=4).map(tuple),
    source=ODD,
    created=TIMES,
    updated=TIMES,
    valid_from=TIMES,
    valid_until=TIMES,
    about=st.lists(ABOUT, max_size=2).map(tuple),
    archived=TIMES,
    other=st.sampled_from([(), (("title", "title: theirs"), ("date", "date: 2020-01-01")), (("aliases", "aliases:\n  - a: [1,\n   2]"),)]),
    folder=st.sampled_from([GENERAL, "shop"]),
)


def written(note: Note) -> bytes:
    return render(note).encode()


def read(text: str | bytes, folder: str = "shop") -> Note:
    return parse(text.encode() if isinstance(text, str) else text, folder=folder, slug="a-note")


@given(NOTES)
@example(Note("", "a-note"))
@example(Note("---\ntopic: none\n---\n", "a-note", folder="shop"))
@example(Note("\r\n\r\ntext\r\n\n", "a-note"))
@example(Note("\ufeff\n", "a-note", topic="\U0001f600 \ud7ff"))
def test_a_note_that_is_written_is_read_as_it_was(note):
    assert read(written(note), note.folder) == normalized(note)


@given(NOTES)
def test_other_programs_read_the_same_words(note):
    front = render(note).split("\n---\n", 1)[0].removeprefix("---\n")
    seen = yaml.safe_load(front)
    note = normalized(note)
    assert seen.get("topic", "") == note.topic
    assert seen.get("tags", []) == list(note.tags)
    assert seen.get("about", []) == [
        {key: getattr(one, key) for key in ("code", "hash", "repository") if key == "code" or getattr(one, key)} for one in note.about
    ]


@given(NOTES)
def test_the_short_way_reads_what_the_long_way_reads(note):
    front = render(replace(note, about=(), other=())).split("\n---\n", 1)[0].removeprefix("---\n") + "\n"
    short = front_matter._simple_entries(front)
    if short is not None:
        assert (short, []) == front_matter._yaml_entries(front)


@given(st.text(alphabet='projectgskind:[], "\\abu0d-#\n', max_size=40))
def test_the_short_way_never_reads_anything_else(text):
    front = f"topic: {text}\n"
    short = front_matter._simple_entries(front)
    if short is not None:
        assert (short, []) == front_matter._yaml_entries(front)


def test_the_file_is_one_that_a_person_would_write():
    note = Note(
        "The cache is off.\nIt lied.",
        "cache",
        project="shop",
        topic="Cache: why off",
        tags=("perf", "no", "a, b"),
        source="review #7",
        created=NOON,
        updated=NOON + timedelta(seconds=90, microseconds=5),
        about=(CodeRef("src/app.py#Cache.get", "0123456789012345", "/srv/shop"), CodeRef("src/b.py")),
        folder="shop",
    )
    assert render(note) == (
        "---\n"
        "project: shop\n"
        'topic: "Cache: why off"\n'
        "kind: durable\n"
        'tags: [perf, "no", "a, b"]\n'
        'source: "review #7"\n'
        "created: 2026-11-16T12:00:00Z\n"
        "updated: 2026-11-16T12:01:30Z\n"
        "about:\n"
        "  - code: src/app.py#Cache.get\n"
        '    hash: "0123456789012345"\n'
        "    repository: /srv/shop\n"
        "  - code: src/b.py\n"
        "---\n"
        "\n"
        "The cache is off.\n"
        "It lied.\n"
    )


def test_a_file_without_front_matter_is_a_note_of_its_folder():
    assert read("# Heading\n\nText.\n") == Note("# Heading\n\nText.", "a-note", project="shop", folder="shop")
    assert read("Text", GENERAL) == Note("Text", "a-note")
    assert read(b"") == Note("", "a-note", project="shop", folder="shop")


@each("text", ["---\n\nA rule above.\n\n---\n\nAnd below.", "---\nnot a key\n", "---", "----\na: b\n---\n", "---\n- a list\n---\n"])
def test_a_rule_at_the_top_is_no_front_matter(text):
    note = read(text)
    assert note.text == text.removesuffix("\n")
    assert not note.problem


def test_a_file_made_on_windows_is_read_like_any_other():
    assert read("\ufeff---\r\ntopic: a b\r\nmine: |\r\n  x\r\n---\r\n\r\nOne\r\nTwo\r\n") == Note(
        "One\r\nTwo", "a-note", project="shop", topic="a b", other=(("mine", "mine: |\n  x"),), folder="shop"
    )


@each(
    ("value", "expected"),
    [
        ("2026-11-16", "2026-11-16T00:00:00"),
        ("2026-11-16T10:30:00Z", "2026-11-16T10:30:00"),
        ("2026-11-16 10:30", "2026-11-16T10:30:00"),
        ("2026-11-16t10:30:00.75z", "2026-11-16T10:30:00"),
        ("2026-11-16T10:30:00+02:00", "2026-11-16T08:30:00"),
        ("2026-11-16 23:30:00 -0730", "2026-11-17T07:00:00"),
        ("'2026-1-2'", "2026-01-02T00:00:00"),
    ],
)
@each("key", ["created", "date", "valid-from"])
def test_a_time_is_read_in_the_usual_forms(key, value, expected):
    note = read(f"---\n{key}: {value}\n---\n")
    assert (note.valid_from if key == "valid-from" else note.created) == datetime.fromisoformat(expected + "+00:00")


@pytest.mark.parametrize("value", ["[a, b c]", "\n  - a\n  - b c", "a, a,"])
def test_tags_are_read_as_a_list_or_as_words(value):
    assert read(f"---\ntags: {value}\n---\n").tags == (("a",) if value == "a, a," else ("a", "b c"))


def test_tags_lose_their_mark():
    assert read('---\ntags: "#one #two/three"\n---\n').tags == ("one", "two/three")
    assert read('---\ntags: ["#one"]\n---\n').tags == ("one",)


def test_words_stay_words():
    note = read("---\ntopic: no\nsource: 1.10\ntags: [yes, 0o17, 2026-01-01]\n---\n")
    assert (note.topic, note.source, note.tags) == ("no", "1.10", ("yes", "0o17", "2026-01-01"))


def test_a_title_is_the_topic_where_there_is_none_and_stays():
    note = read("---\ntitle: Theirs\ndate: someday\n---\n\nText\n")
    assert note.topic == "Theirs"
    assert note.created is None
    assert read("---\ntitle: Theirs\ntopic: Ours\n---\n").topic == "Ours"
    assert "title: Theirs\ndate: someday\n" in render(note)


FOREIGN = """\
# made by hand
aliases:
  - nested: {a: [1, 2,
      3]}
    text: |+
      kept


cssclass: "😀 é" # here
# and here
"quoted key": *anchor
topic: mine
# the end
"""


def test_keys_and_comments_of_others_survive_a_change():
    note = read(f"---\n{FOREIGN}---\n\nText\n")
    assert not note.problem
    changed = render(replace(note, topic="other", text="New"))
    for line in FOREIGN.splitlines():
        assert (f"\n{line}\n" in changed) != (line == "topic: mine")
    assert "      kept\n\n\ncssclass" in changed
    assert read(changed) == replace(note, topic="other", text="New")


@settings(max_examples=examples(40))
@given(
    st.dictionaries(
        st.text(),
        st.recursive(
            st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=4
        ),
        min_size=1,
    )
)
def test_whatever_another_program_writes_survives(data):
    theirs = yaml.safe_dump({f"x{key}": value for key, value in data.items()}, allow_unicode=True)
    text = f"---\n{theirs}---\n\nText\n"
    note = read(text)
    if "\n? " in text:  # a key so odd that it does not begin its line: nothing is understood, and nothing lost
        assert note.text in (text, text[:-1])
        return
    again = render(replace(note, topic="added"))
    assert read(again) == replace(note, topic="added")
    assert yaml.safe_load(again.split("\n---\n", 1)[0].removeprefix("---\n")) == {
        "project": "shop",
        "topic": "added",
        "kind": "durable",
        **yaml.safe_load(theirs),
    }


@each(
    ("front", "says"),
    [
        ("topic: [a", "line 3: not YAML"),
        ("topic: a\ntopic: b", "line 3: `topic` is given twice"),
        ("topic: a\nkind: blog", "line 3: kind: 'blog' is not one of durable, session"),
        ("created: soon", "line 2: created: 'soon' is not a time"),
        ("created: 2026-02-30", "line 2: created: '2026-02-30' is not a valid time"),
        ("created: 0001-01-01T00:00+09:00", "line 2: created"),
        ("topic: [a]", "line 2: topic: must be text"),
        ("tags: {a: b}", "line 2: tags: must be a list of words"),
        ("about: {path: a}", "line 2: about: must be a list of `code`"),
        ("about: [[a]]", "line 2: about"),
        ("topic: *gone", "line 2: topic: must be text"),
        ("a: \x01", "line 2: not YAML"),
        ("{topic: a}", "line 2: front matter needs one `key: value` per line"),
        ('"a: b"', "line 2: front matter needs one"),
        ("  topic: a", "line 2: a key must start at the beginning of its line"),
        ("topic: a\n\tb: c", "line 3"),
        ("a: " + "[" * 50_000 + "]" * 50_000, "line 2: nested too deep"),
        ("a:\n " + "- " * 50_000 + "b", "line 3: nested too deep"),
    ],
)
def test_a_broken_front_matter_is_told_with_its_line(front, says):
    text = f"---\n{front}\n---\n\nText\n"
    note = read(text)
    assert note.problem.startswith(says)
    assert "\n" not in note.problem
    assert (note.text, note.project, note.key) == (text, "shop", "shop/a-note")
    assert render(note) == text


def test_a_front_matter_without_an_end_is_told():
    assert read("---\ntopic: a\n\nText").problem == "line 1: the front matter is not closed by a line with `---` alone"


def test_bytes_that_are_no_text_are_told_with_their_line():
    note = read(b"---\ntopic: a\n---\n\nol\xe9\n")
    assert note.problem == "line 5: not UTF-8"
    assert note.text.endswith("ol\ufffd\n")


@given(st.binary() | st.binary().map(b"---\n".__add__) | st.text().map(lambda text: f"---\na: {text}\n---\n{text}".encode()))
def test_no_bytes_are_refused(data):
    note = read(data)
    assert note.problem or read(written(note)) == note


def test_a_time_that_no_calendar_has_in_utc_is_refused():
    with pytest.raises(UsageError, match="cannot be expressed in UTC"):
        render(Note("", "a", created=datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))))
