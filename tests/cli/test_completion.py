"""What a shell completes: commands, options, symbols, notes and settings."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sample_trees import SOURCES, whence, write

FILES = {
    "src/cart.py": "class Cart:\n    def total(self):\n        return 0\n\n    def take_off(self):\n        return self.total()\n",
    "src/pay.py": "def total_of_all(carts):\n    return sum(cart.total() for cart in carts)\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = write(tmp_path / "shop", FILES)
    whence("index", cwd=root)
    whence("remember", "Totals are rounded once.", "--topic", "rounding totals", "--notes", str(tmp_path / "notes"), cwd=root)
    return root


def offered(line: str, cwd: Path) -> list[str]:
    """What is offered for the last word of a line; empty words count."""
    words = line.split(" ")
    done = whence(cwd=cwd, _WHENCE_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1))
    assert (done.returncode, done.stderr) == (0, "")
    return [one.partition(",")[2] for one in done.stdout.split()]


def test_commands_options_and_choices_are_completed(tree):
    assert offered("whence rec", tree) == ["recall"]
    assert "--relaxation" in offered("whence search --re", tree)
    assert offered("whence search --operator a", tree) == ["and"]
    assert "useful" in offered("whence feedback u", tree)


def test_symbols_are_completed_by_full_name_by_name_and_by_file(tree):
    assert offered("whence callers to", tree) == ["total", "total_of_all"]
    assert offered("whence impact Cart.t", tree) == ["Cart.total", "Cart.take_off"]
    assert offered("whence callees src/cart.py#Cart.ta", tree) == ["src/cart.py#Cart.take_off"]


def test_notes_and_settings_are_completed(tree, tmp_path):
    assert offered(f"whence show --notes {tmp_path}/notes gen", tree) == ["general/rounding-totals"]
    assert offered(f"whence forget --notes {tmp_path}/notes rou", tree) == ["rounding-totals"]
    assert offered("whence config shell.", tree) == ["shell.pager", "shell.links", "shell.standby"]
    assert offered("whence search --set shell.p", tree) == ["shell.pager="]


def test_what_is_not_indexed_or_known_offers_nothing_and_complains_of_nothing(tmp_path):
    empty = write(tmp_path / "empty", {"a.py": "x = 1\n"})
    assert offered("whence callers x", empty) == []
    assert offered(f"whence show --notes {tmp_path}/none a", empty) == []
    assert not list((Path(os.environ["WHENCE_DATA_DIR"])).glob("indexes/*"))


SCRIPTS = {
    "bash": 'eval "$(whence completion bash)"; COMP_WORDS=(whence callers total_); COMP_CWORD=2; _whence_completion whence; echo "${COMPREPLY[@]}"',
    "fish": "whence completion fish | source; complete -C 'whence callers total_'",
    # Its builtin `whence` still answers the questions that are its own.
    "zsh": 'autoload -U compinit; compinit -D; eval "$(command whence completion zsh)"; whence -w cd; whence callers total --json',
}


@pytest.mark.process
@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_script_of_a_shell_completes_in_it(shell, tree, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    program = tmp_path / "bin" / "whence"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m whence "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(SOURCES)}
    done = subprocess.run([shell, "-c", SCRIPTS[shell]], cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert "total_of_all" in done.stdout
    assert "cd: builtin" in done.stdout or shell != "zsh"
