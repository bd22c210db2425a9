"""Obtain source archives of many languages from package registries: `python training/obtain.py DIR`.

Packages are asked for by name, from the registries that this machine's own tools are configured for: pip's index, npm's
registry and apt's sources. Names are taken systematically: Debian's index of sources by name, section or build dependency, and
npm's names in the order of their downloads (both lists are registry content themselves). A short list by hand helps
languages that these lack. Languages with little source in the registries come first.

Flagship packages are left out: those that very many others depend on (Debian sources with 25 or more reverse build dependencies,
npm's most depended-upon names, and their namesakes elsewhere). They are the likeliest subjects of a benchmark,
known or unknown; what resembles a given benchmark by content is dropped later, when the archives are mined.

A package is kept when it carries source of the wanted language and is not under a copyleft licence alone. What was obtained or
refused before is not asked for again, so the script can be cut off and continued.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import io
import json
import lzma
import re
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from pathlib import Path

from apart import Licences, is_licence, members

DOWNLOADS_AT_ONCE = 8
SECONDS_PER_ANSWER = 60
MEGABYTE = 1_000_000
FLAGSHIP_DEPENDENTS = 25
#: Suites besides the machine's own; a mirror may lack the files of one and have those of another.
SUITES = ("trixie", "sid")
#: npm's downloads per package and its list of the most used packages, as packages of npm itself.
DOWNLOADS_OF_NPM, FLAGSHIPS_OF_NPM = "download-counts", "npm-high-impact"


@dataclass(frozen=True, slots=True)
class Group:
    """Packages to look for: where, which names, and which source they have to carry."""

    label: str
    registry: str  # npm, pypi or debian
    suffixes: str
    wanted: int
    names: str = ""  # a pattern of package names
    needs: str = ""  # a pattern of Debian build dependencies
    sections: str = ""  # a pattern of Debian sections
    listed: str = ""  # names given by hand, asked for first; with `==` one version
    ranks: tuple[int, int] = (0, 0)  # npm: places in the order of downloads
    tries: int = 4  # names tried for each one wanted
    megabytes: int = 20  # the largest archive
    files: int = 3  # fewest source files
    parts: str = ""  # a pattern of folders: each becomes an archive of its own, without the rest


MOBILE = r"react-native|capacitor|cordova-plugin|(^|[-/@])expo([-/]|$)|nativescript|[-/](ios|android)([-/]|$)"
UNITY = r"^(com|io|jp|org|net|dev|tech|xyz|me|fr|de|uk|cn|ca|eu|ru|games|studio)\.[a-z0-9_-]+\.[a-z0-9_.-]+$"

GROUPS = (
    Group("zig", "pypi", ".zig", 24, listed="ziglang==0.15.2 ziglang==0.13.0 ziglang==0.11.0 ziglang==0.9.1",
          names=r"(^|-)zig($|-)|^zig|-zig", megabytes=130, files=1),
    Group("elixir", "debian", ".ex .exs", 20, names=r"^elixir-", needs=r"\b(elixir|dh-elixir|erlang-hex)\b", megabytes=40),
    Group("elixir", "pypi", ".ex .exs", 10, names=r"elixir|erlang|erlport", tries=8, files=1),
    Group("scala", "debian", ".scala", 30, names=r"^scala|scala$|^sbt-", needs=r"\bscala\b|\bsbt\b|scala-library", megabytes=40),
    Group("scala", "pypi", ".scala", 30, names=r"spark|scala($|[-_])", tries=10, files=1),
    Group("swift", "debian", ".swift", 1, names=r"^swiftlang$", megabytes=300,
          parts=r"^(swift/(?=stdlib|SwiftCompilerSources|lib|tools)|swiftpm/|sourcekit-lsp/|swift-(syntax|docc|driver|format|foundation|corelibs-\w+|tools-[\w-]+)/)"),
    Group("kotlin", "debian", ".kt", 20, names=r"^kotlin|^gradle|^android-", needs=r"\bkotlin\b", megabytes=60),
    Group("kotlin", "npm", ".kt", 40, names=r"kotlin", tries=6, files=4),
    Group("csharp", "npm", ".cs", 170, names=UNITY, tries=6, megabytes=12, files=5),
    Group("csharp", "debian", ".cs", 50, names=r"-sharp|^mono($|[.-])", needs=r"mono-devel|cli-common-dev|mono-mcs|libmono", megabytes=60),
    Group("lua", "debian", ".lua", 110, names=r"^lua|lua$", needs=r"\blua5|luajit|liblua|dh-lua", megabytes=15, files=2),
    Group("lua", "npm", ".lua", 170, names=r"^@(rbxts[-\w]*|quenty|jsdotlua)/|(^|[-/@_])lua([-/_]|$)|[-.]nvim", tries=8, files=1),
    Group("ruby", "debian", ".rb", 170, names=r"^ruby-|^puppet", needs=r"\bgem2deb\b", megabytes=8, tries=12),
    Group("php", "debian", ".php", 90, names=r"^php-|-php$", megabytes=8),
    Group("haskell", "debian", ".hs", 130, names=r"^haskell-", megabytes=4),
    Group("rust", "debian", ".rs", 60, names=r"^rust-", megabytes=4, tries=25),
    Group("rust", "pypi", ".rs", 60, names=r"(^|-)rs$|rust", tries=8, megabytes=4, files=4),
    Group("bash", "debian", ".sh .bash .zsh", 60, names=r"^bash|^zsh|sh-|-sh$|shell|^git-|cloud|-utils$", megabytes=6, files=6, tries=10),
    Group("bash", "npm", ".sh .bash .zsh", 40, names=r"(^|[-/@._])(bash|zsh|shell|sh|posix-sh)([-/._]|$)", tries=20, files=4),
    Group("typescript", "npm", ".ts .tsx", 110, names=r".", ranks=(4000, 60000), tries=12, megabytes=4, files=8),
    Group("javascript", "debian", ".js .mjs .jsx .ts", 120, names=r"^node-", megabytes=3, files=4),
    Group("javascript", "npm", ".js .mjs .jsx", 40, names=r".", ranks=(3000, 30000), tries=4, megabytes=2, files=8),
    Group("java", "debian", ".java", 70, names=r"^lib.*-java$", megabytes=6, files=8),
    Group("go", "debian", ".go", 90, names=r"^golang-", megabytes=4, files=6),
    Group("python", "pypi", ".py", 130, names=r"^python-", megabytes=4, files=5),
    Group("c++", "debian", ".cpp .cc .cxx .hpp", 80, sections=r"^(libs|libdevel|devel|science|misc|graphics|sound|math)$",
          names=r"^lib|\+\+|pp$|^q[a-z]", megabytes=6, files=12, tries=8),
    Group("c", "debian", ".c", 80, sections=r"^(libs|net|utils|admin|misc|sound|devel|electronics)$",
          names=r"^lib|^[a-z]{3,9}$", megabytes=5, files=12, tries=8),
    Group("mobile", "npm", ".swift .kt", 300, names=MOBILE, tries=8, megabytes=8, files=4),
)  # fmt: skip


def fetched(address: str, limit: int = 400) -> bytes:
    """The content at an address of a registry; longer than `limit` megabytes is an error."""
    request = urllib.request.Request(address, headers={"Accept": "*/*"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=SECONDS_PER_ANSWER) as answer:  # noqa: S310
        if int(answer.headers.get("Content-Length") or 0) > limit * MEGABYTE:
            raise ValueError("larger than wanted")
        content: bytes = answer.read()
    return content


def said_by(*command: str) -> str:
    """What a command prints, or nothing when it fails."""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def drawn(name: str) -> str:
    """A key that puts names into an order that is mixed and always the same."""
    return hashlib.blake2b(name.encode(), digest_size=8).hexdigest()


def plain_binary(name: str) -> str:
    """`librust-name-1.2+feature-dev` -> `librust-name-dev`: a Rust package is depended upon under many names."""
    return re.sub(r"^(librust-.+?)(-\d[\d.]*)?(\+[\w-]+)?-dev$", r"\1-dev", name)


class Debian:
    """Source packages of the distribution this machine's apt is configured for."""

    def __init__(self) -> None:
        lines = said_by("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)", "Created-By: Packages")
        self.root, own, _ = next(line for line in lines.splitlines() if line.endswith(" main")).split()
        self.packages: dict[str, list[dict[str, str]]] = {}
        self.dependents: list[Counter[str]] = []  # of each suite
        for suite in (*SUITES, own):
            self.dependents.append(Counter())
            text = lzma.decompress(fetched(f"{self.root}dists/{suite}/main/source/Sources.xz")).decode("utf-8", "replace")
            for paragraph in text.split("\n\n"):
                self._add(paragraph)

    def _add(self, paragraph: str) -> None:
        fields: dict[str, str] = dict(re.findall(r"^([\w-]+):((?:.*)(?:\n[ \t].*)*)", paragraph, re.MULTILINE))
        name = fields.get("Package", "").strip()
        if not name:
            return
        self.packages.setdefault(name, []).append(fields)
        needed = fields.get("Build-Depends", "") + "," + fields.get("Build-Depends-Indep", "")
        self.dependents[-1].update({plain_binary(binary) for binary in re.findall(r"(?:^|,)\s*([a-z0-9][a-z0-9+.-]+)", needed)})

    @cached_property
    def flagships(self) -> set[str]:
        """Sources of which a binary package is a build dependency of very many others."""
        found = set()
        for name, releases in self.packages.items():
            binaries = {plain_binary(binary) for fields in releases for binary in re.split(r"[,\s]+", fields.get("Binary", "").strip())}
            if max(sum(counts[binary] for binary in binaries) for counts in self.dependents) >= FLAGSHIP_DEPENDENTS:
                found.add(name)
        return found

    def names(self, group: Group) -> Iterator[str]:
        """The sources a group means, in mixed order."""
        for name in sorted(self.packages, key=drawn):
            fields = self.packages[name][0]
            named = group.names and re.search(group.names, name)
            needed = fields.get("Build-Depends", "") + fields.get("Build-Depends-Indep", "")
            if group.sections:
                named = named and re.search(group.sections, fields.get("Section", "").strip().rsplit("/", 1)[-1])
            if named or (group.needs and re.search(group.needs, needed)):
                yield name

    def archive(self, name: str, limit: int) -> tuple[str, bytes]:
        """The upstream source of a package, of the first release whose file can be had."""
        trouble: Exception = ValueError("no source archive")
        for fields in self.packages[name]:
            rows = [line.split() for line in fields.get("Files", "").splitlines() if line.strip()]
            tars = [(int(row[1]), row[2]) for row in rows if re.search(r"\.tar\.(gz|xz|bz2)$", row[2]) and ".debian.tar" not in row[2]]
            try:
                file = max(tars)[1]
                return file, fetched(self.root + fields["Directory"].strip() + "/" + urllib.parse.quote(file), limit)
            except (OSError, ValueError) as this:
                trouble = this
        raise trouble


