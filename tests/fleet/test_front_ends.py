"""The fleet as people reach it: from a shell and from Python."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import whence
from fleet.sample_fleet import BLUE, BOTH, RED, planted, sent
from small_cases import each
from whence.app.fleet_checkout import FOLDER, is_safe_path, open_checkout
from whence.cli.main import main
from whence.core.errors import FleetError, QueryError, SettingError, UsageError
from whence.core.settings import FleetSettings
from whence.fleet.engine import Engine
from whence.fleet.registry import token_hash
from whence.fleet.search import IMPORTS, Fleet, find_symbols

Run = Any
NOW = 1_800_000_000.0


@pytest.fixture(scope="module")
def settings(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetSettings]:
    """A fleet of three repositories."""
    place = tmp_path_factory.mktemp("front")
    settings = FleetSettings(backend="milvus", address=server, prefix="front", timeout=30.0)
    with Engine.open(settings) as engine:
        engine.ensure()
        sent(engine, planted(place), place / "data")
        yield settings
        engine.drop()


@pytest.fixture
def configured(settings: FleetSettings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FleetSettings:
    """The fleet as a user's own settings name it; the current folder is no repository."""
    monkeypatch.setenv("WHENCE_FLEET_BACKEND", "milvus")
    monkeypatch.setenv("WHENCE_FLEET_ADDRESS", settings.address)
    monkeypatch.setenv("WHENCE_FLEET_PREFIX", settings.prefix)
    monkeypatch.chdir(tmp_path)
    return settings


@pytest.fixture
def tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps({token_hash("of red"): ["red"], token_hash("of all"): ["*"]}))
    file.chmod(0o600)
    monkeypatch.setenv("WHENCE_FLEET_TOKENS", str(file))
    return file


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


# From Python.
@pytest.mark.usefixtures("configured")
def test_a_fleet_is_opened_from_the_users_settings():
    with whence.Fleet.open() as fleet:
        answer = fleet.search("open a session", k=2)
        assert {one.repository for one in answer.files} == {RED, BLUE}
        assert {one.name for one in answer.searched} == {RED, BLUE, BOTH}
        assert set(answer.repository_counts) <= {RED, BLUE, BOTH}


@pytest.mark.usefixtures("configured", "tokens")
def test_the_token_of_a_call_says_who_asks():
    with whence.Fleet.open(token="of red") as fleet:
        assert [one.name for one in fleet.repositories()] == [RED, BOTH]
    with whence.Fleet.open({"fleet.caller": "of all"}) as fleet:
        assert len(fleet.repositories()) == 3


@pytest.mark.usefixtures("configured", "tokens")
@pytest.mark.parametrize("token", ["", "of nobody"])
def test_a_caller_that_is_not_known_is_refused(token):
    with pytest.raises(FleetError, match="does not know this caller"):
        whence.Fleet.open(token=token)


def test_without_settings_there_is_no_fleet():
    with pytest.raises(FleetError, match="no fleet is set up"):
        whence.Fleet.open()


@pytest.mark.usefixtures("configured")
def test_a_fleet_that_was_never_begun_is_said_to_be_none():
    with pytest.raises(FleetError, match="has no fleet named nowhere"):
        whence.Fleet.open({"fleet.prefix": "nowhere"})


def test_a_repository_does_not_say_who_asks(tmp_path):
    (tmp_path / ".whence.toml").write_text('[fleet]\ncaller = "of all"\n')
    with pytest.raises(SettingError, match="a repository may not set"):
        whence.Index.open(tmp_path)


def test_the_token_of_a_caller_is_never_printed(run, monkeypatch):
    monkeypatch.setenv("WHENCE_FLEET_CALLER", "hush-hush-token")
    code, out, err = run("config", "fleet")
    assert code == 0
    assert "hush" not in out + err


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("sym:charge_card", {f"{RED}/store/billing.py", f"{BLUE}/vellichor/quokkastore.py"}),
        ("sym:charge_card repo:acme/*", {f"{RED}/store/billing.py"}),
        ("sym:charge_card -repo:crimson", {f"{BLUE}/vellichor/quokkastore.py"}),
        ('"charge a card" lang:python', {f"{RED}/store/billing.py", f"{BLUE}/vellichor/quokkastore.py"}),
        ("timeout lang:go", {f"{BLUE}/vellichor/timeouts.go"}),
        ("sym:nothing_is_called_so", set()),
    ],
)
def test_the_language_of_queries_works_across_repositories(query, paths):
    with whence.Fleet.open() as fleet:
        assert {one.path for one in fleet.search(query, k=5)} == paths


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize("query", ["lang:python", "", "repo:kit", "path:store/*"])
def test_a_query_without_words_is_refused(query):
    with whence.Fleet.open() as fleet, pytest.raises(QueryError):
        fleet.search(query)


