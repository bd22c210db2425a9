"""The memory benchmark on a corpus of three short conversations of our own, its learning, its load and its writers."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.published_projects import commit, repository
from sample_trees import SOURCES
from small_cases import each
from whence.cli.main import main
from whence.core.errors import UsageError
from whence.memory.front_matter import parse
from whence.memory.note import Note
from whence_bench.fetch import MEMORY_CORPUS, fetch_memory
from whence_bench.memory import corpus as memory_corpus
from whence_bench.memory import learning
from whence_bench.memory import load as memory_load
from whence_bench.memory import run as benchmark
from whence_bench.memory import team as memory_team
from whence_bench.memory import writers as memory_writers
from whence_bench.memory.corpus import AS_GIVEN, WRITINGS, Question, Session, Turn, Writing
from whence_bench.memory.learning import Case

HOUSE = Path(__file__).parents[2]
sys.path.insert(0, str(HOUSE / "training"))

import learn_notes  # noqa: E402

PUBLISHED = SOURCES.parents[1] / "shared" / "bench" / "memory" / "locomo_dev.json"
#: What is spoken of on each day, and what is asked about it.
DAYS = [
    ("the harbour ferry was late because of fog", "Why was the ferry late?"),
    ("my sister planted tomatoes behind the barn", "Who planted tomatoes?"),
    ("the violin lesson moved to the old church", "Where is the violin lesson?"),
    ("we repaired the roof of the cabin together", "What did they repair on the cabin?"),
    ("the marathon in the mountains hurt my knee", "What hurt after the marathon?"),
    ("a stray kitten followed me to the bakery", "What followed them to the bakery?"),
    ("the chess club elected a new president", "Whom did the chess club elect?"),
    ("grandmother taught us to knit warm gloves", "Who taught them to knit?"),
]
SPEAKERS = [("Ada", "Ben"), ("Cleo", "Dan"), ("Edda", "Finn")]


def conversation(number: int) -> dict[str, Any]:
    """Eight days in an order of their own, and a question about each."""
    one, other = SPEAKERS[number]
    days = DAYS[number:] + DAYS[:number]
    sessions = {
        str(at): {
            "date": f"2:0{at} pm on {at} May, 2023",
            "turns": [[one, f"D{at}:1", f"Hey {other}, {said}!", None], [other, f"D{at}:2", "Oh, tell me more", "a photo of a table"]],
        }
        for at, (said, _) in enumerate(days, 1)
    }
    asked = [{"question": question, "evidence": [f"D{at}:1"], "category": 1 + at % 5} for at, (_, question) in enumerate(days, 1)]
    return {"id": str(number), "speakers": [one, other], "sessions": sessions, "qa": asked}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "locomo_made.json").write_text(json.dumps([conversation(number) for number in range(3)]))
    return folder


@pytest.fixture(scope="module")
def report(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Everything that the command writes about the corpus."""
    out = tmp_path_factory.mktemp("out") / "out.json"
    assert main(["bench", "memory", "--corpus", str(corpus), "--learn", "--ablate", "--json", str(out)]) == 0
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def quiet(_done: int, _all: int) -> None:
    """Show no progress."""


# The corpus.
def load(tmp_path: Path, *conversations: dict[str, Any]) -> list[memory_corpus.Conversation]:
    file = tmp_path / "locomo.json"
    file.write_text(json.dumps(conversations))
    return memory_corpus.load(file)


def test_the_number_after_the_letter_is_the_session_and_an_entry_may_name_several_or_none(tmp_path: Path):
    made = conversation(0)
    for question, evidence in zip(made["qa"], ([], ["D"], ["D3:11"], ["D4:1; D2:7"], ["D2:1", "D2:5"], ["D99:1"], ["D1:1"]), strict=False):
        question["evidence"] = evidence
    assert [one.wanted for one in load(tmp_path, made)[0].questions] == [(3,), (2, 4), (2,), (1,), (8,)]


