"""Real repositories with a past: any message, at any time."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from sample_trees import git


def commit(root: Path, message: str | bytes, time: int = 1_700_000_000) -> str:
    """Commit everything that is there; the name of the commit."""
    git("add", "--all", cwd=root)
    person = {"NAME": "Ada", "EMAIL": "ada@example.org", "DATE": f"@{time} +0000"}
    identity = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in person.items()}
    raw = message.encode() if isinstance(message, str) else message
    command = ["git", "commit", "--quiet", "--allow-empty-message", "--cleanup=verbatim", "-F", "-"]
    subprocess.run(command, cwd=root, env={**os.environ, **identity}, input=raw, check=True, capture_output=True)
    return git("rev-parse", "HEAD", cwd=root)


def made_by_hand(root: Path, message: str, date: str = "2000", extra: str = "") -> str:
    """A commit of everything that is there with headers as git itself would not write them; the branch does not move."""
    git("add", "--all", cwd=root)
    tree, parent = git("write-tree", cwd=root), git("rev-parse", "HEAD", cwd=root)
    raw = f"tree {tree}\nparent {parent}\nauthor A <a@b> {date} +0000\ncommitter A <a@b> {date} +0000\n{extra}\n{message}\n"
    command = ["git", "hash-object", "-t", "commit", "-w", "--literally", "--stdin"]
    return subprocess.run(command, cwd=root, input=raw.encode(), capture_output=True, check=True).stdout.decode().strip()
