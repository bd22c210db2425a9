"""What the engine must do, whichever form it has: every test here runs against a real server and against a file."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from whence.core.errors import FleetError
from whence.core.settings import FleetSettings
from whence.fleet import engine as engines
from whence.fleet.engine import EVERYTHING, NOTHING, SCHEMAS, Engine, EngineHit, equals, one_of, overlaps


def unit(number: int, words: str, *, repo: str = "r", groups: tuple[str, ...] = ("g",)) -> dict[str, Any]:
    own = {"file": "f", "number": number, "name": "n", "kind": "function", "language": "python", "content": "code"}
    return {"id": f"u{number}", "repo": repo, "groups": list(groups), "words": words, **own}


def count(number: int, blob: str = "") -> dict[str, Any]:
    return {"id": f"c{number}", "repo": "r", "groups": ["g"], "scope": "*", "bucket": number, "blob": blob}


def test_what_is_made_is_made_once(either):
    either.put("counts", [count(1)])
    either.ensure()
    with Engine.open(either.settings) as other:
        other.ensure()
        assert other.count("counts") == 1


def test_every_collection_takes_rows_and_gives_them_back(either):
    values = {"VARCHAR": "x", "INT64": 7, "DOUBLE": 1.5, "ARRAY": ["g", "h"], "BINARY_VECTOR": bytes(range(32))}
    for name, schema in SCHEMAS.items():
        row = {field: values[kind] for field, (kind, _) in schema.items() if kind in values}
        either.put(name, [row])
        fields = [field for field in row if field not in ("sketch", "words")]
        assert either.get(name, ["x"], fields) == [{field: row[field] for field in fields}]


def test_writing_twice_is_writing_once(either):
    either.put("units", [unit(1, "first"), unit(2, "second")])
    either.put("units", [unit(1, "third")])
    assert either.count("units") == 2
    assert either.search_words("units", "first", 10) == []
    assert [hit.id for hit in either.search_words("units", "third", 10)] == ["u1"]


def test_of_two_rows_with_one_id_the_last_counts(either):
    either.put("counts", [count(1, "a"), count(2, "b"), count(1, "c")])
    assert [row["blob"] for row in either.get("counts", ["c1", "c2"], ["blob"])] == ["c", "b"]
    assert either.count("counts") == 2


def test_rows_come_in_the_order_they_are_asked_for_and_once(either):
    either.put("counts", [count(number) for number in range(5)])
    assert [row["bucket"] for row in either.get("counts", ["c3", "none", "c1", "c3"], ["bucket"])] == [3, 1]
    assert either.get("counts", [], ["bucket"]) == []


def test_all_rows_come_however_many_pages_they_fill(either, monkeypatch):
    monkeypatch.setattr(engines, "PAGE", 7)
    either.put("counts", [count(number) for number in range(30)])
    assert sorted(row["bucket"] for row in either.rows("counts", EVERYTHING, ["bucket"])) == list(range(30))
    assert len(either.get("counts", [f"c{number}" for number in range(30)], ["bucket"])) == 30
    few = one_of("bucket", range(10))
    assert sorted(row["bucket"] for row in either.rows("counts", few, ["bucket"])) == list(range(10))
    assert list(either.rows("counts", NOTHING, ["bucket"])) == []


def test_more_than_a_message_holds_is_sent_in_several(either):
    blob = "x" * 65_535
    sent = either.put("counts", (count(number, blob) for number in range(100)))
    assert 100 * len(blob) < sent < 101 * len(blob)
    assert either.count("counts") == 100
    assert either.get("counts", ["c99"], ["blob"]) == [{"id": "c99", "blob": blob}]


def test_what_is_deleted_is_gone(either):
    either.put("units", [unit(number, "word", repo="ab"[number % 2]) for number in range(10)])
    either.delete("units", NOTHING)
    assert either.count("units") == 10
    either.delete("units", equals("repo", "a"))
    assert either.count("units", equals("repo", "a")) == 0
    assert either.count("units", equals("repo", "b")) == either.count("units") == 5
    assert len(either.search_words("units", "word", 10)) == 5
    either.delete("units", EVERYTHING)
    assert either.count("units") == 0


def test_the_best_words_come_first_and_only_what_is_meant(either):
    either.put(
        "units",
        [
            unit(1, "parse parse tree", groups=("g",)),
            unit(2, "parse the very long text of something else entirely", groups=("g", "h")),
            unit(3, "render tree", groups=("h",)),
        ],
    )
    hits = either.search_words("units", "parse", 10, fields=["number", "groups"])
    assert [hit.id for hit in hits] == ["u1", "u2"]
    assert hits[0].score > hits[1].score > 0
    assert hits[1].fields == {"number": 2, "groups": ["g", "h"]}
    assert [hit.id for hit in either.search_words("units", "parse", 1)] == ["u1"]
    assert [hit.id for hit in either.search_words("units", "parse render", 10, overlaps("groups", ["h"]))] == ["u3", "u2"]
    assert either.search_words("units", "parse", 10, NOTHING) == []
    assert either.search_words("units", "absent", 10) == []
    assert either.search_words("units", "  ", 10) == []
    assert either.search_words("units", "parse", 0) == []


def test_where_there_never_was_a_row_no_words_are_found(either):
    assert either.search_words("commits", "parse render", 10) == []


def test_words_are_told_apart_by_spaces_alone(either):
    either.put("units", [unit(1, "Don't.stop a_b"), unit(2, "don t stop a b")])
    assert [hit.id for hit in either.search_words("units", "Don't.stop", 10)] == ["u1"]
    assert [hit.id for hit in either.search_words("units", "a_b", 10)] == ["u1"]
    assert [hit.id for hit in either.search_words("units", "stop", 10)] == ["u2"]


def test_the_nearest_sketches_come_first(either):
    sketches = [bytes(32), b"\1" + bytes(31), b"\xff" * 32]
    rows = [{"id": f"p{number}", "repo": "r", "groups": ["g"], "file": f"f{number}", "sketch": one} for number, one in enumerate(sketches)]
    either.put("passages", rows)
    assert either.search_bits("passages", bytes(32), 2, fields=["file"]) == [
        EngineHit("p0", 0.0, {"file": "f0"}),
        EngineHit("p1", -1.0, {"file": "f1"}),
    ]
    assert [hit.score for hit in either.search_bits("passages", b"\xff" * 32, 10)] == [0.0, -255.0, -256.0]
    assert either.search_bits("passages", bytes(32), 2, equals("repo", "other")) == []


def test_several_may_use_one_engine_at_once(either):
    trouble: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for step in range(5):
                either.put("counts", [count(10 * number + step)])
                assert either.get("counts", [f"c{10 * number + step}"], ["bucket"])
        except BaseException as error:  # noqa: BLE001
            trouble.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert trouble == []
    assert either.count("counts") == 20


def test_collections_of_another_format_are_refused(either, monkeypatch):
    monkeypatch.setattr(engines, "FORMAT", 2)
    with pytest.raises(FleetError, match=r"_repos at .* is of whence fleet format 1; expected whence fleet format 2") as refused:
        either.ensure()
    assert "fleet.prefix" in refused.value.hint


def test_a_collection_of_somebody_else_is_refused(either, monkeypatch):
    with Engine.open(FleetSettings(backend="milvus", address=either.settings.address, prefix=f"{either.settings.prefix}x")) as other:
        other._client.create_collection(f"{other.settings.prefix}_repos", dimension=2)
        with pytest.raises(FleetError, match="is not a collection of a fleet"):
            other.ensure()
        other.drop()


def test_a_collection_whose_maker_came_no_further_is_finished(either):
    either.drop()
    with Engine.open(either.settings) as other:
        other._create("units")
    either.ensure()
    either.put("units", [unit(1, "word")])
    assert [hit.id for hit in either.search_words("units", "word", 10)] == ["u1"]


def test_several_may_make_what_is_missing_at_once(either):
    either.drop()
    trouble: list[BaseException] = []

    def make() -> None:
        try:
            with Engine.open(either.settings) as other:
                other.ensure()
        except BaseException as error:  # noqa: BLE001
            trouble.append(error)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert trouble == []
    assert either.count("units") == 0


def test_a_fleet_that_was_never_begun_says_so(either):
    either.drop()
    with pytest.raises(FleetError, match=f"has no fleet named {either.settings.prefix}") as refused:
        either.count("units")
    assert "whence fleet add" in refused.value.hint


def test_what_is_in_a_file_is_there_when_it_is_opened_again(tmp_path):
    settings = FleetSettings(backend="milvus", address=str(tmp_path / "kept.db"))
    with Engine.open(settings) as engine:
        engine.ensure()
        engine.put("units", [unit(1, "word")])
    with Engine.open(settings) as engine:
        engine.ensure()
        assert [hit.id for hit in engine.search_words("units", "word", 10)] == ["u1"]
    assert [path.name for path in tmp_path.iterdir()] == ["kept.db"]


def test_two_fleets_of_one_engine_do_not_meet(either):
    either.put("counts", [count(1)])
    with Engine.open(FleetSettings(backend="milvus", address=either.settings.address, prefix=f"{either.settings.prefix}2")) as other:
        other.ensure()
        assert other.count("counts") == 0
        other.drop()
    assert either.count("counts") == 1


def test_a_search_takes_no_longer_than_it_must(engine):
    engine.put("units", [unit(number, f"word{number % 7} word") for number in range(500)])
    engine.search_words("units", "word", 10)
    began = time.process_time()
    for _ in range(20):
        engine.search_words("units", "word3 word", 10, overlaps("groups", ["g"]), ["number"])
    assert (time.process_time() - began) / 20 < 0.02


def test_nobody_is_asked_again_and_again_whether_they_are_there(engine):
    """Servers take that for an attack, and hang up on who was quiet for half a minute."""
    options = engine._client._get_connection()._grpc_options
    assert options["grpc.keepalive_time_ms"] > 24 * 3_600_000
    assert not options["grpc.keepalive_permit_without_calls"]
