"""`whence doctor`."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.app.command_line import set_option, settings_of, targets_of
from whence.app.presenters.text import safe
from whence.cli.shared import color_option, data_dir, json_option, print_item, print_json, print_more, styler

if TYPE_CHECKING:
    from whence.app.doctor.checks import DoctorContext
    from whence.app.doctor.finding import Finding

OK, PROBLEMS = 0, 1
_COLOURS = {"ok": "green", "skipped": None, "warning": "yellow", "failed": "red"}
_NAME_WIDTH = 14


@click.command(
    epilog="""\b
Examples:
  whence doctor
  whence doctor src --questions 200
  whence doctor --questions 0 --json
Exit codes: 0 no check failed, 1 a check failed."""
)
@click.argument("path", required=False, default=".")
@click.option(
    "--questions",
    type=click.IntRange(min=0),
    metavar="N",
    help="Measure with N questions of each kind; 0 skips measuring (default: as many as take 5 s).",
)
@click.option("--fix", is_flag=True, help="Remove the indexes of deleted folders; learned feedback stays.")
@json_option
@color_option
@set_option
def doctor(path: str, questions: int | None, fix: bool, as_json: bool, color: str, assignments: tuple[str, ...]) -> int:
    """Check that everything works, and measure search quality.

    Checks the installation, the data folder and the index of PATH. Changes nothing
    without --fix, and sends nothing anywhere.

    Quality is measured with questions made from the repository's own commits and doc
    comments. What the index knows of the answer is hidden first, and each figure is
    compared with what counting words would find.
    """
    from whence.app.doctor.checks import examine  # noqa: PLC0415
    from whence.app.doctor.environment import index_folders, remove_orphans  # noqa: PLC0415
    from whence.app.doctor.finding import FAILED  # noqa: PLC0415

    context = _context(path, questions, assignments)
    fixed = remove_orphans(index_folders(context.data_dir)) if fix else []
    style = styler(color)
    findings = []
    for one in examine(context):
        findings.append(one)
        if not as_json:
            _print(one, style)
    if as_json:
        _print_as_json(context, findings, fixed)
    else:
        for line in fixed:
            print_item(f"fixed    {safe(line)}")
        _print_summary(findings)
    return PROBLEMS if any(one.level == FAILED for one in findings) else OK


def _context(path: str, questions: int | None, assignments: tuple[str, ...]) -> DoctorContext:
    from whence.app.doctor.checks import DoctorContext  # noqa: PLC0415
    from whence.core.settings import Layer, merge  # noqa: PLC0415

    environment, values = dict(os.environ), settings_of(assignments)
    merge([Layer("command line", values)])  # a wrong name here is a usage error; in a file it is a finding
    root = targets_of((path,))[0].root
    return DoctorContext(root, data_dir(), Path.home(), environment, time.time_ns(), values, questions)


def _print(one: Finding, style: Any) -> None:
    level = style(f"{one.level:<8}", fg=_COLOURS[one.level])
    print_item(f"{level} {one.name:<{_NAME_WIDTH}} {safe(one.message)}")
    margin = " " * (_NAME_WIDTH + 10)
    for line in one.details:
        print_more(f"{margin}{safe(line)}")
    if one.hint:
        print_more(f"{margin}-> {safe(one.hint)}")


def _print_summary(findings: list[Finding]) -> None:
    levels = [one.level for one in findings]
    failed, warnings = levels.count("failed"), levels.count("warning")
    problems = f"{failed} failed, {warnings} {'warning' if warnings == 1 else 'warnings'}" if failed or warnings else "no problems"
    print_item(f"{len(levels)} checks: {problems}")


def _print_as_json(context: DoctorContext, findings: list[Finding], fixed: list[str]) -> None:
    from whence.app.doctor.finding import overall_level  # noqa: PLC0415

    checks = [
        {
            "name": one.name,
            "level": one.level,
            "said": one.message,
            "hint": one.hint,
            "details": list(one.details),
            "facts": dict(one.facts),
        }
        for one in findings
    ]
    print_json({"root": str(context.root), "level": overall_level(findings), "checks": checks, "fixed": fixed})