class Npm:
    """Packages of the registry that npm is configured for."""

    def __init__(self) -> None:
        self.root = said_by("npm", "config", "get", "registry").splitlines()[-1].rstrip("/") + "/"

    @cached_property
    def by_downloads(self) -> list[str]:
        """Every name, the most downloaded first."""
        counts: dict[str, int] = json.loads(self._file_of(DOWNLOADS_OF_NPM, "counts.json"))
        return sorted(counts, key=lambda name: (-counts[name], name))

    @cached_property
    def flagships(self) -> set[str]:
        """The names that most others depend on."""
        text = self._file_of(FLAGSHIPS_OF_NPM, "lib/top-dependent.js").decode()
        return set(re.findall(r"'([^']+)'", text))

    def _file_of(self, name: str, path: str) -> bytes:
        with tarfile.open(fileobj=io.BytesIO(self.archive(name, 100)[1])) as opened:
            content = opened.extractfile(f"package/{path}")
            assert content is not None
            return content.read()

    def names(self, group: Group) -> Iterator[str]:
        """The packages a group means: the most downloaded first, or a mixture of a range of ranks."""
        low, high = group.ranks
        names = sorted(self.by_downloads[low:high], key=drawn) if high else self.by_downloads
        pattern = re.compile(group.names)
        return (name for name in names if pattern.search(name) and not name.startswith("@types/"))

    def archive(self, name: str, limit: int) -> tuple[str, bytes]:
        """The newest release of a package."""
        described = json.loads(fetched(self.root + name.replace("/", "%2f") + "/latest"))
        address = described["dist"]["tarball"]
        return f"{described['version']}.tgz", fetched(address, limit)


