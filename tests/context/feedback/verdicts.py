"""Verdicts for tests about learning, and processes that write some."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hindrances import environment
from whence.context.feedback.verdicts import Verdict
from whence.core.settings import LearnSettings

CHOSEN = LearnSettings()
NOW = 1_800_000_000.0
OPEN = "shop/session.py#SessionStore.open"
EXPIRE = "shop/session.py#expire_idle"


def verdict(symbol: str = OPEN, *, useful: bool = True, root: str = "r1", task: str = "", at: float = NOW, seen: bool = False) -> Verdict:
    return Verdict(symbol, useful, root, task, at, seen)


def started(program: str, *arguments: str | Path) -> subprocess.Popen[str]:
    """A process that runs a program with what it needs to write verdicts."""
    opening = (
        "import sys\nfrom pathlib import Path\nfrom whence.context.feedback.verdicts import Verdict, say\nfrom whence.context.feedback.session import *\n"
        "from whence.context.feedback.store import FeedbackStore\nfrom whence.core.settings import LearnSettings\n"
        "learned, chosen = FeedbackStore(Path(sys.argv[1])), LearnSettings()\n"
    )
    command = [sys.executable, "-c", opening + program, *map(str, arguments)]
    return subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
