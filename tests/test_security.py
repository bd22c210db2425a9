"""What SECURITY.md promises of the house as a whole: nothing is unpickled, no program of a tree is run.

And every promise there names a test that exists.
"""

from __future__ import annotations

import ast
import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindrances import environment
from sample_trees import SOURCES, git, write
from small_cases import each

PACKAGE = SOURCES / "whence"
REPOSITORY = Path(__file__).parents[1]
MODULES = sorted(PACKAGE.rglob("*.py"))
#: Modules that read or run what they are given as code.
NEVER_IMPORTED = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "jsonpickle", "pty", "code"}
NEVER_CALLED = {"eval", "exec", "compile", "__import__"}
SHELLS = {"system", "popen", "create_subprocess_shell", "getoutput", "getstatusoutput"}
STARTS = {"run", "Popen", "call", "check_call", "check_output", "create_subprocess_exec"}
#: Reads YAML or arrays with objects of any kind in them.
LOADERS = {"yaml": {"load", "load_all", "unsafe_load", "unsafe_load_all", "full_load", "full_load_all"}, "torch": {"load"}}
#: An editor needs the terminal.
MAY_HAVE_OUR_STDIN = {"cli/terminal.py"}


def faults_in(source: str, name: str = "") -> Iterator[str]:
    """What a module does that none of ours may do."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from (f"{node.lineno}: imports {one}" for one in named if one.split(".")[0] in NEVER_IMPORTED)
        elif isinstance(node, ast.Call):
            yield from (f"{node.lineno}: {fault}" for fault in _faults_of(node, name))


def _faults_of(call: ast.Call, name: str) -> Iterator[str]:
    given = {one.arg: one.value for one in call.keywords}
    if isinstance(call.func, ast.Name) and call.func.id in NEVER_CALLED:
        yield f"calls {call.func.id}"
    if "allow_pickle" in given and ast.unparse(given["allow_pickle"]) != "False":
        yield "may read objects of any kind"
    if not isinstance(call.func, ast.Attribute):
        return
    owner, method = ast.unparse(call.func.value).split(".")[-1], call.func.attr
    if method in LOADERS.get(owner, ()) or (method in SHELLS and owner in ("os", "subprocess", "asyncio")):
        yield f"calls {owner}.{method}"
    if owner == "os" and re.match(r"exec[lv]|spawn|posix_spawn|startfile", method):
        yield f"calls os.{method}"
    if owner in ("subprocess", "asyncio") and method in STARTS:
        if call.args and isinstance(call.args[0], ast.Constant | ast.JoinedStr) and method != "create_subprocess_exec":
            yield "starts a program by a text, not by a list of words"
        if "shell" in given:
            yield "may start a shell"
        if "stdin" not in given and "input" not in given and not name.startswith("bench/") and name not in MAY_HAVE_OUR_STDIN:
            yield "starts a program that reads what is meant for us"


def test_nothing_is_unpickled_evaluated_or_given_to_a_shell() -> None:
    modules = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in MODULES}
    assert [f"{name}:{fault}" for name, source in modules.items() for fault in faults_in(source, name)] == []


@each(
    "source",
    [
        "import pickle",
        "from marshal import loads",
        "import joblib.numpy_pickle",
        "eval('1')",
        "exec(text)",
        "yaml.load(text)",
        "torch.load(path)",
        "np.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=wanted)",
        "os.system('git log')",
        "os.execvp('git', words)",
        "subprocess.run(words, shell=True, stdin=subprocess.DEVNULL)",
        "subprocess.run('git log', stdin=subprocess.DEVNULL)",
        "subprocess.run(f'git {name}', stdin=subprocess.DEVNULL)",
        "subprocess.Popen(words)",
        "subprocess.getoutput('git log')",
    ],
)
def test_what_would_do_so_is_seen(source: str) -> None:
    assert list(faults_in(source))


# A tree is data: whatever is in it, no program of it is run, and it does not say what is loaded.
#: Runs commands one after the other, and says after each how it ended and whether a file is there.
COMMANDS = """
import json, os, sys
from whence.cli.main import main
commands, mark = json.loads(sys.argv[1])
for words in commands:
    print("ended", main(words), os.path.exists(mark), " ".join(words), file=sys.stderr, flush=True)