class PyPI:
    """Packages of the index that pip is configured for; names come from Debian's packages of Python or by hand."""

    def __init__(self, debian: Debian) -> None:
        self.debian = debian
        configured = said_by(sys.executable, "-m", "pip", "config", "get", "global.index-url")
        self.root = (configured or importlib.import_module("pip._internal.models.index").PyPI.simple_url).rstrip("/") + "/"
        self.flagships = {re.sub(r"^python-", "", name) for name in debian.flagships}

    @cached_property
    def everything(self) -> list[str]:
        """Every name in the index."""
        page = fetched(self.root).decode("utf-8", "replace")
        return sorted(set(re.findall(r'<a href="[^"]*?([A-Za-z0-9_.-]+)/?"', page)), key=drawn)

    def names(self, group: Group) -> Iterator[str]:
        """Namesakes of Debian's Python packages, or the names of the index that match."""
        if not group.names:
            return iter(())
        if group.names == "^python-":
            return (name.removeprefix("python-") for name in self.debian.names(group))
        return (name for name in self.everything if re.search(group.names, name))

    def archive(self, name: str, limit: int) -> tuple[str, bytes]:
        """The source of the newest release, or of the version asked for; a wheel when there is nothing else."""
        name, _, version = name.partition("==")
        page = self.root + name + "/"
        links = [link.split("#")[0] for link in re.findall(r'href="([^"]+)"', fetched(page).decode())]
        if version:
            links = [link for link in links if f"-{version}-" in link or f"-{version}.tar" in link]
        sources = [link for link in links if link.endswith((".tar.gz", ".zip"))]
        wheels = [link for link in links if link.endswith("any.whl") or ("manylinux" in link and "x86_64" in link)]
        chosen = (sources or wheels)[-1]
        return chosen.rsplit("/", 1)[-1], fetched(urllib.parse.urljoin(page, chosen), limit)


