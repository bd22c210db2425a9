"""Who may see what: a token stands for groups, and whoever is not known hears one sentence that tells nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from small_cases import each
from whence.core.errors import FleetError, SettingError
from whence.core.settings import FleetSettings
from whence.fleet.engine import EVERYTHING, NOTHING
from whence.fleet.registry import OPERATOR, REFUSAL, Caller, authenticate, may_see, token_hash, visible_rows

KNOWN = {"of-a": ["a"], "of-a-and-b": ["a", "b"], "of-nobody": [], "of-all": ["*"], "é𝄞": ["b"]}


@pytest.fixture(params=["toml", "json"])
def settings(request, tmp_path) -> FleetSettings:
    path = tmp_path / f"tokens.{request.param}"
    hashes = {token_hash(token): groups for token, groups in KNOWN.items()}
    lines = "".join(f"{name} = {json.dumps(groups)}\n" for name, groups in hashes.items())
    written(path, json.dumps(hashes) if request.param == "json" else lines)
    return FleetSettings(tokens=str(path))


def written(path: Path, text: str, mode: int = 0o600) -> FleetSettings:
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return FleetSettings(tokens=str(path))


def test_a_token_stands_for_its_groups(settings):
    assert authenticate(settings, "of-a") == Caller(frozenset({"a"}))
    assert authenticate(settings, "of-a-and-b") == Caller(frozenset({"a", "b"}))
    assert authenticate(settings, "of-nobody") == Caller(frozenset())
    assert authenticate(settings, "é𝄞") == Caller(frozenset({"b"}))
    assert authenticate(settings, "of-all") == OPERATOR


@pytest.mark.parametrize(
    "token",
    [
        "",
        " ",
        "of-",
        "of-a ",
        "OF-A",
        "of-a\n",
        "*",
        "\0",
        "\ud800",
        "x" * 100_000,
        token_hash("of-a"),
        token_hash("of-all"),
        "' or '1'='1",
    ],
    ids=repr,
)
def test_whoever_is_not_known_hears_one_sentence(settings, token):
    with pytest.raises(FleetError) as refused:
        authenticate(settings, token)
    assert str(refused.value) == REFUSAL == "the fleet does not know this caller"


def test_the_empty_token_is_nobody_even_where_the_file_names_it(tmp_path):
    settings = written(tmp_path / "tokens.json", json.dumps({token_hash(""): ["*"]}))
    with pytest.raises(FleetError, match=REFUSAL):
        authenticate(settings, "")


def test_a_token_that_was_taken_out_is_refused_at_once(settings):
    assert authenticate(settings, "of-a")
    written(Path(settings.tokens), "{}" if settings.tokens.endswith("json") else "")
    with pytest.raises(FleetError, match=REFUSAL):
        authenticate(settings, "of-a")


def test_where_no_file_of_tokens_is_set_all_is_seen():
    assert authenticate(FleetSettings(), "") == authenticate(FleetSettings(), "anything") == OPERATOR


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o601])
def test_a_file_that_others_can_read_is_refused(tmp_path, mode):
    settings = written(tmp_path / "tokens.toml", "", mode)
    with pytest.raises(SettingError, match="others than its owner") as refused:
        authenticate(settings, "of-a")
    assert "chmod 600" in refused.value.hint


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(tmp_path):
    settings = written(tmp_path / "tokens.toml", "")
    os.chown(settings.tokens, 12_345, 12_345)
    with pytest.raises(SettingError, match="others than its owner"):
        authenticate(settings, "of-a")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.json", "["),
        ("t.json", "[]"),
        ("t.json", '"x"'),
        ("t.json", '{"x": ["a"]}'),
        ("t.json", json.dumps({"0" * 64: "a"})),
        ("t.json", json.dumps({"0" * 64: [1]})),
        ("t.json", json.dumps({"g" * 64: ["a"]})),
        ("t.json", "[" * 100_000),
        ("t.toml", "x"),
        ("t.toml", "x = ['a']"),
        ("t.toml", f"{'0' * 64} = 'a'"),
        ("t.toml", f"[{'0' * 64}]\na = ['b']"),
    ],
)
def test_a_file_that_says_something_else_is_refused_and_nobody_let_in(tmp_path, name, text):
    with pytest.raises(SettingError, match=name):
        authenticate(written(tmp_path / name, text), "of-a")


@pytest.mark.parametrize("name", ["gone.toml", "gone.json"])
def test_a_file_that_is_not_there_lets_nobody_in(tmp_path, name):
    with pytest.raises(SettingError, match="cannot read"):
        authenticate(FleetSettings(tokens=str(tmp_path / name)), "of-a")


def test_what_the_engine_is_asked_is_what_the_groups_say():
    assert visible_rows(OPERATOR) == EVERYTHING
    assert visible_rows(Caller(frozenset())) == NOTHING
    assert visible_rows(Caller(frozenset({"b", 'a"'}))).text == 'array_contains_any(groups, ["a\\"", "b"])'


@each(
    "row",
    [{}, {"groups": None}, {"groups": []}, {"groups": ["b"]}, {"groups": "a"}, {"groups": {"a": 1}}, {"groups": ["A"]}, {"groups": ["*"]}],
)
def test_a_row_that_shares_no_group_is_kept_back(row):
    assert not may_see(Caller(frozenset({"a"})), row)
    assert not may_see(Caller(frozenset()), row)
    assert may_see(OPERATOR, row)


def test_a_row_that_shares_a_group_is_seen():
    assert may_see(Caller(frozenset({"a", "c"})), {"groups": ["b", "a"]})


def test_engine_and_way_out_agree(engine):
    rows = [
        {"id": f"c{number}", "repo": "r", "groups": list(groups), "scope": "", "bucket": 0, "blob": ""}
        for number, groups in enumerate([(), ("a",), ("a", "b"), ("b",), ("*",), ("ab",), ('a"',)])
    ]
    engine.put("counts", rows)
    for groups in (None, (), ("a",), ("b", "a"), ("*",), ('a"',), ("ab", "x")):
        caller = Caller(None if groups is None else frozenset(groups))
        seen = {row["id"] for row in engine.rows("counts", visible_rows(caller), ["id"])}
        assert seen == {row["id"] for row in rows if may_see(caller, row)}
