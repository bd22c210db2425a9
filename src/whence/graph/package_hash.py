"""One hash for the code around a symbol: it changes when anything in the symbol's folder does (L3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b

from whence.index.symbols import SymbolTable
from whence.parse.languages import CODE

Hashes = Callable[[Iterable[str]], Mapping[str, bytes]]


class PackageHashes:
    """The hashes of one snapshot's folders, each worked out once."""

    def __init__(self, symbols: SymbolTable, hashes: Hashes) -> None:
        self.symbols, self._hashes = symbols, hashes
        self._files = {path: row for row, path in enumerate(symbols.snapshot.paths) if symbols.snapshot.alive[row]}
        self._known: dict[tuple[str, str], str] = {}

    def of(self, key: str) -> str:
        """The hash of the package of `path#qualified.name`; empty when there is no such symbol any more."""
        path, _, name = key.partition("#")
        if path not in self._files or not self._defines(self._files[path], name):
            return ""
        code = self.symbols.snapshot.content_mask(CODE)[self._files[path]]
        return self._of_folder(path.rpartition("/")[0], "" if code else path)

    def _defines(self, file: int, name: str) -> bool:
        starts = self.symbols.snapshot.unit_starts
        return any(self.symbols.qualified_name(unit) == name for unit in range(int(starts[file]), int(starts[file + 1])))

    def _of_folder(self, folder: str, beside: str) -> str:
        """The hash of the code of a folder, and of one file that is no code."""
        if (folder, beside) not in self._known:
            code = self.symbols.snapshot.content_mask(CODE)
            paths = [path for path, row in self._files.items() if path == beside or (code[row] and path.rpartition("/")[0] == folder)]
            digest = blake2b(digest_size=16)
            for path, content in sorted(self._hashes(paths).items()):
                name = path.encode("utf-8", "surrogateescape")
                digest.update(len(name).to_bytes(4, "little") + name + content)
            self._known[folder, beside] = digest.hexdigest()
        return self._known[folder, beside]
