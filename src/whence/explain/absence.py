"""Why something is not in an answer at all: it is not indexed, or a condition of the query keeps it out."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from whence.index.arrayfile import Array
from whence.index.digest import CONTENTS
from whence.index.snapshot import Snapshot
from whence.query.language import Condition
from whence.query.options import Options
from whence.retrieve.filters import file_mask
from whence.types import Skipped

#: Said of a file that was seen, but is newer than the index.
NOT_YET = "it is new or has changed, and is not taken in yet"
_LINE = re.compile(r":\d+$")


@dataclass(frozen=True, slots=True)
class Absence:
    """What keeps something out of an answer."""

    kind: Literal["kept_out", "left_out", "unknown"]  # by the query; of the index; there is no such file or symbol
    said: str  # in one sentence
    hint: str = ""
    unmet: tuple[str, ...] = ()  # the conditions of the query that it does not meet, as they were read


def kept_out(
    units: Array, snapshot: Snapshot, options: Options, conditions: Sequence[Condition], left_by: Callable[[Sequence[Condition]], Array]
) -> Absence | None:
    """Which condition keeps some indexed units out; None where none does. `left_by` says which units some conditions leave."""
    files = snapshot.file_of_unit[units]
    if not file_mask(snapshot, options)[files].any():
        what = CONTENTS[int(snapshot.column("files.content")[files[0]])]
        return Absence("kept_out", f"only {options.content} is searched, and this is {what}", f"in:{what} asks for it")
    alone = tuple(str(one) for one in conditions if not left_by([one])[units].any())
    if alone:
        return Absence("kept_out", f"it does not meet {', '.join(alone)}", unmet=alone)
    if conditions and not left_by(conditions)[units].any():
        every = tuple(map(str, conditions))
        return Absence("kept_out", f"no one part of it meets all of {', '.join(every)}", unmet=every)
    return None


def _is_there(root: Path, path: str) -> bool:
    return ".." not in path.split("/") and os.path.lexists(root / path)


def left_out(target: str, root: Path, skipped: Iterable[Skipped], changed: Iterable[str]) -> Absence | None:
    """Why a file is not indexed, as the walk and the parser told; None where there is no such file."""
    wanted = _LINE.sub("", target).removeprefix("./").strip("/")
    if not wanted:
        return None
    for one in sorted(skipped, key=lambda one: len(one.path)):
        path = one.path.rstrip("/")
        if path == wanted or path.endswith(f"/{wanted}"):
            return Absence("left_out", f"{one.path} is not indexed: {one.reason}")
        if one.path.endswith("/") and wanted.startswith(one.path) and _is_there(root, wanted):
            return Absence("left_out", f"{wanted} is not indexed: it lies in {one.path}, which is left out ({one.reason})")
    fresh = next((path for path in changed if path == wanted or path.endswith(f"/{wanted}")), None)
    return Absence("left_out", f"{fresh} is not indexed: {NOT_YET}") if fresh is not None else None
