"""A caller of one group tries to learn something of a repository of another. Every try is counted; none may succeed.

Two fleets are compared: one that has the foreign repository, and one that never had it. To whoever may not see it, there
is no difference between them: not in what is found, not in a number, not in a word of an error, not in the number of
questions that the engine is asked.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from fleet.sample_fleet import BLUE, BOTH, FOREIGN, RED, planted, sent
from small_cases import each
from whence.app.fleet_checkout import open_checkout
from whence.cli.main import main
from whence.core.errors import WhenceError
from whence.core.settings import FleetSettings, load
from whence.fleet.engine import SCHEMAS, SPARSE, Engine, equals
from whence.fleet.registry import Caller, Registry, token_hash
from whence.fleet.rows import file_key, part_key
from whence.fleet.search import Fleet, find_symbols

Asking = Callable[[Fleet], Any]
CALLER = Caller(frozenset({"red"}))
NOW = 1_800_000_000.0
#: Tries of all tests of this file, and what they learned.
TRIES: list[str] = []
LEAKS: list[str] = []

#: Words that others have, as a caller would have to write them. What was asked is told again and is no news.
WORDS = ("quokkastore", "QuokkaStore", "zanzibarflux", "vellichor", "nudibranch", "open_ganglypuff", "xylophagous", FOREIGN[-1])
OPERATORS = (
    "{0}",
    '"{0}"',
    "/{0}/",
    "/(?i){0}/ session",
    "session {0}",
    "session OR {0}",
    "{0} OR nothing_else",
    "session -{0}",
    "-{0} session",
    "(session OR card) {0}",
    "sym:{0}",
    "session sym:{0}",
    "session -sym:{0}",
    "session path:{0}",
    "session path:*{0}*",
    "session -path:*{0}*",
    "session lang:go {0}",
    "kind:class {0}",
    "in:docs {0}",
    "in:all {0}",
    "session repo:{0}",
    "repo:*{0}* session",
)
REPOSITORIES = (
    f"session repo:{BLUE}",
    "session repo:cobalt",
    "session repo:umbra/*",
    "session repo:*",
    "session repo:**",
    "session repo:[a-z]*/[a-z]*",
    "session repo:*/*",
    "session repo:umbra/cobal?",
    f"session -repo:{RED}",
    f"session -repo:{RED} -repo:{BOTH}",
    f"session -repo:{BLUE}",
    f"session repo:{RED} repo:{BLUE}",
    f"session repo:{BLUE} repo:{BLUE}",
    f"session repo:{RED}/../{BLUE}",
    "session repo:",
    "session repo:!acme",
    "session repo:[!a]*",
    f'session repo:"{BLUE}"',
    f"session (repo:{BLUE})",
    f"repo:{RED} OR repo:{BLUE} session",
    f"session REPO:{BLUE}",
    f"session repo={BLUE}",
)
#: Texts that would end a string, a list or an expression of the engine, were they ever part of one.
INJECTIONS = (
    '") or (repo != "',
    '" or repo != "" or "" == "',
    "') or (repo != '",
    '"] or repo != "',
    '"]) or array_contains_any(groups, ["blue',
    'red"]) or array_contains(groups, "blue") or array_contains_any(groups, ["red',
    '\\") or (repo != \\"',
    "\\",
    '\\"',
    '\\\\" or repo != "',
    "\u201d) or (repo != \u201c",
    "\uff02 or repo != \uff02",
    "\u02ba) or (1 == 1",
    "\x00",
    'a\x00" or repo != "',
    '\r\n" or repo != "',
    "x\ny",
    "%",
    "_%",
    'like "%"',
    "{groups}",
    "$meta",
    "repo in ['umbra/cobalt']",
    "1 == 1",
    'id != ""',
    "' || repo || '",
    "\ud800",
    "\U0001f4a5" * 50,
    "a" * 5_000 + '" or repo != "',
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tries")


@pytest.fixture(scope="module")
def engines(server: str, place: Path) -> Iterator[tuple[Engine, Engine]]:
    """An engine that has the foreign repository, and one that has not."""
    trees = planted(place)
    settings = [FleetSettings(backend="milvus", address=server, prefix=one, timeout=30.0) for one in ("with_it", "without")]
    with Engine.open(settings[0]) as one, Engine.open(settings[1]) as other:
        for engine, names in ((one, (RED, BLUE, BOTH)), (other, (RED, BOTH))):
            engine.ensure()
            sent(engine, {name: trees[name] for name in names}, place / "data")
        yield one, other
        one.drop()
        other.drop()


@pytest.fixture(scope="module")
def fleets(engines: tuple[Engine, Engine]) -> tuple[Fleet, Fleet]:
    """The same caller in both."""
    settings, _ = load(root=None, environment={}, command_line={})
    return Fleet(engines[0], settings, CALLER), Fleet(engines[1], settings, CALLER)


def answered(ask: Asking, fleet: Fleet) -> str:
    """Everything that a caller sees of an answer, as text; of an error its words."""
    try:
        return json.dumps(ask(fleet), sort_keys=True, default=str)
    except WhenceError as error:
        return f"{type(error).__name__}: {error} | {error.hint}"


def search(query: str, **options: Any) -> Asking:
    """A search, with all that its answer has in it."""

    def ask(fleet: Fleet) -> Any:
        answer = fleet.search(query, **{"k": 10, "content": "all", **options})
        return {
            "results": [
                (
                    one.path,
                    one.repository,
                    one.qualified_name,
                    one.score,
                    one.start_line,
                    [asdict(line) for line in one.lines],
                    one.provenance,
                )
                for one in answer.files
            ],
            "why": [[asdict(line) for line in one.why] for one in answer],
            "facets": asdict(answer.facets),
            "repositories": answer.repository_counts,
            "searched": [(one.name, one.files, one.groups) for one in answer.searched],
            "confidence": asdict(answer.confidence) if answer.confidence else None,
            "notes": answer.notes,
        }

    return ask


def tried(what: str, ask: Asking, fleets: tuple[Fleet, Fleet], asked: str = "") -> str:
    """One try: the answers of both fleets are the same, and hold no foreign word that was not in the question."""
    theirs, ours = (answered(ask, fleet) for fleet in fleets)
    TRIES.append(what)
    if theirs != ours:
        LEAKS.append(f"{what}: {theirs[:300]} != {ours[:300]}")
    told = theirs.lower()
    for part in re.split(r"[\s\"'/:*(){}\[\]?|,]+", asked.lower()):
        told = told.replace(part, "") if len(part) > 3 else told
    LEAKS.extend(f"{what}: {word}" for word in FOREIGN if word.lower() in told and word.lower() not in asked.lower())
    return theirs


# What the language of queries can say.
@pytest.mark.parametrize("operator", OPERATORS)
def test_no_operator_finds_what_is_anothers(operator, fleets):
    for word in WORDS:
        query = operator.format(word)
        found = tried(f"search {query}", search(query), fleets, query)
        assert BLUE not in found.replace(query, "")
    assert LEAKS == []


@each("query", REPOSITORIES)
def test_no_choice_of_repositories_reaches_what_is_anothers(query, fleets):
    tried(f"search {query}", search(query), fleets, query)
    assert LEAKS == []


def test_a_foreign_name_and_one_that_does_not_exist_are_answered_alike(fleets):
    fleet, _ = fleets
    for form in ("session repo:{0}", "session -repo:{0}", "session repo:{0}/*"):
        foreign, unknown = (answered(search(form.format(name)), fleet) for name in (BLUE, "umbra/cobald"))
        assert foreign.replace(BLUE, "X") == unknown.replace("umbra/cobald", "X")
        TRIES.append(f"alike {form}")


# Numbers.
@pytest.mark.parametrize(
    "query",
    [
        "open a session again when the connection is lost",
        "charge a card",
        "timeout",
        "session",
        "SessionStore",
        "open_session",
        "retry_later",
        "the nudibranch of zanzibarflux charges a card",
        "connection lost timeout card session user work moment",
        "how is a session opened and a card charged",
    ],
)
@pytest.mark.parametrize("options", [{}, {"k": 1}, {"k": 10_000}, {"profile": "classic"}, {"profile": "semantic"}, {"strategy": "vector"}])
def test_every_number_is_as_if_the_foreign_repository_did_not_exist(query, options, fleets):
    tried(f"numbers of {query} {options}", search(query, **options), fleets, query)
    assert LEAKS == []


def test_the_engine_is_asked_as_often_as_if_the_foreign_repository_did_not_exist(fleets, monkeypatch):
    calls: list[str] = []
    real = Engine._call

    def counting(self: Engine, method: Any, *arguments: Any, **options: Any) -> Any:
        calls.append(method.__name__)
        return real(self, method, *arguments, **options)

    monkeypatch.setattr(Engine, "_call", counting)
    asked = [
        search("session"),
        search("zanzibarflux"),
        search("sym:SessionStore"),
        search("charge a card repo:*"),
        lambda fleet: fleet.repositories(),
    ]
    asked += [
        lambda fleet: asdict(find_symbols(fleet, "SessionStore")),
        lambda fleet: asdict(fleet.why("session", f"{BLUE}/vellichor/session.py")),
    ]
    for number, ask in enumerate(asked):
        seen = []
        for fleet in fleets:
            calls.clear()
            fleet._known = (float("-inf"), ())
            answered(ask, fleet)
            seen.append(list(calls))
        TRIES.append(f"calls {number}")
        assert seen[0] == seen[1]


# Texts that are to become part of an expression.
@pytest.mark.parametrize("text", INJECTIONS, ids=range(len(INJECTIONS)))
def test_no_text_becomes_part_of_an_expression(text, fleets, place):
    ways: dict[str, Asking] = {
        "query": search(f"session {text}"),
        "plain": search(text, plain=True),
        "repo": search(f"session repo:{text}"),
        "sym": search(f"sym:{text}"),
        "language": search("session", languages=(text,)),
        "kind": search("session", kinds=(text,)),
        "content": search("session", content=text),
        "profile": search("session", profile=text),
        "include": search("session", include=(text,)),
        "paths": search("session", paths=(text,)),
        "factors": search("session", factors={text: 2.0}),
        "target": lambda one: asdict(one.why("session", f"{BLUE}/{text}")),
        "symbol": lambda one: asdict(find_symbols(one, text)),
        "context": lambda one: _context(one, text, place),
        "repositories": lambda one: [asdict(found) for found in one.repositories(text)],
    }
    for name, ask in ways.items():
        tried(f"{name} {text[:40]!r}", ask, fleets, text + BLUE)
    assert LEAKS == []


def test_a_caller_whose_groups_are_expressions_sees_nothing(engines):
    settings, _ = load(root=None, environment={}, command_line={})
    for text in INJECTIONS:
        if text.isprintable():
            fleet = Fleet(engines[0], settings, Caller(frozenset({text})))
            assert fleet.repositories() == []
            assert list(fleet.search("session")) == []
            TRIES.append(f"group {text[:40]!r}")


# Why, symbols, and a repository that is fetched.
def _context(fleet: Fleet, name: str, place: Path) -> Any:
    with open_checkout(fleet, name, place / "fetched", now=NOW) as found:
        return found.repository.name, sorted(found.index.snapshot.paths)


@each(
    "target",
    [
        f"{BLUE}/vellichor/quokkastore.py",
        f"{BLUE}/vellichor/quokkastore.py:6",
        f"{BLUE}/vellichor/quokkastore.py#QuokkaStore",
        f"./{BLUE}/vellichor/quokkastore.py",
        f"{RED}/../../{BLUE}/vellichor/quokkastore.py",
        "vellichor/quokkastore.py",
        "quokkastore.py",
        "QuokkaStore",
        "QuokkaStore.open_ganglypuff",
        BLUE,
        file_key(BLUE, "vellichor/quokkastore.py"),
        part_key(file_key(BLUE, "vellichor/quokkastore.py"), 0),
        f"{RED}/vellichor/quokkastore.py",
    ],
)
def test_why_says_nothing_of_what_is_anothers(target, fleets):
    ask = lambda fleet: asdict(fleet.why("zanzibarflux keeps sessions", target))  # noqa: E731
    found = tried(f"why {target}", ask, fleets, f"zanzibarflux {target}")
    unknown = answered(lambda fleet: asdict(fleet.why("zanzibarflux keeps sessions", "nowhere/at.all")), fleets[0])
    assert found.replace(target, "X") == unknown.replace("nowhere/at.all", "X")
    assert LEAKS == []


@each("name", ["QuokkaStore", "open_ganglypuff", "Zanzibarflux", "SessionStore", "charge_card", "retry_later", "user", "total"])
def test_symbols_are_those_of_ones_own(name, fleets):
    tried(f"symbols {name}", lambda fleet: asdict(find_symbols(fleet, name)), fleets, name)
    assert LEAKS == []


@each("name", [BLUE, "cobalt", "umbra/*", "*/cobalt", f"{BLUE}/", f"{RED}/../{BLUE}", "*", "", "umbra"])
def test_a_foreign_repository_is_not_fetched(name, fleets, place):
    found = tried(f"context {name}", lambda fleet: _context(fleet, name, place), fleets, name)
    if name not in ("*", ""):
        unknown = answered(lambda fleet: _context(fleet, "un/known", place), fleets[0])
        assert found.replace(name, "X") == unknown.replace("un/known", "X")
    assert LEAKS == []


# Rows that somebody wrote with wrong groups, or that are not rewritten yet.
@pytest.fixture
def astray(server: str, place: Path, prefix: str) -> Iterator[Engine]:
    """A fleet whose rows may be spoiled."""
    with Engine.open(FleetSettings(backend="milvus", address=server, prefix=prefix, timeout=30.0)) as engine:
        engine.ensure()
        trees = {name: place / name.replace("/", "-") for name in (RED, BLUE, BOTH)}
        sent(engine, trees, place / "data")
        yield engine
        engine.drop()


def spoil(engine: Engine, name: str, **other: Any) -> None:
    """Write the rows of the foreign repository again, with other values."""
    fields = [one for one in SCHEMAS[name] if one != SPARSE]
    rows = list(engine.rows(name, equals("repo", BLUE), fields))
    engine.put(name, [{**row, **({"sketch": row["sketch"][0]} if "sketch" in row else {}), **other} for row in rows])


QUERIES = (
    "zanzibarflux",
    "QuokkaStore",
    "sym:QuokkaStore",
    "nudibranch session",
    "charge a card",
    "xylophagous",
    "open_ganglypuff",
    "vellichor timeout",
)


@pytest.mark.parametrize("name", ["files", "texts", "units", "passages", "commits", "packs"])
def test_a_row_with_a_wrong_group_is_caught_on_the_way_out(name, astray, fleets, place):
    spoil(astray, name, groups=["red"])
    spoiled = Fleet(astray, fleets[0].settings, CALLER)
    for query in QUERIES:
        tried(f"spoiled {name} {query}", search(query), (spoiled, fleets[1]), query)
    for target in (f"{BLUE}/vellichor/quokkastore.py", "QuokkaStore"):
        tried(f"spoiled {name} why {target}", lambda fleet, at=target: asdict(fleet.why("session", at)), (spoiled, fleets[1]), target)
    tried(f"spoiled {name} symbols", lambda fleet: asdict(find_symbols(fleet, "SessionStore")), (spoiled, fleets[1]))
    tried(f"spoiled {name} context", lambda fleet: _context(fleet, BLUE, place), (spoiled, fleets[1]), BLUE)
    assert LEAKS == []


def test_a_row_with_the_name_of_ones_own_repository_and_foreign_groups_is_not_shown(astray, fleets):
    for name in ("files", "texts"):
        spoil(astray, name, repo=RED)
    spoiled = Fleet(astray, fleets[0].settings, CALLER)
    for query in QUERIES:
        tried(f"renamed {query}", search(query), (spoiled, fleets[1]), query)
    assert LEAKS == []


def test_pieces_of_others_are_not_given_by_their_keys(fleets):
    for path in ("vellichor/quokkastore.py", "vellichor/session.py", "vellichor/timeouts.go", "docs/ganglypuff.md"):
        assert fleets[0].file_blobs([file_key(BLUE, path)]) == []
        TRIES.append(f"piece {path}")


def test_who_lost_a_right_sees_nothing_from_then_on_whatever_rows_still_say(astray, fleets, place):
    registry = Registry(astray)
    kit = registry.get(BOTH)
    assert kit is not None
    before = Fleet(astray, fleets[0].settings, CALLER)
    assert BOTH in {one.repository for one in before.search("retry_later").files}
    registry._write(replace(kit, groups=("blue",)))  # what is listed changes first; every row still names the old groups
    after = Fleet(astray, fleets[0].settings, CALLER)
    for query in ("retry_later", "sym:retry_later", "repo:kit retry", "sleep until a moment", "connection lost"):
        found = answered(search(query), after)
        TRIES.append(f"regrouped {query}")
        assert BOTH not in found.replace(query, "")
    assert answered(lambda fleet: asdict(fleet.why("retry", f"{BOTH}/kit/retry.py")), after).startswith("UsageError")
    assert answered(lambda fleet: _context(fleet, BOTH, place), after).startswith("UsageError")
    assert [one.repository for one in find_symbols(after, "retry_later").definitions] == []


# From a shell.
@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "--fleet", "zanzibarflux keeps sessions", "--json", "--why"),
        ("search", "--fleet", "session", "-k", "100", "--content", "all", "--json", "--why"),
        ("search", "--fleet", "session", "-l", "-k", "100"),
        ("search", "--fleet", f"session repo:{BLUE}", "--json"),
        ("why", "--fleet", "session", f"{BLUE}/vellichor/session.py"),
        ("why", "--fleet", "session", f"{RED}/store/session.py", "--json"),
        ("context", "--fleet", BLUE, "open a session"),
        ("context", "--fleet", RED, "open a session"),
        ("fleet", "symbols", "SessionStore", "--json"),
        ("fleet", "list"),
        ("fleet", "list", "--json"),
        ("fleet", "list", "umbra/*"),
        ("fleet", "status"),
        ("fleet", "status", BLUE),
    ],
)
def test_a_shell_tells_no_more(arguments, engines, capsys, monkeypatch, tmp_path):
    tokens = tmp_path / "tokens.json"
    tokens.write_text(json.dumps({token_hash("of red"): ["red"]}))
    tokens.chmod(0o600)
    monkeypatch.setenv("WHENCE_FLEET_TOKENS", str(tokens))
    monkeypatch.setenv("WHENCE_FLEET_CALLER", "of red")
    monkeypatch.setenv("WHENCE_FLEET_BACKEND", "milvus")
    monkeypatch.chdir(tmp_path)
    seen = []
    for engine in engines:
        monkeypatch.setenv("WHENCE_FLEET_ADDRESS", engine.settings.address)
        monkeypatch.setenv("WHENCE_FLEET_PREFIX", engine.settings.prefix)
        code = main(list(arguments))
        said = capsys.readouterr()
        seen.append((code, _timeless(said.out), said.err))
    TRIES.append(" ".join(arguments))
    assert seen[0] == seen[1]
    assert not [word for word in FOREIGN if word.lower() in seen[0][1].lower() and word not in " ".join(arguments)]


@pytest.mark.parametrize(
    "command", [("add", "https://git.example.org/umbra/cobalt.git"), ("remove", BLUE), ("remove", "un/known"), ("index", BLUE)]
)
def test_only_who_sees_everything_changes_the_fleet(command, engines, capsys, monkeypatch, tmp_path):
    test_a_shell_tells_no_more(("fleet", *command), engines, capsys, monkeypatch, tmp_path)
    assert main(["fleet", *command]) == 2
    assert "only the operator may change the fleet" in capsys.readouterr().err


def _timeless(text: str) -> str:
    """What was printed, without how long ago something was and how long it took."""
    text = re.sub(r"[0-9.]+ (s|min|h|d) ago", "then", text)
    text = re.sub(r'"(indexed_at|seconds|cpu|wanted)": [0-9.]+', "", text)
    return re.sub(r"last sync: .*", "", text)


# What it all came to.
def test_who_may_see_it_finds_it_in_every_one_of_these_ways(engines, fleets):
    operator = Fleet(engines[0], fleets[0].settings, Caller(frozenset({"blue"})))
    for query in QUERIES:
        assert BLUE in answered(search(query), operator)
    assert find_symbols(operator, "QuokkaStore").definitions
    assert operator.why("session", f"{BLUE}/vellichor/session.py").rank


def test_hundreds_of_tries_learned_nothing():
    assert len(TRIES) >= 200 or "PYTEST_XDIST_WORKER" in os.environ  # where several processes share the tries
    assert LEAKS == []
