"""Ways to damage one file, each repeatable by its name and a seed."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

#: A page, as file systems and databases have them.
PAGE = 4_096
#: Bytes at the beginning of a file that count as its header.
HEADER = 128

#: Changes bytes; the second is another valid file of the same kind.
Change = Callable[[bytes, bytes, random.Random], bytes]


def _flipped(low: float, high: float) -> Change:
    """One bit flipped somewhere between two shares of the file."""

    def change(raw: bytes, _other: bytes, chance: random.Random) -> bytes:
        at = chance.randrange(int(len(raw) * low), max(int(len(raw) * high), 1))
        return raw[:at] + bytes([raw[at] ^ (1 << chance.randrange(8))]) + raw[at + 1 :]

    return change


def _flipped_header(raw: bytes, _other: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(min(len(raw), HEADER))
    return raw[:at] + bytes([raw[at] ^ (1 << chance.randrange(8))]) + raw[at + 1 :]


def _flipped_content(raw: bytes, _other: bytes, chance: random.Random) -> bytes:
    """A database is half empty: among all bytes most would be without meaning."""
    at = chance.choice([place for place, byte in enumerate(raw) if byte] or [0])
    return raw[:at] + bytes([raw[at] ^ (1 << chance.randrange(8))]) + raw[at + 1 :]


def _zeroed(raw: bytes, _other: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(max(len(raw) // PAGE, 1)) * PAGE
    size = min(PAGE, len(raw) - at)
    return raw[:at] + bytes(size) + raw[at + size :]


#: Changes that leave the size as it is: they may go unseen by anybody who looks at sizes and times alone.
SAME_SIZE: dict[str, Change] = {
    "a bit of the header flipped": _flipped_header,
    "a bit flipped": _flipped(0.0, 1.0),
    "a bit of what is not zero flipped": _flipped_content,
    "a bit near the end flipped": _flipped(0.9, 1.0),
    "a page of zeros": _zeroed,
}
#: Changes that anybody can see who looks at the size.
OTHER_SIZE: dict[str, Change] = {
    "cut to nothing": lambda _raw, _other, _chance: b"",
    "cut in its header": lambda raw, _other, _chance: raw[:50],
    "cut to half": lambda raw, _other, _chance: raw[: len(raw) // 2],
    "cut by one byte": lambda raw, _other, _chance: raw[:-1],
    "bytes appended": lambda raw, _other, chance: raw + chance.randbytes(100),
    "another of its kind": lambda _raw, other, _chance: other,
}


def change_bytes(path: Path, raw: bytes) -> None:
    """Put other bytes in the place of a file: a file of its own, with a time of its own."""
    path.unlink()
    path.write_bytes(raw)


def change_unseen(path: Path, raw: bytes) -> None:
    """Put other bytes into a file that has its size, its times and its number afterwards, as a failing disk does."""
    state = path.stat()
    handle = os.open(path, os.O_WRONLY)
    try:
        os.pwrite(handle, raw, 0)
    finally:
        os.close(handle)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def _to_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "kept.txt").write_text("not ours", encoding="utf-8")


def _to_link(path: Path) -> None:
    away = path.with_name("away." + path.name)
    path.rename(away)
    path.symlink_to(away)


def _to_broken_link(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_name("nowhere"))


def _to_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _unreadable(path: Path) -> None:
    kept = path.with_name(path.name + ".same")  # of its own: others may be links to the same file
    shutil.copy2(path, kept)
    kept.replace(path)
    path.chmod(0)


#: What can be in the place of a file.
REPLACED: dict[str, Callable[[Path], None]] = {
    "deleted": Path.unlink,
    "a folder": _to_folder,
    "a link to it": _to_link,
    "a link to nowhere": _to_broken_link,
    "a FIFO": _to_fifo,
    "not to be read": _unreadable,
}