"""


def in_the_tree(tree: Path, *commands: list[str], mask: int = 0o022, mark: str = "", **variables: str) -> list[tuple[int, bool]]:
    """The exit codes of commands in a tree, with a home beside it, and whether a file was there after each."""
    kept = {name: value for name, value in environment().items() if not name.startswith(("WHENCE_", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps([commands, mark])],
        cwd=tree,
        env={**kept, "HOME": str(tree.parent / "home"), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        umask=mask,
    )
    assert done.returncode == 0, done.stderr
    (tree.parent / "said").write_text(done.stderr, encoding="utf-8")
    return [(int(code), there == "True") for code, there in re.findall(r"^ended (\d+) (True|False)", done.stderr, re.MULTILINE)]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with a commit and a change."""
    (tmp_path / "home").mkdir()
    root = write(tmp_path / "tree", {"lib/retry.py": "def retry(call):\n    return call()\n", "app.ts": "export const a = 1;\n"})
    git("init", "-q", cwd=root)
    git("add", ".", cwd=root)
    git("commit", "-qm", "Start", cwd=root)
    write(root, {"lib/retry.py": "def retry(call, times=3):\n    return call()\n"})
    return root


def test_no_program_that_a_repository_names_is_run_by_any_command(tree: Path, tmp_path: Path) -> None:
    """Every place in a repository's configuration that names a program names one that leaves a mark."""
    mark, trap = tmp_path / "sprung", tmp_path / "trap"
    trap.write_text(f'#!/bin/sh\necho "$0 $@" >> {mark}\ncat\n', encoding="utf-8")
    trap.chmod(0o755)
    inner = write(tree / "inner", {"a.py": "a = 1\n"})
    git("init", "-q", cwd=inner)
    git("add", ".", cwd=inner)
    git("commit", "-qm", "Inner", cwd=inner)
    git("add", "inner", cwd=tree)
    git("commit", "-qm", "With another", cwd=tree)
    for place in (tree, inner):
        write(place, {".gitattributes": "* filter=trap diff=trap merge=trap\n", "a.py": "a = 2\n", "lib/retry.py": "def retry(): pass\n"})
        for name in ("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "pager.log", "pager.diff",
                     "diff.external", "diff.trap.command", "diff.trap.textconv", "filter.trap.clean", "filter.trap.smudge", "filter.trap.process",
                     "merge.trap.driver", "credential.helper", "gpg.program", "gpg.ssh.program", "uploadpack.packObjectsHook",
                     "interactive.diffFilter", "alias.log", "alias.diff", "alias.ls-files", "sequence.editor"):  # fmt: skip
            git("config", name, f"!{trap}" if name.startswith("alias.") else str(trap), cwd=place)
        git("config", "log.showSignature", "true", cwd=place)
        for hook in ("post-index-change", "post-checkout", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"):
            path = write(place / ".git/hooks", {hook: trap.read_text(encoding="utf-8")}) / hook
            path.chmod(0o755)
    write(
        tree,
        {name: trap.read_text(encoding="utf-8") for name in ("git", "node_modules/.bin/typescript-language-server")},
    )
    for name in ("git", "node_modules/.bin/typescript-language-server"):
        (tree / name).chmod(0o755)
    mark.unlink(missing_ok=True)
    path = os.pathsep.join([os.environ["PATH"], "node_modules/.bin", "."])
    commands = [
        ["index"],
        ["search", "retry"],
        ["context", "--diff", "HEAD"],
        ["context", "--diff", f"--output={tree}/written"],
        ["status"],
        ["enrich", "--lang", "typescript"],
    ]
    ended = in_the_tree(tree, *commands, mark=str(mark), PATH=path)
    assert len(ended) == len(commands)
    assert [words for words, (_, sprung) in zip(commands, ended, strict=True) if sprung] == []
    assert [code for code, _ in ended[:4]] == [0, 0, 0, 2]
    assert not (tree / "written").exists()


def test_a_repository_names_no_programs_no_places_and_no_models(tree: Path) -> None:
    for text, words in (
        ('[enrich]\npython = "/bin/sh -c id"\n', ["enrich", "--lang", "python"]),
        ('[memory]\ndirectory = "/tmp/elsewhere"\n', ["recall", "retry"]),
        ('[index]\nmodel = "late:somebody/model"\n', ["search", "retry"]),
        ('[memory]\nmodel = "model2vec:./model"\n', ["recall", "retry"]),
    ):
        write(tree, {".whence.toml": text})
        assert in_the_tree(tree, words) == [(2, False)], text
        said = (tree.parent / "said").read_text(encoding="utf-8")
        assert "may not" in said, said
        assert len(said.splitlines()) <= 3


# What is private is private, whatever the mask says.
def permissions(place: Path) -> dict[str, str]:
    """What is open to others below a place, and how."""
    found = [place, *place.rglob("*")]
    return {str(one): stat.filemode(one.lstat().st_mode) for one in found if one.lstat().st_mode & 0o077 and not one.is_symlink()}


@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_indexes_notes_and_verdicts_are_for_their_owner_only(mask: int, tree: Path) -> None:
    home = tree.parent / "home"
    commands = [
        ["index"],
        ["context", "retry a call"],
        ["feedback", "useful", "retry", "--task", "call again"],
        ["remember", "--topic", "retries", "Calls are tried three times."],
        ["remember", "--topic", "retries", "Calls are tried four times."],
        ["recall", "calls"],
    ]
    assert in_the_tree(tree, *commands, mask=mask, WHENCE_SESSION="talk") == [(0, False)] * len(commands)
    kept = [home / ".cache/whence", home / ".local/share/whence"]
    names = {one.name for place in kept for one in place.rglob("*")}
    assert names >= {"truth.db", "learned.db", "retries.md", "0001.md", "writer.lock", ".lock"}
    assert {path: mode for place in kept for path, mode in permissions(place).items()} == {}


@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_what_was_done_to_the_files_of_agents_is_recorded_for_their_owner_only(mask: int, tree: Path) -> None:
    home = tree.parent / "home"
    write(home, {".claude.json": "{}\n"})
    assert in_the_tree(tree, ["install", "claude-code", "--user", "--yes"], mask=mask) == [(0, False)]
    assert list((home / ".local/share/whence/installed").glob("*.json"))
    assert permissions(home / ".local/share/whence") == {}
    assert not (home / ".claude.json").stat().st_mode & 0o002 or mask == 0


@pytest.mark.parametrize("chosen", ["", "chosen"])
def test_nothing_is_written_outside_our_own_folders(tree: Path, chosen: str) -> None:
    """Grammars are unpacked below our own folder, too."""
    home = tree.parent / "home"
    home.mkdir(exist_ok=True)
    before = sorted(tree.rglob("*"))
    commands = [["index"], ["search", "retry"], ["remember", "A fact.", "--topic", "t"], ["recall", "fact"]]
    commands += [["doctor"]] if not chosen else []  # it unpacks every grammar
    places = {"TMPDIR": str(home), "PYTHONDONTWRITEBYTECODE": "1", "SEMBLE_GRAMMARS_CACHE_DIR": ""}
    in_the_tree(tree, *commands, **places, **({"WHENCE_DATA_DIR": str(home / chosen)} if chosen else {}))
    data = home / chosen if chosen else home / ".cache/whence"
    written = [one for one in home.rglob("*") if one.is_file()]
    assert [one for one in written if not one.is_relative_to(data) and not one.is_relative_to(home / ".local/share/whence")] == []
    assert list(data.glob("grammars/*/**/*.so"))
    assert list(data.glob("indexes/*/truth.db"))
    assert sorted(tree.rglob("*")) == before


def test_a_library_that_others_could_have_put_there_is_not_loaded(tmp_path: Path) -> None:
    """Grammars are shared objects in a cache: what lies there is run."""
    program = "from whence.parse.grammars import grammar_of\nprint(grammar_of('python') is not None)"
    cache = tmp_path / "cache"

    def loaded() -> bool:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment(XDG_CACHE_HOME=str(cache), WHENCE_DATA_DIR="", SEMBLE_GRAMMARS_CACHE_DIR=""),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            umask=0,
        )
        return done.stdout == "True\n"

    cache.mkdir()
    assert loaded()
    (library,) = cache.rglob("*python*.so")
    assert not [one for one in (library, *library.parents[:4]) if one.stat().st_mode & 0o002 and library.parents[1].stat().st_mode & 0o077]
    whole = library.read_bytes()
    library.write_bytes(b"not a library")
    library.chmod(0o666)
    library.parents[1].chmod(0o777)
    assert loaded()
    assert library.read_bytes() == whole
    assert not library.parents[1].stat().st_mode & 0o022


# The promises.
PROMISE = re.compile(r"^\| (?P<promise>[^|]+?) \| (?P<tests>[^|]+?) \|$", re.MULTILINE)


def promises() -> dict[str, list[str]]:
    text = (REPOSITORY / "SECURITY.md").read_text(encoding="utf-8")
    rows = [row for row in PROMISE.finditer(text) if not row["promise"].startswith(("---", "promise"))]
    return {row["promise"]: re.findall(r"`(tests/[^`]+)`", row["tests"]) for row in rows}


@each("promise", promises())
def test_every_promise_has_a_test_that_exists(promise: str) -> None:
    named = promises()[promise]
    assert named
    for one in named:
        file, _, name = one.partition("::")
        tree = ast.parse((REPOSITORY / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, one


def test_every_promise_is_in_the_table() -> None:
    text = (REPOSITORY / "SECURITY.md").read_text(encoding="utf-8")
    sections = re.findall(r"^### (.+)$", text, re.MULTILINE)
    assert len(sections) >= 5
    for section in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        assert PROMISE.search(section), section.partition("\n")[0]
