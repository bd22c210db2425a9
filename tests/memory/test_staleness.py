"""A note names code, and goes quiet when the code changes; code that only moves is the same (M8)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from textwrap import dedent, indent

import pytest

from whence.core.errors import UsageError
from whence.memory.note import CodeRef
from whence.memory.staleness import MAX_BYTES, CodeState, CodeStates, code_ref

PYTHON = dedent('''\
    import os

    LIMIT = 3


    class Flask:
        """An application."""

        @setup
        def run(self, host):
            text = """
    at the margin
    """
            return host, text

        def stop(self):
            return None


    def helper():
        return 1
    ''')
#: A file of each language, a name in it, and an edit of its body, its signature and, where there are such, its decorators.
SAMPLES = {
    "app.py": (PYTHON, "Flask.run", ["return host, text", "self, host", "@setup", "at the margin"]),
    "app.ts": (
        "import x from 'y';\n\nexport class App {\n  @log()\n  run(host: string): void {\n    this.go(host);\n  }\n\n  stop() {}\n}\n\nfunction helper() {\n  return 1;\n}\n",
        "App.run",
        ["this.go(host)", "host: string", "@log()"],
    ),
    "app.go": (
        "package app\n\n// Run starts it.\nfunc (s *Server) Run(host string) error {\n\treturn s.listen(host)\n}\n\nfunc helper() int {\n\treturn 1\n}\n",
        "Server.Run",
        ["s.listen(host)", "host string", "Run starts it"],
    ),
    "app.rs": (
        "struct Server;\n\nimpl Server {\n    #[inline]\n    pub fn run(&self, host: &str) {\n        self.listen(host);\n    }\n}\n\nfn helper() -> i32 {\n    1\n}\n",
        "Server.run",
        ["self.listen(host)", "host: &str", "#[inline]"],
    ),
    "app.rb": (
        "class App\n  # Starts it.\n  def run(host)\n    listen(host)\n  end\n\n  def stop\n  end\nend\n\ndef helper\n  1\nend\n",
        "App.run",
        ["listen(host)", "run(host)", "Starts it"],
    ),
    "App.java": (
        "class App {\n    @Override\n    void run(String host) {\n        listen(host);\n    }\n\n    int helper() {\n        return 1;\n    }\n}\n",
        "App.run",
        ["listen(host)", "String host", "@Override"],
    ),
}


def written(root: Path, path: str, text: str) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="")
    return file


def edited(root: Path, path: str, old: str, new: str) -> None:
    text = (root / path).read_bytes().decode()
    assert old in text
    written(root, path, text.replace(old, new))


def state_of(ref: CodeRef, root: Path | None) -> CodeState:
    return CodeStates().state(ref, root)


@pytest.fixture
def flask_run(tmp_path: Path) -> CodeRef:
    written(tmp_path, "src/app.py", PYTHON)
    return code_ref("src/app.py#Flask.run", tmp_path)


# What changes code, and what does not.
@pytest.mark.parametrize("path", SAMPLES)
def test_code_is_changed_by_its_body_signature_decorators_and_comments_alone(tmp_path, path):
    text, symbol, edits = SAMPLES[path]
    written(tmp_path, path, text)
    about = code_ref(f"{path}#{symbol}", tmp_path)
    assert (about.code, len(about.hash)) == (f"{path}#{symbol}", 16)
    assert state_of(about, tmp_path) is CodeState.FRESH
    written(tmp_path, path, text.replace("1", "2"))
    assert state_of(about, tmp_path) is CodeState.FRESH, "another function was edited"
    for edit in edits:
        written(tmp_path, path, text.replace(edit, f"{edit[:-1]}Z{edit[-1]}"))
        assert state_of(about, tmp_path) is CodeState.CHANGED, edit
    name = symbol.rpartition(".")[2]
    written(tmp_path, path, text.replace(f"{name}(", f"{name}_other("))
    assert state_of(about, tmp_path) is CodeState.GONE


def test_code_that_moves_in_its_file_or_to_another_indentation_is_the_same(tmp_path, flask_run):
    head, cls = PYTHON.split("class Flask:")
    body, helper = cls.split("def helper():")
    written(tmp_path, "src/app.py", f"def helper():{helper}\n\n{head}class Flask:{body}")
    assert state_of(flask_run, tmp_path) is CodeState.FRESH
    deeper = indent(f"class Flask:{body}", "    ").replace("    at the margin\n    ", "at the margin\n")
    written(tmp_path, "src/app.py", f"if True:\n{deeper}\n")
    assert state_of(flask_run, tmp_path) is CodeState.FRESH, "the text in quotes stayed where it was"


@pytest.mark.parametrize("code", ["src/app.py#Flask.run", "src/app.py#Flask", "src/app.py"])
def test_blank_lines_line_ends_white_space_and_a_byte_order_mark_do_not_count(tmp_path, flask_run, code):
    about = code_ref(code, tmp_path)
    for text in (
        PYTHON.replace("\n", "\r\n"),
        PYTHON.replace("\n", "\r"),
        "\ufeff" + PYTHON.replace("host):\n", "host):  \n\n\t\n"),
        PYTHON.rstrip("\n"),
    ):
        written(tmp_path, "src/app.py", text)
        assert state_of(about, tmp_path) is CodeState.FRESH, repr(text)
    (tmp_path / "src/app.py").write_bytes(PYTHON.encode("utf-16"))
    assert state_of(about, tmp_path) is CodeState.FRESH


def test_a_note_about_a_class_or_a_file_is_about_all_that_is_in_it(tmp_path, flask_run):
    container, file = code_ref("src/app.py#Flask", tmp_path), code_ref("src/app.py", tmp_path)
    edited(tmp_path, "src/app.py", "return 1", "return 2")
    assert (state_of(container, tmp_path), state_of(file, tmp_path)) == (CodeState.FRESH, CodeState.CHANGED)
    edited(tmp_path, "src/app.py", "return None", "return self")
    assert (state_of(container, tmp_path), state_of(flask_run, tmp_path)) == (CodeState.CHANGED, CodeState.FRESH)


@pytest.mark.parametrize("old", ["int: ...", "str: ...", "return one"])
def test_all_definitions_of_one_name_are_named_together(tmp_path, old):
    text = "@overload\ndef f(one: int) -> int: ...\n@overload\ndef f(one: str) -> str: ...\ndef f(one):\n    return one\n"
    written(tmp_path, "a.py", text)
    about = code_ref("a.py#f", tmp_path)
    edited(tmp_path, "a.py", old, old.replace(":", ": # really\n   ").replace("one", "None"))
    assert state_of(about, tmp_path) is CodeState.CHANGED


def test_sections_of_prose_and_constants_can_be_named_and_rust_paths_written_as_in_rust(tmp_path):
    written(tmp_path, "README.md", "# Guide\n\nHello.\n\n## C# basics\n\nUse it.\n")
    written(tmp_path, "app.py", PYTHON)
    written(tmp_path, "app.rs", SAMPLES["app.rs"][0])
    assert code_ref("README.md#Guide.C# basics", tmp_path).symbol == "Guide.C# basics"
    assert code_ref("./app.py#LIMIT", tmp_path).code == "app.py#LIMIT"
    assert code_ref("app.rs#Server::run", tmp_path) == code_ref("app.rs#Server.run", tmp_path)
    assert code_ref("app.py#", tmp_path) == code_ref("app.py", tmp_path)


def test_the_hash_of_the_moment_is_the_one_that_was_stored(tmp_path, flask_run):
    assert CodeStates().hash("src/app.py#Flask.run", tmp_path) == flask_run.hash
    assert flask_run.repository == str(tmp_path)
    assert CodeStates().hash("src/app.py#Flask.walk", tmp_path) is None
    assert CodeStates().hash("src/other.py", tmp_path) is None


# What is gone, and what cannot be known.
def test_code_is_gone_with_its_file_or_when_something_else_is_in_its_place(tmp_path, flask_run):
    file = tmp_path / "src/app.py"
    whole = code_ref("src/app.py", tmp_path)
    file.rename(tmp_path / "src/moved.py")

    def states() -> set[CodeState]:
        return {state_of(about, tmp_path) for about in (flask_run, whole)}

    assert states() == {CodeState.GONE}
    file.mkdir()
    assert states() == {CodeState.GONE}
    file.rmdir()
    os.mkfifo(file)
    assert states() == {CodeState.GONE}
    file.unlink()
    file.symlink_to("moved.py")
    assert states() == {CodeState.GONE}
    file.unlink()
    file.write_bytes(b"\x7fELF\0\0")
    assert states() == {CodeState.GONE}
    file.write_text("")
    assert states() == {CodeState.GONE, CodeState.CHANGED}


def test_without_a_hash_a_root_or_a_grammar_nothing_is_known(tmp_path, flask_run):
    assert state_of(replace(flask_run, hash=""), tmp_path) is CodeState.UNKNOWN
    assert state_of(flask_run, None) is CodeState.UNKNOWN
    assert state_of(flask_run, tmp_path / "elsewhere") is CodeState.UNKNOWN
    assert state_of(flask_run, tmp_path / "src/app.py") is CodeState.UNKNOWN
    written(tmp_path, "plain.txt", "run\n")
    assert state_of(CodeRef("plain.txt#run", "0" * 16), tmp_path) is CodeState.UNKNOWN


@pytest.mark.process
def test_a_grammar_that_cannot_be_unpacked_does_not_make_code_gone(tmp_path, flask_run):
    asked = f"""
        from pathlib import Path
        from whence.memory.staleness import CodeStates
        from whence.memory.note import CodeRef
        print(CodeStates(PLACE).state({flask_run!r}, Path({str(tmp_path)!r})).value)
        """

    def said(place: str) -> str:
        environment = {name: value for name, value in os.environ.items() if name not in ("SEMBLE_GRAMMARS_CACHE_DIR", "WHENCE_DATA_DIR")}
        command = [sys.executable, "-c", dedent(asked.replace("PLACE", place))]
        done = subprocess.run(command, env={**environment, "XDG_CACHE_HOME": "/dev/null"}, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    assert said("None") == "unknown\n"
    assert said(f"Path({str(tmp_path / 'grammars')!r})") == "fresh\n"


def test_a_file_that_is_too_large_or_minified_is_not_judged(tmp_path, flask_run):
    written(tmp_path, "src/app.py", PYTHON + "#" * 30_000)
    assert state_of(flask_run, tmp_path) is CodeState.UNKNOWN
    written(tmp_path, "src/app.py", PYTHON + "# more\n" * (MAX_BYTES // 7))
    assert state_of(flask_run, tmp_path) is CodeState.UNKNOWN


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="no such files here")
def test_a_file_that_holds_more_than_it_says_is_not_judged():
    assert state_of(CodeRef("version", "0" * 16), Path("/proc")) is CodeState.UNKNOWN


@pytest.mark.parametrize(
    "path", ["../secret.py", "/etc/passwd", "a/../../secret.py", "out/secret.py", "", "a\0b", "\ud800", "x" * 5_000, "a\nb"]
)
def test_no_path_in_a_note_leads_out_of_the_root_or_raises(tmp_path, path):
    secret = written(tmp_path, "secret.py", PYTHON)
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to(tmp_path)
    about = replace(code_ref("secret.py", tmp_path), code=path)
    assert state_of(about, root) in (CodeState.UNKNOWN, CodeState.GONE)
    assert CodeStates().hash(path, root) is None
    with pytest.raises(UsageError):
        code_ref(path, root)
    assert secret.is_file()


# What is said to one who names what is not there.
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("src/app.py#Flask.runn", "src/app.py has no 'Flask.runn'; nearest: Flask.run"),
        ("src/app.py#run", "src/app.py has no 'run'; nearest: Flask.run"),
        ("app.py", "no such file: app.py; nearest: src/app.py"),
        ("src/apq.py#Flask", "no such file: src/apq.py; nearest: src/app.py"),
        ("Flask.run", "no such file: Flask.run"),
        ("src", "src: is a folder"),
        ("../app.py", "../app.py: leads out of the root"),
        ("#Flask", "'': names no file"),
        ("two\nlines", r"'two\nlines': names no file"),
        ("lib/ap.py", "no such file: lib/ap.py; nearest: src/app.py"),
        ("linked/app.py", "linked/app.py goes through a link"),
        ("picture.png", "picture.png: is binary"),
        ("pipe", "pipe: is not a regular file"),
        ("plain.txt#run", "plain.txt: no names are recognized in this file"),
    ],
)
def test_what_is_not_there_is_refused_in_one_line_that_names_the_nearest(tmp_path, flask_run, code, said):
    (tmp_path / "linked").symlink_to("src")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0\0")
    os.mkfifo(tmp_path / "pipe")
    written(tmp_path, "plain.txt", "run\n")
    with pytest.raises(UsageError) as refused:
        code_ref(code, tmp_path)
    assert refused.value.message == said
    assert refused.value.hint
    assert "\n" not in str(refused.value)


# Many notes at once.
#: By then every stamp that a test makes is old enough to be believed.
LATER = time.time_ns() + 3_600 * 10**9


def test_what_is_remembered_of_a_file_holds_until_it_changes(tmp_path, flask_run):
    states = CodeStates()
    whole, stop = code_ref("src/app.py", tmp_path), code_ref("src/app.py#Flask.stop", tmp_path)

    def now() -> list[str]:
        return [states.state(about, tmp_path, LATER).value for about in (whole, flask_run, stop)]

    assert now() == now() == ["fresh"] * 3
    edited(tmp_path, "src/app.py", "return None", "return self")
    assert now() == now() == ["changed", "fresh", "changed"]
    (tmp_path / "src/app.py").unlink()
    assert now() == ["gone"] * 3
    written(tmp_path, "src/app.py", PYTHON)
    assert now() == ["fresh"] * 3


def test_a_file_is_not_opened_again_unless_its_stamps_were_too_young_to_be_believed(tmp_path, flask_run):
    """An edit in the same instant need not move a stamp. Who opens the file comes upon a link; who looks at it does not."""
    normalized, young, timeless = CodeStates(), CodeStates(), CodeStates()

    def states() -> list[str]:
        asked = ((normalized, LATER), (young, time.time_ns()), (timeless, 0))
        return [states.state(flask_run, tmp_path, now).value for states, now in asked]

    assert states() == ["fresh", "fresh", "fresh"]
    (tmp_path / "src").rename(tmp_path / "away")
    (tmp_path / "src").symlink_to("away")
    assert states() == ["fresh", "gone", "gone"]


def test_a_memory_that_is_full_forgets_and_still_answers(tmp_path):
    states = CodeStates(max_names=6)
    abouts = []
    for name in "abc":
        written(tmp_path, f"{name}.py", f"def one():\n    return '{name}'\n\n\ndef two():\n    return 2\n")
        abouts += [code_ref(f"{name}.py#one", tmp_path), code_ref(f"{name}.py#two", tmp_path)]
    written(tmp_path, "large.py", "".join(f"def f{n}(): pass\n" for n in range(20)))
    abouts.append(code_ref("large.py#f7", tmp_path))
    for _ in range(2):
        assert {states.state(about, tmp_path, LATER) for about in abouts} == {CodeState.FRESH}
        assert states._names == sum(len(held.hashes) for held in states._files.values())
    assert len(states._files) == 1


def test_roots_are_kept_apart(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    written(one, "a.py", "def f(): return 1\n")
    written(other, "a.py", "def f(): return 2\n")
    states, about = CodeStates(), code_ref("a.py#f", one)
    assert [states.state(about, root, LATER).value for root in (one, other, one)] == ["fresh", "changed", "fresh"]