class Collection:
    """The directory of archives, and the memory of what was refused."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        for half in directory.glob("part-*"):
            half.unlink()
        self.refused_file = directory / "refused.txt"
        self.refused = set(self.refused_file.read_text().split("\n")) if self.refused_file.exists() else set()
        self.kept = {path.name.rsplit("=", 1)[0] for path in directory.iterdir() if "=" in path.name}

    def key(self, group: Group, name: str) -> str:
        """What a package is called in file names."""
        return f"{group.registry}={name.replace('/', '+').replace('==', '@')}"

    def refuse(self, group: Group, key: str) -> None:
        """Remember that a package is of no use to a group."""
        self.refused.add(f"{group.label} {key}")
        with self.refused_file.open("a") as file:
            file.write(f"{group.label} {key}\n")

    def keep(self, key: str, file: str, content: bytes) -> None:
        """Store an archive; half a file is never seen under its name."""
        path = self.directory / f"{key}={file[-60:].replace('=', '-')}"
        beside = self.directory / f"part-{drawn(key)}"
        beside.write_bytes(content)
        beside.rename(path)
        self.kept.add(key)


def verdict(group: Group, content: bytes, scratch: Path) -> str:
    """Why an archive is of no use to a group; empty when it is of use."""
    scratch.write_bytes(content)
    suffixes, licences, found = tuple(group.suffixes.split()), Licences(), 0
    try:
        for member in members(scratch):
            licences.see(member)
            found += member.path.endswith(suffixes) and not member.path.endswith(".d.ts") and "node_modules/" not in member.path
    finally:
        scratch.unlink()
    if found < group.files:
        return "no source"
    return "copyleft" if licences.only_copyleft else ""


def parts_of(content: bytes, group: Group, scratch: Path) -> Iterator[tuple[str, bytes]]:
    """An archive that bundles many projects as one small archive for each folder that is wanted."""
    scratch.write_bytes(content)
    suffixes, files = tuple(group.suffixes.split()), defaultdict[str, dict[str, bytes]](dict)
    try:
        for member in members(scratch):
            if re.match(group.parts, member.path) and (member.path.endswith(suffixes) or is_licence(member.path)):
                folder, _, path = member.path.partition("/")
                files[folder][path] = member.read()
    finally:
        scratch.unlink()
    for folder, held in sorted(files.items()):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as made:
            for path, text in held.items():
                entry = tarfile.TarInfo(f"{folder}/{path}")
                entry.size = len(text)
                made.addfile(entry, io.BytesIO(text))
        yield folder, packed.getvalue()


def tried(group: Group, registry: Debian | Npm | PyPI, name: str, collection: Collection) -> tuple[str, str]:
    """Ask for one package; the key and why it was not kept."""
    key = collection.key(group, name)
    if key in collection.kept or (group.parts and any(kept.startswith(f"{key}+") for kept in collection.kept)):
        return key, ""
    try:
        file, content = registry.archive(name, group.megabytes)
        scratch = collection.directory / f"part-{drawn(key)}"
        if group.parts:
            for folder, part in parts_of(content, group, scratch):
                collection.keep(f"{key}+{folder}", f"{file.split('.tar')[0]}.tar.gz", part)
            return key, ""
        why = verdict(group, content, scratch)
        if not why:
            collection.keep(key, file, content)
        return key, why
    except (OSError, ValueError, KeyError, LookupError, EOFError, tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError) as trouble:
        missing = isinstance(trouble, urllib.error.HTTPError) and trouble.code == HTTPStatus.NOT_FOUND
        return key, "not there" if missing else f"failed: {type(trouble).__name__}"


def obtain(group: Group, registry: Debian | Npm | PyPI, collection: Collection, flagships: set[str], stop: float) -> Counter[str]:
    """Try a group's names in their order, some at a time, until enough are kept."""
    counts: Counter[str] = Counter()
    names = [*group.listed.split(), *(name for name in registry.names(group) if name not in flagships)][: group.tries * group.wanted]
    names = [name for name in dict.fromkeys(names) if f"{group.label} {collection.key(group, name)}" not in collection.refused]
    with ThreadPoolExecutor(DOWNLOADS_AT_ONCE) as pool:
        for start in range(0, len(names), 2 * DOWNLOADS_AT_ONCE):
            if counts["kept"] >= group.wanted or time.monotonic() > stop:
                break
            batch = names[start : start + 2 * DOWNLOADS_AT_ONCE]
            for key, why in pool.map(lambda name: tried(group, registry, name, collection), batch):
                counts[why or "kept"] += 1
                if why and not why.startswith("failed"):
                    collection.refuse(group, key)
    return counts


