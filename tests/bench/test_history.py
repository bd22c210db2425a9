"""The history benchmark on small real repositories: questions from commits, trees as they were, BM25 beside."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from sample_trees import git, write
from small_cases import each
from whence.app.index import Index
from whence.cli.main import main
from whence_bench import fetch
from whence_bench.context import changes
from whence_bench.fetch import History
from whence_bench.search import history
from whence_bench.search.history import Question, cleaned, each_question, questions
from whence_bench.search.whole_files import WholeFiles, content_terms

FIRST = {
    "lib/parser.py": "def parse_config(text):\n    '''Read the settings out of a text.'''\n    return dict(text)\n",
    "lib/network.py": "def open_socket(host):\n    '''Connect to a host over the network.'''\n    return host\n",
    "lib/shapes.py": "class Circle:\n    def area(self):\n        return 3\n",
    "lib/colours.py": "RED = 1\n",
    "lib/old.py": "old = 1\n",
    "tests/test_parser.py": "def test_parse():\n    assert True\n",
    "CHANGES.md": "# Changes\n",
}
PARSER = "Read the settings of a section too\n\nThe parser forgot them, see below.\n\n- one more\n\nCloses #12 and #13\nSigned-off-by: Ada <ada@x>"
ASKED = {
    "Read the settings of a section too\n\nThe parser forgot them, see below.\n\n- one more": ("lib/parser.py",),
    "network: connect again when the host is lost": ("lib/network.py",),
    "Draw circles and shapes with a radius": ("lib/shapes.py",),
    "Give every colour a shape": ("lib/colours.py", "lib/shapes.py"),
    "Read the settings of a file only once": ("lib/parser.py",),
}


class Project:
    """A repository whose every commit is a second younger than the one before."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.clock = folder, 1_600_000_000
        folder.mkdir(parents=True)
        git("init", "--quiet", cwd=folder)

    def commit(self, message: str, files: Mapping[str, str]) -> str:
        write(self.folder, files)
        git("add", "--all", cwd=self.folder)
        self.git("commit", "--quiet", "--message", message)
        return git("rev-parse", "HEAD", cwd=self.folder)

    def git(self, *arguments: str) -> None:
        self.clock += 1
        moment = f"{self.clock} +0000"
        identity = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "a@x", "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "a@x"}
        environment = {**os.environ, **identity, "GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
        subprocess.run(["git", *arguments], cwd=self.folder, env=environment, check=True, capture_output=True)


def grown(folder: Path) -> Path:
    """A project with the five questions of `ASKED` in its history, and with much that is none."""
    project = Project(folder)
    project.commit("The first version of the library", FIRST)
    project.commit(PARSER, {"lib/parser.py": FIRST["lib/parser.py"] + "\nsection = 1\n", "tests/test_parser.py": "assert 1\n"})
    project.commit("Bump the version of all shapes to 1.2", {"lib/shapes.py": FIRST["lib/shapes.py"] + "\nVERSION = 1\n"})
    network = FIRST["lib/network.py"]
    project.commit(
        "network: connect again when the host is lost (#14)", {"lib/network.py": f"{network}\nlost = 1\n", "lib/retry.py": "again = 1\n"}
    )
    project.commit("A new file for what circles need", {"lib/circles.py": "pi = 3\n"})
    (folder / "lib/old.py").unlink()
    project.commit("tidy the parser", {"lib/parser.py": FIRST["lib/parser.py"] + "\nsection = 2\n"})
    project.git("checkout", "--quiet", "-b", "side")
    project.commit("Draw circles and shapes with a radius", {"lib/shapes.py": FIRST["lib/shapes.py"] + "\nradius = 2\n"})
    project.git("checkout", "--quiet", "-")
    project.git("merge", "--quiet", "--no-ff", "--message", "Take in the shapes with their radius", "side")
    project.commit('Revert "network: connect again when the host is lost"', {"lib/network.py": network})
    project.commit("Cover the parser with many more tests", {"tests/test_parser.py": "assert 2\n"})
    project.commit("Give every colour a shape", {"lib/colours.py": "RED = 2\n", "lib/shapes.py": "class Square:\n    side = 1\n"})
    project.commit(
        "Say hello in four files of ours", {f"lib/{name}.py": "hello = 1\n" for name in ("parser", "network", "shapes", "colours")}
    )
    project.commit("Say where the parser is made known", {"lib/parser.py": "known = 1\n", **{f"notes/{n}.md": "x" for n in range(10)}})
    project.commit("Read the settings of a file only once", {"lib/parser.py": FIRST["lib/parser.py"] + "\nonce = 1\n"})
    return folder


@pytest.fixture(scope="module")
def grown_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return grown(tmp_path_factory.mktemp("corpus") / "project")


@pytest.fixture
def repository(grown_once: Path) -> History:
    return History("project", grown_once)


def of_tree(repository: History, commit: str) -> set[str]:
    return set(git("ls-tree", "-r", "--name-only", commit, cwd=repository.path).splitlines())


# Which questions.
def test_a_question_is_what_a_commit_says_and_wants_the_source_files_it_changed(repository: History):
    assert {question.text: question.wanted for question in questions(repository, 100)} == ASKED


def test_every_wanted_file_was_there_in_the_parent_and_was_changed(repository: History):
    for question in questions(repository, 100):
        assert question.parent == git("rev-parse", f"{question.commit}^", cwd=repository.path)
        for path in question.wanted:
            before, after = (git("show", f"{at}:{path}", cwd=repository.path) for at in (question.parent, question.commit))
            assert before != after


def test_the_same_seed_gives_the_same_questions_and_a_larger_count_only_adds(repository: History):
    assert questions(repository, 3) == questions(repository, 3)
    assert set(questions(repository, 2)) < set(questions(repository, 4))


def test_another_seed_gives_other_questions(repository: History):
    assert len({tuple(questions(repository, 2, seed)) for seed in range(10)}) > 1


def test_questions_come_in_the_order_of_time(repository: History):
    times = [question.time for question in questions(repository, 100)]
    assert times == sorted(times)
    assert len(set(times)) == len(ASKED)


def test_a_bare_clone_is_asked_the_same(repository: History, tmp_path: Path):
    git("clone", "--quiet", "--bare", str(repository.path), str(tmp_path / "bare"), cwd=tmp_path)
    assert questions(History("project", tmp_path / "bare"), 100) == questions(repository, 100)


def test_only_the_history_of_the_given_revision_is_asked_about(repository: History):
    latest = questions(repository, 100)[-1]
    before = History("project", repository.path, latest.parent)
    assert questions(before, 100) == questions(repository, 100)[:-1]


def test_a_change_that_was_told_before_is_asked_about_where_it_came_first(tmp_path: Path):
    project = Project(tmp_path / "project")
    project.commit("The first version of the library", FIRST)
    first = project.commit("Read the settings only once (#1)", {"lib/parser.py": "once = 1\n"})
    project.commit("[2.x] read the settings only once\n\n(cherry picked from commit 0123456789)", {"lib/parser.py": "once = 2\n"})
    project.commit("Paint all of the shapes red", {f"lib/{name}.py": "red = 1\n" for name in ("parser", "network", "shapes", "colours")})
    project.commit("Paint all of the shapes red", {"lib/shapes.py": "red = 2\n"})
    assert [question.commit for question in questions(History("project", project.folder), 10)] == [first]


@each(
    "message",
    [
        "Bump parser from 1.2 to 1.3",
        "chore(deps): update the parser and its friends",
        "Update dependency parser to v3",
        "Release version 3.1.2 of the parser",
        "start version 3.1.3 of it",
        "v3.1.2 is out at last",
        "Revert the change of the parser",
        "Merge pull request #12 from ada/parser",
        "Update the changelog for the parser",
        "Run prettier over all the files",
        "style: put spaces around all operators",
        "Fix some more trailing whitespace",
        "Reformat the code of the parser",
        "fix the parser",
        "",
    ],
)
def test_a_message_that_tells_nothing_of_the_change_is_no_question(message: str):
    assert cleaned(message) == ""


@each(
    "message",
    [
        "Merge the two caches of the parser",
        "Keep the version of a file in its cache",
        "Fix the handling of whitespace in templates",
        "parser: do not format numbers twice",
        "Update the cache when a file is gone",
    ],
)
def test_a_message_that_tells_of_the_change_is_kept_as_it_is(message: str):
    assert cleaned(message) == message


@each(
    "line",
    [
        "Co-authored-by: Ada <ada@x>",
        "Change-Id: I0123456789",
        "Fixes #12, closes GH-13",
        "See https://forge.example/ada/parser/issues/3",
        "(cherry picked from commit 0123456789abcdef)",
        "---------",
    ],
)
def test_trailers_and_lines_of_references_are_no_part_of_a_question(line: str):
    assert cleaned(f"Read the settings only once\n\n{line}") == "Read the settings only once"


def test_a_line_that_says_more_than_a_reference_stays():
    text = "Read the settings only once\n\nThis fixes #12, in which the parser was slow."
    assert cleaned(text) == text


# The tree as it was.
def test_each_question_sees_exactly_the_tree_of_the_parent(repository: History):
    seen = 0
    for question, index in each_question(repository, questions(repository, 100)):
        indexed = {index.snapshot.path(file) for file in index.snapshot.alive.nonzero()[0].tolist()}
        assert indexed == of_tree(repository, question.parent)
        for path in question.wanted:
            assert index.read_text(path) == git("show", f"{question.parent}:{path}", cwd=repository.path) + "\n"
        assert index.freshness.commit == question.parent
        seen += 1
    assert seen == len(ASKED)


def test_a_search_finds_what_the_parent_holds_and_not_what_the_commit_brings(repository: History):
    asked = [question for question in questions(repository, 100) if question.wanted == ("lib/network.py",)]
    for _, index in each_question(repository, asked):
        assert [result.path for result in index.search(pattern="socket")] == ["lib/network.py"]
        assert not index.search(pattern="again|lost")


def test_nothing_of_a_later_commit_can_be_seen_from_the_tree(repository: History):
    asked = questions(repository, 100)[:2]
    for question, index in each_question(repository, asked):
        assert git("rev-parse", "HEAD", cwd=index.root) == question.parent
        known = git("log", "--all", "--reflog", "--format=%H", "HEAD", cwd=index.root).splitlines()
        assert question.parent in known
        assert question.commit not in known


def test_the_repository_itself_is_left_as_it_was(repository: History):
    before = git("for-each-ref", cwd=repository.path), git("rev-parse", "HEAD", cwd=repository.path)
    for _ in each_question(repository, questions(repository, 2)):
        pass
    assert (git("for-each-ref", cwd=repository.path), git("rev-parse", "HEAD", cwd=repository.path)) == before
    assert git("status", "--porcelain", cwd=repository.path) == ""


def test_folders_are_gone_when_the_last_question_was_asked(repository: History):
    places = [index.root.parent for _, index in each_question(repository, questions(repository, 2))]
    assert places
    assert not any(place.exists() for place in places)


def test_a_tree_with_a_missing_object_is_left_out_and_leaves_nothing_behind(tmp_path: Path):
    repository = History("project", grown(tmp_path / "project"))
    asked = questions(repository, 100)
    middle = asked[3]
    lost = git("rev-parse", f"{middle.parent}:lib/network.py", cwd=repository.path)
    whole = [one for one in asked if git("rev-parse", f"{one.parent}:lib/network.py", cwd=repository.path) != lost]
    assert 0 < len(whole) < len(asked)
    (repository.path / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    seen = []
    for question, index in each_question(repository, asked):
        assert {index.snapshot.path(file) for file in index.snapshot.alive.nonzero()[0].tolist()} == of_tree(repository, question.parent)
        seen.append(question)
    assert seen == whole


def test_a_spare_question_is_asked_in_the_place_of_one_without_a_tree(repository: History):
    real, spare, unused = questions(repository, 3)
    gone = Question("project", "1" * 40, "2" * 40, 0, "a commit that is nowhere", ("lib/parser.py",))
    assert [question for question, _ in each_question(repository, [gone, real], spare=[spare, unused])] == [real, spare]


def test_a_variable_that_points_to_another_repository_changes_nothing(repository: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    other = Project(tmp_path / "other")
    other.commit("Something else altogether is here", {"a.py": "a = 1\n"})
    head = git("rev-parse", "HEAD", cwd=other.folder)
    expected = questions(repository, 100)
    with monkeypatch.context() as within:
        within.setenv("GIT_DIR", str(other.folder / ".git"))
        assert questions(repository, 100) == expected
        assert len(list(each_question(repository, expected[:1]))) == 1
    assert git("rev-parse", "HEAD", cwd=other.folder) == head


# BM25 over whole files.
DOCUMENTS = {
    "a.py": "def read_file(path):\n    return path\n",
    "b.py": "def write(path, text):\n    file = path\n    return file\n",
    "c.py": "nothing = 0\n",
}
#: The terms of each, counted by hand: stemmed parts, and the joined whole of a name with several parts.
COUNTS = {
    "a.py": {"def": 1, "read": 1, "file": 1, "readfile": 1, "path": 2, "return": 1},
    "b.py": {"def": 1, "write": 1, "path": 2, "text": 1, "file": 2, "return": 1},
    "c.py": {"noth": 1, "0": 1},
}


def by_hand(path: str, query: list[str]) -> float:
    lengths = {name: sum(counts.values()) for name, counts in COUNTS.items()}
    assert lengths == {"a.py": 7, "b.py": 8, "c.py": 2}
    average, score = 17 / 3, 0.0
    for term in query:
        holders = sum(counts.get(term, 0) > 0 for counts in COUNTS.values())
        rarity = math.log(1 + (3 - holders + 0.5) / (holders + 0.5))
        count = COUNTS[path].get(term, 0)
        score += rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * lengths[path] / average))
    return score


@each("query", [["file"], ["read", "path"], ["file", "file", "noth"], ["nowher"], []])
def test_bm25_is_what_it_comes_to_by_hand(query: list[str]):
    whole = WholeFiles()
    bags = [whole.bag(text) for text in DOCUMENTS.values()]
    assert whole.scores(bags, query).tolist() == pytest.approx([by_hand(path, query) for path in DOCUMENTS])


def test_a_question_has_its_content_words_as_often_as_it_says_them():
    assert content_terms("Reading of the files: read_file") == ["read", "file", "read", "file", "readfile"]


def test_files_are_ranked_by_what_they_hold_and_not_by_their_paths(tmp_path: Path):
    write(tmp_path, {**DOCUMENTS, "read/file.py": "other = 1\n", "notes.md": "read the file\n", "b2.py": DOCUMENTS["b.py"]})
    with Index.open(tmp_path) as index:
        assert WholeFiles().best(index, "file", 10) == ["b.py", "b2.py", "a.py"]
        assert WholeFiles().best(index, "file", 1) == ["b.py"]
        assert WholeFiles().best(index, "nowhere", 10) == []


def test_a_changed_tree_is_ranked_as_if_it_had_never_been_another(tmp_path: Path):
    write(tmp_path, DOCUMENTS)
    whole = WholeFiles()
    with Index.open(tmp_path) as index:
        assert whole.best(index, "read the file", 10) == ["a.py", "b.py"]
        write(tmp_path, {"a.py": "gone = 1\n", "d.py": "def read_file():\n    return 1\n"})
        (tmp_path / "b.py").unlink()
        index.refresh()
        assert whole.best(index, "read the file", 10) == ["d.py"] == WholeFiles().best(index, "read the file", 10)


# The run.
def test_a_file_of_the_same_name_in_another_folder_is_not_the_wanted_one():
    question = Question("r", "c", "p", 0, "text", ("index.js",))
    assert history._scored(question, ["src/index.js", "index.js"]).ranks == (2,)


def test_all_wanted_files_must_be_among_the_first_to_count():
    question = Question("r", "c", "p", 0, "text", ("a", "b"))
    figures = history.summary([history._scored(question, ["a", "x", "b"]), history._scored(question, ["b", "a"])])
    assert (figures["all_in_1"], figures["all_in_5"]) == (0.0, 1.0)
    assert figures["ndcg"] == pytest.approx(((1 + 1 / 2) / (1 + 1 / math.log2(3)) + 1) / 2)


@each(
    ("available", "total", "shares"), [([10, 10, 10], 9, [3, 3, 3]), ([10, 1, 10], 9, [4, 1, 4]), ([2, 0], 9, [2, 0]), ([5, 5], 3, [2, 1])]
)
def test_questions_are_shared_out_as_evenly_as_histories_allow(available: list[int], total: int, shares: list[int]):
    assert history._evenly(available, total) == shares


@pytest.fixture
def corpus(grown_once: Path, tmp_path: Path) -> Path:
    """The project as a work tree, a repository with one commit, and one with none."""
    shutil.copytree(grown_once, tmp_path / "corpus" / "project")
    Project(tmp_path / "corpus" / "young").commit("The first of all commits here", FIRST)
    Project(tmp_path / "corpus" / "empty")
    return tmp_path / "corpus"


def bench(corpus: Path, *more: str) -> int:
    return main(["bench", "history", "--corpus", str(corpus), *more])


def test_the_command_prints_both_systems_and_how_many_times_the_one_has_the_other(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert bench(corpus, "--profile", "default", "--json", str(tmp_path / "out.json")) == 0
    printed = capsys.readouterr().out
    report = json.loads((tmp_path / "out.json").read_text())
    ours, baseline = report["systems"]["default"], report["systems"]["BM25 over whole files"]
    assert ours["questions"] == baseline["questions"] == len(ASKED) == len(report["questions"])
    assert 0 < baseline["ndcg"] <= 1
    assert ours["ratio"] == pytest.approx(ours["ndcg"] / baseline["ndcg"])
    head = printed.splitlines()
    assert head[2].split()[:3] == ["default", "5", f"{ours['ndcg']:.4f}"]
    assert f"{ours['ratio']:.3f}" in head[2]
    assert f"{baseline['ndcg']:.4f}" in head[3]
    assert any(line.startswith("project ") for line in head)


def test_the_report_says_what_is_needed_to_repeat_it(corpus: Path, tmp_path: Path):
    bench(corpus, "--json", str(tmp_path / "out.json"))
    report = json.loads((tmp_path / "out.json").read_text())
    assert list(report["systems"]) == ["default", "classic", "BM25 over whole files"]
    assert report["seed"] == history.SEED
    assert {"whence", "python", "numpy"} <= set(report["versions"])
    assert report["machine"]["cpus"] == os.cpu_count()
    assert {"name": "search.k", "value": 10, "source": "call"} in report["settings"]
    (noted,) = report["repositories"]
    assert noted["revision"] == git("rev-parse", "HEAD", cwd=corpus / "project")
    assert noted["files"] == len(of_tree(History("project", corpus / "project"), "HEAD~1"))
    assert {one["text"]: tuple(one["wanted"]) for one in report["questions"]} == ASKED
    assert set(report["questions"][0]["systems"]["default"]) == {"ndcg", "ranks"}


def test_a_repository_without_history_is_one_line_and_the_others_are_asked(corpus: Path, capsys: pytest.CaptureFixture[str]):
    for name in ("young", "empty"):
        assert questions(History(name, corpus / name, fetch._revision(name, corpus / name)), 10) == []
    assert bench(corpus, "--profile", "default") == 0
    assert capsys.readouterr().err.splitlines() == [
        "whence: empty has no history to ask about; left out",
        "whence: young has no history to ask about; left out",
    ]


def test_where_nothing_has_history_the_command_says_so(corpus: Path, capsys: pytest.CaptureFixture[str]):
    assert bench(corpus, "--repositories", "young") == 2
    assert "no repository has history to ask about" in capsys.readouterr().err


def test_no_more_questions_are_asked_than_were_asked_for(corpus: Path, tmp_path: Path):
    for option, count in (("--questions", 2), ("--per-repository", 3)):
        assert bench(corpus, "--profile", "default", option, str(count), "--json", str(tmp_path / "out.json")) == 0
        assert len(json.loads((tmp_path / "out.json").read_text())["questions"]) == count


def test_an_unknown_repository_is_refused_and_the_known_ones_are_named(corpus: Path, capsys: pytest.CaptureFixture[str]):
    assert bench(corpus, "--repositories", "project,huge") == 2
    assert "'huge' (it has empty, project, young)" in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_refused_with_a_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert bench(tmp_path / "nowhere") == 2
    assert "bench fetch history" in capsys.readouterr().err


# From a message to functions.
@pytest.fixture(scope="module")
def mended(tmp_path_factory: pytest.TempPathFactory) -> History:
    """A commit that mends one function, one that mends two, one that adds another, and one that mends what is new."""
    project = Project(tmp_path_factory.mktemp("mended") / "project")
    reader = "def read(text):\n    line = text\n    return line\n"
    project.commit("The first version of the library", {**FIRST, "lib/reader.py": reader})
    project.commit("Lines that end with a blank are clean now", {"lib/reader.py": reader.replace("return line", "return line.strip()")})
    fixed = reader.replace("= text", "= str(text)").replace("return line", "return line.strip()")
    network = FIRST["lib/network.py"].replace("return host", "return str(host)")
    project.commit(
        "Bytes can be read and hosts be bytes",
        {"lib/reader.py": fixed, "lib/network.py": network},
    )
    project.commit("Add a way to close every socket again", {"lib/network.py": f"{network}\n\ndef close(socket):\n    return 1\n"})
    project.commit("Closing twice does no harm to a socket", {"lib/network.py": f"{network}\n\ndef close(socket):\n    return 2\n"})
    return History("mended", project.folder)


def test_wanted_are_the_innermost_functions_that_were_there_before_the_first_commit_asked(mended: History):
    found = {}
    for question, index, rows in changes.asked_functions(mended, 20):
        found[question.text] = [index.snapshot.symbols.written_name(row) for row in rows]
        assert "strip" not in (index.root / "lib/reader.py").read_text()
    assert found == {
        "Lines that end with a blank are clean now": ["read"],
        "Bytes can be read and hosts be bytes": ["open_socket", "read"],
    }


def test_the_functions_of_commits_are_ranked_and_counted(mended: History, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "out.json"
    assert main(["bench", "history", "--symbols", "--corpus", str(mended.path.parent), "--json", str(out)]) == 0
    told = json.loads(out.read_text())
    assert len(told["questions"]) == 2
    assert told["accuracy"]["functions"]["20"] == 1.0
    assert "functions in 5" in capsys.readouterr().out


def test_without_a_commit_that_changed_functions_there_is_an_error_and_no_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    Project(tmp_path / "corpus" / "new").commit("The first version of the library", FIRST)
    assert main(["bench", "history", "--symbols", "--corpus", str(tmp_path / "corpus")]) == 2
    assert "no repository has history to ask about" in capsys.readouterr().err


# Fetching.
def test_histories_are_fetched_whole_and_found_by_name(grown_once: Path, tmp_path: Path):
    shutil.copytree(grown_once, tmp_path / "host" / "ada" / "project")
    pinned = git("rev-parse", "HEAD~1", cwd=grown_once)
    for _ in range(2):  # what is there is kept
        fetched = fetch.fetch_history(tmp_path / "out", str(tmp_path / "host"), lambda _: None, {"ada/project": pinned})
        assert (fetched.there, fetched.failed) == (["ada/project"], {})
    (found,), _ = fetch.histories_in(tmp_path / "out", ["project"])
    assert found.name == "ada/project"
    assert {question.text for question in questions(found, 100)} == set(ASKED)


def test_a_history_without_its_pinned_commit_is_named_as_a_failure(grown_once: Path, tmp_path: Path):
    shutil.copytree(grown_once, tmp_path / "host" / "ada" / "project")
    fetched = fetch.fetch_history(tmp_path / "out", str(tmp_path / "host"), lambda _: None, {"ada/project": "1" * 40, "ada/none": "1" * 40})
    assert fetched.there == []
    assert "does not hold 111111111111" in fetched.failed["ada/project"]
    assert "git clone failed" in fetched.failed["ada/none"]


def test_repositories_below_the_folder_of_their_owner_are_found(corpus: Path, tmp_path: Path):
    shutil.copytree(corpus / "project", tmp_path / "more" / "ada" / "project")
    git("clone", "--quiet", "--bare", str(corpus / "project"), str(tmp_path / "more" / "bob+project" / "repo"), cwd=corpus)
    (tmp_path / "more" / "notes.txt").write_text("no repository")
    found, missing = fetch.histories_in(tmp_path / "more")
    assert [one.name for one in found] == ["ada/project", "bob/project"]
    assert missing == []
