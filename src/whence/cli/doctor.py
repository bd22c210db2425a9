"""`whence doctor`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.cli.shared import color_option, json_option, print_json, safe, set_option, settings_of, styler, targets_of

if TYPE_CHECKING:
    from whence.app.doctor.checks import DoctorContext
    from whence.app.doctor.finding import Finding

WELL, NOT_WELL = 0, 1
_COLOURS = {"ok": "green", "skipped": None, "warning": "yellow", "failed": "red"}
_NAME_WIDTH = 14


@click.command(
    epilog="""\b
Examples:
  whence doctor
  whence doctor src --questions 200
  whence doctor --questions 0 --json"""
)
@click.argument("path", required=False, default=".")
@click.option(
    "--questions", type=click.IntRange(min=0), metavar="N", help="Ask N questions of each kind; 0 measures nothing (default: for 5 s)."
)
@click.option("--fix", is_flag=True, help="Remove the indexes of folders that are gone; what was learned from use stays.")
@json_option
@color_option
@set_option
def doctor(path: str, questions: int | None, fix: bool, as_json: bool, color: str, assignments: tuple[str, ...]) -> int:
    """Check that everything works, and measure how well it finds.

    Looked at are the installation, the data folder and the index of PATH.

    Nothing is changed but with --fix, and nothing leaves this machine. Questions
    are made from the repository's own commits and doc comments, with what is
    known of the answer set aside, and beside each figure stands what counting
    words would find. Exit code 1 says that something failed.
    """
    from whence.app.doctor.checks import examine  # noqa: PLC0415
    from whence.app.doctor.finding import FAILED  # noqa: PLC0415

    here = _circumstances(path, questions, assignments)
    done = _mended(here) if fix else []
    style = styler(color)
    findings = []
    for one in examine(here):
        findings.append(one)
        if not as_json:
            _print(one, style)
    if as_json:
        _print_all(here, findings, done)
    else:
        for line in done:
            click.echo(f"fixed    {safe(line)}")
        _print_sum(findings)
    return NOT_WELL if any(one.level == FAILED for one in findings) else WELL


def _circumstances(path: str, questions: int | None, assignments: tuple[str, ...]) -> DoctorContext:
    from whence.app.doctor.checks import DoctorContext  # noqa: PLC0415
    from whence.core.settings import Layer, merge  # noqa: PLC0415
    from whence.index.layout import default_data_dir  # noqa: PLC0415

    environment, values = dict(os.environ), settings_of(assignments)
    merge([Layer("command line", values)])  # a wrong name here is wrong use; in a file it is a finding
    root = targets_of((path,))[0].root
    return DoctorContext(
        root,
        default_data_dir(environment, Path.home()),
        Path.home(),
        environment,
        time.time_ns(),
        values,
        questions,
        [("agents", partial(_agents, root))],
    )


def _agents(root: Path) -> Iterator[Finding]:
    """Which agents know whence, here or for the user."""
    from whence.app.agents.plan import install_state  # noqa: PLC0415
    from whence.app.agents.registry import AGENTS, InstallScope  # noqa: PLC0415
    from whence.app.doctor.finding import OK, SKIPPED, WARNING, Finding  # noqa: PLC0415

    scopes = (InstallScope(Path.home(), dict(os.environ), root), InstallScope(Path.home(), dict(os.environ)))
    found = [install_state(agent, scope) for agent in AGENTS for scope in scopes]
    for one in found:
        if one.error:
            yield Finding("agents", WARNING, f"{one.agent.name}: {one.error}")
    knowing = dict.fromkeys(one.agent.name for one in found if one.configured)
    there = dict.fromkeys(one.agent.name for one in found if one.installed and one.agent.name not in knowing)
    if knowing:
        yield Finding("agents", OK, f"{', '.join(knowing)} know{'s' if len(knowing) == 1 else ''} whence")
    if there:
        yield Finding(
            "agents", OK if knowing else SKIPPED, f"{', '.join(there)} found, without whence", f"whence install {next(iter(there))}"
        )
    if not knowing and not there:
        yield Finding("agents", SKIPPED, "none is found on this machine")


def _mended(here: DoctorContext) -> list[str]:
    from whence.app.doctor.storage import index_folders, remove_orphans  # noqa: PLC0415

    return remove_orphans(index_folders(here.data_dir))


def _print(one: Finding, style: Any) -> None:
    level = style(f"{one.level:<8}", fg=_COLOURS[one.level])
    click.echo(f"{level} {one.name:<{_NAME_WIDTH}} {safe(one.said)}", color=True)
    margin = " " * (_NAME_WIDTH + 10)
    for line in one.details:
        click.echo(f"{margin}{safe(line)}")
    if one.hint:
        click.echo(f"{margin}-> {safe(one.hint)}")


def _print_sum(findings: list[Finding]) -> None:
    levels = [one.level for one in findings]
    failed, warned = levels.count("failed"), levels.count("warning")
    said = f"{failed} failed, {warned} to look at" if failed or warned else "all is well"
    click.echo(f"{len(levels)} checks: {said}")


def _print_all(here: DoctorContext, findings: list[Finding], done: list[str]) -> None:
    from whence.app.doctor.finding import worst  # noqa: PLC0415

    checks = [
        {"name": one.name, "level": one.level, "said": one.said, "hint": one.hint, "details": list(one.details), "facts": dict(one.facts)}
        for one in findings
    ]
    print_json({"root": str(here.root), "level": worst(findings), "checks": checks, "fixed": done})
