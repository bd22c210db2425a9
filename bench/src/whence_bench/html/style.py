"""How a report looks: the colours of the page of `whence ui`, light and dark, for whole pages and for single drawings."""

from __future__ import annotations

from collections.abc import Mapping

#: Each colour on a light ground and on a dark one; text in them meets WCAG AA there.
COLOURS: Mapping[str, tuple[str, str]] = {
    "ground": ("#ffffff", "#14161a"),
    "raised": ("#f5f6f8", "#1d2026"),
    "line": ("#d3d7de", "#363b45"),
    "ink": ("#1b1f26", "#e4e7ec"),
    "dim": ("#565d6a", "#a2a9b6"),
    "accent": ("#1d4ed8", "#8fb4ff"),
    "good": ("#12693a", "#6ed79a"),
    "bad": ("#ae1f28", "#ff9a94"),
}
#: Of what is drawn together, in turn. Each has a shape of its own, too: colour alone tells nothing to some.
SERIES: tuple[tuple[str, str], ...] = (
    ("#1d4ed8", "#8fb4ff"),
    ("#8a4b00", "#f0b45c"),
    ("#12693a", "#6ed79a"),
    ("#8a1c7c", "#e79be0"),
    ("#565d6a", "#a2a9b6"),
    ("#ae1f28", "#ff9a94"),
)
_PAIRS = {**COLOURS, **{f"s{number}": pair for number, pair in enumerate(SERIES)}}


def _variables(side: int) -> str:
    return " ".join(f"--{name}: {pair[side]};" for name, pair in _PAIRS.items())


#: Light, and dark on a screen that asks for it: paper is always light.
VARIABLES = f"""
:root {{ {_variables(0)} color-scheme: light; }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {_variables(1)} color-scheme: dark; }} }}
"""

DRAWING = """
svg text { font: 11px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--ink); }
svg .dim { fill: var(--dim); }
svg .grid { stroke: var(--line); stroke-width: 1; fill: none; }
svg .axis { stroke: var(--dim); stroke-width: 1; fill: none; }
svg .goal { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 3 2; fill: none; }
svg .reached { fill: var(--good); fill-opacity: 0.16; }
svg .ring { stroke: var(--ink); stroke-width: 1.5; fill: none; }
""" + "\n".join(
    f"svg .f{number} {{ fill: var(--s{number}); }} svg .k{number} {{ stroke: var(--s{number}); stroke-width: 1.5; fill: none; }}"
    for number in range(len(SERIES))
)

PAGE = """
*, *::before, *::after { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
header, main { max-width: 78rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 1.2rem; }
main { padding-bottom: 2rem; }
h1, h2, h3, h4 { line-height: 1.25; margin: 0 0 0.5rem; }
h1 { font-size: 1.5rem; }
h2 { font-size: 1.2rem; margin-top: 1.6rem; padding-top: 0.8rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin-top: 1.4rem; }
h4 { font-size: 0.95rem; margin-top: 1rem; color: var(--dim); }
p { margin: 0.25rem 0; max-width: 60rem; }
.dim, figcaption, caption { color: var(--dim); }
.good { color: var(--good); font-weight: 600; }
.bad { color: var(--bad); font-weight: 600; }
figure { margin: 0 0 1.2rem; display: grid; gap: 0.3rem 1.8rem; align-items: start; }
figure { grid-template-columns: minmax(0, 26rem) minmax(0, 1fr); }
figcaption { grid-column: 1 / -1; font-size: 0.9rem; }
svg { width: 100%; height: auto; display: block; max-width: 26rem; }
.beside { overflow: auto; margin-bottom: 0.8rem; }
.beside.long { max-height: 44rem; }
figure .beside { margin: 0; }
.beside:focus-visible, summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
table { border-collapse: collapse; font-size: 0.9rem; }
caption { text-align: left; font-size: 0.9rem; padding-bottom: 0.2rem; }
th, td { text-align: left; padding: 0.2rem 1rem 0.2rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
thead th { vertical-align: bottom; }
thead th.number { white-space: normal; min-width: 3.5rem; }
td.text, tbody th { overflow-wrap: anywhere; min-width: 8rem; max-width: 34rem; font-weight: 400; }
figure tbody th { min-width: 10rem; }
nav { display: flex; flex-wrap: wrap; gap: 0.1rem 1.2rem; margin-top: 0.7rem; }
a { color: var(--accent); }
code { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 0.87em; }
.lines { margin: 0.3rem 0; padding-left: 1.2rem; font-size: 0.9rem; }
.lines li { overflow-wrap: anywhere; }
details { margin: 0.5rem 0; }
summary { cursor: pointer; color: var(--accent); }
tr > :first-child { position: sticky; left: 0; background: var(--ground); }
@media (max-width: 800px) {
  figure { grid-template-columns: minmax(0, 1fr); }
  th, td { padding-right: 0.7rem; }
  td.text { min-width: 4.5rem; }
  tbody th, figure tbody th { min-width: 7.5rem; max-width: 11rem; }
}
@media print {
  body { font-size: 11px; }
  .beside, .beside.long { max-height: none; overflow: visible; }
  nav { display: none; }
  figure, tr { break-inside: avoid; }
  h2, h3, h4 { break-after: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
"""
