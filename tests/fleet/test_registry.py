"""The repositories of a fleet: what is listed, and that what is removed is gone from everywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from whence.core.errors import FleetError, UsageError
from whence.fleet.engine import EVERYTHING, SCHEMAS, SPARSE, equals, overlaps
from whence.fleet.registry import READY, REMOVING, WAITING, Registry, Repository

VALUES = {"VARCHAR": "x", "INT64": 7, "DOUBLE": 1.5, "ARRAY": ["team"], "BINARY_VECTOR": bytes(range(32))}


def row_of(name: str, repo: str) -> dict[str, Any]:
    fields = {field: VALUES[kind] for field, (kind, _) in SCHEMAS[name].items() if kind in VALUES}
    return {**fields, "id": f"{name}-{repo}", "repo": repo}


def fill(engine, *repos: str) -> None:
    """A row of each repository in every collection but that of repositories."""
    for name in SCHEMAS:
        if name != "repos":
            engine.put(name, [row_of(name, repo) for repo in repos])


def test_what_is_added_is_listed_by_its_name(either):
    registry = Registry(either)
    assert registry.all() == []
    added = registry.add("team/b", "https://example.org/b.git", ["team", "all"], requested_at=5.0)
    registry.add("a", "/somewhere/a", [])
    assert added == Repository("team/b", "https://example.org/b.git", ("all", "team"), requested_at=5.0)
    assert registry.get("team/b") == added
    assert registry.get("none") is None
    assert [one.name for one in registry.all()] == ["a", "team/b"]
    assert [one.name for one in registry.all(overlaps("groups", ["all"]))] == ["team/b"]


def test_what_became_of_one_is_kept(engine):
    registry = Registry(engine)
    done = replace(
        registry.add("a", "/a", ["g"]), commit="c" * 40, state=READY, indexed_at=1.5, files=3, units=9, cpu=0.25, error="é 𝄞\nline"
    )
    registry.update(done)
    assert registry.get("a") == done
    assert len(registry.all()) == 1


def test_trouble_without_end_is_cut(engine):
    registry = Registry(engine)
    registry.update(replace(registry.add("a", "/a", []), error="x" * 100_000))
    assert len(registry.get("a").error) == 2_000


def test_to_add_again_asks_for_it_to_be_indexed_again(engine):
    registry = Registry(engine)
    registry.update(replace(registry.add("a", "/a", ["g"]), state=READY, files=3, indexed_at=4.0))
    assert registry.add("a", "/a", ["g"], requested_at=9.0) == Repository(
        "a", "/a", ("g",), state=WAITING, files=3, indexed_at=4.0, requested_at=9.0
    )


def test_a_name_stands_for_one_source_and_its_groups(engine):
    registry = Registry(engine)
    registry.add("a", "/a", ["g"])
    with pytest.raises(UsageError, match="already has a a, from /a"):
        registry.add("a", "/elsewhere/a", ["g"])
    with pytest.raises(UsageError, match="is visible to g"):
        registry.add("a", "/a", ["g", "everybody"])
    assert registry.get("a").groups == ("g",)


@pytest.mark.parametrize("name", ["", " ", "a b", "/a", "a/", "a//b", "*", "a\nb", 'a"', "a\\b", "\ud800", "x" * 600, "a\0", "@a:b"])
def test_a_name_is_words_and_steps(engine, name):
    with pytest.raises(UsageError, match="is not a valid repository name"):
        Registry(engine).add(name, "/a", [])


@pytest.mark.parametrize("groups", [[""], [" "], ["a\nb"], ["x" * 65], ["\0"], [f"g{number}" for number in range(33)]])
def test_groups_are_few_and_have_names(engine, groups):
    with pytest.raises(UsageError, match="group"):
        Registry(engine).add("a", "/a", groups)


def test_removing_one_removes_every_row_of_it_and_of_no_other(either):
    registry = Registry(either)
    for name in ("a", "ab"):
        registry.add(name, f"/{name}", ["team"])
    fill(either, "a", "ab")
    registry.remove("a")
    assert {name: either.count(name, equals("repo", "a")) for name in SCHEMAS} == dict.fromkeys(SCHEMAS, 0)
    assert {name: either.count(name, equals("repo", "ab")) for name in SCHEMAS} == dict.fromkeys(SCHEMAS, 1)
    assert [hit.fields["repo"] for hit in either.search_words("units", "x", 10, fields=["repo"])] == ["ab"]
    assert [hit.fields["repo"] for hit in either.search_bits("passages", bytes(32), 10, fields=["repo"])] == ["ab"]
    with pytest.raises(UsageError, match="no repository 'a'"):
        registry.remove("a")


def test_a_removal_that_was_broken_off_is_seen_and_done_again(engine, monkeypatch):
    registry = Registry(engine)
    registry.add("a", "/a", [])
    fill(engine, "a")
    delete = engine.delete
    monkeypatch.setattr(engine, "delete", lambda name, which: _broken() if name == "units" else delete(name, which))
    with pytest.raises(KeyboardInterrupt):
        registry.remove("a")
    assert registry.get("a").state == REMOVING
    monkeypatch.undo()
    registry.remove("a")
    assert sum(engine.count(name, equals("repo", "a")) for name in SCHEMAS) == 0


def _broken() -> None:
    raise KeyboardInterrupt


def test_what_was_removed_does_not_come_back_with_the_news_of_a_worker(engine):
    registry = Registry(engine)
    found = registry.add("a", "/a", [])
    registry.remove("a")
    with pytest.raises(FleetError, match="a was removed"):
        registry.update(replace(found, state=READY))
    assert registry.all() == []


def test_other_groups_are_written_to_every_row(either):
    registry = Registry(either)
    for name in ("a", "b"):
        registry.add(name, f"/{name}", ["team"])
    fill(either, "a", "b")
    registry.regroup("a", ["staff", "board"])
    assert registry.get("a").groups == ("board", "staff")
    for name, schema in SCHEMAS.items():
        if name not in ("repos", "claims"):
            fields = [one for one in schema if one not in (SPARSE, "no_vector", "sketch")]
            (changed,) = either.get(name, [f"{name}-a"], fields)
            expected = {**row_of(name, "a"), "groups": ["board", "staff"]}
            assert changed == {field: expected[field] for field in fields}
            assert either.count(name, overlaps("groups", ["team"])) == 1
    assert [hit.score for hit in either.search_bits("passages", VALUES["BINARY_VECTOR"], 10)] == [0.0, 0.0]
    assert len(either.search_words("units", "x", 10, EVERYTHING)) == 2
