"""How far the one who edits and indexes is, for all processes to see: four numbers in shared memory."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

_NUMBERS = struct.Struct("=q")


class Board:
    """Numbers of states: up to which files may have changed, have changed, and are indexed; and whether it is over."""

    def __init__(self, file: Path) -> None:
        if not file.exists():
            file.write_bytes(bytes(_NUMBERS.size * 4))
        with file.open("r+b") as opened:
            self._map = mmap.mmap(opened.fileno(), _NUMBERS.size * 4)

    def _get(self, at: int) -> int:
        return int(_NUMBERS.unpack_from(self._map, at * _NUMBERS.size)[0])

    def _set(self, at: int, value: int) -> None:
        _NUMBERS.pack_into(self._map, at * _NUMBERS.size, value)

    @property
    def begun(self) -> int:
        """The state that files are in, or are being brought to."""
        return self._get(0)

    @begun.setter
    def begun(self, state: int) -> None:
        self._set(0, state)

    @property
    def done(self) -> int:
        """The state that all files have reached."""
        return self._get(1)

    @done.setter
    def done(self, state: int) -> None:
        self._set(1, state)

    @property
    def indexed(self) -> int:
        """The state that is indexed."""
        return self._get(2)

    @indexed.setter
    def indexed(self, state: int) -> None:
        self._set(2, state)

    @property
    def over(self) -> bool:
        """Whether nothing changes any more."""
        return bool(self._get(3))

    def end(self) -> None:
        """Nothing changes any more."""
        self._set(3, 1)
