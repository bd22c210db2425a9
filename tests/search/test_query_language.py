"""Queries in the language, asked of a real tree: what each operator leaves, and what the command says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sample_trees import whence, write
from small_cases import each
from whence.app.index import Index
from whence.core.errors import QueryError, UsageError
from whence.memory.memory import Memory

FILES = {
    "net/retry.py": "from net.wait import wait\n\n\ndef retry(request):\n    # connection reset\n    wait(request)\n    return request\n",
    "net/wait.py": "def wait(request):\n    '''Wait: the connection   RESET\n    by peer counts too.'''\n    return request.delay\n",
    "net/session.py": (
        "from net.retry import retry\n\n\nclass Session:\n    def open(self, request):\n        return retry(request)\n\n"
        "    def close(self):\n        return None\n"
    ),
    "legacy/old_retry.py": "def retry_forever(request):\n    while request:\n        request = request.again()\n",
    "cmd/main.go": "package main\n\n// retry a request\nfunc Retry(request int) int {\n\treturn request\n}\n",
    "my folder/draft.py": "def draft_retry(request):\n    return request\n",
    "docs/guide.md": "# Guide\n\nHow to retry a request.\n",
    "config/app.yaml": "retry: 3\nrequest: fast\n",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("tree"), FILES)


@pytest.fixture(scope="module")
def index(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with Index.open(tree, data_dir=tmp_path_factory.mktemp("data")) as index:
        yield index


def paths(index: Index, query: str, **asked: object) -> set[str]:
    return {result.path for result in index.search(query, **asked)}  # type: ignore[arg-type]


PYTHON = {"net/retry.py", "net/wait.py", "net/session.py", "legacy/old_retry.py", "my folder/draft.py"}


@each(
    ("query", "found"),
    [
        ("retry lang:go", {"cmd/main.go"}),
        ("request -lang:go", PYTHON),
        ("request NOT lang:go path:net", {"net/retry.py", "net/wait.py", "net/session.py"}),
        ("retry path:net/r", {"net/retry.py"}),
        ("request path:*_retry.py", {"legacy/old_retry.py"}),
        ('retry path:"my folder/"', {"my folder/draft.py"}),
        ("path:RETRY.py", {"net/retry.py", "legacy/old_retry.py"}),
        ("request -path:net -path:/cmd", {"legacy/old_retry.py", "my folder/draft.py"}),
        ("request -legacy lang:python", PYTHON - {"legacy/old_retry.py"}),
        ('request "connection reset"', {"net/retry.py", "net/wait.py"}),
        ('"connection reset by peer"', {"net/wait.py"}),
        ('request -"connection reset" lang:python', PYTHON - {"net/retry.py", "net/wait.py"}),
        (r"/while \w+:/", {"legacy/old_retry.py"}),
        (r"/RETURN None/i", {"net/session.py"}),
        (r"request -/def \w*retry/ lang:python", {"net/wait.py", "net/session.py"}),
        ("again OR delay", {"legacy/old_retry.py", "net/wait.py"}),
        ("request path:cmd OR path:legacy", {"cmd/main.go", "legacy/old_retry.py"}),
        ("request (lang:go OR (lang:python path:wait))", {"cmd/main.go", "net/wait.py"}),
        ("request -(lang:go OR path:net) ", {"legacy/old_retry.py", "my folder/draft.py"}),
        ("kind:class", {"net/session.py"}),
        ("sym:Session", {"net/session.py"}),
        ("sym:Session.open", {"net/session.py"}),
        ("sym:session.OPEN", {"net/session.py"}),
        ("sym:retry", {"net/retry.py"}),
        ("callers:retry", {"net/session.py"}),
        ("callers:wait -path:net", set()),
        ("callees:Session", {"net/retry.py"}),
        ("retry in:docs", {"docs/guide.md"}),
        ("retry in:config", {"config/app.yaml"}),
        ("request in:all -in:code", {"docs/guide.md", "config/app.yaml"}),
        ("retry lang:markdown", {"docs/guide.md"}),
        ("path:*.yaml", {"config/app.yaml"}),
    ],
)
def test_each_operator_leaves_what_it_says(index: Index, query: str, found: set[str]) -> None:
    answer = index.search(query, k=20)
    assert {result.path for result in answer} == found
    assert answer.notes[0].startswith("read as: ")


def test_what_is_restricted_is_restricted_before_the_best_are_taken(tmp_path: Path) -> None:
    better = {f"many/wait{n}.py": f"def retry_wait_{n}(request):\n    return wait(retry(request))\n" for n in range(60)}
    tree = write(tmp_path / "tree", {**better, **FILES})
    with Index.open(tree, data_dir=tmp_path / "data", settings={"search.pool": 10, "search.pool_per_result": 1}) as index:
        words = "retry wait request"
        assert all(one.path.startswith(("many/", "net/")) for one in index.search(words, k=10))
        for condition in ("path:legacy", r"/while \w+/", '"while request"', "-path:many -path:net path:_", "sym:retry_forever"):
            assert [one.path for one in index.search(f"{words} {condition}", k=1)] == ["legacy/old_retry.py"]


def test_what_is_asked_for_by_name_is_there_whatever_its_words(index: Index) -> None:
    (one,) = index.search("request sym:close", k=1)
    assert (one.name, one.best_start) == ("close", 8)


def test_a_query_without_words_answers_in_a_sensible_order(index: Index) -> None:
    listed = index.search("lang:python path:net")
    assert [(one.path, one.name) for one in listed] == [("net/retry.py", "retry"), ("net/session.py", "Session"), ("net/wait.py", "wait")]
    assert listed.confidence is None
    (found,) = index.search("/return N.ne$/")
    assert (found.name, found.matching_lines) == ("close", (9,))
    assert len(index.search("lang:python", k=2)) == 2


def test_operators_and_options_narrow_one_another(index: Index) -> None:
    assert paths(index, "request path:net", languages=("go",)) == set()
    assert paths(index, "request path:net", pattern="connection") == {"net/retry.py", "net/wait.py"}
    assert paths(index, "request lang:python", include=("legacy/**",)) == {"legacy/old_retry.py"}
    assert paths(index, "retry in:docs", content="code") == set()
    assert paths(index, "request (again OR delay)", operator="and") == {"legacy/old_retry.py", "net/wait.py"}


def test_a_phrase_that_no_file_holds_is_searched_as_words_and_that_is_said(index: Index) -> None:
    answer = index.search('"retry the lost request"')
    assert answer[0].path in {"net/retry.py", "cmd/main.go"}
    assert answer.notes == ('read as: "retry the lost request"', 'no file holds "retry the lost request"; its words were searched')
    assert index.search('"connection reset"').notes == ('read as: "connection reset"',)


def test_a_plain_query_is_answered_as_it_always_was(index: Index) -> None:
    question = 'where is the "request" retried'
    plain, read = index.search(question, plain=True), index.search(question)
    assert [(one.path, one.score) for one in plain] == [(one.path, one.score) for one in read]
    assert read.notes == ()
    assert paths(index, "retry lang:go", plain=True) > {"cmd/main.go", "net/retry.py"}


@each("query", ["sym:Sesion", "callers:retri", "callees:nowhere_at_all", "request -sym:Sesion"])
def test_a_name_that_nothing_bears_is_refused_with_a_caret_and_never_answered_by_another(index: Index, query: str) -> None:
    with pytest.raises(QueryError, match="no such symbol") as caught:
        index.search(query)
    _, shown, caret = caught.value.message.split("\n")
    assert shown.strip() == query
    assert caret.index("^") - 2 == query.index(":") + 1


def test_why_reads_a_query_as_search_does(index: Index) -> None:
    assert index.why("request lang:python", "net/wait.py").candidates <= len(PYTHON)
    with pytest.raises(UsageError, match="outside what was searched"):
        index.why("request lang:python", "cmd/main.go")
    with pytest.raises(UsageError, match="ranks nothing"):
        index.why("lang:python", "net/wait.py")


def test_notes_are_not_in_an_index(index: Index) -> None:
    with pytest.raises(UsageError, match="in:notes"):
        index.search("in:notes retry")


def test_the_command_says_how_a_query_was_read_and_what_is_wrong_with_it(tree: Path) -> None:
    done = whence("search", "request -path:net lang:python", "-l", cwd=tree)
    assert sorted(done.stdout.splitlines()) == ["legacy/old_retry.py", "my folder/draft.py"]
    assert done.stderr.splitlines() == [
        'whence: read as: words "request", not path:net, lang:python',
        "whence: 2 of 3 matching files meet lang:python; drop lang:python to see them",
    ]
    shown = json.loads(whence("search", "request lang:go", "--json", cwd=tree).stdout)
    assert shown["remarks"][0] == 'read as: words "request", lang:go'
    wrong = whence("search", "request lang:pythn", cwd=tree)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    first, query, caret = wrong.stderr.splitlines()
    assert "unknown language 'pythn' (nearest: python" in first
    assert caret.index("^") == query.index("pythn")
    assert whence("search", "request lang:pythn", "--plain", "-l", cwd=tree).returncode == 0


def test_the_command_answers_for_several_roots_of_which_one_knows_the_name(tree: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other", {"app.py": "def only_here():\n    return 1\n"})
    done = whence("search", "sym:only_here", str(other), ".", "-l", cwd=tree)
    assert done.returncode == 0
    assert done.stdout.strip().endswith("app.py")
    assert "no such symbol: 'only_here'" in done.stderr
    assert whence("search", "sym:nowhere", str(other), ".", cwd=tree).returncode == 2


def test_in_notes_the_command_recalls_and_narrows_before_it_cuts(tree: Path, tmp_path: Path) -> None:
    notes = {"WHENCE_MEMORY_DIRECTORY": str(tmp_path / "notes")}
    with Memory.open(tmp_path / "notes") as memory:
        for number in range(12):
            memory.remember(f"retry requests, number {number} of many")
        memory.remember("The budget for retry is five, says Ada", topic="budget")
    done = whence("search", 'in:notes retry requests "five, says"', "-k", "1", "--json", cwd=tree, **notes)
    assert [note["topic"] for note in json.loads(done.stdout)["notes"]] == ["budget"]
    assert whence("search", "in:notes retry path:nowhere", cwd=tree, **notes).returncode == 1
    assert "needs a word" in whence("search", "in:notes path:x", cwd=tree, **notes).stderr
    assert "takes no languages" in whence("search", "in:notes retry", "--lang", "go", cwd=tree, **notes).stderr