def test_sessions_are_in_the_order_of_their_numbers(tmp_path: Path):
    made = conversation(0)
    made["sessions"] = {"10": made["sessions"]["1"], "9": made["sessions"]["2"]}
    made["qa"][0]["evidence"] = ["D10:1"]
    assert [one.number for one in load(tmp_path, made)[0].sessions] == [9, 10]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("locomo.json", "{", "cannot be read as JSON"),
        ("locomo.json", '[{"id": "1"}]', "not a list of conversations: KeyError"),
        ("locomo.json", '[{"id": "1", "sessions": {"x": {}}, "qa": []}]', "not a list of conversations: ValueError"),
        ("locomo.json", "[]", "no question has evidence"),
        ("other.json", "[]", "no locomo*.json there"),
    ],
)
def test_what_is_no_corpus_is_one_clear_line(tmp_path: Path, name: str, text: str, said: str, capsys: pytest.CaptureFixture[str]):
    (tmp_path / name).write_text(text)
    assert main(["bench", "memory", "--corpus", str(tmp_path)]) == 2
    complaint = capsys.readouterr().err
    assert said in complaint
    assert complaint.count("\n") == 1


def test_a_conversation_that_is_there_twice_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="conversation 1 is there twice"):
        load(tmp_path, conversation(1), conversation(1))


@each(
    ("writing", "text"),
    [
        (AS_GIVEN, "8 May\nAda: hello\nBen: look [a photo of a dog]"),
        (Writing("", captions=False), "8 May\nAda: hello\nBen: look"),
        (Writing("", turn_numbers=True), "8 May\n[D1:1] Ada: hello\n[D1:2] Ben: look [a photo of a dog]"),
        (Writing("", lines=False), "8 May Ada: hello Ben: look [a photo of a dog]"),
        (Writing("", dated=False), "Ada: hello\nBen: look [a photo of a dog]"),
    ],
)
def test_a_session_can_be_written_in_several_ways(writing: Writing, text: str):
    session = Session(1, "8 May", (Turn("Ada", "D1:1", "hello"), Turn("Ben", "D1:2", "look", "a photo of a dog")))
    assert memory_corpus.text_of(session, writing) == text


# Recall.
def test_a_question_is_recalled_by_the_share_of_its_sessions_among_the_first():
    answered = benchmark.Answered("a", "temporal", "when?", (1, 9), (1, 2, 3, 4, 5, 9))
    assert (answered.recall(5), answered.recall(10)) == (0.5, 1.0)
    found = benchmark.recalls([answered, replace(answered, wanted=(7,))])
    assert found == {"R@5": 0.25, "R@10": 0.5, "any@5": 0.5, "any@10": 0.5}


def test_where_a_later_session_answers_otherwise_it_should_be_returned_before_the_earlier():
    answered = benchmark.Answered("a", "knowledge-update", "how many?", (1, 9), (1, 2, 9), newest=9)
    assert answered.measure("newest first") == 0
    assert replace(answered, returned=(9, 1)).measure("newest first") == 1
    assert replace(answered, returned=(1, 2)).measure("newest first") is None


def test_a_question_with_a_haystack_has_a_store_of_its_own_and_its_evidence_is_dated(tmp_path: Path):
    sessions = {
        name: {"date": f"2023/05/{day} (Sat) 18:0{day % 10}", "turns": [["user", f"I own {day} coins"], ["assistant", "Nice."]]}
        for name, day in (("x", 27), ("y", 20), ("z", 29))
    }
    asked = {"id": "q", "type": "knowledge-update", "question": "How many coins?", "haystack": ["z", "x"], "evidence": ["x", "z"]}
    (tmp_path / "longmemeval_made.json.gz").write_bytes(gzip.compress(json.dumps({"sessions": sessions, "questions": [asked]}).encode()))
    (one,) = memory_corpus.load(tmp_path)
    assert [(session.number, session.date) for session in one.sessions] == [(1, "2023/05/29 (Sat) 18:09"), (2, "2023/05/27 (Sat) 18:07")]
    assert (one.questions[0].wanted, one.questions[0].newest) == ((2, 1), 1)
    done = benchmark.run([one], quiet, ways={"union": benchmark.WAYS["union"]})
    assert {*done.answered["union"][0].returned} == {1, 2}


# The notes of a made team.
def test_a_team_asks_150_questions_of_100_notes_and_40_that_none_answers():
    notes, questions = memory_team.load_notes(), memory_team.load_questions()
    answered = [one for one in questions if one.kind != memory_team.NONE]
    assert (len(notes), len(answered), len(questions)) == (100, 150, 190)
    assert {one for question in questions for one in question.wanted} <= {note.id for note in notes}
    assert all(question.wanted for question in answered)
    assert abs(sum(one.half == memory_team.HELD_OUT for one in questions) - 95) <= 4