def main() -> None:
    """Obtain every group, the rarest languages first."""
    arguments = argparse.ArgumentParser(description="Obtain source archives from package registries.")
    arguments.add_argument("directory", type=Path)
    arguments.add_argument("--minutes", type=float, default=25)
    arguments.add_argument("--gigabytes", type=float, default=4)
    chosen = arguments.parse_args()
    begun = time.monotonic()
    collection = Collection(chosen.directory)
    debian, npm = Debian(), Npm()
    pypi = PyPI(debian)
    registries: dict[str, Debian | Npm | PyPI] = {"debian": debian, "npm": npm, "pypi": pypi}
    namesakes = {re.sub(r"^(node|python|ruby|php|rust|haskell|lua)-", "", name) for name in debian.flagships}
    flagships = debian.flagships | namesakes | npm.flagships
    held = 0.0
    for group in GROUPS:
        if held > chosen.gigabytes * 1000:
            break
        counts = obtain(group, registries[group.registry], collection, flagships, begun + 60 * chosen.minutes)
        seconds, held = time.monotonic() - begun, sum(path.stat().st_size for path in collection.directory.iterdir()) / MEGABYTE
        print(
            f"{seconds:5.0f} s {held:6.0f} MB {len(collection.kept):5} archives  {group.label} ({group.registry}): {dict(counts)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
