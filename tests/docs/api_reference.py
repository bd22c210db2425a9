"""The API for people to read: each path with what it takes, what it gives and an example, then every shape."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from ui.questions import GOOD, NOTE, TWO_NOTES, Endpoint, endpoints_of

Schema = Mapping[str, Any]
ADDRESS = "http://127.0.0.1:8899"
KEYS = {"folder": "shop", "slug": "rounding"}
SEEN = [{"key": "shop/rounding", "expected": "5f1c09d2a7b3e846"}, {"key": "shop/totals", "expected": "c2708b1f94d6ea35"}]
#: What stands in an example: by shape and field, else by field. The rest is told from its type.
SAMPLES: dict[str, Any] = {
    "about": "shop/cart.py#Cart.total", "because": "the words cart, total are in the name", "branch": "main",
    "bytes": 812, "code": "shop/cart.py#Cart.total", "commit": "67128ec0a1", "confidence": 0.95, "contribution": 0.42, "day": "2026-11-16",
    "directories": "/home/ada/.local/share/whence/notes", "directory": "/home/ada/.cache/whence/shop-5f1c09", "error": "no root is called 'shp'",
    "expected": "5f1c09d2a7b3e846", "file": ".whence.toml", "files": 6, "focus": "shop/cart.py#Cart.total", "fingerprint": "b3e8465f1c09d2a7",
    "format": "markdown", "form": "body", "found_by": "words", "group": "calls", "headline": "Rounding", "hint": "allowed: shop",
    "holder": "", "indexed_at": 1763286600.0, "key": "shop/cart.py#Cart.total", "kind": "method", "label": "exact", "language": "python",
    "leader": "shop/cart.py", "level": "ok", "lines": 42, "made_with": "0.9.0", "name": "total", "operation": "+", "part": "segments",
    "path": "shop/cart.py", "phase": "match", "profile": "default", "profiles": "default", "project": "shop", "provenance": "resolved",
    "put_away": "shop/totals", "qualified_name": "Cart.total", "query": "cart total", "reason": "ignored by .gitignore", "retriever": "words",
    "root": "shop", "seen": "5f1c09d2a7b3e846", "sign": "+", "signal": "words", "sort": "code", "source": "", "state": "fresh",
    "symbol": "Cart.total", "tags": "money", "text": "The total is rounded once.", "topic": "Rounding", "value": 1.7, "version": "0.9.0", "what": "refreshed",
    "asked": "change the discount of the cart", "updated": "2026-11-16T10:30:00Z", "created": "2026-11-16T10:30:00Z", "warning": "", "trouble": "",
    "said": "", "note": "", "notes": "", "unknown": "", "unmet": "", "hidden": "", "left": "", "alike": "", "changed": "", "details": "",
    "CodeStateView.repository": "", "CodeStateView.state": "fresh", "CodeHistoryView.state": "changed", "CodeHistoryView.said": "as it was at 67128ec0a1", "ConflictReply.error": "shop/rounding was changed meanwhile",
    "CodeLine.runs": [["def", "keyword", False], [" ", "", False], ["total", "function", True], ["(self):", "", False]],
    "FacetCounts.folders": {"shop": 4}, "FacetCounts.kinds": {"function": 3, "class": 1}, "FacetCounts.languages": {"python": 4},
    "NoteCounts.kinds": {"durable": 2}, "NoteCounts.projects": {"shop": 2}, "NoteCounts.tags": {"money": 1}, "NoteCounts.states": {"fresh": 1, "stale": 1},
    "FindingView.name": "index", "FindingView.said": "6 files are indexed", "ForgetReply.key": "shop/rounding", "GraphEdgeView.kind": "calls", "GraphEdgeView.source": "shop/till.py#pay", "GraphEdgeView.target": "shop/cart.py#Cart.total",
    "IndexReply.path": "/home/ada/shop", "SymbolEdge.source": "shop/till.py#pay", "SymbolEdge.target": "shop/cart.py#Cart.total",
    "ExcludedCount.reason": "ignored by .gitignore", "NoteSummaryView.kind": "durable", "NoteSummaryView.key": "shop/rounding", "NoteView.kind": "durable", "NoteView.key": "shop/rounding",
    "CodeHistoryReply.key": "shop/rounding", "DraftReply.kind": "durable", "DraftReply.text": "## Rounding\n\nThe total is rounded once.\n\n## Totals\n\n…",
    "PackView.text": "# change the discount of the cart\n\n…", "RootView.path": "/home/ada/shop", "RootView.name": "shop", "RootState.name": "shop",
    "BuildRecordView.because": "a file was changed", "BuildRecordView.changed": 1, "SignalView.name": "words", "SignalView.doc": "How well the words of the question fit.", "ConfidenceView.line": 0.35, "ConfidenceView.probability": 0.91,
    "WeightsReply.lines": "[profiles.default.signals.test]\nshort = 0.5\nlong = 0.5\n", "WhyReply.verdict": "ranked", "WhyReply.target": "shop/cart.py",
    "ModelView.name": "default", "SettingView.name": "search.k", "SettingView.value": "20", "SettingView.source": ".whence.toml", "DayCount.archived": 0, "NoteVersionView.changed": "tags",
    "RecallScore.kind": "commits", "RecallScore.questions": 50, "here": True, "FreshnessView.fresh": True, "changed_files": 0, "missing": 0, "left_out": 0, "score": 1.93, "leader_score": 2.41,
    "start_line": 12, "end_line": 15, "best_start_line": 12, "best_end_line": 15, "first_line": 12, "last_line": 15, "line": 12, "number": 12, "total_lines": 42,
    "milliseconds": 8.4, "candidates": 6, "tokens": 61, "uncut_tokens": 61, "budget": 2000, "frame_tokens": 12.5, "missing_tokens": 0, "walk": 0.83, "weight": 0.25,
    "tells": True, "source_bytes": 2840, "index_bytes": 96256, "units": 9, "seconds": 0.08, "at": 1763286600.0, "width": 256, "passages": 9, "distance": 0, "open_calls": 0,
    "first": 0.62, "ten": 0.9, "floor_first": 0.48, "floor_ten": 0.8, "short": 1.0, "long": 0.8, "ndcg": 1.0, "depth": 10, "first_difference": 2, "page": 1, "pages": 1,
    "signature": 0, "pointer": 0, "inside": 0, "beyond": 0, "stale": 0, "more_lines": 0, "skipped": 2, "added": 0, "removed": 0, "known": 0, "NoteVersionView.number": 1, "then": None, "now": 1,
}  # fmt: skip
INTRODUCTION = """\
GET requests have their fields in the URL; POST requests are JSON with `Content-Type: application/json`. Fields that are
not listed are refused. If several repositories are served, `root` names one.

