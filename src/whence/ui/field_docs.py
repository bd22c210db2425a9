"""Descriptions of the API's fields: the comment beside a field, else the docstring of its type, else the description of its name."""

from __future__ import annotations

import ast
import inspect
import io
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

#: Descriptions of fields by name, for models that do not describe them.
BY_NAME = dict(line.split(": ", 1) for line in Path(__file__).with_name("field_docs.txt").read_text("utf-8").splitlines())


def field_doc(model: type[BaseModel], field: str) -> str:
    """The description of a model's field."""
    comments = (_comments_of(one.__module__).get((one.__name__, field), "") for one in model.__mro__)
    types = (inspect.getdoc(one) or "" for one in _models_in(model.model_fields[field].annotation))
    return next(filter(None, chain(comments, types)), BY_NAME.get(field, ""))


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


@cache
def _comments_of(module: str) -> dict[tuple[str, str], str]:
    """By class and field, the comment on the line where the field ends, or those on the lines above it."""
    try:
        source = inspect.getsource(sys.modules[module])
    except (KeyError, OSError, TypeError):
        return {}  # installed without its source
    tokens = [one for one in tokenize.generate_tokens(io.StringIO(source).readline) if one.type == tokenize.COMMENT]
    comments = {one.start[0]: one.string.lstrip("#: ").strip() for one in tokens}
    alone = {one.start[0] for one in tokens if one.line.lstrip().startswith("#")}
    found = {}
    for place in (one for one in ast.parse(source).body if isinstance(one, ast.ClassDef)):
        for field in place.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                first = field.lineno
                while first - 1 in alone:
                    first -= 1
                above = " ".join(comments[line] for line in range(first, field.lineno))
                found[place.name, field.target.id] = comments.get(field.end_lineno or field.lineno) or above
    return found