def test_of_the_half_that_nobody_looks_at_only_figures_are_reported():
    one, other, *_ = memory_team.load_questions()
    answers = [memory_team.TeamAnswer(question, question.wanted, said_no=False) for question in (one, other)]
    assert [answer["question"]["text"] for answer in memory_team.as_json(answers)["answers"]] == [one.text]


def test_words_vectors_their_union_and_the_classic_rule_stand_side_by_side(report: dict[str, Any]):
    assert list(report["ways"]) == ["lexical", "vector", "union", "classic", "left out", "fitted"]
    for figures in report["ways"].values():
        assert figures["questions"] == 24
        assert {name: of["questions"] for name, of in figures["by_conversation"].items()} == {"0": 8, "1": 8, "2": 8}
        assert set(figures["by_category"]) == set(memory_corpus.CATEGORIES.values())


def test_questions_in_the_words_of_a_session_recall_it_first(report: dict[str, Any]):
    for way in ("lexical", "union", "classic", "left out", "fitted"):
        assert all(one["returned"][0] == one["wanted"][0] for one in report["ways"][way]["answers"]), way
    assert report["behind"] == {"union": [], "left out": []}


def test_vectors_alone_recall_nothing_by_words_they_do_not_know(tmp_path: Path):
    made = conversation(0)
    made["sessions"]["3"]["turns"][0][2] = "zorblax"
    made["qa"] = [{"question": "zorblax", "evidence": ["D3:1"], "category": 1}]
    done = benchmark.run(load(tmp_path, made), quiet)
    assert {way: answered[0].returned[:1] for way, answered in done.answered.items() if way != "classic"} == {
        "lexical": (3,),
        "vector": (),
        "union": (3,),
    }


def test_where_a_part_alone_recalls_more_than_the_union_it_is_said():
    hit, miss = (benchmark.Answered("a", "temporal", "when?", (1,), (found,)) for found in (1, 2))
    done = benchmark.Run({"lexical": [hit], "vector": [miss], "union": [miss]})
    assert benchmark.behind(done) == ["a: R@5 0.0000 < 1.0000 lexical", "a: R@10 0.0000 < 1.0000 lexical"]
    assert "on every conversation: MISS" in benchmark.as_text(done)


@each("writing", WRITINGS[1:])
def test_however_the_notes_are_written_the_same_sessions_are_recalled(corpus: Path, writing: Writing):
    done = benchmark.run(memory_corpus.load(corpus)[:2], quiet, writing=writing, ways={"union": benchmark.WAYS["union"]})
    assert set(benchmark.recalls(done.answered["union"]).values()) == {1.0}


def test_a_time_is_found_that_stands_only_beside_the_text(tmp_path: Path):
    made = conversation(0)
    made["qa"] = [{"question": "What did we talk about on 5 May 2023?", "evidence": ["D5:1"], "category": 2}]
    done = benchmark.run(load(tmp_path, made), quiet, writing=Writing("", dated=False), ways={"union": benchmark.WAYS["union"]})
    assert done.answered["union"][0].returned[0] == 5


def test_the_report_says_what_is_needed_to_repeat_it(report: dict[str, Any]):
    assert {"whence", "python", "numpy"} <= set(report["versions"])
    assert {"name": "memory.k", "value": 10, "source": "default"} in report["settings"]


def test_there_must_be_something_to_measure(corpus: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["bench", "memory"]) == 2
    assert "--corpus PATH, --team, --load or --writers" in capsys.readouterr().err
    assert main(["bench", "memory", "--learn", "--writers"]) == 2
    assert "give --corpus PATH" in capsys.readouterr().err


# Learning.
def made_cases(signals: int, seed: int = 3) -> Iterator[Case]:
    """Questions whose first signal tells, whose second tells the opposite, and whose others tell nothing."""
    random = np.random.default_rng(seed)
    for number in range(60):
        wanted = int(random.integers(9))
        columns = random.random((9, signals))
        columns[wanted, :2] += 0.5, -0.5
        yield Case(f"talk {number % 3}", Question("?", (wanted,), "temporal"), tuple(range(9)), columns, np.zeros(9))


def test_a_signal_that_tells_gets_weight_and_one_that_tells_the_opposite_none():
    weights = learning.learn(list(made_cases(3)), ("tells", "misleads", "idle"), ridge=1.0)
    assert weights["tells"] > 2
    assert weights["misleads"] == 0
    assert 0 <= weights["idle"] < 0.5


