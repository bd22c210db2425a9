"""A hash of the code around a symbol, which changes with any file of its folder (L3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b

from whence.index.symbols import SymbolTable
from whence.parse.languages import CODE

Hashes = Callable[[Iterable[str]], Mapping[str, bytes]]


class PackageHashes:
    """The package hashes of one snapshot, each computed once."""

    def __init__(self, symbols: SymbolTable, hashes: Hashes) -> None:
        self.symbols, self._hashes = symbols, hashes
        self._known: dict[tuple[str, str], str] = {}

    def of(self, key: str) -> str:
        """The hash of the package of `path#qualified.name`; empty if the symbol no longer exists."""
        path, _, name = key.partition("#")
        file = self.symbols.file_row.get(path, -1)
        if file < 0 or not self._defines(file, name):
            return ""
        is_code = self.symbols.snapshot.content_mask(CODE)[file]
        return self._of_folder(path.rpartition("/")[0], "" if is_code else path)

    def _defines(self, file: int, name: str) -> bool:
        starts = self.symbols.snapshot.unit_starts
        return any(self.symbols.qualified_name(unit) == name for unit in range(int(starts[file]), int(starts[file + 1])))

    def _of_folder(self, folder: str, other: str) -> str:
        """The hash of the code in a folder, and of one other file."""
        if (folder, other) not in self._known:
            is_code, rows = self.symbols.snapshot.content_mask(CODE), self.symbols.file_row
            paths = [path for path, row in rows.items() if path == other or (is_code[row] and path.rpartition("/")[0] == folder)]
            digest = blake2b(digest_size=16)
            for path, content in sorted(self._hashes(paths).items()):
                name = path.encode("utf-8", "surrogateescape")
                digest.update(len(name).to_bytes(4, "little") + name + content)
            self._known[folder, other] = digest.hexdigest()
        return self._known[folder, other]