# From a shell.
@pytest.mark.usefixtures("configured")
def test_search_prints_files_of_all_repositories_and_how_many_were_searched(run):
    code, out, _ = run("search", "--fleet", "charge a card with a total", "-k", "3")
    assert code == 0
    assert f"{RED}/store/billing.py:" in out
    assert "of 9 files · 3 repositories · indexed " in out.splitlines()[-1]


@pytest.mark.usefixtures("configured")
def test_search_as_json_has_the_repository_of_each_file_and_facets(run):
    code, out, _ = run("search", "--fleet", "charge a card repo:acme/crimson", "--json", "--why")
    found = json.loads(out)
    assert code == 0
    assert found["results"][0]["repository"] == RED
    assert len(found["results"][0]["commit"]) == 40
    assert found["results"][0]["why"]
    assert found["fleet"] == {"repositories": 1, "files": 3}
    assert list(found["facets"]["repositories"]) == [RED]


@pytest.mark.usefixtures("configured")
def test_search_options_work_as_for_a_tree(run):
    assert (
        run("search", "--fleet", "connection lost", "-l", "--content", "code", "-k", "9", "--lang", "go")[1]
        == f"{BLUE}/vellichor/timeouts.go\n"
    )
    assert "session" in run("search", "--fleet", "how a session is opened", "--content", "docs")[1]
    assert run("search", "--fleet", "SessionStore", "--why")[1].count("words") > 0
    code, out, _ = run("search", "--fleet", "open a session", "--budget", "160")
    assert code == 0
    assert "· 3 repositories · indexed " in out


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "--fleet", "session", "."),
        ("search", "--fleet"),
        ("search", "--fleet", "session", "-e", "x"),
        ("search", "--fleet", "session", "--no-refresh"),
        ("search", "--fleet", "session in:notes"),
        ("search", "--fleet", "callers:open_session x"),
        ("why", "--fleet", "session", "a/b", "elsewhere"),
        ("why", "--fleet", "--context", "session", "a/b"),
        ("why", "--fleet", "session", "acme/crimson/nothing.py"),
        ("context", "--fleet", RED, "task", "--diff"),
        ("context", "--fleet", RED, "task", "--path", "elsewhere"),
        ("context", "--fleet", RED, "--files", "../x.py"),
        ("context", "--fleet", "acme/nothing", "task"),
    ],
)
def test_what_makes_no_sense_of_a_fleet_is_refused_in_one_line(run, arguments):
    code, out, err = run(*arguments)
    assert code == 2
    assert not out
    assert len(err.splitlines()) == 1 or "^" in err  # a caret shows the place in a query


@pytest.mark.usefixtures("configured")
def test_an_engine_that_is_not_there_is_one_line_and_a_local_search_does_without(run, monkeypatch, tmp_path):
    monkeypatch.setenv("WHENCE_FLEET_ADDRESS", "http://127.0.0.1:9")
    monkeypatch.setenv("WHENCE_FLEET_TIMEOUT", "1")
    code, out, err = run("search", "--fleet", "session")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "cannot be reached" in err or "did not answer" in err
    (tmp_path / "here.py").write_text("def open_session():\n    return 1\n")
    assert run("search", "open_session")[0] == 0


@pytest.mark.usefixtures("configured")
def test_why_explains_a_file_of_the_fleet(run):
    code, out, _ = run("why", "--fleet", "open a session", f"{RED}/store/session.py")
    assert code == 0
    assert out.startswith(f"{RED}/store/session.py:")
    assert "rank 1 of" in out or "rank 2 of" in out
    line = json.loads(run("why", "--fleet", "open a session", f"{RED}/store/session.py:9", "--json")[1])
    assert line["unit"] == "open_session"


