"""One tree of settings: where a value comes from, which source wins, and how a bad one is refused (E4)."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest

from sample_trees import whence, write
from small_cases import each
from whence import Index
from whence.core.errors import SettingError
from whence.core.settings import ENVIRONMENT_PREFIX, OTHER_VARIABLES, IndexSettings, Setting, Settings, load, merge

SOURCES = ("call", "command line", "environment", "project file", "user file")
LEAVES = merge([])[1]


def loaded(tmp_path: Path, sources: tuple[str, ...]) -> tuple[Settings, Setting]:
    """search.k set in some of the sources, to 11, 12, ... in the order of precedence."""
    values = {source: 11 + number for number, source in enumerate(SOURCES)}
    if "project file" in sources:
        write(tmp_path, {"project/.whence.toml": f"[search]\nk = {values['project file']}\n"})
    if "user file" in sources:
        write(tmp_path, {"user.toml": f"search.k = {values['user file']}\n"})
    settings, listed = load(
        root=tmp_path / "project",
        user_file=tmp_path / "user.toml",
        environment={"WHENCE_SEARCH_K": str(values["environment"])} if "environment" in sources else {},
        command_line={"search.k": str(values["command line"])} if "command line" in sources else {},
        call={"search.k": values["call"]} if "call" in sources else {},
    )
    return settings, next(one for one in listed if one.name == "search.k")


@pytest.mark.parametrize("winner", range(len(SOURCES)))
def test_each_source_wins_over_all_that_come_after_it(tmp_path, winner):
    settings, k = loaded(tmp_path, SOURCES[winner:])
    assert settings.search.k == 11 + winner
    assert k.value == 11 + winner


@pytest.mark.parametrize("source", SOURCES)
def test_each_value_says_where_it_came_from(tmp_path, source):
    _, k = loaded(tmp_path, (source,))
    named = {"project file": str(tmp_path / "project/.whence.toml"), "user file": str(tmp_path / "user.toml")}
    assert k.source == named.get(source, source)


def test_what_nobody_sets_is_the_default_and_says_so(tmp_path):
    settings, k = loaded(tmp_path, ())
    assert (settings.search.k, k.value, k.source) == (10, 10, "default")


def test_sources_are_merged_value_by_value(tmp_path):
    write(tmp_path, {".whence.toml": '[search]\nk = 3\nprofile = "classic"\n'})
    settings, _ = load(root=tmp_path, environment={"WHENCE_SEARCH_K": "4"})
    assert (settings.search.k, settings.search.profile) == (4, "classic")


def refusal(**sources: Any) -> SettingError:
    with pytest.raises(SettingError) as refused:
        load(**sources)
    return refused.value


@each(
    ("name", "value", "allowed"),
    [
        ("search.k", 0, "a whole number from 1 to 10000"),
        ("search.k", "ten", "a whole number from 1 to 10000"),
        ("search.k", 1.5, "a whole number from 1 to 10000"),
        ("search.k", True, "a whole number from 1 to 10000"),
        ("search.k", [1], "a whole number from 1 to 10000"),
        ("search.operator", "xor", "or | and"),
        ("search.profile", "best", "default | classic | semantic"),
        ("index.hidden", "maybe", "true | false"),
        ("index.hidden", 1, "true | false"),
        ("index.lock_wait", -1, "a number, at least 0"),
        ("index.overlay_share", 1.5, "a number from 0 to 1"),
        ("profiles.default.signals.unit.short", "high", "a number"),
    ],
)
def test_a_bad_value_names_the_setting_the_value_and_what_is_allowed(name, value, allowed):
    refused = refusal(call={name: value})
    assert refused.message == f"call: {name} = {value!r} is not allowed"
    assert refused.hint == f"allowed: {allowed}"


@each("value", ["nan", "inf", "-inf", math.nan, math.inf, -math.inf])
@each("name", [leaf.name for leaf in LEAVES if isinstance(leaf.value, float)][::7])
def test_no_number_is_not_a_number(name, value):
    assert "is not allowed" in refusal(call={name: value}).message


def test_a_bad_value_is_refused_even_where_a_better_source_sets_it(tmp_path):
    write(tmp_path, {".whence.toml": "search.k = 0\n"})
    assert str(tmp_path / ".whence.toml") in refusal(root=tmp_path, call={"search.k": 5}).message


@pytest.mark.parametrize(
    ("name", "suggested"),
    [("search.kk", "search.k"), ("search.operater", "search.operator"), ("index.worker", "index.workers")],
)
def test_an_unknown_name_suggests_the_nearest(name, suggested):
    refused = refusal(command_line={name: "1"})
    assert repr(name) in refused.message
    assert refused.hint == f"did you mean {suggested}?"


def test_an_unknown_name_far_from_all_points_to_the_list():
    assert "whence config" in refusal(call={"zzz": 1}).hint


def test_an_unknown_variable_suggests_the_nearest():
    refused = refusal(environment={"WHENCE_SEARCH_KAY": "3"})
    assert "WHENCE_SEARCH_KAY" in refused.message
    assert refused.hint == "did you mean WHENCE_SEARCH_K?"


def test_variables_of_others_are_not_ours():
    assert load(environment={"HOME": "/", "WHENCE": "x", **dict.fromkeys(OTHER_VARIABLES, "x")})[0] == Settings()


def test_every_setting_has_a_variable_of_its_own():
    variables = [leaf.variable for leaf in LEAVES]
    assert len(set(variables)) == len(variables)
    assert not OTHER_VARIABLES & set(variables)
    assert all(variable.startswith(ENVIRONMENT_PREFIX) and variable.isupper() for variable in variables)


def other_value(leaf: Setting) -> str:
    """A value that is allowed and is not the default."""
    if isinstance(leaf.value, bool):
        return str(not leaf.value).lower()
    if isinstance(leaf.value, str):
        return next(choice for choice in leaf.allowed.split(" | ") if choice != leaf.value)
    if isinstance(leaf.value, int):
        return str(leaf.value + 1)
    return str(leaf.value + 0.125) if leaf.value + 0.125 <= 1 or "to 1" not in leaf.allowed else str(leaf.value - 0.125)


@each("leaf", LEAVES)
def test_every_setting_can_be_set_through_its_variable(leaf):
    settings, listed = load(environment={leaf.variable: other_value(leaf)})
    found = next(one for one in listed if one.name == leaf.name)
    assert found.source == "environment"
    assert found.value != leaf.value
    assert type(found.value) is type(leaf.value)
    assert settings != Settings()
    assert [one.name for one in listed if one.source != "default"] == [leaf.name]


def test_every_setting_is_documented():
    assert [leaf.name for leaf in LEAVES if not leaf.doc] == []


@each(("text", "value"), [("true", True), ("YES", True), ("1", True), ("off", False), ("0", False)])
def test_a_switch_can_be_written_in_several_ways(text, value):
    assert load(environment={"WHENCE_INDEX_HIDDEN": text})[0].index.hidden is value


def test_a_whole_number_is_a_number():
    assert load(call={"index.lock_wait": 3})[0].index.lock_wait == 3.0


def test_a_file_that_is_no_toml_is_refused_by_name(tmp_path):
    write(tmp_path, {".whence.toml": "search = [\n"})
    assert "not valid TOML" in refusal(root=tmp_path).message
    assert ".whence.toml" in refusal(root=tmp_path).message


def test_a_file_that_is_no_text_is_refused_by_name(tmp_path):
    write(tmp_path, {".whence.toml": b"\xff\xfe\x00"})
    assert ".whence.toml" in refusal(root=tmp_path).message


def test_a_table_where_a_value_belongs_is_refused(tmp_path):
    write(tmp_path, {".whence.toml": "[search.k]\nfiles = 3\n"})
    assert "search.k.files" in refusal(root=tmp_path).message


def test_the_fingerprint_changes_with_every_setting_that_shapes_the_index_and_with_no_other():
    before = Settings().index_fingerprint()
    shaping = {f"index.{f.name}" for f in dataclasses.fields(IndexSettings) if f.metadata.get("shapes_index")}
    changing = {leaf.name for leaf in LEAVES if load(call={leaf.name: other_value(leaf)})[0].index_fingerprint() != before}
    assert changing == shaping == {"index.max_file_bytes", "index.max_line_bytes", "index.hidden"}


def test_settings_cannot_be_changed_afterwards():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().search.k = 3  # type: ignore[misc]


def test_a_huge_limit_that_is_allowed_can_also_be_used(tmp_path):
    write(tmp_path, {"a.py": "alpha = 1\n"})
    highest = next(leaf for leaf in LEAVES if leaf.name == "index.max_file_bytes").allowed.rpartition(" to ")[2]
    with Index.open(tmp_path, settings={"index.max_file_bytes": int(highest) if highest.isdigit() else 10**30}) as index:
        assert index.search("alpha")


def test_the_call_reaches_the_search(tmp_path):
    write(tmp_path, {f"{name}.py": "alpha = 1\n" for name in "abcde"})
    with Index.open(tmp_path, settings={"search.k": 2}) as index:
        assert len(index.search("alpha")) == 2


def test_config_prints_the_value_and_its_source(tmp_path):
    write(tmp_path, {".whence.toml": "search.lines = 7\n"})
    done = whence("config", "search", "--set", "search.k=4", cwd=tmp_path, WHENCE_SEARCH_POOL="300")
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert lines["search.k"].endswith("from command line")
    assert lines["search.pool"].endswith("from environment")
    assert lines["search.lines"].endswith(f"from {tmp_path / '.whence.toml'}")
    assert "from" not in lines["search.operator"].split("  ")[-1].split()[:1]
    assert done.returncode == 0


def test_config_refuses_a_bad_value_in_one_line(tmp_path):
    done = whence("config", cwd=tmp_path, WHENCE_SEARCH_K="many")
    assert done.returncode == 2
    assert done.stderr == "whence: environment: search.k = 'many' is not allowed (allowed: a whole number from 1 to 10000)\n"


def test_a_link_out_of_the_tree_is_not_followed_for_settings(tmp_path):
    (tmp_path / "outside.toml").write_text("[search]\nk = 'hunter2'\n")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/.whence.toml").symlink_to(tmp_path / "outside.toml")
    with pytest.raises(SettingError, match="a link out of the tree") as refused:
        load(root=tmp_path / "tree")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("leaf", [leaf for leaf in LEAVES if leaf.name.startswith("fleet.")], ids=lambda leaf: leaf.name)
def test_a_repository_may_not_say_anything_of_the_fleet(tmp_path, leaf):
    write(tmp_path, {".whence.toml": f"{leaf.name} = {leaf.value!r}\n"})
    refused = refusal(root=tmp_path)
    assert refused.message == f"{tmp_path / '.whence.toml'}: a repository may not set {leaf.name!r}"
    assert "config.toml" in refused.hint


def test_a_secret_is_used_and_not_listed(tmp_path):
    settings, listed = load(environment={"WHENCE_FLEET_TOKEN": "s3cret-word"})
    assert settings.fleet.token == "s3cret-word"
    assert next(one.value for one in listed if one.name == "fleet.token") == "(set)"
    assert "s3cret-word" not in repr(listed)


def test_a_secret_of_the_wrong_kind_is_not_repeated(tmp_path):
    write(tmp_path, {"user.toml": 'fleet.token = ["s3cret-word"]\n'})
    assert "s3cret-word" not in str(refusal(user_file=tmp_path / "user.toml"))


def test_the_list_of_settings_does_not_print_a_secret(tmp_path):
    for form in ([], ["--json"]):
        done = whence("config", "fleet", "--path", str(tmp_path), "--set", "fleet.token=s3cret-word", *form, cwd=tmp_path)
        assert "(set)" in done.stdout
        assert "s3cret-word" not in done.stdout + done.stderr


@each("address", ["milvus:19530", "http://", "https://user:word@host:1", "ftp://host", "file:///x.db", "x.sqlite"])
def test_an_address_of_the_fleet_is_a_server_or_a_file(address):
    assert "fleet.address" in refusal(call={"fleet.address": address}).message
