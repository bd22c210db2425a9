"""Encoders by the name a user gives: the shipped one, none, or a model of their own."""

from __future__ import annotations

from functools import cache

from whence.core.errors import SettingError
from whence.embed.encoder import Encoder

SHIPPED = "shipped"
NONE = "none"
#: The shipped encoder of notes.
PROSE = "prose"
LATE, MODEL2VEC = "late:", "model2vec:"
ALLOWED = f"{SHIPPED} | {NONE} | {LATE}DIRECTORY-OR-HUB-ID | {MODEL2VEC}DIRECTORY-OR-HUB-ID"


def check_model(name: str) -> None:
    """Refuse a name that can be no model, before any work."""
    if name not in {SHIPPED, NONE} and not any(name.startswith(kind) and name != kind for kind in (LATE, MODEL2VEC)):
        raise SettingError(f"index.model = {name!r} is not allowed", hint=f"allowed: {ALLOWED}")


def is_shipped(encoder: Encoder | None) -> bool:
    """Whether vectors are of the shipped model, whose similarities are known."""
    return encoder is not None and encoder.name == SHIPPED


@cache
def open_encoder(name: str) -> Encoder | None:
    """The encoder of a name, loaded once; None where none is wanted. Raises `ModelUnavailable`."""
    check_model(name)
    if name == NONE:
        return None
    encoder = _load_encoder(name)
    encoder.name = name
    return encoder


@cache
def open_note_encoder(name: str) -> Encoder | None:
    """The encoder of notes, by the setting memory.model; None where none is wanted. Raises `ModelUnavailable`."""
    if name == NONE:
        return None
    if name == PROSE:
        from whence.embed.prose import ProseEncoder  # noqa: PLC0415

        return ProseEncoder()
    return open_encoder(name)


def _load_encoder(name: str) -> Encoder:
    if name == SHIPPED:
        from whence.embed.static import StaticEncoder  # noqa: PLC0415  -- each encoder loads only what it needs

        return StaticEncoder()
    if name.startswith(LATE):
        from whence.embed.late import LateEncoder  # noqa: PLC0415

        return LateEncoder(name.removeprefix(LATE))
    from whence.embed.model2vec import Model2VecEncoder  # noqa: PLC0415

    return Model2VecEncoder(name.removeprefix(MODEL2VEC))
