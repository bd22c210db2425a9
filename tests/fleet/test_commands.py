"""`whence fleet`, run as a person runs it (A4)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from sample_histories import commit
from sample_trees import git, whence, write
from whence.cli.main import main
from whence.core.settings import FleetSettings
from whence.fleet.engine import EVERYTHING, SCHEMAS, Engine, equals
from whence.fleet.leases import Leases
from whence.fleet.registry import Registry
from whence.fleet.sources import checkout_path

FILES = {"shop/session.py": "class SessionStore:\n    def open(self):\n        return 1\n", "README.md": "# Shop\n"}


class Done(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


Command = Callable[..., Done]

pytestmark = pytest.mark.shared_data


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = write(tmp_path / "acme" / "shop", FILES)
    git("init", "-q", cwd=root)
    commit(root, "Sessions")
    return root


@pytest.fixture
def run(fleet: FleetSettings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command of the fleet in this process; the environment says where the engine is."""
    for name in ("backend", "address", "prefix"):
        monkeypatch.setenv(f"WHENCE_FLEET_{name.upper()}", str(getattr(fleet, name)))

    def command(*arguments: str) -> Done:
        code = main(["fleet", *arguments])
        return Done(code, *capsys.readouterr())

    return command


def told(done: Done) -> list[dict[str, object]]:
    found = json.loads(done.out)
    assert isinstance(found, list)
    return found


def test_a_repository_is_added_indexed_listed_and_removed(run: Command, shop: Path, engine: Engine):
    added = run("add", str(shop), "--group", "sales")
    assert (added.code, added.err) == (0, "")
    assert added.out == f"shop: {shop}, visible to sales; waiting\n"
    done = run("index")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("shop: 2 of 2 files sent, 0.0")
    assert run("index").out == "shop: up to date\n"
    listed = run("list")
    assert listed.code == 0
    assert listed.out.split()[:4] == ["shop", "ready", "2", "files"]
    removed = run("remove", "shop")
    assert (removed.code, removed.err) == (0, "")
    assert removed.out.startswith("shop: removed (rows: 1 repos, 2 files")
    assert {name: engine.count(name, EVERYTHING) for name in SCHEMAS} == dict.fromkeys(SCHEMAS, 0)
    assert (shop / "README.md").exists()
    assert run("list") == Done(1, "", "")


def test_status_says_what_it_cost_and_who_works_on_it(run: Command, shop: Path, engine: Engine):
    run("add", str(shop))
    run("index")
    lines = run("status").out.splitlines()
    assert lines[0] == "shop: ready"
    assert lines[1] == f"  {shop}, visible to no group"
    assert lines[2].startswith(f"  commit {git('rev-parse', 'HEAD', cwd=shop)[:10]} on main, checked ")
    assert "2 files, " in lines[3]
    assert "MB sent in" in lines[4]
    assert lines[-1] == "1 repository (1 ready), 2 files"
    lease = Leases(engine, "ada on a train", 60.0, time.time).acquire("shop")
    assert lease is not None
    assert run("status").out.startswith("shop: ready, leased by ada on a train\n")
    (facts,) = told(run("status", "--json"))
    assert facts["worker"] == "ada on a train"
    assert {"name", "source", "groups", "state", "commit", "files", "units", "bytes_sent", "seconds", "cpu"} <= facts.keys()
    assert run("status", "nothing*").code == 1


def test_json_says_the_same(run: Command, shop: Path):
    (added,) = told(run("add", str(shop), "--name", "acme/shop", "--group", "b", "--group", "a", "--json"))
    assert (added["name"], added["groups"], added["state"], added["commit"]) == ("acme/shop", ["a", "b"], "waiting", None)
    (done,) = told(run("index", "--json", "--worker", "ada"))
    assert (done["name"], done["what"], done["files_sent"], done["files"]) == ("acme/shop", "sent", 2, 2)
    assert done["bytes"] > 0
    assert done["rows"] > 4
    (again,) = told(run("index", "--json"))
    assert (again["what"], again["files_sent"], again["bytes"]) == ("unchanged", 0, 0)
    assert [one["name"] for one in told(run("list", "--json"))] == ["acme/shop"]
    (removed,) = told(run("remove", "acme/shop", "--json"))
    assert (removed["name"], removed["rows"]["files"], removed["checkout"]) == ("acme/shop", 2, False)
    assert told(run("list", "--json")) == []


def test_a_url_is_called_by_its_last_two_steps_and_its_checkout_goes_with_it(run: Command, shop: Path, data: Path):
    url = f"file://{shop}"
    assert run("add", url).out.startswith("acme/shop: file://")
    run("index")
    assert checkout_path(url, data).is_dir()
    assert run("remove", "acme/shop").out.endswith(" and its local checkout\n")
    assert not checkout_path(url, data).exists()


