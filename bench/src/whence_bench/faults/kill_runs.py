"""The process in which kills happen: `python -m whence_bench.faults.kill_runs REQUEST`, started with write steps watched.

Everything is loaded once; each kill is a fork of it. What was found goes to a file in its scratch folder, and lines for
whoever is waiting to standard error.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from whence_bench.faults.compared import Seen, difference
from whence_bench.faults.kill_apart import Ended, adopt_orphans, apart
from whence_bench.faults.scenario import WRITTEN, Place, Scenario
from whence_bench.faults.scenario_tree import write_tree
from whence_bench.faults.scenarios import made
from whence_bench.faults.write_steps import COUNT, FULL, KILL_AFTER, KILL_BEFORE, KILL_ONE, NAMES, NO_FLUSH, TEAR, Step, WriteSteps

#: The file in the scratch folder that gets what was found.
FOUND = "found.json"
#: How many steps of a scenario are tried when only some of everything is: to kill, and for a disk that fails.
SMALL_KILLS, SMALL_FAILURES = 2, 1
#: Processes take long to start: of a scenario that does so, this many steps of each kind.
SAMPLE_WITH_WORKERS = 40


@dataclass(frozen=True, slots=True)
class Request:
    """What to do, from the command line."""

    scratch: str
    control: str
    seconds: float
    seed: int
    small: bool
    names: tuple[str, ...]  # of scenarios
    table: str  # the module that lists them


@dataclass(frozen=True, slots=True)
class Trial:
    """A fault at one step."""

    fault: int
    at: int


@dataclass(slots=True)
class Found:
    """What came of one scenario."""

    steps: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    tried: dict[str, int] = field(default_factory=dict)
    not_reached: int = 0
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Ground:
    """A scenario, ready to be tried: its place, its steps, and what may be seen."""

    scenario: Scenario
    place: Place
    steps: list[Step]
    before: Seen
    after: Seen


def main() -> None:
    """Try every scenario, in turn, and write down what was found."""
    request = Request(**json.loads(sys.argv[1]))
    adopt_orphans()
    until = time.monotonic() + request.seconds
    steps = WriteSteps(Path(request.control))
    table = import_module(request.table)
    chosen = [one for one in table.SCENARIOS if one.name in request.names]
    getattr(table, "load", _load_nothing)(Path(request.scratch) / "loading")
    places = _places(chosen, Path(request.scratch), getattr(table, "SETTLING", 0.0))
    found: dict[str, Found] = {}
    for number, scenario in enumerate(chosen):
        share = (until - time.monotonic()) / (len(chosen) - number)
        found[scenario.name] = tried(scenario, places[scenario.name], steps, request, time.monotonic() + share)
        one = found[scenario.name]
        print(f"{scenario.name}: {one.steps} steps, {sum(one.tried.values())} faults, {len(one.wrong)} wrong", file=sys.stderr, flush=True)
    (Path(request.scratch) / FOUND).write_text(json.dumps({name: asdict(one) for name, one in found.items()}), encoding="utf-8")


def _load_nothing(scratch: Path) -> None:
    """A table of scenarios may have nothing to load beforehand."""


def _places(chosen: Sequence[Scenario], scratch: Path, settling: float) -> dict[str, Place]:
    """All places, prepared, and some seconds old."""
    template = write_tree(scratch / "template")
    places = {one.name: made(one, scratch / f"place-{number}", template) for number, one in enumerate(chosen)}
    time.sleep(settling)
    return places


def tried(scenario: Scenario, place: Place, steps: WriteSteps, request: Request, until: float) -> Found:
    """Every fault at every step of one scenario, as far as time allows."""
    found = Found()
    steps.watch([place.folder / name for name in WRITTEN])
    ground = _surveyed(scenario, place, steps, found)
    if ground is None:
        return found
    found.steps, found.kinds = len(ground.steps), dict(Counter(step.kind for step in ground.steps).most_common())
    trials = chosen_trials(ground, random.Random(f"{request.seed} {scenario.name}"), small=request.small)
    for number, trial in enumerate(trials):
        if time.monotonic() > until:
            found.not_reached = len(trials) - number
            break
        wrong = list(_wrong(ground, trial, steps))
        found.tried[NAMES[trial.fault]] = found.tried.get(NAMES[trial.fault], 0) + 1
        step = ground.steps[min(trial.at, len(ground.steps)) - 1]
        found.wrong += [f"{scenario.name}: {NAMES[trial.fault]} step {trial.at} ({step.kind}): {line}" for line in wrong]
    return found


def _surveyed(scenario: Scenario, place: Place, steps: WriteSteps, found: Found) -> Ground | None:
    """What is seen before the operation and after it, and the steps that it takes."""
    place.restore(linked=True)
    before = apart(lambda _: scenario.look(place))
    place.restore(linked=True)
    done = apart(lambda group: _armed(scenario, place, steps, Trial(COUNT, 0), group))
    taken = steps.steps()
    if scenario.finishes:  # what is seen after it must be what a clean build gives
        shutil.rmtree(place.data)
    after = apart(lambda _: scenario.look(place))
    failed = [one for one in (before, done, after) if one.kind or one.hangs]
    found.wrong += [f"{scenario.name}: nothing was done to it, and it failed: {one.kind}: {one.error} {one.where}" for one in failed]
    if not failed and not scenario.finishes and before.value == after.value:
        found.wrong.append(f"{scenario.name}: what it does cannot be seen")
    if not failed and not taken:
        found.wrong.append(f"{scenario.name}: no step was seen")
    return None if found.wrong else Ground(scenario, place, taken, before.value, after.value)


def chosen_trials(ground: Ground, chance: random.Random, *, small: bool) -> list[Trial]:
    """A kill at every step of an operation, torn writes, and a disk that fails; or some of it."""
    numbered = list(enumerate(ground.steps, 1))
    edges = _edges_of_runs(ground.steps)
    kills = [Trial(KILL_BEFORE, at) for at, _ in numbered]
    kills += [Trial(TEAR, at) for at, step in numbered if at in edges and step.writes and step.bytes > 1]
    kills.append(Trial(KILL_AFTER, len(numbered)))
    failures = [Trial(FULL, at) for at in sorted(edges)] + [Trial(NO_FLUSH, at) for at, step in numbered if step.flushes]
    if ground.scenario.workers:
        kills += [Trial(KILL_ONE, at) for at, _ in numbered]
        kills, failures = _some(kills, 3 * SAMPLE_WITH_WORKERS, chance), _some(failures, SAMPLE_WITH_WORKERS, chance)
    return _some(kills, SMALL_KILLS, chance) + _some(failures, SMALL_FAILURES, chance) if small else kills + failures


def _edges_of_runs(steps: Sequence[Step]) -> set[int]:
    """The first and the last of each run of equal calls on one file: what comes of the others comes of one of these."""
    runs = [list(run) for _, run in groupby(enumerate(steps, 1), key=lambda numbered: numbered[1][:2])]
    return {at for run in runs for at in (run[0][0], run[-1][0])}


def _some(trials: list[Trial], count: int, chance: random.Random) -> list[Trial]:
    return trials if len(trials) <= count else sorted(chance.sample(trials, count), key=attrgetter("at"))


def _armed(scenario: Scenario, place: Place, steps: WriteSteps, trial: Trial, group: int) -> Any:
    steps.arm(trial.fault, trial.at, group)
    try:
        return scenario.operate(place)
    finally:
        steps.disarm()


def _wrong(ground: Ground, trial: Trial, steps: WriteSteps) -> Iterator[str]:
    """What is wrong when an operation is cut off at a step, once it is over."""
    scenario, place = ground.scenario, ground.place
    place.restore(linked=trial.at % 2 == 0)
    ended = apart(lambda group: _armed(scenario, place, steps, trial, group))
    steps.disarm()
    yield from _wrong_ending(ended, trial)
    seen = apart(lambda _: scenario.look(place))
    if seen.kind or seen.hangs or seen.signal:
        yield f"it cannot be used afterwards: {_told(seen)}"
        return
    yield from _wrong_view(ground, seen.value)
    again = apart(lambda _: _once_more(scenario, place))
    if again.kind or again.hangs or again.signal:
        yield f"it cannot be done again: {_told(again)}"
        return
    after, strays = again.value
    if after is not None and (unlike := difference(after, ground.after)):
        yield f"done again, {unlike}"
    if strays:
        yield f"left behind: {', '.join(strays[:5])}"


def _once_more(scenario: Scenario, place: Place) -> tuple[Seen | None, list[str]]:
    """What is seen when the operation is done again, and what lies about then. One that is finished by the next look was done again."""
    if scenario.finishes:
        return None, scenario.strays(place)
    scenario.operate(place)
    return scenario.look(place), scenario.strays(place)


def _wrong_ending(ended: Ended, trial: Trial) -> Iterator[str]:
    """How an operation may not end."""
    if ended.hangs:
        yield "it did not end"
    if ended.orphans:
        yield "some of its processes did not end"
    if trial.fault in (FULL, NO_FLUSH):
        if ended.signal:
            yield f"it ended by signal {ended.signal}"
        elif ended.kind and not ended.said:
            yield f"{ended.kind} at {ended.where}: {ended.error[:200]}"
        elif ended.kind and (not ended.error.strip() or "\n" in ended.error.strip()):
            yield f"what it said is not one line: {ended.error[:200]!r}"
    elif ended.kind and not (trial.fault == KILL_ONE and ended.said):
        yield f"{ended.kind} at {ended.where}: {ended.error[:200]}"


def _wrong_view(ground: Ground, seen: Seen) -> Iterator[str]:
    """What may not be seen after an operation was cut off."""
    scenario, before, after = ground.scenario, ground.before, ground.after
    if scenario.finishes:
        if unlike := difference(seen, after):
            yield unlike
        return
    if seen in (before, after):
        return
    if not scenario.by_parts:
        yield f"neither as before nor as after: {difference(seen, before)}; {difference(seen, after)}"
        return
    for name in seen.keys() - set(scenario.loose):
        if name not in scenario.by_parts and seen[name] not in (before[name], after[name]):
            yield f"{name}: {difference(seen[name], before[name])}; {difference(seen[name], after[name])}"
    for name in scenario.by_parts:
        old, new = before[name], after[name]
        for key in sorted(old.keys() | new.keys() | seen[name].keys()):
            if seen[name].get(key) not in (old.get(key), new.get(key)):
                yield f"{name} {key}: {difference(seen[name].get(key), old.get(key))}"


def _told(ended: Ended) -> str:
    if ended.hangs:
        return "it hangs"
    return f"signal {ended.signal}" if ended.signal else f"{ended.kind} at {ended.where}: {ended.error[:200]}"


if __name__ == "__main__":
    main()
