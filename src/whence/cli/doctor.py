"""`whence doctor`."""

from __future__ import annotations

import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from whence.app.command_line import settings_of, targets_of
from whence.app.doctor.checks import DoctorContext, examine
from whence.app.doctor.environment import index_folders, remove_orphans
from whence.app.doctor.finding import FAILED, Finding, overall_level
from whence.app.presenters.text import safe
from whence.cli.shared import answer_options, data_dir, print_item, print_result, styler
from whence.core.settings import Layer, merge

OK, PROBLEMS = 0, 1
_COLOURS = {"ok": "green", "skipped": None, "warning": "yellow", "failed": "red"}
_NAME_WIDTH = 14
_QUESTIONS = "Measure with N questions of each kind; 0 skips measuring (default: as many as take 5 s)."


@click.command(
    epilog="""\b
Examples:
  whence doctor
  whence doctor src --questions 200
  whence doctor --questions 0 --json
Exit codes: 0 no check failed, 1 a check failed."""
)
@click.argument("path", required=False, default=".")
@click.option("--questions", type=click.IntRange(min=0), metavar="N", help=_QUESTIONS)
@click.option("--fix", is_flag=True, help="Remove the indexes of deleted folders; learned feedback stays.")
@answer_options
def doctor(path: str, questions: int | None, fix: bool, as_json: bool, color: str, assignments: tuple[str, ...]) -> int:
    """Check that everything works, and measure search quality.

    Checks the installation, the data folder and the index of PATH. Changes nothing
    without --fix, and sends nothing anywhere.

    Quality is measured with questions made from the repository's own commits and doc
    comments. What the index knows of the answer is hidden first, and each figure is
    compared with what counting words would find.
    """
    context = _context(path, questions, assignments)
    fixed = remove_orphans(index_folders(context.data_dir)) if fix else []
    style = styler(color)
    findings = []
    for one in examine(context):
        findings.append(one)
        if not as_json:
            _print(one, style)
    levels = [one.level for one in findings]
    failed, warnings = levels.count(FAILED), levels.count("warning")
    problems = f"{failed} failed, {warnings} {'warning' if warnings == 1 else 'warnings'}" if failed or warnings else "no problems"
    checks = [{"said" if key == "message" else key: value for key, value in asdict(one).items()} for one in findings]
    report = {"root": str(context.root), "level": overall_level(findings), "checks": checks, "fixed": fixed}
    print_result(as_json, report, *(f"fixed    {safe(line)}" for line in fixed), f"{len(levels)} checks: {problems}")
    return PROBLEMS if failed else OK


def _context(path: str, questions: int | None, assignments: tuple[str, ...]) -> DoctorContext:
    environment, values = dict(os.environ), settings_of(assignments)
    merge([Layer("command line", values)])  # a wrong name here is a usage error; in a file it is a finding
    root = targets_of((path,))[0].root
    return DoctorContext(root, data_dir(), Path.home(), environment, time.time_ns(), values, questions)


def _print(one: Finding, style: Any) -> None:
    level = style(f"{one.level:<8}", fg=_COLOURS[one.level])
    below = [*one.details, *([f"-> {one.hint}"] if one.hint else [])]
    margin = " " * (_NAME_WIDTH + 10)
    print_item(f"{level} {one.name:<{_NAME_WIDTH}} {safe(one.message)}", *(f"{margin}{safe(line)}" for line in below))