| status | meaning |
|---|---|
| 200 | the model named below |
| 400 | it cannot be answered: an [ErrorReply](#errorreply) with one line and what to do |
| 401 | the token is missing, in plain text; 429 after too many wrong ones |
| 403, 421 | from a page of another origin, or sent to another host name than this machine's |
| 404, 405 | no such path, no such method: an [ErrorReply](#errorreply) |
| 409 | a note was changed meanwhile: a [ConflictReply](#conflictreply), and nothing is stored |
| 413, 431 | it is too long |
| 422 | it is not a valid request: an [ErrorReply](#errorreply) that names the first wrong field |
| 500 | an internal error: an [ErrorReply](#errorreply) |
"""
#: How a type of JSON is written here, and what stands for it where there is no sample.
PLAIN: dict[str, tuple[tuple[type, ...], Any]] = {
    "array": ((list,), []),
    "boolean": ((bool,), False),
    "integer": ((int,), 1),
    "number": ((int, float), 1.0),
    "object": ((dict,), {}),
    "string": ((str,), ""),
}
#: Levels of an example; what is deeper is left out.
DEEPEST = 4


def api_reference(document: Schema, made: str) -> str:
    """All of it."""
    parts = [f"# The API of the page\n\n{made}\n{document['info']['description']}\n", INTRODUCTION]
    view = ""
    for one in endpoints_of(document):
        if one.about["tags"][0] != view:
            view = one.about["tags"][0]
            parts.append(f"## {view}\n")
        parts.append("\n".join(_path(one, document)))
    parts.append("## Models\n\nA model has exactly the fields listed here.\n")
    parts += ["\n".join(_shape(name, shape)) for name, shape in sorted(document["components"]["schemas"].items())]
    return "\n".join(parts)


def _path(one: Endpoint, document: Schema) -> Iterator[str]:
    yield f"### {one.name}\n"
    yield f"{one.about['description']}\n"
    rows = list(_question_rows(one, document))
    if rows:
        yield "| field | type | default | meaning |\n|---|---|---|---|"
        yield from rows
        yield ""
    schema = one.answer_schema(document)
    yield f"Answer: {_type(schema)}\n"
    yield f"```sh\n{_call(one)}\n```\n"
    yield f"```json\n{_abridged(_example(schema, document, '', DEEPEST))}\n```\n"


def _question_rows(one: Endpoint, document: Schema) -> Iterator[str]:
    for parameter in one.about.get("parameters", ()):
        yield _row(parameter["name"], parameter["schema"], parameter["description"], required=parameter["required"])
    if one.asks_by_body:
        schema = one.question_schema(document)
        for name, about in schema["properties"].items():
            yield _row(name, about, about["description"], required=name in schema.get("required", ()))


def _row(name: str, schema: Schema, meaning: str, *, required: bool) -> str:
    default = "required" if required else f"`{json.dumps(schema['default'])}`" if schema.get("default") is not None else ""
    return f"| `{name}` | {_type(schema)} | {default} | {_cell(meaning)} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _shape(name: str, shape: Schema) -> Iterator[str]:
    yield f"### {name}\n"
    yield f"{' '.join(shape['description'].split())}\n"
    yield "| field | type | meaning |\n|---|---|---|"
    for field, about in shape["properties"].items():
        yield f"| `{field}` | {_type(about)} | {_cell(about['description'])} |"
    yield ""


def _type(schema: Schema) -> str:
    """A type in words, with a link to a shape."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{json.dumps(one)}`" for one in schema.get("enum", [schema.get("const")]))
    if schema["type"] in ("array", "object"):
        return _type_of_many(schema)
    low, high = schema.get("minimum"), schema.get("maximum")
    return schema["type"] + ("" if low is None else f" from {low:g}") + ("" if high is None else f" to {high:,.0f}")


def _type_of_many(schema: Schema) -> str:
    if "prefixItems" in schema:
        return f"({', '.join(_type(one) for one in schema['prefixItems'])})"
    return f"list of {_type(schema['items'])}" if schema["type"] == "array" else f"{_type(schema['additionalProperties'])} by name"


def _call(one: Endpoint) -> str:
    """A call that a shell takes. The tests ask the same."""
    question = dict(GOOD[one.name])
    if question.pop("note", None) == NOTE and one.asks_by_body:
        question["expected"] = SEEN[0]["expected"]
    if question.get("notes") == TWO_NOTES:
        question["notes"] = SEEN
    address = ADDRESS + one.path.format_map(KEYS)
    head = 'curl -H "Authorization: Bearer $TOKEN"'
    if not one.asks_by_body:
        return f"{head} '{address}{'?' + urlencode(question) if question else ''}'"
    return f"{head} -H \"Content-Type: application/json\" \\\n     -d '{json.dumps(question)}' {address}"


def _example(schema: Schema, document: Schema, name: str, deep: int) -> Any:
    """A value that a schema allows: lists have one entry, and what may be null is there."""
    if "$ref" in schema:
        return _example_of_shape(schema["$ref"].rpartition("/")[2], document, deep)
    if "anyOf" in schema:
        return _example(schema["anyOf"][0], document, name, deep)
    sample = SAMPLES.get(name, SAMPLES.get(name.rpartition(".")[2]))
    if schema.get("type") == "array" and not isinstance(sample, list):
        inner = _example(schema["items"], document, name, deep)
        return [inner] if inner != "" else []
    if "enum" in schema:
        return sample if sample in schema["enum"] else next(filter(None, schema["enum"]))
    kinds, plain = PLAIN[schema["type"]]
    return sample if isinstance(sample, kinds) else plain


def _example_of_shape(name: str, document: Schema, deep: int) -> Any:
    if deep == 0:
        return {"…": "…"}
    fields = document["components"]["schemas"][name]["properties"]
    return {field: _example(about, document, f"{name}.{field}", deep - 1) for field, about in fields.items()}


def _abridged(value: Any) -> str:
    """JSON that keeps on a line what fits on one."""
    return _laid_out(value, 0)


def _laid_out(value: Any, indent: int) -> str:
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + indent <= 110 or not isinstance(value, list | dict):
        return flat.replace('{"…": "…"}', "{…}")
    inner, end = " " * (indent + 2), " " * indent
    if isinstance(value, list):
        return "[\n" + ",\n".join(inner + _laid_out(one, indent + 2) for one in value) + f"\n{end}]"
    return "{\n" + ",\n".join(f"{inner}{json.dumps(key)}: {_laid_out(one, indent + 2)}" for key, one in value.items()) + f"\n{end}}}"
