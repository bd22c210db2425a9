"""What agents put around a question, as text: three banks to develop on and one to report on (`paste_texts.json`).

Whole prompts are put together from the paragraphs of one bank, drawn with a seed, so that a few kilobytes of text
give many prompts from one to twenty kilobytes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Bank:
    """Texts of one hand: who is spoken to, rules, tools, surroundings, what is said in between and at the end."""

    openings: Sequence[str]
    rules: Sequence[str]
    tools: Sequence[str]
    surroundings: str
    replies: Sequence[str]
    context: Sequence[str]
    endings: Sequence[str]


@cache
def bank(name: str) -> Bank:
    """One of the banks by its name."""
    stored: dict[str, Any] = json.loads(Path(__file__).with_name("paste_texts.json").read_text(encoding="utf-8"))[name]
    return Bank(**stored)