def test_nothing_near_the_learned_weights_is_better():
    cases, names = list(made_cases(4)), tuple("abcd")
    found = np.array(list(learning.learn(cases, names, ridge=2.0).values()))
    spread = np.sqrt(np.mean([one.columns.var(axis=0) for one in cases], axis=0))

    def loss(weights: Any) -> float:
        total = 2.0 * float(((weights * spread) ** 2).sum())
        for one in cases:
            scores = one.columns @ weights + one.fixed
            total += float(np.log(np.exp(scores).sum()) - scores @ one.share)
        return total

    for at in range(4):
        for step in (-0.01, 0.01):
            moved = found + step * np.eye(4)[at]
            assert (moved < 0).any() or loss(moved) >= loss(found) - 1e-9


def test_what_weighs_by_hand_is_taken_into_account():
    cases = [replace(one, fixed=20.0 * one.columns[:, 0]) for one in made_cases(2)]
    assert learning.learn(cases, ("tells", "misleads"), ridge=1.0)["tells"] < 0.5


def test_a_conversation_has_no_part_in_the_weights_it_is_asked_with():
    cases = list(made_cases(3))
    spoiled = [replace(one, columns=-one.columns) if one.conversation == "talk 1" else one for one in cases]
    before, after = (learning.left_out(of, tuple("abc")) for of in (cases, spoiled))
    assert before["talk 1"] == after["talk 1"]
    assert before["talk 0"] != after["talk 0"]


def test_what_is_learned_from_is_what_ranks(corpus: Path):
    one = memory_corpus.load(corpus)[:1]
    names = learning.learnable()
    weights = {name: 0.1 + number for number, name in enumerate(names)}
    way = benchmark.Way(learning.speaking(names, weights))
    done = benchmark.run(one + memory_corpus.load(corpus)[1:2], quiet, learn=True, ways={"real": way})
    real = {(asked.conversation, asked.question): asked.returned for asked in done.answered["real"]}
    for case in done.cases:
        assert (
            tuple(case.ranked(weights, done.names)[: len(real[case.conversation, case.question.text])])
            == real[case.conversation, case.question.text]
        )


def test_weights_are_reported_for_each_conversation_left_out_and_for_all(report: dict[str, Any]):
    assert set(report["weights"]) == {"0", "1", "2", "fitted"}
    for weights in report["weights"].values():
        assert set(weights) == set(learning.learnable()) == set(report["without"])
        assert min(weights.values()) >= 0
        assert max(weights.values()) > 0


def test_learning_without_a_conversation_needs_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    load(tmp_path, conversation(0))
    assert main(["bench", "memory", "--corpus", str(tmp_path), "--learn"]) == 2
    assert "needs at least two" in capsys.readouterr().err


def test_learned_weights_are_written_as_they_are_shipped(tmp_path: Path):
    learn_notes.write(tmp_path / "weights" / "notes.json", {"note_when": 1.23456, "note_kin": 0.5, "note_words": 0.00001})
    assert json.loads((tmp_path / "weights" / "notes.json").read_text()) == {"note_kin": [0.5, 0.5], "note_when": [1.2346, 1.2346]}


def test_the_development_part_is_read_and_recalled():
    if not PUBLISHED.is_file():
        pytest.skip("the conversations of the memory benchmark are not beside the repository")
    found = memory_corpus.load(PUBLISHED)
    assert (len(found), sum(len(one.questions) for one in found), sum(len(one.sessions) for one in found)) == (4, 755, 99)
    shortest = min(found, key=lambda one: len(one.questions))
    done = benchmark.run([shortest], quiet, ways={"union": benchmark.WAYS["union"]})
    assert benchmark.recalls(done.answered["union"])["R@10"] >= 0.95


# Fetching.
def published() -> list[dict[str, Any]]:
    """A conversation as it is published."""
    said = {
        "speaker_a": "Ada",
        "speaker_b": "Ben",
        "session_1_date_time": "8 May",
        "session_1": [
            {"speaker": "Ada", "dia_id": "D1:1", "text": "hello"},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "look", "blip_caption": "a dog", "img_url": ["x"]},
        ],
        "session_2_date_time": "a day without a word",
    }
    asked = {"question": "Who?", "answer": "Ada", "evidence": ["D1:1"], "category": 4, "other": 1}
    return [{"sample_id": "conv-7", "conversation": said, "qa": [asked], "observation": {}}]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return repository(tmp_path / "published")


