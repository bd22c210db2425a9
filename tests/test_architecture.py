"""How the house is built: imports point one way, importing is cheap, nothing is too long to read."""

from __future__ import annotations

import ast
import functools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import whence
from sample_trees import SOURCES, git, write

PACKAGE = SOURCES / "whence"
#: Every room of the package: a room may import only rooms above it.
ROOMS = """
    core text source parse embed storage index graph query retrieval ranking
    search context memory
    fleet
    app
    cli mcp ui
    __init__ __main__
""".split()
#: The three jobs never import one another; only `app` joins them.
JOBS = {"search", "context", "memory"}
FRONT_ENDS = {"cli", "mcp", "ui"}
#: Modules that may read the clock, the environment or the network.
EDGES = """
    core/settings.py fleet/milvus.py fleet/sources.py index/builder.py index/layout.py index/writer.py index/worker.py
    memory/memory.py parse/grammars.py source/history.py
""".split()
MOST_LINES_IN_A_FUNCTION = 60
MOST_MODULES_IN_A_SEARCH = 45
HEAVY = {"numpy", "tree_sitter", "semble_grammars", "click", "sqlite3", "Stemmer", "pathspec", "yaml", "pymilvus", "grpc"}
MODULES = sorted(PACKAGE.rglob("*.py"))


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def imported_rooms(path: Path) -> Iterator[str]:
    """The rooms that a module imports from, wherever in it the import stands."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}: relative imports hide where they point"
            parts = (node.module or "").split(".")
            if parts[0] == "whence":
                yield from [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from [alias.name.split(".")[1] for alias in node.names if alias.name.startswith("whence.")]


def test_every_room_is_in_the_list():
    assert {room_of(path) for path in MODULES} == set(ROOMS)


def may_import(room: str, other: str) -> bool:
    if other == room or room.startswith("__"):
        return True
    return ROOMS.index(other) < ROOMS.index(room) and not {room, other} <= JOBS and not {room, other} <= FRONT_ENDS


def test_imports_between_rooms_point_one_way():
    breaches = {f"{name_of(path)} -> {other}" for path in MODULES for other in imported_rooms(path) if not may_import(room_of(path), other)}
    assert sorted(breaches) == []


def test_nothing_imports_the_benchmarks():
    """They are a distribution of their own, which users need not install."""
    assert [name_of(path) for path in MODULES if "whence_bench" in path.read_text(encoding="utf-8")] == []


def test_no_two_modules_need_each_other():
    needs = {name_of(path): set(imported_modules(path)) for path in MODULES}
    settled: set[str] = set()
    while ready := {name for name, others in needs.items() if name not in settled and others <= settled}:
        settled |= ready
    assert sorted(set(needs) - settled) == []


def imported_modules(path: Path) -> Iterator[str]:
    """The modules of the package that one imports when it is loaded: not inside functions, not for types only."""
    for node in _loaded(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "whence":
            inside = PACKAGE.joinpath(*(node.module or "").split(".")[1:])
            names = [inside / alias.name for alias in node.names]
            found = [one.with_suffix(".py") for one in names if one.with_suffix(".py").is_file()] or [inside.with_suffix(".py")]
            yield from (name_of(one) for one in found if one.is_file() and one != path)


def _loaded(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) or (
            isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        ):
            continue
        yield child
        yield from _loaded(child)


def test_only_the_edges_touch_the_world():
    """The clock, the environment and the network are for settings, front ends and the processes of a build."""
    inside = [
        path for path in MODULES if room_of(path) not in {"app", "__main__", *FRONT_ENDS} and not name_of(path).startswith("graph/enrich/")
    ]
    breaches = {f"{name_of(path)}: {what}" for path in inside for what in worldly(tree_of(path))}
    assert sorted(breach for breach in breaches if breach.partition(":")[0] not in EDGES) == []


def worldly(tree: ast.Module) -> Iterator[str]:
    """What a module does with the clock, the environment or the network; what its texts say of them does not count."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in (
            "os.environ",
            "os.getenv",
            "time.time",
            "time.time_ns",
            "datetime.now",
        ):
            yield ast.unparse(node)
        names = (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        yield from (name for name in names if name.partition(".")[0] in ("urllib", "socket", "http", "requests"))


def test_a_function_fits_on_a_screen():
    functions = [
        (path, node) for path in MODULES for node in ast.walk(tree_of(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    lengths = {f"{name_of(path)}:{node.name}": (node.end_lineno or 0) - node.lineno + 1 for path, node in functions}
    assert {name: length for name, length in lengths.items() if length > MOST_LINES_IN_A_FUNCTION} == {}


def test_no_name_says_nothing():
    empty = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}
    assert [name_of(path) for path in MODULES if empty & set(name_of(path).removesuffix(".py").split("/"))] == []


def loaded_after(statement: str) -> set[str]:
    """The top-level modules that are loaded in a fresh process after a statement."""
    program = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(SOURCES)!r})\n{program}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy():
    assert loaded_after("import whence") & HEAVY == set()


def test_asking_for_the_index_class_loads_what_it_needs():
    assert "numpy" in loaded_after("import whence; whence.Index")


def test_the_help_of_the_command_line_loads_no_index():
    program = "import whence.cli.main as m\nassert m.main(['--version']) == 0"
    assert loaded_after(program) & (HEAVY - {"click"}) == set()


def test_the_public_names_are_these_and_all_exist():
    names = (
        "Confidence ContextPack Fleet Freshness Index Memory Neighbour Note PathStep RecalledNote SearchResponse SearchResult"
        " Symbol WhenceError Why __version__"
    )
    assert whence.__all__ == names.split() == dir(whence)
    assert all(getattr(whence, name) is not None for name in whence.__all__)


def test_a_name_that_is_not_public_is_refused():
    with pytest.raises(AttributeError, match="Indexx"):
        _ = whence.Indexx  # type: ignore[attr-defined]


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").is_file()


def test_a_search_loads_nothing_that_only_symbols_need():
    code = "import sys, whence.app.index; print(*sorted(name for name in sys.modules if name.startswith('whence.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(SOURCES)})
    loaded = set(done.stdout.split())
    assert "whence.search.pipeline" in loaded
    assert not loaded & {
        "whence.graph.reader",
        "whence.graph.builder.resolve",
        "whence.context.pipeline",
        "whence.context.classic.pipeline",
        "whence.context.feedback.store",
    }


#: Prints the modules in which a function ran during one command, whether called or run by an import.
WALK = """
import sys
seen = {}
def note(frame, event, _):
    if event == "call" and frame.f_code.co_name != "<module>" and frame.f_code.co_flags & 2:  # functions, not class bodies
        seen[frame.f_code.co_filename] = None
sys.setprofile(note)
from whence.cli.main import main
code = main(sys.argv[1:])
sys.setprofile(None)
print(*(name for name in seen if "/src/whence/" in name and "/signals/" not in name), file=sys.stderr)
sys.exit(code)
"""


def test_a_search_with_nothing_changed_passes_few_modules(tmp_path):
    root = write(
        tmp_path / "shop", {f"src/{name}.py": f"def {name}(order):\n    return order.{name}\n" for name in ("pay", "ship", "refund")}
    )
    git("init", "-q", cwd=root)
    git("add", ".", cwd=root)
    git("commit", "-qm", "Orders can be refunded", cwd=root)
    time.sleep(2.1)  # younger time stamps are not trusted, and the files would be read again
    command = [sys.executable, "-c", WALK, "search", "how to refund an order"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "WHENCE_DATA_DIR": str(tmp_path / "data")}
    _, unchanged = (subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True) for _ in range(2))
    modules = [Path(name).relative_to(PACKAGE).as_posix() for name in unchanged.stderr.split()]
    assert "search/pipeline.py" in modules
    assert len(modules) <= MOST_MODULES_IN_A_SEARCH, modules