# A repository that is fetched.
@pytest.mark.usefixtures("configured")
def test_context_fetches_the_portable_index_and_shows_code(run):
    code, out, err = run("context", "--fleet", RED, "open a session again when the connection is lost")
    assert code == 0, err
    assert "class SessionStore" in out
    assert "`store/session.py:" in out
    assert FOLDER not in out
    assert "retry_later" in out
    listed = json.loads(run("context", "--fleet", "crimson", "open a session", "--list", "--json")[1])
    assert listed["symbols"][0]["path"] == "store/session.py"


@pytest.mark.usefixtures("configured")
def test_a_fetched_repository_is_taken_from_its_pack_and_used_again(own_data_dir):
    with whence.Fleet.open() as fleet:
        with open_checkout(fleet, RED, own_data_dir, now=NOW) as first:
            assert first.index.last_refresh.reused == 3
            assert first.index.last_refresh.read == 0
            assert (first.reused, first.warnings) == (False, ())
        with open_checkout(fleet, RED, own_data_dir, now=NOW) as second:
            assert second.reused
            assert second.index.last_refresh.read == 0
    assert len(list((own_data_dir / FOLDER).iterdir())) == 1


@pytest.mark.usefixtures("configured")
def test_what_differs_from_the_pack_is_read_here(own_data_dir):
    with (
        whence.Fleet.open() as fleet,
        open_checkout(fleet, BLUE, own_data_dir, now=NOW) as found,
    ):  # a secret is not in the text, so the file is another
        assert (found.index.last_refresh.reused, found.index.last_refresh.read) == (3, 1)


@each("path", ["../out.py", "/etc/x", "a/../../x", ".git/config", "a/.GIT/hooks/x", "a//b", "", "a\\b", "a\nb", ".git /x"])
def test_no_path_of_the_engine_leads_out_of_the_folder(path):
    assert not is_safe_path(path)
    assert is_safe_path("a/.github/b.c")


@pytest.mark.usefixtures("configured")
def test_folders_of_what_a_repository_was_before_are_removed(own_data_dir):
    with whence.Fleet.open() as fleet:
        with open_checkout(fleet, BOTH, own_data_dir, now=NOW) as found:
            place = found.index.root.parent
        old = place.with_name(f"{place.name.rpartition('-')[0]}-0123456789abcdef")
        place.rename(old)
        with open_checkout(fleet, BOTH, own_data_dir, now=NOW) as found:
            assert not found.reused
        assert not old.exists()


# Names across repositories.
@pytest.mark.usefixtures("configured")
def test_a_name_is_found_where_it_is_defined_and_where_others_import_it():
    with whence.Fleet.open() as fleet:
        found = find_symbols(fleet, "retry_later")
    assert [(one.repository, one.path, one.line, one.kind) for one in found.definitions] == [(BOTH, "kit/retry.py", 4, "function")]
    assert {(one.repository, one.path, one.how) for one in found.uses} == {
        (RED, "store/session.py", IMPORTS),
        (BLUE, "vellichor/quokkastore.py", IMPORTS),
    }
    assert all(one.means == found.definitions for one in found.uses)


@pytest.mark.usefixtures("configured", "tokens")
def test_names_of_others_are_no_names():
    with whence.Fleet.open(token="of red") as fleet:
        assert not find_symbols(fleet, "QuokkaStore").definitions
        assert {one.repository for one in find_symbols(fleet, "SessionStore").definitions} == {RED}
        assert {one.repository for one in find_symbols(fleet, "retry_later").uses} == {RED}


@pytest.mark.usefixtures("configured")
def test_symbols_are_printed_with_who_uses_them(run):
    code, out, _ = run("fleet", "symbols", "retry_later")
    assert code == 0
    assert f"{BOTH}/kit/retry.py:4  function" in out
    assert f"{RED}/store/session.py" in out
    assert json.loads(run("fleet", "symbols", "retry_later", "--json")[1])["uses"][0]["how"] == IMPORTS
    assert run("fleet", "symbols", "nobody_has_this")[0] == 1
    assert run("fleet", "symbols", "...")[0] == 2


@pytest.mark.usefixtures("configured")
def test_why_of_what_is_not_there_is_refused():
    with Fleet.open() as fleet, pytest.raises(UsageError, match="there is no 'nothing'"):
        fleet.why("session", "nothing")
