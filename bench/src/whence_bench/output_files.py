"""Where every benchmark writes its figures when asked: as JSON, as a page, and the page beside an earlier run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from whence.core.errors import UsageError

_OPTIONS = (
    click.option("--json", "json_file", metavar="FILE", type=click.Path(dir_okay=False), help="Also write all figures to FILE."),
    click.option(
        "--html", "html_file", metavar="FILE", type=click.Path(dir_okay=False), help="Also write a page with plots of all figures to FILE."
    ),
    click.option(
        "--against",
        "against_file",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        help="What --json wrote of another run; --html compares.",
    ),
)


@dataclass(frozen=True, slots=True)
class Files:
    """Where the figures of a run go, all looked at before it began, and an earlier result to stand beside them."""

    json_file: str | None = None
    html_file: str | None = None
    against: dict[str, Any] | None = None

    def write(self, figures: dict[str, Any]) -> None:
        """Write what was asked for; both files say the same."""
        from whence_bench import report  # noqa: PLC0415

        if self.json_file:
            report.write_json(self.json_file, figures)
        if self.html_file:
            from whence_bench.html.document import as_html  # noqa: PLC0415

            report.write_text(self.html_file, as_html(report.complete(figures), self.against))


def into_files(**kinds: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """`--json`, `--html` and `--against`, given to a command as `files`.

    A command whose result has another kind with a flag says so: `ablate="ablated"`.
    """

    def add(command: Callable[..., int]) -> Callable[..., int]:
        @wraps(command)
        def run(*, json_file: str | None, html_file: str | None, against_file: str | None, **how: Any) -> int:
            kind = next((word for flag, word in kinds.items() if how.get(flag)), "")
            name = ", ".join(filter(None, (click.get_current_context().info_name, kind)))
            return command(files=_looked_at(name, json_file, html_file, against_file), **how)

        for option in reversed(_OPTIONS):
            run = option(run)
        return run

    return add


def _looked_at(name: str, json_file: str | None, html_file: str | None, against_file: str | None) -> Files:
    """The files of a run of a benchmark; what is wrong with them is told now, and not after the minutes that it takes."""
    if not (json_file or html_file or against_file):
        return Files()
    from whence_bench import report  # noqa: PLC0415
    from whence_bench.html.comparison import check_alike  # noqa: PLC0415
    from whence_bench.html.document import read_result  # noqa: PLC0415

    if against_file and not html_file:
        raise UsageError("--against is for the page, which compares", hint="give --html FILE too")
    for one, what in ((json_file, "--json"), (against_file, "--against")):
        if html_file and one and Path(html_file).resolve() == Path(one).resolve():
            raise UsageError(f"{what} and --html name the same file", hint="give each a file of its own")
    against = read_result(against_file) if against_file else None
    if against is not None:
        check_alike({"benchmark": name}, against)
    for file in filter(None, (json_file, html_file)):
        report.check_writable(file)
    return Files(json_file, html_file, against)