def test_the_published_file_is_laid_out_as_a_corpus_at_its_pinned_revision(tmp_path: Path, source: Path):
    revision = commit(source, {"data/locomo10.json": json.dumps(published())})
    commit(source, {"data/locomo10.json": "[]"})
    assert fetch_memory(tmp_path / "out", str(source), print, revision).there == [MEMORY_CORPUS]
    assert json.loads((tmp_path / "out" / MEMORY_CORPUS).read_text()) == [
        {
            "id": "7",
            "speakers": ["Ada", "Ben"],
            "sessions": {"1": {"date": "8 May", "turns": [["Ada", "D1:1", "hello", None], ["Ben", "D1:2", "look", "a dog"]]}},
            "qa": [{"question": "Who?", "answer": "Ada", "evidence": ["D1:1"], "category": 4}],
        }
    ]
    assert memory_corpus.load(tmp_path / "out")[0].questions[0].wanted == (1,)


def test_a_corpus_that_is_there_is_kept(tmp_path: Path):
    (tmp_path / MEMORY_CORPUS).write_text("kept")
    assert main(["bench", "fetch", "memory", str(tmp_path), "--from", str(tmp_path / "nowhere")]) == 0
    assert (tmp_path / MEMORY_CORPUS).read_text() == "kept"


def test_a_source_without_the_pinned_revision_is_one_clear_line_and_nothing_is_left(
    tmp_path: Path, source: Path, capsys: pytest.CaptureFixture[str]
):
    commit(source, {"data/locomo10.json": json.dumps(published())})
    assert main(["bench", "fetch", "memory", str(tmp_path / "out"), "--from", str(source)]) == 2
    assert f"{source}: git checkout failed" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("text", ["7", "[7]", '[{"sample_id": "conv-1"}]', "{"])
def test_a_published_file_that_is_no_list_of_conversations_is_refused(tmp_path: Path, source: Path, text: str):
    revision = commit(source, {"data/locomo10.json": text})
    with pytest.raises(UsageError, match=r"not a list of conversations|cannot be read as JSON"):
        fetch_memory(tmp_path / "out", str(source), print, revision)


# Load, and several writers.
def test_made_notes_are_the_same_for_the_same_seed_and_read_back_as_they_were_made(tmp_path: Path):
    made = memory_load.write_notes(tmp_path, 120, questions=5)
    again: list[Note] = list(memory_load.made_notes(120))
    read = [parse((tmp_path / f"{note.key}.md").read_bytes(), folder=note.folder, slug=note.slug) for note in again]
    assert read == again
    assert list(memory_load.made_notes(120, seed=1)) != again
    assert {note.project for note in again} == set(memory_load.PROJECTS)
    assert made.size == sum(file.stat().st_size for file in tmp_path.rglob("*.md"))
    assert all((tmp_path / f"{key}.md").is_file() for key in made.answers)
    assert (len(made.questions), len(set(made.questions))) == (5, 5)


def test_many_notes_are_measured_beside_plain_full_text_search(tmp_path: Path):
    said: list[str] = []
    room = memory_load.run_load(120, said.append, questions=6, rounds=1)
    text = memory_load.as_text(room)
    for part in (
        "recall in all projects, p95",
        "whence recall in a new process",
        "remembered by another process",
        "edited in place",
        "FTS5",
    ):
        assert part in text
    found = memory_load.as_json(room, 120)
    assert found["measured"]["build"]["notes"] == 120
    assert found["measured"]["ask"]["all"]["whence_found"] == 6
    assert found["measured"]["watch"]["lost"] == []
    assert found["notes"] == []


def test_of_writers_one_of_whom_is_killed_nothing_acknowledged_is_lost():
    found = memory_writers.run_writers(lambda _: None, notes=60, writers=2, recalled=8)
    assert 45 <= found.acknowledged <= 60
    assert (found.whole, found.listed, found.lost, found.broken) == (found.acknowledged, found.acknowledged, 0, 0)
    assert found.recalled == found.recalled_of
    assert "nothing acknowledged is lost: OK" in memory_writers.as_text(found)
    assert "nothing acknowledged is lost: MISS" in memory_writers.as_text(replace(found, whole=found.whole - 1))
