"""What is recalled, in which order, and what is said of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import fields
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from memory.stores import by_hand, opened, slugs, texts
from sample_trees import git, write
from whence import Memory
from whence.core.errors import QueryError
from whence.memory.note import CATEGORIES, KINDS
from whence.memory.recall import RecalledNote, RecallResponse
from whence.memory.request import RecallOptions, RecallRequest

NOON = datetime.now(timezone.utc).replace(hour=12, minute=0, second=0, microsecond=0)
#: Everyday notes that have little to do with each other.
HOUSEHOLD = {
    "boiler": "The heating engineer comes every October and needs the key of the cellar.",
    "cat food": "Our cat only eats tuna and gets ill from milk.",
    "bread": "Flour, water and salt; the dough rests over night.",
    "garden": "Tomatoes want sun, the roses were cut in March.",
    "car": "The winter tyres lie in the garage of my brother.",
    "wifi": "The router stands behind the piano and has to be restarted on Sundays.",
}


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    with opened(tmp_path) as memory:
        yield memory


@pytest.fixture
def household(memory: Memory) -> Memory:
    for topic, text in HOUSEHOLD.items():
        memory.remember(text, topic=topic)
    return memory


def strengths(found: list[RecalledNote]) -> dict[str, float]:
    """What the words of each note are worth by the rule M3; the rest of a score is its semantic part."""
    for one in found:
        assert one.score == pytest.approx(sum(line.contribution for line in one.why if line.operation == "+"))
    return {one.note.slug: pytest.approx(one.score - one.semantic) for one in found}


def ago(**how_long: float) -> datetime:
    return NOON - timedelta(**how_long)


def test_the_keywords_of_a_recall_are_the_fields_of_its_request():
    assert list(RecallOptions.__annotations__) == [field.name for field in fields(RecallRequest)][1:]


# The classic profile, by numbers (M3).


def test_strength_is_the_sum_of_what_each_shared_word_tells_and_a_word_of_the_name_counts_threefold(memory):
    memory.remember("The gateway follows it", topic="payment spec")
    memory.remember("One spec of the gateway", topic="design respec notes")
    memory.remember("Soup and bread", topic="lunch")
    memory.remember("A gateway drug", topic="song")
    found = memory.recall("spec gateway", profile="classic", k=2)
    assert strengths(found) == {"payment-spec": 3 / 2 + 1 / 3, "design-respec-notes": 1 / 2 + 1 / 3}
    assert slugs(found) == ["payment-spec", "design-respec-notes"]


def test_only_notes_that_may_be_found_are_counted(memory):
    memory.remember("The spec is here", project="shop", topic="one")
    memory.remember("The spec is there", project="shop", topic="two")
    memory.remember("Another spec", project="bank", topic="three")
    memory.remember("A spec in a pack", project="shop", topic="four", kind="pack")
    memory.archive(memory.remember("An old spec", project="shop", topic="five").key)
    assert strengths(memory.recall("spec", profile="classic", project="shop")) == {"one": 1 / 2, "two": 1 / 2}
    assert strengths(memory.recall("spec", profile="classic", project="bank")) == {"three": 1}


def test_a_word_that_is_repeated_counts_once_and_by_its_stem(memory):
    memory.remember("spec spec spec specs", topic="one")
    memory.remember("just one spec", topic="two")
    assert strengths(memory.recall("spec specs SPEC", profile="classic")) == {"one": 1 / 2, "two": 1 / 2}


def test_the_bonus_for_a_name_can_be_set(memory, tmp_path):
    memory.remember("Soup", topic="lunch")
    with opened(tmp_path, slug_bonus=10) as other:
        assert strengths(other.recall("lunch", profile="classic")) == {"lunch": 10}


def test_words_that_nearly_every_note_holds_still_count_by_the_classic_rule(memory):
    for number in range(8):
        memory.remember(
            "The budget " + ("of Valencia" if number == 0 else "again"), topic="one two three four five six seven eight".split()[number]
        )
    found = memory.recall("budget valencia", profile="classic")
    assert slugs(found)[0] == "one"
    assert strengths(found)["one"] == 1 + 1 / 8
    assert strengths(found)["eight"] == 1 / 8


@pytest.mark.parametrize("profile", ["classic", "default"])
def test_a_name_with_hyphens_is_taken_as_a_whole(memory, profile):
    for topic in ("notes v1 of valencia", "valencia-v2 plan", "valencia-v1 plan", "valencia-v11 plan"):
        memory.remember(f"What we decided for {topic.replace('-', ' ')}", topic=topic)
    assert slugs(memory.recall("valencia-v1", profile=profile))[0] == "valencia-v1-plan"
    assert slugs(memory.recall("what about Valencia-V2?", profile=profile))[0] == "valencia-v2-plan"


def test_a_file_that_a_person_named_is_found_by_its_name(memory, tmp_path):
    by_hand(tmp_path, "general/valencia-v1.md", "Take the road along the coast\n")
    by_hand(tmp_path, "general/My Plan_B.md", "Take the train\n")
    memory.remember("A note on roads and trains, of no plan")
    assert slugs(memory.recall("valencia"))[0] == "valencia-v1"
    assert slugs(memory.recall("what was plan b?"))[0] == "My Plan_B"
    assert strengths(memory.recall("train plan", profile="classic", k=1)) == {"My Plan_B": 1 / 2 + 3 / 2}


# The default profile, by what it does.


def test_a_distinctive_word_leads(household):
    for number in range(6):
        household.remember(f"The heating was checked in room {number}, all radiators are warm", topic=f"heating {number}")
    assert slugs(household.recall("which tyres are for winter heating"))[0] == "car"
    assert slugs(household.recall("piano"))[0] == "wifi"


@pytest.mark.parametrize("profile", ["classic", "default"])
def test_the_note_that_bears_the_name_leads(household, profile):
    household.remember("Somebody asked about the bread and the boiler, and about bread again", topic="visit")
    assert slugs(household.recall("bread", profile=profile))[0] == "bread"
    assert slugs(household.recall("boiler", profile=profile))[0] == "boiler"


@pytest.mark.parametrize("profile", ["classic", "default"])
def test_common_words_alone_sink_below_a_note_that_means_what_is_asked(household, profile):
    for room in ("kitchen", "cellar", "attic", "hall", "bath", "study"):
        household.remember(f"We need to know what was done and said today in the {room}, and what we want to do", topic=f"round {room}")
    assert slugs(household.recall("what do we need to know about feeding the kitten", profile=profile))[0] == "cat-food"


def test_a_note_about_one_person_is_found_among_those_of_others(memory):
    for person, loves in (("Melanie", "pottery"), ("Caroline", "sailing"), ("Joanna", "chess"), ("Nate", "tournaments")):
        memory.remember(f"{person} told me that {loves} is what she does at weekends", topic=f"{person} weekend")
        memory.remember(f"{person} has two sisters in Lyon", topic=f"{person} family")
    assert slugs(memory.recall("What does Caroline do at the weekend?"))[0] == "caroline-weekend"
    assert slugs(memory.recall("the family of Nate"))[0] == "nate-family"


def test_words_in_other_forms_and_misspelt_words_find_a_note(household):
    assert slugs(household.recall("restarting routers"))[0] == "wifi"
    assert slugs(household.recall("tomatos in the gardn"))[0] == "garden"


def test_what_is_worth_knowing_of_a_note_does_not_depend_on_how_many_candidates_there_are(household):
    def words_of(slug: str, **asked: object) -> float:
        ranked = household.rank("dough of bread, cat, tyres and roses", include=f"general/{slug}", **asked)
        row = next(row for row in range(len(ranked.pool.units)) if ranked.pool.facts[row].slug == slug)
        return float(ranked.pool.statistics.word_scores[ranked.pool.units[row]])

    assert words_of("bread") > 0
    assert words_of("bread") == words_of("bread", k=1) == words_of("bread", topic="bread") == words_of("bread", strategy="vector")


def test_the_ledger_of_a_note_adds_up_to_its_score(household):
    found = household.recall("winter tyres for the car, tuna for the cat")
    for one in found:
        total = 0.0
        for line in one.why:
            assert line.because
            total = total + line.contribution if line.operation == "+" else total * line.contribution
        assert one.score == pytest.approx(total)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


# Categories (M4).


def test_categories_order_only_notes_with_near_scores(memory):
    for kind in reversed(KINDS):
        text = f"The harbour of Valencia is closed, says the {kind}" if kind == "skill" else f"Somebody spoke of Valencia: {kind}"
        memory.remember(text, topic=f"{kind} one", kind=kind)
    found = memory.recall("harbour of Valencia closed")
    assert found[0].note.kind == "skill"
    assert {one.category for one in found} == set(CATEGORIES)
    near = [one.category for one in found[1:] if one.score >= 0.95 * found[1].score]
    assert near == sorted(near, key=CATEGORIES.index)


def test_a_handoff_that_is_the_best_hit_comes_first(household):
    household.handoff("The parser is done, the tests of the grammar are red.", branch="parser", project="app")
    assert slugs(household.recall("which tests of the parser are red"))[0] == "handoff-parser"


def test_a_note_that_is_named_like_the_question_leads(memory):
    for number in range(4):
        memory.remember(
            f"We compared Kafka with queue number {number}, and Kafka was slower than the kafka of others.", topic=f"queue {number}"
        )
    memory.remember("A reading list: chapter eleven, and the talk from Porto.", topic="kafka", kind="resource")
    assert slugs(memory.recall("kafka"))[0] == "kafka"


@pytest.mark.parametrize("strategy", ["union", "vector", "lexical"])
@pytest.mark.parametrize("profile", ["classic", "default"])
def test_packs_and_summaries_are_never_recalled(memory, strategy, profile):
    memory.remember("The harbour of Valencia", topic="harbour", kind="pack")
    memory.remember("The harbour of Valencia once more", topic="valencia", kind="summary")
    kept = memory.remember("A harbour")
    assert slugs(memory.recall("harbour of Valencia", strategy=strategy, profile=profile)) == [kept.slug]
    assert memory.recall("harbour of Valencia", strategy=strategy, profile=profile, kinds=("pack", "summary")) == []
    assert len(memory.list()) == 3


# Labels and confidence (M5).


def test_a_hit_says_how_it_was_found(household):
    household.remember("The xqzzy is blorfed", topic="blorf")
    labels = {one.note.slug: (one.label, one.semantic > 0, one.distance is not None) for one in household.recall("cat")}
    assert labels["cat-food"] == ("exact", True, True)
    labels = {one.note.slug: (one.label, one.semantic > 0, one.distance is not None) for one in household.recall("feline")}
    assert labels["cat-food"] == ("semantic", True, True)
    (found,) = household.recall("xqzzy")
    assert (found.label, found.semantic, found.distance) == ("keyword-only", 0, None)


def test_low_confidence_is_when_nothing_shown_was_found_by_meaning(household):
    household.remember("The xqzzy is blorfed", topic="blorf")
    assert household.recall("xqzzy").is_low_confidence
    assert not household.recall("cat").is_low_confidence
    assert not household.recall("xqzzy cat").is_low_confidence
    assert not RecallResponse().is_low_confidence


def test_without_a_model_every_hit_is_by_its_words(household, tmp_path):
    with opened(tmp_path, model="none") as plain:
        found = plain.recall("cat tuna")
        assert {one.label for one in found} == {"keyword-only"}
        assert {(one.semantic, one.distance) for one in found} == {(0, None)}
        assert found.is_low_confidence
        assert plain.recall("feline") == []
        assert plain.recall("cat", strategy="vector") == []


# Candidates (F1).


QUESTIONS = ["feeding the kitten", "winter", "who repairs the heating", "cat tuna milk", "internet connection is slow"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_union_never_loses_what_vectors_alone_or_words_alone_would_find(household, question):
    union = set(slugs(household.recall(question, k=100)))
    assert union >= set(slugs(household.recall(question, k=100, strategy="vector")))
    assert union >= set(slugs(household.recall(question, k=100, strategy="lexical")))


def test_by_words_alone_a_hit_has_no_distance_and_no_semantic_part(household):
    found = household.recall("cat tuna", strategy="lexical")
    assert slugs(found) == ["cat-food"]
    assert [(one.label, one.semantic, one.distance) for one in found] == [("keyword-only", 0, None)]
    assert household.recall("feline", strategy="lexical") == []
    (classic,) = household.recall("cat tuna", strategy="lexical", profile="classic")
    assert classic.score == pytest.approx(3 + 1)


def test_a_greatest_distance_leaves_out_what_is_farther_and_what_vectors_did_not_find(household):
    household.remember("The xqzzy is blorfed", topic="blorf")
    everything = household.recall("xqzzy cat", k=100)
    farthest = max(one.distance for one in everything if one.distance is not None)
    nearest = min(one.distance for one in everything if one.distance is not None)
    assert "blorf" in slugs(everything)
    assert "blorf" not in slugs(household.recall("xqzzy cat", k=100, max_distance=farthest))
    assert [one.distance for one in household.recall("xqzzy cat", k=100, max_distance=nearest + 1e-9)] == [pytest.approx(nearest)]
    assert household.recall("xqzzy cat", max_distance=0) == []


def test_an_answer_has_as_many_notes_as_were_asked_for_and_they_are_the_best(household):
    everything = household.recall("the key of the garage, the cellar and the piano", k=100)
    assert len(everything) >= 3
    for count in (1, 2, 3):
        assert slugs(household.recall("the key of the garage, the cellar and the piano", k=count)) == slugs(everything)[:count]


def test_the_number_of_notes_and_the_strategy_can_be_set(household, tmp_path):
    with opened(tmp_path, k=1, strategy="lexical") as other:
        assert len(other.recall("the key of the cellar, the piano, the cat")) == 1
        assert other.recall("feline") == []


# Words that say nothing (M6).


@pytest.mark.parametrize("strategy", ["union", "lexical"])
@pytest.mark.parametrize("profile", ["classic", "default"])
def test_words_that_say_nothing_in_a_language_find_nothing_and_count_for_nothing(memory, tmp_path, strategy, profile):
    memory.remember("Der Schlüssel und die Pumpe sind bei Ada", topic="pumpe")
    memory.remember("Die Rosen und der Kuchen", topic="rosen")
    memory.close()
    with opened(tmp_path, language="german", model="none") as german:
        assert german.recall("der und die", strategy=strategy, profile=profile) == []
        assert slugs(german.recall("der und die Pumpen", strategy=strategy, profile=profile)) == ["pumpe"]
        plain, wordy = (german.recall(words, strategy=strategy, profile=profile) for words in ("Pumpen", "und die Pumpen der"))
        assert [one.score for one in plain] == [one.score for one in wordy]
    with opened(tmp_path, language="none", model="none") as none:
        assert sorted(slugs(none.recall("und", strategy=strategy, profile=profile))) == ["pumpe", "rosen"]
        assert none.recall("Pumpen", strategy=strategy, profile="classic") == []


def test_words_that_say_nothing_in_english_count_for_nothing(household):
    plain, wordy = (household.recall(words, profile="classic") for words in ("tuna", "what is the tuna of the"))
    assert [(one.note.slug, one.score) for one in plain] == [(one.note.slug, one.score) for one in wordy]


# What an answer is narrowed to.


def test_an_answer_is_narrowed_by_project_topic_kind_and_tag(memory):
    memory.remember("The port is 80", project="shop", topic="Server port", tags=("net", "#Prod"))
    memory.remember("The port is 81", project="bank", topic="server port", kind="resource")
    memory.remember("The port is Lisbon", topic="travel", tags=("net",))

    def ports(**asked: object) -> list[str]:
        return sorted(text.split()[-1] for text in texts(memory.recall("port", **asked)))

    assert ports() == ["80", "81", "Lisbon"]
    assert ports(project="shop") == ["80"]
    assert ports(project="") == ["Lisbon"]
    assert ports(project="nowhere") == []
    assert ports(topic=" SERVER  port ") == ["80", "81"]
    assert ports(kinds=("resource", "skill")) == ["81"]
    assert ports(tags=("net",)) == ["80", "Lisbon"]
    assert ports(tags=("net", "prod")) == ["80"]
    assert ports(tags=("#PROD",)) == ["80"]
    assert ports(project="bank", topic="travel") == []
    assert [note.text for note in memory.list(project="shop", topic="server port", tags=("prod",), kinds=("durable",))] == [
        "The port is 80"
    ]


def test_an_answer_is_narrowed_to_some_days(memory):
    for days in (0, 1, 8, 40, 800):
        memory.remember(f"Meeting number {days}", created=ago(days=days))

    def meetings(**asked: object) -> list[int]:
        return sorted(int(text.split()[-1]) for text in texts(memory.recall("meeting", **asked)))

    assert meetings(since=f"{ago(days=9):%Y-%m-%d}") == [0, 1, 8]
    assert meetings(until=f"{ago(days=8):%Y-%m-%d}") == [8, 40, 800]
    assert meetings(since=ago(days=40), until=ago(days=1)) == [1, 8, 40]
    assert meetings(since="yesterday") == [0, 1]
    assert meetings(since="yesterday", until="yesterday") == [1]
    assert meetings(until="last year") == [800] or ago(days=40).year < NOON.year
    monday = NOON - timedelta(days=NOON.weekday())
    assert meetings(since="last week") == [days for days in (0, 1, 8) if ago(days=days) >= monday - timedelta(days=7)]
    assert meetings(since="monday") == meetings(since="last monday")
    assert meetings(since="last week", until="last week") == [
        days for days in (0, 1, 8) if monday - timedelta(days=7) <= ago(days=days) < monday
    ]
    assert len(memory.list(since="yesterday")) == 2


def test_a_note_is_recalled_while_it_holds(memory):
    memory.remember("The gate code is red", topic="old", valid_until="2024-01-01")
    memory.remember("The gate code is green", topic="now", valid_from="2024-01-01")
    memory.remember("The gate code will be blue", topic="next", valid_from=datetime.now(timezone.utc) + timedelta(days=2))

    def codes(**asked: object) -> list[str]:
        return sorted(slugs(memory.recall("gate code", **asked)))

    assert codes() == ["now"]
    assert codes(as_of="2023-06-01") == ["old"]
    assert codes(as_of="2023-12-31T23:59:59Z") == ["old"]
    assert codes(as_of="2024-01-01") == ["now"]
    assert codes(as_of=datetime.now(timezone.utc) + timedelta(days=3)) == ["next", "now"]
    assert codes(any_time=True) == ["next", "now", "old"]
    assert len(memory.list()) == 3


# Times that are asked for.


def test_a_question_about_a_time_finds_the_notes_of_that_time(memory):
    memory.remember("# 2023-05-08\n\nWe walked to the lighthouse and talked about the house.", topic="walk one")
    memory.remember("# 2023-09-20\n\nWe walked to the lake and talked about the house.", topic="walk two")
    memory.remember("# 2024-05-03\n\nWe walked to the tower and talked about the house.", topic="walk three")
    assert slugs(memory.recall("What did we talk about on our walk in May 2023?"))[0] == "walk-one"
    assert slugs(memory.recall("where did we walk on 20 September 2023"))[0] == "walk-two"
    assert slugs(memory.recall("our walk in 2024"))[0] == "walk-three"


@pytest.mark.parametrize(("asked", "days"), [("yesterday", 1), ("today", 0), ("three days ago", 3), ("two years ago", 730)])
def test_words_of_time_are_seen_from_today(memory, asked, days):
    for number in (0, 1, 3, 730):
        memory.remember(f"We spoke with the landlord about the stairs, call {number}", topic=f"call {number}", created=ago(days=number))
    assert slugs(memory.recall(f"what did we speak about {asked}"))[0] == f"call-{days}"


def test_last_week_is_the_week_before_this_one(memory):
    monday = NOON - timedelta(days=NOON.weekday())
    memory.remember("We painted the door", topic="last", created=monday - timedelta(days=4))
    memory.remember("We painted the window", topic="before", created=monday - timedelta(days=11))
    memory.remember("We painted the fence", topic="this", created=monday)
    assert slugs(memory.recall("what did we paint last week?"))[0] == "last"


def test_a_question_of_nothing_but_a_time_finds_what_is_of_that_time(memory):
    memory.remember("The door", topic="door", created=ago(days=1))
    memory.remember("The window", topic="window", created=ago(days=90))
    (found,) = memory.recall("yesterday")
    assert (found.note.slug, found.label) == ("door", "dated")


def test_today_is_the_same_day_for_notes_and_for_questions_wherever_one_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):  # the one is ahead of the other by a day and an hour
            monkeypatch.setenv("TZ", zone)
            time.tzset()
            with opened(tmp_path / zone) as memory:
                note = memory.remember("We chose the blue tiles")
                memory.remember("We chose the red tiles", created=ago(days=60))
                assert slugs(memory.recall("what did we choose today"))[0] == note.slug
                assert slugs(memory.recall("tiles", since="today")) == [note.slug]
    finally:
        monkeypatch.undo()
        time.tzset()


# Notes that say the same.


def test_notes_that_say_nearly_the_same_are_shown_once_and_the_others_named(memory):
    text = "The staging server restarts every night at three, because the backup locks the tables of the shop"
    one = memory.remember(text + ".", topic="restart", project="shop")
    two = memory.remember(text + "!", topic="restart again", project="bank")
    memory.remember("The staging server is called heron")
    found = memory.recall("why does the staging server restart at night")
    assert len(found) == 2
    assert {found[0].note.key, *found[0].alike} == {one.key, two.key}
    assert found[1].alike == ()
    assert texts(memory.recall("staging server restart", k=1))[0].startswith(text)


def test_a_double_does_not_take_the_place_of_another_note(memory):
    for number in range(4):
        memory.remember("The pump of the cellar must be cleaned in spring and in autumn", topic=f"pump {number}")
    memory.remember("The key of the cellar hangs in the hall")
    found = memory.recall("cellar pump key", k=2)
    assert len(found) == 2
    assert sorted(len(one.alike) for one in found) == [0, 3]


def test_notes_without_words_are_not_taken_for_one_another(memory):
    memory.remember("🎉", created=ago(days=1))
    memory.remember("💔", created=ago(days=1))
    assert sorted(texts(memory.recall("yesterday"))) == ["🎉", "💔"]


# Notes about code (M8).


SOURCE = "def charge(amount):\n    return amount * 2\n\n\ndef refund(amount):\n    return -amount\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = write(tmp_path / "shop", {"pay.py": SOURCE})
    git("init", "--quiet", cwd=root)
    monkeypatch.chdir(root)
    return root


def test_when_the_code_of_a_note_changes_recall_says_so_and_ranks_it_lower(repository, tmp_path):
    with opened(tmp_path) as memory:
        memory.remember("Charging doubles the amount, said Ada", topic="charge", about=["pay.py#charge"])
        memory.remember("Charging doubles the amount on invoices", topic="invoices")
        before = {one.note.slug: one for one in memory.recall("charging doubles the amount", k=2)}
        assert [one.changed for one in before.values()] == ["", ""]
        assert memory.stale() == []
        (repository / "pay.py").write_text(SOURCE.replace("* 2", "* 3"))
        after = {one.note.slug: one for one in memory.recall("charging doubles the amount", k=2)}
        assert after["charge"].changed == "pay.py#charge: the code has changed since"
        assert after["charge"].score == pytest.approx(before["charge"].score * memory.settings.memory.changed_factor)
        assert after["invoices"].score == pytest.approx(before["invoices"].score)
        assert list(after) == ["invoices", "charge"]
        assert [(note.slug, said) for note, said in memory.stale()] == [("charge", "pay.py#charge: the code has changed since")]
        assert memory.code_changes(memory.get("charge")) == "pay.py#charge: the code has changed since"
        memory.edit("charge", about=["pay.py#charge"])
        assert memory.stale() == []


def test_code_that_is_gone_is_said_to_be_gone(repository, tmp_path):
    with opened(tmp_path) as memory:
        memory.remember("Refunds are negative", topic="refund", about=["pay.py#refund"])
        memory.remember("All of payment is one file", topic="payment", about=["pay.py"])
        (repository / "pay.py").write_text(SOURCE[: SOURCE.index("def refund")])
        assert {note.slug: said for note, said in memory.stale()} == {
            "refund": "pay.py#refund: the code is gone",
            "payment": "pay.py: the code has changed since",
        }
        (repository / "pay.py").unlink()
        assert {said.rpartition(": ")[2] for _, said in memory.stale()} == {"the code is gone"}
        assert memory.recall("refunds")[0].changed == "pay.py#refund: the code is gone"


def test_code_that_only_moves_is_as_it_was(repository, tmp_path):
    with opened(tmp_path) as memory:
        memory.remember("Refunds are negative", topic="refund", about=["pay.py#refund"])
        (repository / "pay.py").write_text("import os\n\n\n" + SOURCE.replace("* 2", "* 9"))
        assert memory.stale() == []
        assert memory.recall("refunds")[0].changed == ""
        assert memory.notes_about(repository, ["pay.py"]) == [("general/refund", "pay.py#refund")]


def test_a_team_keeps_its_notes_in_the_repository_and_they_go_with_it(repository, tmp_path, monkeypatch):
    notes = repository / ".whence" / "notes"
    with Memory.open(settings={"memory.place": "repository"}, data_dir=tmp_path / "data") as memory:
        note = memory.remember("Refunds are negative", topic="refund", about=["pay.py#refund"])
        assert memory.directory == notes
        assert str(tmp_path) not in (notes / f"{note.key}.md").read_text()
    moved = repository.rename(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path)
    with Memory.open(moved / ".whence" / "notes", data_dir=tmp_path / "data") as memory:
        assert memory.recall("refunds")[0].changed == ""
        (moved / "pay.py").write_text(SOURCE.replace("-amount", "0"))
        assert memory.recall("refunds")[0].changed == "pay.py#refund: the code has changed since"
        assert memory.notes_about(moved, ["pay.py"]) == [("general/refund", "pay.py#refund")]


def test_a_note_of_the_project_one_is_in_comes_first_among_equals(repository, tmp_path):
    with opened(tmp_path) as memory:
        for project in ("bank", "shop", "yard"):
            memory.remember(f"Deploys happen on Fridays, and nobody of the {project} minds", project=project, topic="deploys")
        assert memory.recall("when do deploys happen")[0].note.project == "shop"


# The newest facts.
def prices(memory: Memory) -> None:
    for days, euros in ((200, 19), (90, 21), (10, 24)):
        memory.remember(f"A crossing on foot costs {euros} euros.", topic=f"fare {euros}", created=ago(days=days))


def test_of_notes_on_one_subject_the_newest_leads_and_why_says_so(household: Memory):
    prices(household)
    found = household.recall("what does a crossing on foot cost")
    assert slugs(found)[:3] == ["fare-24", "fare-21", "fare-19"]
    (line,) = [line for line in found[0].why if line.signal == "note_newest"]
    assert "same subject as general/fare-21" in line.because
    assert found[0].score == pytest.approx(sum(line.contribution for line in found[0].why if line.operation == "+"))


@pytest.mark.parametrize("asked", ["what did a crossing on foot cost originally", "a crossing on foot cost how much at first"])
def test_a_question_for_the_beginning_gets_the_oldest(household: Memory, asked: str):
    prices(household)
    assert slugs(household.recall(asked))[0] == "fare-19"


def test_of_near_duplicates_the_newest_is_shown_and_the_others_are_counted(household: Memory):
    text = "The ferry to the island leaves at nine from the second pier beside the fish market, behind the old crane with the yellow arm"
    household.remember(text + " on weekdays.", topic="ferry old", created=ago(days=40))
    household.remember(text + " on weekdays!", topic="ferry new", created=ago(days=2))
    found = household.recall("when does the ferry to the island leave")
    assert (found[0].note.slug, found[0].alike) == ("ferry-new", ("general/ferry-old",))


def test_of_one_day_the_later_hour_is_newer(household: Memory):
    for hour, count in ((8, "four"), (17, "six")):
        household.remember(f"I have worn the black boots {count} times.", topic=f"boots {hour}", created=ago(days=3).replace(hour=hour))
    assert slugs(household.recall("how often have I worn the black boots"))[:2] == ["boots-17", "boots-8"]


def test_last_week_is_relative_to_the_time_that_is_asked_about(household: Memory):
    household.remember("We painted the door", topic="door", created=datetime(2024, 5, 8, tzinfo=timezone.utc))
    household.remember("We painted the wall", topic="wall", created=datetime(2024, 5, 15, tzinfo=timezone.utc))
    assert slugs(household.recall("what did we paint last week", as_of="2024-05-16"))[0] == "door"


# The query language.
def test_operators_narrow_a_recall_as_options_do(tmp_path):
    with opened(tmp_path) as memory:
        memory.remember("We retry five times, then the dead letter queue.", project="shop", tags=["net"], created="2026-01-05")
        memory.remember("We retry the letter that is dead.", project="post", created="2026-02-05")
        memory.remember("We retry until the end of the month.", project="shop", kind="skill", created="2026-03-05")
        everything = len(memory.recall("how do we retry"))

        def found(query: str, **options: Any) -> list[str]:
            return sorted(one.note.text.split()[2] for one in memory.recall(query, **options))

        assert everything == 3
        assert found("retry -queue") == ["the", "until"]
        assert found('retry "dead letter"') == ["five"]
        assert found("project:shop retry") == ["five", "until"]
        assert found("retry kind:skill") == ["until"]
        assert found("retry tag:net") == found("tag:net retry project:shop -month") == ["five"]
        assert found("retry since:2026-02-01") == ["the", "until"]
        assert found("retry project:shop", project="post") == ["the"]  # an option wins
        assert found("retry kind:function") == []  # no note is a function
        for empty in ("project:shop", "kind:skill tag:net"):
            with pytest.raises(QueryError, match="the question is empty"):
                memory.recall(empty)


# Times constrain first.
def test_a_range_of_days_leaves_out_what_is_of_other_days(household: Memory):
    for month, day in ((9, 28), (10, 4), (10, 12)):
        household.remember(
            f"We fixed the pump of the well, part {day}.", topic=f"pump {day}", created=datetime(2025, month, day, tzinfo=timezone.utc)
        )
    asked = {"as_of": "2025-11-03", "k": 5}
    assert slugs(household.recall("what did we fix between 1 and 7 October", **asked)) == ["pump-4"]
    assert slugs(household.recall("the pump, between 1 October and 7 October", **asked)) == ["pump-4"]
    assert slugs(household.recall("what about the pump before 1 October", **asked))[0] == "pump-28"


def test_a_weekday_is_the_last_one(household: Memory):
    for day in (3, 4):
        household.remember(
            f"We spoke with the mason about stone {day}", topic=f"stone {day}", created=datetime(2025, 11, day, tzinfo=timezone.utc)
        )
    assert slugs(household.recall("what did we say to the mason on Monday", as_of="2025-11-05"))[0] == "stone-3"


def test_where_no_note_is_of_that_time_the_others_answer(household: Memory):
    household.remember("The mason wants to be paid in stones", topic="mason", created=ago(days=100))
    assert slugs(household.recall("what did the mason want last week"))[0] == "mason"


def test_without_a_question_recall_since_a_day_says_what_is_new(household: Memory):
    household.remember("An old thing", topic="old", created=ago(days=50))
    for days in (3, 1):
        household.remember(f"A thing of {days}", topic=f"thing {days}", created=ago(days=days))
    household.remember("A summary", topic="sum", kind="summary")
    found = household.recall("", since=ago(days=4), until=ago(days=1))
    assert (slugs(found), {one.label for one in found}) == (["thing-1", "thing-3"], {"dated"})
    assert not found.is_low_confidence