def test_a_name_that_is_taken_is_refused(run: Command, shop: Path, tmp_path: Path):
    other = write(tmp_path / "other" / "shop", FILES)
    assert run("add", str(shop)).code == 0
    refused = run("add", str(other))
    assert (refused.code, refused.out) == (2, "")
    assert "the fleet already has a shop" in refused.err
    assert run("add", str(other), "--name", "other").code == 0
    twice = run("add", str(shop), str(other))
    assert (twice.code, twice.err.count("\n")) == (2, 1)
    assert "same name" in twice.err


def test_other_groups_are_in_every_row_at_once(run: Command, shop: Path, engine: Engine):
    run("add", str(shop), "--group", "sales")
    run("index")
    assert "visible to board;" in run("add", str(shop), "--group", "board").out
    for name in ("repos", "files", "texts", "units", "passages", "commits", "packs"):
        assert {tuple(row["groups"]) for row in engine.rows(name, EVERYTHING, ("groups",))} == {("board",)}, name
    scopes = {row["scope"] for row in engine.rows("counts", EVERYTHING, ("scope",))}
    assert scopes == {"shop", "@board", "*"}
    assert run("index").out == "shop: up to date\n"


def test_patterns_choose(run: Command, shop: Path, tmp_path: Path, engine: Engine):
    run("add", str(shop), "--name", "acme/shop")
    run("add", str(write(tmp_path / "zoo", {"a.py": "x = 1\n"})), "--name", "parks/zoo")
    assert run("index", "z*").out.startswith("parks/zoo: ")
    assert Registry(engine).get("acme/shop").state == "waiting"
    assert run("list", "acme/*").out.startswith("acme/shop")
    assert run("index", "nobody") == Done(1, "no repository in the fleet matches nobody\n", "")
    assert engine.count("files", equals("repo", "acme/shop")) == 0


def test_trouble_with_a_repository_is_one_line_and_exit_code_two(run: Command, shop: Path, tmp_path: Path):
    run("add", str(shop))
    run("add", f"file://{tmp_path}/nowhere/at/all")
    done = run("index")
    assert done.code == 2
    assert done.out.startswith("shop: 2 of 2 files sent")
    assert done.err.startswith("whence: at/all: git ls-remote failed")
    assert done.err.count("\n") == 1
    assert "at/all: failed\n" in run("status").out


@pytest.mark.parametrize(
    "arguments",
    [
        ("remove", "nobody"),
        ("add", "no-such-folder"),
        ("add", "ext::sh -c true"),
        ("add", "https://ada:hunter2@example.org/a/b"),
        ("add", ".", "--name", "@sales"),
        ("add", ".", "--name", "*"),
        ("add", ".", "--group", ""),
        ("index", "--watch", "0"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_two(
    run: Command, shop: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
):
    monkeypatch.chdir(shop)
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("whence: ")
    assert done.err.count("\n") == 1
    assert "hunter2" not in done.err


def test_without_a_fleet_every_command_says_so_and_search_goes_on(shop: Path):
    for arguments in (["list"], ["status"], ["index"], ["add", "."], ["remove", "x"]):
        done = whence("fleet", *arguments, cwd=shop)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("whence: no fleet is set up (")
    assert whence("search", "session store", cwd=shop).returncode == 0


def test_a_worker_that_watches_takes_in_what_comes(run: Command, shop: Path, monkeypatch: pytest.MonkeyPatch, engine: Engine):
    passes, really = [], time.sleep

    def asleep(seconds: float) -> None:
        if seconds != 3.0:  # others sleep, too
            really(seconds)
            return
        passes.append(seconds)
        if len(passes) == 1:
            write(shop, {"new.py": "def okapi():\n    return 1\n"})
        else:
            raise KeyboardInterrupt

    run("add", str(shop))
    monkeypatch.setattr("whence.cli.fleet.time.sleep", asleep)
    done = run("index", "--watch", "3")
    assert done.code == 130
    assert [line.partition(",")[0] for line in done.out.splitlines()] == ["shop: 2 of 2 files sent", "shop: 1 of 3 files sent"]
    assert len(passes) == 2


def test_two_names_of_one_url_share_a_checkout_that_stays_while_one_is_left(run: Command, shop: Path, data: Path):
    url = f"file://{shop}"
    for name in ("one", "two"):
        run("add", url, "--name", name)
    assert run("index").code == 0
    run("remove", "one")
    assert checkout_path(url, data).is_dir()
    run("remove", "two")
    assert not checkout_path(url, data).exists()
