"""Damaged, lost and half-written files: said and made again, refused in one line where that would lose something, or without meaning.

Each case is tried on a copy of its own, in a process of its own: it opens what is
damaged, asks everything, and does so a second time. Whatever is not as on a
healthy copy must have been said; and by the second time all is well again.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from whence.app.doctor.finding import OK, SKIPPED
from whence.app.doctor.index_files import check_index
from whence.context.feedback.store import FILE_NAME as LEARNED
from whence.core.settings import Settings
from whence_bench.faults.corruption_apart import apart, obey_permissions
from whence_bench.faults.corruption_cases import Case, cases, file_of, some_of_everything
from whence_bench.faults.corruption_damage import REPLACED, change_unseen
from whence_bench.faults.corruption_ground import Ground, ask, copy_of, make_ground
from whence_bench.faults.corruption_specials import SPECIALS, command
from whence_bench.faults.part import Bounds, Part

#: Cases of files when only some of everything is tried; what stands beside them is tried in any case.
FEW = 26
DETECTED, REFUSED, HARMLESS = "said and made again", "refused in one line", "without meaning"
#: What is said where observations of running programs, which no file can give back, are lost with the database.
LOST_WORD = "observed"
#: Kinds of file that the index of a repository is made of.
OF_THE_INDEX = (".segment", ".vectors", ".parsed", ".shared", ".history", ".graph", "truth.db")


class Undetected(Exception):
    """A case that ended in none of the ways in which it may end; says how it did."""


def run(bounds: Bounds) -> Part:
    """Try every case that there is time for."""
    os.environ["XDG_CONFIG_HOME"] = str(bounds.scratch / "config")
    ground = healthy_ground(bounds.scratch)
    found = Counter[str]()
    wrong: list[str] = []
    for name, special in SPECIALS.items():
        trouble = apart(partial(special, ground, bounds.scratch / name.replace(" ", "-")), bounds.scratch / "result")
        found["beside"] += 1
        wrong += [f"{name}: {one}" for one in ([trouble] if isinstance(trouble, str) else trouble)]
    every = list(cases(ground, bounds.seed))
    chosen = some_of_everything(every, FEW if bounds.small else len(every), bounds.seed)
    for number, case in enumerate(chosen):
        if bounds.left < 2:
            break
        try:
            found[tried(case, ground, bounds.scratch / f"case{number}")] += 1
        except Undetected as trouble:
            found["undetected"] += 1
            wrong.append(f"{case.name} (seed {bounds.seed}): {trouble}")
            bounds.tell(wrong[-1])
    counted = sum(found.values())
    facts = dict(found) | {"not reached": len(chosen) + len(SPECIALS) - counted}
    return Part("corruption", counted, tuple(wrong), facts)


def healthy_ground(scratch: Path) -> Ground:
    """What every case begins with; a healthy copy must answer as the original, and say nothing."""
    ground = make_ground(scratch)
    for base in (ground.data, ground.logged):
        data = copy_of(base, scratch / "healthy")
        healthy = apart(partial(ask, ground, data), scratch / "result")
        shutil.rmtree(data)
        ground = replace(ground, healthy=ground.healthy or healthy)
        if healthy != ground.healthy or isinstance(healthy, str) or healthy["said"] or healthy["refused"]:
            raise Undetected(f"what is healthy is not answered alike each time: {str(healthy)[:300]}")
    return ground


def tried(case: Case, ground: Ground, place: Path) -> str:
    """How one case ended: one of the three ways in which it may, or `Undetected`."""
    base = ground.logged if case.logged else ground.data
    whole = file_of(case.kind, base)
    data = copy_of(base, place)
    path = file_of(case.kind, data)
    assert path is not None
    assert whole is not None
    before = whole.read_bytes()
    case.apply(path)
    try:
        found = apart(lambda: _asked_twice(case, ground, data), place.with_suffix(".result"))
        if isinstance(found, str):
            raise Undetected(found)
        return _judged(case, ground.healthy, found)
    finally:
        if case.unseen:  # it may be one file under two names
            change_unseen(whole, before)
        shutil.rmtree(place)


def _asked_twice(case: Case, ground: Ground, data: Path) -> dict[str, Any]:
    """In the process of the case: what is found from outside, what is answered, and what is answered the next time."""
    if "not to be read" in case.name and not obey_permissions():
        return {}
    looked = _from_outside(ground, data) if case.unseen and case.kind in OF_THE_INDEX else {}
    learned = file_of(LEARNED, data)
    kept = learned.read_bytes() if case.kind == LEARNED and learned is not None and "not to be read" not in case.name else b""
    first = json.loads(json.dumps(ask(ground, data, verify=case.unseen)))
    return {
        "from outside": looked,
        "first": first,
        "second": ask(ground, data) if first != ground.healthy else first,
        "kept": any(path.read_bytes() == kept for path in ground.layout(data).directory.glob(f"{LEARNED}*")) if kept else True,
    }


def _from_outside(ground: Ground, data: Path) -> dict[str, bool]:
    """Who finds damage without opening the index: the doctor, and `whence status --verify`."""
    findings = check_index(ground.layout(data), Settings(), time.time_ns()).findings
    ended = command("status", str(ground.root), "--verify", cwd=ground.root, WHENCE_DATA_DIR=str(data))
    return {"the doctor": any(one.level not in (OK, SKIPPED) for one in findings), "status --verify": ended[0] != 0}


def _judged(case: Case, healthy: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    if not found:
        return "not tried: permissions do not hinder here"
    first, second = found["first"], found["second"]
    said = [*first["said"], *first["refused"]]
    if any("\n" in line for line in said):
        raise Undetected(f"more than a line was said: {said}")
    if not found["kept"]:
        raise Undetected("the damaged file was not kept")
    differs = _differences(healthy, first)
    if differs and not said:
        raise Undetected(f"without a word, other {differs}")
    _check_loss(differs, said)
    if first["refused"] and case.kind != LEARNED and not case.name.endswith(tuple(REPLACED)):
        raise Undetected(f"refused, and not made again: {first['refused']}")
    blind = [who for who, found_it in found["from outside"].items() if not found_it]
    if blind and (said or differs):
        raise Undetected(f"not found by {' and '.join(blind)}, and then: {said}")
    lasting = case.kind == LEARNED or "not to be read" in case.name or bool(first["refused"])
    if not lasting and (again := [*second["said"], *second["refused"]]):
        raise Undetected(f"said again the next time: {again}")
    if not lasting and (differs := _differences(healthy, second)) and not any(LOST_WORD in line for line in said):
        raise Undetected(f"the next time, other {differs}; said: {said}")
    return REFUSED if first["refused"] or (lasting and said) else DETECTED if said else HARMLESS


def _check_loss(differs: list[str], said: list[str]) -> None:
    """Where something is answered otherwise, exactly that must have been said."""
    if "code.edges" in differs and not any(LOST_WORD in line for line in said):
        raise Undetected(f"what was observed at run time is lost, and only this said: {said}")
    allowed = {"code.edges", "code.graph", "code.context"} if any(LOST_WORD in line for line in said) else set()
    if any("learned" in line for line in said):
        allowed |= {"code.context", "code.learned"}
    if any("refused" in one for one in differs):
        allowed |= set(differs)
    if set(differs) - allowed:
        raise Undetected(f"other {sorted(set(differs) - allowed)}; said: {said}")


def _differences(healthy: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    parts = [(part, name) for part in ("code", "notes") for name in healthy[part]]
    differing = [f"{part}.{name}" for part, name in parts if found[part] and found[part].get(name) != healthy[part][name]]
    return differing + [f"{part} refused" for part in ("code", "notes") if not found[part]]
