"""Whether everything works here: what `whence doctor` finds, the quick part at once and the rest when it is asked for."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from whence.core.errors import StorageError
from whence.ui.models import ApiModel, CurrentWorkspace, Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whence.app.doctor.finding import Finding
    from whence.app.session import IndexSession

router = APIRouter()
#: Far more than the doctor takes; then something hangs.
SECONDS_FOR_ALL = 120.0


class RecallScore(ApiModel):
    """What came of questions made of the repository's own words, by search and by counting words."""

    kind: str  # commits or doc comments
    questions: int  # how many were asked
    first: float  # the share of questions whose file came first
    ten: float  # the share of those whose file is among the first ten
    floor_first: float  # the same by counting words alone
    floor_ten: float  # as above


class FindingView(ApiModel):
    """What one check found."""

    name: str
    level: str  # ok, skipped, warning or failed
    said: Text  # what was found, in a line
    hint: Text  # what to do
    details: list[Text]  # more lines of it
    recall: RecallScore | None


class HealthReply(ApiModel):
    """What the checks found, and the worst of it."""

    level: str
    findings: list[FindingView]
    milliseconds: float


@router.get("/index/health")
async def health(workspace: CurrentWorkspace, *, root: str = "", verify: bool = False, measure: bool = False) -> HealthReply:
    """The checks that take no seconds. `verify` loads every package, grammar and model as well, `measure` asks questions besides."""
    began = time.perf_counter()
    session = workspace.session(workspace.roots.select(root))
    found = await (
        _examined_apart(session, measure=measure) if verify or measure else asyncio.to_thread(_examined, session.root, session.overrides)
    )
    level = next((one for one in ("failed", "warning") if one in {finding.level for finding in found}), "ok")
    return HealthReply(level=level, findings=found, milliseconds=round((time.perf_counter() - began) * 1000, 1))


def _examined(root: Path, command_line: dict[str, str]) -> list[FindingView]:
    """In a thread of its own: nothing is opened but to be read, and nobody who searches waits for it."""
    from whence.app.doctor.checks import DoctorContext, examine_quickly  # noqa: PLC0415  -- all of the doctor
    from whence.index.layout import default_data_dir  # noqa: PLC0415  -- as above

    environment, home = dict(os.environ), Path.home()
    here = DoctorContext(root, default_data_dir(environment, home), home, environment, time.time_ns(), command_line)
    return [_found(one) for one in examine_quickly(here)]


def _found(one: Finding) -> FindingView:
    return FindingView(name=one.name, level=one.level, said=one.message, hint=one.hint, details=list(one.details), recall=None)


async def _examined_apart(session: IndexSession, *, measure: bool) -> list[FindingView]:
    """In a process of its own: it takes seconds, and would slow down everybody who types meanwhile."""
    settings = [part for name, value in session.overrides.items() for part in ("--set", f"{name}={value}")]
    questions = [] if measure else ["--questions", "0"]
    said = await _output([sys.executable, "-m", "whence", "doctor", str(session.root), "--json", *questions, *settings])
    try:
        return [_of_report(one) for one in json.loads(said)["checks"]]
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError("the checks came to no end", hint="whence doctor in a terminal says more") from error


async def _output(command: Sequence[str]) -> bytes:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry), "OPENBLAS_NUM_THREADS": "1"},
    )
    try:
        return (await asyncio.wait_for(process.communicate(), SECONDS_FOR_ALL))[0]
    except asyncio.TimeoutError as error:
        raise StorageError("the checks did not end in time", hint="whence doctor in a terminal says where they stop") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _of_report(one: dict[str, Any]) -> FindingView:
    facts = one["facts"]
    recall = (
        RecallScore(
            kind=facts["kind"],
            questions=facts["search"]["questions"],
            first=facts["search"]["first"],
            ten=facts["search"]["ten"],
            floor_first=facts["floor"]["first"],
            floor_ten=facts["floor"]["ten"],
        )
        if one["name"] == "recall" and "search" in facts
        else None
    )
    return FindingView(name=one["name"], level=one["level"], said=one["said"], hint=one["hint"], details=one["details"], recall=recall)
