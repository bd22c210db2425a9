"""What holds for any input: round trips, words that are the same on both sides, budgets, secrets, roots, and the sum behind a score."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns import examples
from sample_trees import write
from whence import Index
from whence.app.budget import fit_document, fit_json
from whence.app.presenters.text import Document
from whence.app.workspace import AllowedRoots
from whence.core.errors import UsageError, WhenceError
from whence.core.settings import load
from whence.memory import front_matter
from whence.memory.note import KINDS, CodeRef, Note
from whence.query.filters import check_glob
from whence.query.parser import clean_paste, parse_operators, path_predicate
from whence.query.patterns import compile_pattern
from whence.query.plan import make_plan
from whence.storage.arrayfile import ArrayFile, write_arrays
from whence.text import analyzer
from whence.text.secrets import find_secrets, redact_secrets
from whence.text.token_estimate import count_tokens

often = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
any_text = st.text(st.characters(exclude_categories=()), max_size=120)
#: Text as a file can hold it: whole characters.
whole_text = st.text(st.characters(exclude_categories=("Cs",)), max_size=120)
word = st.text("abcdefghijklmnopqrstuvwxyzABCXYZ_éßİ漢字09", min_size=1, max_size=14)
times = st.none() | st.datetimes(datetime(1970, 1, 1), datetime(9000, 1, 1), timezones=st.just(timezone.utc))  # noqa: DTZ001


# Words.
@often
@given(st.lists(word, min_size=1, max_size=8), st.sampled_from([" ", ", ", "\n", "(", " = ", "\t"]))
def test_a_word_is_found_under_the_same_terms_in_a_text_and_in_a_query(words, between):
    text = between.join(words)
    written = {term for one in analyzer.words(text) for term in analyzer.terms(one)}
    with suppress(WhenceError):
        asked = {term.text for term in make_plan(text, decay=0.05, quoted=1.0).terms}
        assert asked <= written


@often
@given(any_text)
def test_every_word_of_a_text_is_a_word_by_itself(text):
    for one in analyzer.words(text):
        assert analyzer.words(one) == [one]
        assert all(analyzer.terms(one)) or not analyzer.parts(one)
    assert analyzer.stem(text) or not text


# Queries.
plain_word = st.text("abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=9).filter(lambda one: one not in ("or", "and", "not"))


@often
@given(st.lists(plain_word, min_size=2, max_size=14), st.sampled_from("?.!"))
def test_a_plain_sentence_is_never_an_operator(words, end):
    asked = parse_operators(" ".join(words).capitalize() + end)
    assert asked.is_plain
    assert asked.text == asked.query


@often
@given(
    any_text
    | st.lists(st.sampled_from('a "b c" /d+/ -e path:f OR ( ) lang:go " / -( kind:class in:notes'.split(" ")), max_size=9).map(" ".join)
)
def test_any_query_is_read_or_refused_with_a_caret_under_it(query):
    try:
        asked = parse_operators(query)
    except UsageError as error:
        assert str(error).splitlines()[-1].strip() == "^"  # noqa: PT017  -- either way is right
    else:
        assert asked.is_plain or asked.reading.startswith("read as: ")


globs = st.lists(st.sampled_from(["*", "**", "a", "/", "?", "[a-z]", "[z-a]", "[", "]", "!", ".py"]), min_size=1, max_size=14).map("".join)


@often
@given(globs)
def test_any_glob_is_refused_or_soon_tried_on_a_long_name(glob):
    try:
        check_glob(glob)
    except UsageError:
        return
    begun = time.process_time()
    for name in ("a" * 250, "/".join("a" * 120)):
        path_predicate(glob)(name)
    assert time.process_time() - begun < 1.0


@often
@given(any_text.filter(str.strip))
def test_the_question_in_a_text_is_never_empty(text):
    assert clean_paste(text).text.strip()


@often
@given(whole_text.filter(bool), st.booleans(), st.booleans())
def test_a_fixed_pattern_finds_itself_and_any_pattern_is_answered_or_refused(pattern, word, ignore_case):
    line = pattern.split("\n")[0]
    if line:
        assert compile_pattern(line, fixed=True).matching_lines(f"x {line}") == [1]
    with suppress(WhenceError):
        compile_pattern(pattern, word=word, ignore_case=ignore_case).matching_lines(pattern)


def test_a_long_pattern_of_sets_that_never_end_is_refused_at_once():
    begun = time.process_time()
    with pytest.raises(UsageError, match="bad pattern"):
        compile_pattern("[[:alph " * 12_500)
    assert time.process_time() - begun < 1.0


# Notes and settings.
@often
@given(whole_text, whole_text, whole_text, st.lists(whole_text, max_size=3), st.sampled_from(KINDS), st.tuples(*[times] * 5), whole_text)
def test_a_note_is_read_back_as_it_was_written(text, topic, project, tags, kind, when, code):
    created, updated, first, last, archived = when
    about = (CodeRef(code, "12ab", "/home/ada"),) if code else ()
    when_known = {"created": created, "updated": updated, "valid_from": first, "valid_until": last, "archived": archived}
    note = Note(text, "slug", project, "", topic, kind, tuple(tags), "source", about=about, folder="shop", **when_known)
    written = front_matter.render(note)
    assert front_matter.parse(written.encode(), folder="shop", slug="slug") == front_matter.normalized(note)


@often
@given(
    st.binary(max_size=120)
    | st.lists(st.sampled_from(["---\n", "topic: a\n", "tags: [", "x", "]\n", "\r\n", "- ", ": ", "&a"]), max_size=9)
    .map("".join)
    .map(str.encode)
)
def test_a_file_that_is_no_note_keeps_its_bytes(data):
    note = front_matter.parse(data, folder="shop", slug="slug")
    if note.problem:
        assert (
            front_matter.render(note)
            == note.text
            == data.decode("utf-8", "replace").removeprefix("\ufeff" if "UTF-8" not in note.problem else "")
        )
    else:
        assert front_matter.parse(front_matter.render(note).encode(), folder="shop", slug="slug") == front_matter.normalized(note)


@often
@given(
    st.dictionaries(
        st.sampled_from(["search.k", "index.hidden", "index.lock_wait", "index.model", "search.profile", "no.such"]),
        any_text | st.integers() | st.floats(),
    )
)
def test_any_value_of_a_setting_is_taken_or_refused_by_its_name(given_values):
    try:
        chosen, told = load(command_line=given_values)
    except UsageError as error:
        assert any(name in str(error) for name in given_values)  # noqa: PT017  -- either way is right
    else:
        assert 1 <= chosen.search.k <= 10_000
        assert {one.name for one in told if one.source == "command line"} == set(given_values)


def test_a_settings_file_that_is_hostile_is_refused_in_one_line(tmp_path):
    digits, nested = "1" * 5_000, "[" * 5_000
    for text in (
        f"[search]\nk = {digits}",
        f"[index]\nlock_wait = 1{'0' * 400}",
        f"[search]\nk = 0x{'f' * 5_000}",
        f"k = {nested}",
        "a." * 5_000 + "a = 1",
    ):
        (tmp_path / ".whence.toml").write_text(text)
        with pytest.raises(UsageError) as refused:
            load(root=tmp_path)
        assert len(str(refused.value).splitlines()) == 1
        assert len(str(refused.value)) < 1_000
    (tmp_path / ".whence.toml").unlink()
    os.mkfifo(tmp_path / ".whence.toml")
    with pytest.raises(UsageError, match="no file of settings"):
        load(root=tmp_path)


# Budgets.
any_json = st.recursive(
    st.none() | st.integers() | any_text,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


@often
@given(any_json, st.lists(any_text, max_size=20).map("\n".join), st.integers(60, 400))
def test_no_output_is_larger_than_its_budget_and_fitted_json_is_json(value, text, budget):
    for made in (fit_json(value, budget, rest="ask for more"), fit_document(Document([[text]]), budget, rest="ask for more")):
        assert count_tokens(made.text) <= budget
        assert made.tokens <= budget
    json.loads(fit_json(value, budget, rest="ask for more").text)


# Secrets.
@often
@given(whole_text, st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", min_size=16, max_size=16), whole_text)
def test_a_redacted_text_has_no_secret(before, letters, after):
    secret = f"AKIA{letters}"
    text = f"{before}\naws_key = {secret}\n{after}"
    found = find_secrets(text)
    if found:  # a key may by chance look like one that stands in for others
        clean = redact_secrets(text, found)
        assert all(text[one.start : one.end] not in clean for one in found if one.end - one.start > 12)
        assert not [one for one in find_secrets(clean) if secret in clean[one.start : one.end]]


# Roots.
steps = st.sampled_from(["..", ".", "shop", "link", "outside", "", "~", "\0", "a" * 300, "cart.py"])


@often
@given(st.lists(steps, max_size=6), st.booleans())
def test_no_path_leads_out_of_the_roots(tmp_path, parts, absolute):
    root, outside = (tmp_path / "root").resolve(), tmp_path / "outside"
    if not root.exists():
        write(root, {"shop/cart.py": "x = 1\n"})
        write(outside, {"cart.py": "y = 2\n"})
        (root / "link").symlink_to(outside)
    written = "/".join(parts)
    try:
        found, below = AllowedRoots([root]).locate(f"{root}/{written}" if absolute else written)
    except UsageError:
        return
    assert (found / below).resolve().is_relative_to(root)


# Scores.
@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    files = {
        f"lib/part_{n}.py": f"class Part{n}:\n    def total(self, price):\n        return price * {n}\n\n\ndef pay_{n}(cart):\n    pass\n"
        for n in range(6)
    }
    root = write(tmp_path_factory.mktemp("small"), files)
    with Index.open(root, data_dir=tmp_path_factory.mktemp("data")) as index:
        yield index


@settings(max_examples=examples(25), deadline=None)
@given(
    query=st.lists(
        st.sampled_from("total price part3 pay cart class path:lib -part1 Part2 return walrus".split()), min_size=1, max_size=5
    ).map(" ".join)
)
def test_every_score_is_what_its_ledger_adds_up_to(small, query):
    with suppress(WhenceError):
        for result in small.search(query, k=4):
            score = 0.0
            for line in result.why:
                score = score + line.contribution if line.operation == "+" else score * line.contribution
            assert score == pytest.approx(result.score, rel=1e-9, abs=1e-12)


# Files of an index.
hostile_type = st.sampled_from(["<u4", "|O", "<i4,<f8", "1" * 5_000, "(2,2)<i4", "|V9", "", "<M8[ns]", 5, None, ["a"]])


@often
@given(hostile_type, st.integers(-2, 40) | st.sampled_from([1 << 31, 1 << 63, 10**30]), st.integers(-70, 70) | st.just(1 << 63))
def test_a_file_of_arrays_is_read_or_refused_whatever_its_header_says(tmp_path, kind, size, offset):
    import numpy as np

    path = Path(tmp_path) / "some.arrays"
    write_arrays(path, {"a": np.arange(8, dtype=np.uint32)}, {})
    data = path.read_bytes()
    length = int.from_bytes(data[8:16], "little")
    header = json.dumps({"facts": {}, "arrays": {"a": [kind, size, offset]}}).encode()
    body = data[-(-(16 + length) // 64) * 64 :]
    path.unlink()
    head = data[:8] + len(header).to_bytes(8, "little") + header
    path.write_bytes(head + b"\0" * (-len(head) % 64) + body)
    with suppress(WhenceError):
        assert ArrayFile(path)["a"].nbytes <= len(body)
