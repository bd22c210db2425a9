"""Two results of one benchmark side by side: what changed in all, and question by question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from whence.core.errors import UsageError
from whence.search.metrics import mean
from whence_bench.html.arrangements import arrangement_of
from whence_bench.html.blocks import Block, Figure, Folded, Section, Table
from whence_bench.html.plots import Mark, Row, dots
from whence_bench.html.scales import drawable, written
from whence_bench.html.style import SERIES
from whence_bench.html.systems import UNKNOWN_SHAPE, Measure, Result, Systems, spread
from whence_bench.html.walking import is_figure, titled
from whence_bench.search.ablation import worth_of

#: Questions that are listed by themselves, of those that changed most either way.
MOST_CHANGED = 60
#: Fields of rows by which they are known again.
NAMES = ("what", "part", "name")
#: Figures inside fields inside fields are compared so far down.
DEEPEST = 12


def check_alike(result: Result, other: Result) -> None:
    """Only what was measured alike can stand side by side."""
    if result.get("benchmark") != other.get("benchmark"):
        raise UsageError(
            f"one result is of {_benchmark(result)}, the other of {_benchmark(other)}",
            hint="give one that the same benchmark wrote, with the same flags",
        )


def _benchmark(result: Result) -> str:
    return f"`whence bench {result['benchmark']}`" if isinstance(result.get("benchmark"), str) else "nothing that is known"


def compared(result: Result, other: Result) -> Section:
    """The differences of a result from another one of the same benchmark."""
    check_alike(result, other)
    systems = [part for part in arrangement_of(result).parts if isinstance(part, Systems)]
    try:
        blocks: list[Block] = [block for part in systems for block in _answers(part, result, other)]
    except UNKNOWN_SHAPE:
        # The other result may be of a version that kept its answers in another form.
        blocks = []
    return Section("Beside the other result", [*_versions(result, other), *(blocks or [_figures(result, other)])])


def _versions(result: Result, other: Result) -> list[Block]:
    """What has another version in the other result: it may be the reason for a change."""
    ours, theirs = ({**_mapping(one.get("versions")), **_mapping(one.get("machine"))} for one in (result, other))
    rows = [
        (name, written(theirs.get(name)), written(ours.get(name)))
        for name in dict.fromkeys((*ours, *theirs))
        if theirs.get(name) != ours.get(name)
    ]
    return [Table(("circumstance", "other", "this"), rows, "What was otherwise.")] if rows else []


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _answers(part: Systems, result: Result, other: Result) -> Iterator[Block]:
    """Paired differences of every way that both have."""
    ours, theirs = part.ways(result, part.key), part.ways(other, part.key)
    ways = [name for name in ours if name in theirs]
    if not ways:
        return
    yield _means(part, ways, ours, theirs)
    for name in ways[: len(SERIES)]:
        pairs = _paired(part, name, ours, theirs)
        if pairs:
            yield Section(name, _changes(part, name, pairs))


def _means(part: Systems, ways: Sequence[str], ours: Mapping[str, Result], theirs: Mapping[str, Result]) -> Figure:
    """The first measure of each way, before and now; all measures in the table."""
    first = part.measures[0]
    rows = [Row(name, (Mark(theirs[name][first.key]), Mark(ours[name][first.key]))) for name in ways]
    cells = [
        (
            f"{name}, {one.title}",
            f"{theirs[name][one.key]:{one.form}}",
            f"{ours[name][one.key]:{one.form}}",
            _change(one, name, ours, theirs),
        )
        for name in ways
        for one in part.measures
    ]
    drawing = dots(f"{first.title}, other and this", first.title, rows, ("other", "this"))
    return Figure(drawing, Table(("measure", "other", "this", "change"), cells))


def _change(one: Measure, name: str, ours: Mapping[str, Result], theirs: Mapping[str, Result]) -> str:
    return f"{ours[name][one.key] - theirs[name][one.key]:+.4f}"


#: A question, where it was asked, and its figure before and now.
Pair = tuple[tuple[str, ...], str, float, float]


def _paired(part: Systems, name: str, ours: Mapping[str, Result], theirs: Mapping[str, Result]) -> list[Pair]:
    """The questions that both results have."""
    key = part.measures[0].key
    before = {part.named(one): one[key] for one in theirs[name].get("answers", ())}
    return [
        (part.named(one), str(one[part.place]), before[part.named(one)], one[key])
        for one in ours[name].get("answers", ())
        if part.named(one) in before and drawable(before[part.named(one)]) and drawable(one[key])
    ]


def _changes(part: Systems, name: str, pairs: Sequence[Pair]) -> list[Block]:
    """The mean change with bounds, all and by place, how changes spread, and the questions that changed most."""
    title = part.measures[0].title
    changes = [now - before for _, _, before, now in pairs]
    worth = worth_of(name, "change", changes, [place for _, place, _, _ in pairs])
    places = {place: [now - before for _, at, before, now in pairs if at == place] for _, place, _, _ in pairs}
    rows = [("all", Mark(worth.loss, worth.low, worth.high)), *((place, Mark(mean(of))) for place, of in sorted(places.items()))]
    cells = [("all", len(pairs), f"{worth.loss:+.4f}", f"{worth.low:+.4f}", f"{worth.high:+.4f}")]
    cells += [(place, len(of), f"{mean(of):+.4f}", "", "") for place, of in sorted(places.items())]
    drawing = dots(f"Change of {title}, {name}", f"change of {title}", [Row(label, (mark,)) for label, mark in rows], bars=True)
    moved = [value for value in changes if value]
    found: list[Block] = [
        Figure(
            drawing,
            Table((part.place, part.count, "change", "from", "to"), cells),
            f"Bounds: 95 %, every {part.place} drawn with replacement.",
        )
    ]
    if moved:
        gained = sum(value > 0 for value in moved)
        said = f"{gained} better, {len(moved) - gained} worse, {len(pairs) - len(moved)} as before"
        found += [spread(f"Changes of {title}: {said}", f"change of {title}", {name: moved}), _most(part, pairs)]
    return found


def _most(part: Systems, pairs: Sequence[Pair]) -> Block:
    order = sorted((pair for pair in pairs if pair[2] != pair[3]), key=lambda pair: (-abs(pair[3] - pair[2]), pair[0]))[:MOST_CHANGED]
    rows = [(*asked, f"{before:.3f}", f"{now:.3f}", f"{now - before:+.3f}") for asked, _, before, now in order]
    return Folded(f"The {len(order)} questions that changed most", [Table((*part.words, "other", "this", "change"), rows)])


def _figures(result: Result, other: Result) -> Block:
    """Every figure that both have, by its name."""
    ours, theirs = dict(_named(result)), dict(_named(other))
    rows = [(name, theirs[name], value, f"{value - theirs[name]:+.4g}") for name, value in ours.items() if name in theirs]
    return Table(("figure", "other", "this", "change"), rows)


def _named(value: object, name: str = "", depth: int = 0) -> Iterator[tuple[str, float]]:
    """Figures with the path to them; rows of a list by what they say they are, and other lists not at all."""
    if depth > DEEPEST:
        return
    if isinstance(value, Mapping):
        for key, one in value.items():
            if key not in ("machine", "versions", "settings", "answers", "seed"):
                yield from _named(one, f"{name}, {titled(str(key))}" if name else titled(str(key)), depth + 1)
    elif isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
        for one in value:
            known = next((str(one[field]) for field in NAMES if field in one), "")
            if known:
                yield from _named({key: of for key, of in one.items() if key not in NAMES}, f"{name}, {known}", depth + 1)
    elif is_figure(value) and isinstance(value, int | float):
        yield name, value
