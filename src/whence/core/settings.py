"""Every setting with its default, limits and doc line, merged once: call, command line, environment, project, user, default (E4)."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from stat import S_ISREG
from typing import Any

from whence.core.errors import RootError, SettingError
from whence.core.profiles import ALL_PROFILES, NOTE_PROFILES, PROFILES, SYMBOL_PROFILES, Profile
from whence.core.types import EDGE_WEIGHTS


def _setting(default: Any, doc: str, **limits: Any) -> Any:
    return field(default=default, metadata={"doc": doc, **limits})


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """What is indexed, and how. A change here that alters the index rebuilds it."""

    max_file_bytes: int = _setting(1_500_000, "files larger than this are left out", min=1, max=1 << 30, shapes_index=True)
    max_line_bytes: int = _setting(
        20_000, "files with a longer line are taken for generated and left out", min=100, max=1 << 30, shapes_index=True
    )
    hidden: bool = _setting(False, "also index hidden files that git does not track", shapes_index=True)
    model: str = _setting(
        "shipped",
        "what reads meaning: shipped, none, or late:, model2vec: or onnx: with a directory or hub id; a change rebuilds vectors only",
        pattern=r"shipped|none|(late|model2vec|onnx):.+",
        allowed="shipped | none | late:DIRECTORY-OR-HUB-ID | model2vec:DIRECTORY-OR-HUB-ID | onnx:DIRECTORY-OR-HUB-ID",
    )
    history: int = _setting(3_000, "commits whose messages point at the files they changed; 0 reads none", min=0, max=100_000)
    confirm_above: int = _setting(
        50_000, "ask before the first index of a folder with more files and no git, of / or of a home folder; 0 never asks", min=0
    )
    workers: int = _setting(0, "processes that parse; 0 takes one per core", min=0, max=64)
    lock_wait: float = _setting(30.0, "seconds to wait for another process that is writing the index", min=0)
    fresh_wait: float = _setting(300.0, "seconds that --wait-fresh waits for an index to be up to date", min=0)
    adopt: bool = _setting(
        True, "begin a first build with what the index of another worktree or clone of the repository has of the same content"
    )
    verify_after: float = _setting(
        604_800.0, "seconds after which an index is compared with its checksums once more when it is opened; 0 does so every time", min=0
    )
    overlay_share: float = _setting(
        0.2, "a segment is rewritten when younger ones, or dead files in it, come to more than this share of it", min=0, max=1
    )


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How a query is answered when it does not say otherwise."""

    k: int = _setting(10, "files in an answer", min=1, max=10_000)
    profile: str = _setting("default", "which ranking: the names of the profiles below", choices=tuple(PROFILES))
    operator: str = _setting("or", "whether any word may match or every word must", choices=("or", "and"))
    content: str = _setting("code", "which files to search", choices=("code", "docs", "config", "all"))
    strategy: str = _setting("union", "who proposes candidates: words and vectors, or one of them", choices=("union", "vector", "lexical"))
    pool: int = _setting(200, "at least this many candidates are ranked", min=10, max=100_000)
    pool_per_result: int = _setting(20, "candidates ranked for each file asked for", min=1, max=1_000)
    lines: int = _setting(3, "lines shown of each result", min=0, max=100)
    not_here: float = _setting(0.3, "an answer whose confidence is below this says that it is not here; 0 never says so", min=0, max=1)


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """How the symbols of a task are chosen and printed when it is not said otherwise."""

    profile: str = _setting("default", "which ranking of symbols", choices=tuple(SYMBOL_PROFILES))
    budget: int = _setting(50_000, "tokens of a pack for a task or for files", min=1, max=10_000_000)
    diff_budget: int = _setting(8_000, "tokens of a pack for a change", min=1, max=10_000_000)
    format: str = _setting("markdown", "how a pack is printed", choices=("markdown", "xml", "json"))
    symbols: int = _setting(150, "symbols that a pack chooses from, the best ranked", min=1, max=10_000)


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """A second look: a sentence encoder reads the first candidates (docs/rerank.md). A project's own file may not name a model."""

    model: str = _setting(
        "none",
        "what reads them: none, or onnx:MODEL (a directory, or a name that whence model lists)",
        pattern=r"none|onnx:.+",
        allowed="none | onnx:DIRECTORY-OR-HUB-ID",
    )
    candidates: int = _setting(50, "files, symbols or notes that are read, the best ranked", min=2, max=1_000)
    tokens: int = _setting(128, "tokens of each that are read", min=16, max=512)
    milliseconds: int = _setting(
        300, "processor time for what one answer reads for the first time; the rest is read the next time", min=0, max=600_000
    )
    server_milliseconds: int = _setting(1_500, "the same in a server, of agents or of the page", min=0, max=600_000)
    cache_mb: int = _setting(128, "megabytes of vectors that are kept for all indexes; those not needed for longest go first", min=1)


@dataclass(frozen=True, slots=True)
class WalkSettings:
    """How a walk over the symbol graph chooses its way (W1)."""

    confidence: float = _setting(
        1.0, "how much the confidence of an edge counts: its weight is multiplied by confidence to this power; 0 ignores it", min=0, max=10
    )
    weights: Mapping[str, float] = field(
        default_factory=lambda: EDGE_WEIGHTS, metadata={"doc": "how readily a walk follows an edge of this kind", "min": 0, "max": 10}
    )


@dataclass(frozen=True, slots=True)
class ClassicSettings:
    """The numbers of the classic way to the symbols of a task (N1 to N7, W3, W4)."""

    prefix_below: int = _setting(15, "N1: names that begin with a keyword are looked for while fewer symbols than this are found", min=0)
    prefix_most: int = _setting(30, "N1: symbols found by then at most", min=0)
    components_below: int = _setting(5, "N1: single words are looked for only while fewer symbols than this are found", min=0)
    substring_letters: int = _setting(4, "N1: letters a keyword needs to be looked for inside names", min=0)
    substring_below: int = _setting(5, "N1: that is done while fewer symbols than this are found", min=0)
    substring_most: int = _setting(20, "N1: symbols found by then at most", min=0)
    path_letters: int = _setting(3, "N1: letters a keyword needs to be looked for on paths", min=0)
    path_below: int = _setting(30, "N1: that is done while fewer symbols than this are found", min=0)
    path_most: int = _setting(40, "N1: symbols found by then at most", min=0)
    bm25_most: int = _setting(30, "N2: symbols found by their words at most", min=0)
    folder_letters: int = _setting(4, "N4: letters a word needs to name a folder", min=0)
    folder_rich_types: int = _setting(5, "N4: types with members taken of the folders a word names", min=0)
    folder_lean_types: int = _setting(10, "N4: other types taken of them", min=0)
    folder_others: int = _setting(15, "N4: other symbols taken of them", min=0)
    folder_most: int = _setting(30, "N4: symbols of folders at most", min=0)
    folder_restart: float = _setting(0.3, "N4: what they count among the seeds of the walk", min=0)
    equivalent_share: float = _setting(2.0, "N3: symbols by equivalence classes at most, times those by names and words", min=0)
    alias_seeds: int = _setting(10, "N3: symbols whose callers and callees give them further names", min=0)
    alias_weight: float = _setting(0.7, "N3: what such a name counts", min=0)
    injected_weight: float = _setting(0.9, "N3: a class of at least this weight may lead the candidates", min=0)
    fusion_k: int = _setting(60, "N: the constant of the fusion by rank", min=0)
    tiered_weight: float = _setting(2.0, "N1: weight of names in the fusion", min=0)
    bm25_weight: float = _setting(2.0, "N2: weight of words in the fusion", min=0)
    equivalent_weight: float = _setting(2.0, "N3: weight of equivalence classes in the fusion", min=0)
    vector_weight: float = _setting(0.0, "N5: weight of vectors in the fusion", min=0)
    vector_below: int = _setting(5, "N5: vectors are asked in any case when fewer symbols than this are found", min=0)
    candidates: int = _setting(40, "N: candidates for seeds at most", min=0)
    implementors: int = _setting(25, "N6: implementors of interfaces that join at most", min=0)
    medium_nodes: int = _setting(10_000, "N7: a graph of more nodes than this has more seeds", min=0)
    large_nodes: int = _setting(40_000, "N7: one of more than this has still more, types first", min=0)
    seeds_small: int = _setting(15, "N7: seeds of a small graph", min=0)
    seeds_medium: int = _setting(20, "N7: seeds of a graph above medium_nodes", min=0)
    seeds_large: int = _setting(25, "N7: seeds of a graph above large_nodes", min=0)
    restart_first: float = _setting(1.0, "W3: what the first seed counts when the walk returns", min=0)
    restart_last: float = _setting(0.4, "W3: what the last one counts", min=0)
    walk_return: float = _setting(0.2, "W3: how often the walk returns to its seeds", min=0)
    walk_rounds: int = _setting(20, "W3: rounds of the walk at most", min=0)
    walk_tolerance: float = _setting(0.001, "W3: it ends when a round changes less than this", min=0)
    walk_hops: int = _setting(4, "W3: steps away from the seeds at most", min=0)
    walk_floor: float = _setting(0.02, "W3: what scores less is dropped", min=0)
    authorities: int = _setting(200, "W4: symbols among which authorities are looked for", min=0)


@dataclass(frozen=True, slots=True)
class EnrichSettings:
    """Which language servers are asked. A project's own file may not set these: they name programs."""

    python: str = _setting("", "the command of a language server for Python; empty takes the first that is installed")
    typescript: str = _setting("", "the command of one for TypeScript and JavaScript; empty likewise")


@dataclass(frozen=True, slots=True)
class LearnSettings:
    """What use teaches, and what that is worth."""

    enabled: bool = _setting(True, "learn from use; off, nothing is learned and nothing that was learned counts")
    implicit: bool = _setting(
        False,
        "in a named session, what was shown and not reported as used by the next call counts as not useful: for hooks",
    )
    kept: int = _setting(50_000, "verdicts kept; the oldest go first", min=100, max=10_000_000)
    session_weight: float = _setting(0.20, "what being shown in this session adds at most", min=0, max=10)
    session_half_life: float = _setting(180.0, "seconds after which having been shown counts half", min=1)
    session_cap: float = _setting(2.0, "times of being shown, each faded, that count at most", min=0.1, max=1_000)
    session_floor: float = _setting(0.01, "what has faded below this is forgotten", min=1e-6, max=1)
    session_kept: int = _setting(20, "times of being shown that are kept of each symbol", min=1, max=1_000)
    useful_weight: float = _setting(0.25, "what verdicts add when all are good", min=0, max=10)
    useless_weight: float = _setting(0.05, "what verdicts take away when all are bad", min=0, max=10)
    pair_least: int = _setting(2, "times a word must have gone with a symbol to lead to it", min=1, max=1_000_000)
    pair_most: int = _setting(10, "times after which it leads no more strongly", min=1, max=1_000_000)
    pair_least_weight: float = _setting(0.3, "weight in the fusion of a word that went with a symbol least often", min=0, max=10)
    pair_most_weight: float = _setting(0.8, "weight in the fusion of one that did so most often", min=0, max=10)


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """Where notes are kept and how they are recalled."""

    place: str = _setting("user", "whose notes: the user's own, or those in the repository (.whence/notes)", choices=("user", "repository"))
    directory: str = _setting("", "the folder of notes; empty takes the one in the user's data folder (or in the repository)")
    max_bytes: int = _setting(1_000_000, "bytes of a note at most", min=1_000, max=100_000_000)
    language: str = _setting("english", "whose words say nothing and how words are stemmed: a language of docs/memory.md, or none")
    model: str = _setting("prose", "what reads meaning: prose (shipped), none or model2vec:MODEL", pattern=r"prose|none|model2vec:.+",
                       allowed="prose | none | model2vec:DIRECTORY-OR-HUB-ID")  # fmt: skip
    k: int = _setting(10, "notes in an answer", min=1, max=10_000)
    profile: str = _setting("default", "which ranking of notes", choices=tuple(NOTE_PROFILES))
    strategy: str = _setting("union", "who proposes candidates: words and vectors, or one of them", choices=("union", "vector", "lexical"))
    pool: int = _setting(32, "at least this many candidates of each kind are ranked, and three times those asked for", min=10, max=10_000)
    everywhere: float = _setting(
        0.8, "words that this share of the notes hold, such as the names of those who talk, do not count (not in classic)", min=0.1, max=2
    )
    slug_bonus: float = _setting(3.0, "M3: a word that names the note counts this many times", min=1, max=100)
    changed_factor: float = _setting(0.5, "M8: a note whose code has changed keeps this share of its score", min=0, max=1)
    alike: float = _setting(0.85, "notes that share this much of their words are shown once", min=0.1, max=1)
    history: int = _setting(50, "earlier versions of a note that compact keeps", min=0, max=100_000)
    handoff_days: int = _setting(30, "days after which compact archives a handoff", min=1, max=100_000)


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """How changes of files are followed."""

    max_folders: int = _setting(8_000, "folders watched at most; a larger tree is looked through now and then", min=0, max=1_000_000)
    quiet: float = _setting(0.3, "seconds without a change before changes are taken in", min=0.01, max=60)
    poll: float = _setting(5.0, "seconds between two looks at a tree that is not watched", min=0.1, max=3_600)


@dataclass(frozen=True, slots=True)
class McpSettings:
    """How the server for agents answers."""

    budget: int = _setting(2_000, "tokens of an answer for which no budget is given", min=50, max=1_000_000)
    context_budget: int = _setting(6_000, "the same for a pack of symbols", min=50, max=1_000_000)
    patience: float = _setting(2.5, "seconds a call waits for an index in the making before it answers from what is there", min=0, max=600)
    watch: bool = _setting(True, "follow changes of files while the server runs; off, every call looks for them")


@dataclass(frozen=True, slots=True)
class ShellSettings:
    """How answers look on a terminal. A project's own file may not set these."""

    pager: str = _setting("auto", "page what is longer than the terminal, by PAGER or less, or never", choices=("auto", "never"))
    links: str = _setting(
        "auto",
        "where paths lead that a terminal can follow: an address with {path} and {line}, such as vscode://file{path}:{line}; "
        "auto takes file:// where the terminal is known to follow links",
        pattern=r"auto|none|[A-Za-z][A-Za-z0-9+.-]*:[^\s\x00-\x1f]*\{path\}[^\s\x00-\x1f]*",
        allowed="auto | none | SCHEME:...{path}...{line}",
    )
    standby: int = _setting(
        10, "minutes for which a process that has everything loaded waits for the next question (Linux); 0 for none", min=0, max=1440
    )


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """Where many repositories are searched together. A project's own file may not set these: they name servers and secrets."""

    backend: str = _setting("embedded", "where search happens: in local indexes only, or also in Milvus", choices=("embedded", "milvus"))
    address: str = _setting(
        "",
        "where Milvus is: http://HOST:PORT, https://HOST:PORT, or a file ending in .db, which milvus-lite opens for one process at a time",
        pattern=r"|https?://[^\s/@]+/?|(?!\w+://).+\.db",
        allowed="http://HOST:PORT | https://HOST:PORT | FILE.db",
    )
    token: str = _setting("", "what Milvus asks of us: a token, or USER:PASSWORD; never printed", secret=True)
    ca: str = _setting("", "a file with the certificates that sign Milvus'; empty takes those that gRPC ships")
    prefix: str = _setting(
        "whence",
        "names of collections begin with this and an underscore",
        pattern=r"[A-Za-z][A-Za-z0-9_]{0,63}",
        allowed="NAME",
    )
    timeout: float = _setting(10.0, "seconds that Milvus has for an answer", min=0.1, max=3_600)
    tokens: str = _setting("", "the file that says which token sees which groups of repositories; empty: whoever may search sees all")
    caller: str = _setting("", "who asks: the token that the file of tokens knows them by; never printed", secret=True)
    lease: float = _setting(60.0, "seconds after which the work of a worker that says nothing is given to another", min=1, max=86_400)


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set."""

    index: IndexSettings = field(default_factory=IndexSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    rerank: RerankSettings = field(default_factory=RerankSettings)
    walk: WalkSettings = field(default_factory=WalkSettings)
    classic: ClassicSettings = field(default_factory=ClassicSettings)
    enrich: EnrichSettings = field(default_factory=EnrichSettings)
    learn: LearnSettings = field(default_factory=LearnSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)
    watch: WatchSettings = field(default_factory=WatchSettings)
    mcp: McpSettings = field(default_factory=McpSettings)
    shell: ShellSettings = field(default_factory=ShellSettings)
    fleet: FleetSettings = field(default_factory=FleetSettings)
    profiles: Mapping[str, Profile] = field(default_factory=lambda: ALL_PROFILES)

    @property
    def profile(self) -> Profile:
        """The ranking profile in use."""
        return self.profiles[self.search.profile]

    def index_fingerprint(self) -> str:
        """Changes exactly when a setting changes that alters what an index holds."""
        shaping = {f.name: getattr(self.index, f.name) for f in dataclasses.fields(IndexSettings) if f.metadata.get("shapes_index")}
        return f"{zlib.crc32(json.dumps(shaping, sort_keys=True).encode()):08x}"


PROJECT_FILE = ".whence.toml"
USER_FILE = "config.toml"
ENVIRONMENT_PREFIX = "WHENCE_"
#: What a repository may set to what is shipped, or to none. (Programs and folders it may not name are refused where they are used.)
_MODELS = ("index.model", "memory.model", "rerank.model")
#: What a repository may not set at all: whom the user's secrets are sent to, who may see what, and where links on a terminal lead.
_NOT_FOR_PROJECTS = ("fleet.", "shell.")
#: Variables of the environment that are ours and no settings.
OTHER_VARIABLES = frozenset({"WHENCE_DATA_DIR", "WHENCE_SESSION", "WHENCE_TOKEN", "WHENCE_TRACE"})
#: A file of settings is a page; one that a repository brings along may be anything.
MAX_FILE_BYTES = 1_000_000
#: What stands for a secret wherever settings are listed.
SECRET_PLACEHOLDER = "(set)"  # noqa: S105  -- says that there is one
#: Characters of a name or value that a complaint repeats.
MAX_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Setting:
    """One leaf of the tree: its value, where that came from, and what is allowed."""

    name: str
    value: Any
    source: str
    doc: str
    allowed: str
    limits: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return ENVIRONMENT_PREFIX + self.name.upper().replace(".", "_")


@dataclass(frozen=True, slots=True)
class Layer:
    """Values from one source, keyed by dotted names."""

    source: str
    values: Mapping[str, Any]


def merge(layers: list[Layer]) -> tuple[Settings, list[Setting]]:
    """Settings and their provenance from layers, the first of which wins."""
    settings, leaves = Settings(), _defaults()
    chosen: dict[str, tuple[Any, str]] = {}
    for layer in reversed(layers):
        for name, raw in layer.values.items():
            if name not in leaves:
                raise SettingError(f"{layer.source}: there is no setting {format_value(name)}", hint=_nearest(name, list(leaves)))
            chosen[name] = (_converted(leaves[name], raw, layer.source), layer.source)
    for name, (value, _) in chosen.items():
        settings = _with(settings, name.split("."), value)
    listed = [
        dataclasses.replace(leaf, value=_listed(leaf, chosen[name][0]), source=chosen[name][1]) if name in chosen else leaf
        for name, leaf in leaves.items()
    ]
    return settings, listed


def _listed(leaf: Setting, value: Any) -> Any:
    """A value as lists of settings have it: a secret is nothing that a list may tell."""
    return SECRET_PLACEHOLDER if value and leaf.limits.get("secret") else value


@cache
def _defaults() -> Mapping[str, Setting]:
    """All settings as they are where nobody says anything, by their names."""
    return {leaf.name: leaf for leaf in _leaves(Settings())}


def _nearest(name: str, known: list[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  -- only where something is wrong

    near = get_close_matches(name[:MAX_SHOWN], known, 1, 0.6)
    return f"did you mean {near[0]}?" if near else "see whence config for all of them"


def _leaves(node: Any, prefix: str = "", metadata: Mapping[str, Any] | None = None) -> list[Setting]:
    if isinstance(node, Mapping):
        return [leaf for key, child in node.items() for leaf in _leaves(child, f"{prefix}{key}.", metadata)]
    if dataclasses.is_dataclass(node):
        return [leaf for f in dataclasses.fields(node) for leaf in _leaves(getattr(node, f.name), f"{prefix}{f.name}.", f.metadata)]
    metadata = metadata or {}
    return [Setting(prefix[:-1], node, "default", metadata.get("doc", ""), _allowed(node, metadata), metadata)]


def _allowed(value: Any, metadata: Mapping[str, Any]) -> str:
    if "choices" in metadata:
        return " | ".join(metadata["choices"])
    if "allowed" in metadata:
        return str(metadata["allowed"])
    kind = {bool: "true | false", int: "a whole number", float: "a number"}.get(type(value), "text")
    low, high = metadata.get("min"), metadata.get("max")
    if low is not None and high is not None:
        return f"{kind} from {low} to {high}"
    return kind if low is None else f"{kind}, at least {low}"


def _converted(leaf: Setting, raw: Any, source: str) -> Any:
    value = raw
    if isinstance(raw, str) and not isinstance(leaf.value, str):
        value = _from_text(raw, type(leaf.value))
    if isinstance(leaf.value, float) and isinstance(value, int) and not isinstance(value, bool):
        value = _number(value)
    if type(value) is not type(leaf.value) or not _within(leaf, value):
        said = SECRET_PLACEHOLDER if leaf.limits.get("secret") else format_value(raw)
        raise SettingError(f"{source}: {leaf.name} = {said} is not allowed", hint=f"allowed: {leaf.allowed}")
    return value


def format_value(value: Any) -> str:
    """A value as a complaint repeats it: not without end, and whatever it is."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python writes
        text = "a number without end"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def _number(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _from_text(raw: str, kind: type) -> Any:
    if kind is bool:
        said = raw.lower()
        return True if said in ("true", "1", "yes", "on") else False if said in ("false", "0", "no", "off") else raw
    try:
        return kind(raw)
    except ValueError:
        return raw


def _within(leaf: Setting, value: Any) -> bool:
    metadata = leaf.limits
    if "choices" in metadata and value not in metadata["choices"]:
        return False
    if "pattern" in metadata and not re.fullmatch(metadata["pattern"], value):
        return False
    if isinstance(value, float) and not -1e12 < value < 1e12:  # also refuses NaN
        return False
    if not isinstance(value, int | float):
        return True
    return bool(value >= metadata.get("min", value) and value <= metadata.get("max", value))


def _with(node: Any, steps: list[str], value: Any) -> Any:
    if not steps:
        return value
    if isinstance(node, Mapping):
        return {**node, steps[0]: _with(node[steps[0]], steps[1:], value)}
    return dataclasses.replace(node, **{steps[0]: _with(getattr(node, steps[0]), steps[1:], value)})


def file_layer(path: Path) -> Layer | None:
    """The layer of a settings file, or None when there is no such file."""
    try:
        state = path.stat()
        if not S_ISREG(state.st_mode) or state.st_size > MAX_FILE_BYTES:  # to open a pipe would wait for someone to write to it
            raise SettingError(f"{path}: no file of settings", hint=f"a plain file of at most {MAX_FILE_BYTES} bytes")
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"{path}: cannot be read as text: {error}") from error
    try:
        return Layer(str(path), dict(_flat(toml_reader().loads(text))))
    except ValueError as error:  # also a number of more digits than Python reads
        raise SettingError(f"{path}: not valid TOML: {str(error)[:MAX_SHOWN]}") from error
    except RecursionError as error:
        raise SettingError(f"{path}: not valid TOML: nested too deep") from error


def _project_layer(path: Path) -> Layer | None:
    """The layer of a repository's own file. Whoever wrote that may not have models of theirs loaded, nor choose the fleet."""
    try:
        leads_out = path.is_symlink() and not path.resolve().is_relative_to(path.parent.resolve())
    except (OSError, RuntimeError):  # links in a circle
        leads_out = True
    if leads_out:
        raise SettingError(f"{path} is a link out of the tree", hint="it is not followed; put a file there, or remove it")
    layer = file_layer(path)
    for name, value in layer.values.items() if layer else ():
        hint = f"set it in your own {USER_FILE}, in the environment, or with --set"
        if name in _MODELS and ":" in str(value):
            raise SettingError(f"{path}: a repository may not set {name} = {value!r}", hint=hint)
        if name.startswith(_NOT_FOR_PROJECTS):
            raise SettingError(f"{path}: a repository may not set {format_value(name)}", hint=hint)
    return layer


def toml_reader() -> Any:
    """The TOML parser: of the standard library, or tomli on Python 3.10."""
    try:
        import tomllib  # noqa: PLC0415  -- only where there is a TOML file
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib  # type: ignore[import-not-found,no-redef,unused-ignore]  # noqa: PLC0415
    return tomllib


def _flat(node: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in node.items():
        found += _flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [(f"{prefix}{key}", value)]
    return found


def environment_layer(environment: Mapping[str, str]) -> Layer:
    """The layer of `WHENCE_*` variables; one that names no setting is refused, not ignored."""
    known = {leaf.variable: leaf.name for leaf in _defaults().values()}
    ours = {name: value for name, value in environment.items() if name.startswith(ENVIRONMENT_PREFIX) and name not in OTHER_VARIABLES}
    for name in ours:
        if name not in known:
            raise SettingError(f"environment: {name[:MAX_SHOWN]} names no setting", hint=_nearest(name, list(known)))
    return Layer("environment", {known[name]: value for name, value in ours.items()})


def load(
    *,
    root: Path | None = None,
    environment: Mapping[str, str] | None = None,
    user_file: Path | None = None,
    command_line: Mapping[str, Any] | None = None,
    call: Mapping[str, Any] | None = None,
) -> tuple[Settings, list[Setting]]:
    """Settings for a repository, with where each value came from."""
    layers = [Layer("call", call or {}), Layer("command line", command_line or {}), environment_layer(environment or {})]
    layers += [layer for path in ([root / PROJECT_FILE] if root else []) if (layer := _project_layer(path))]
    layers += [layer for path in ([user_file] if user_file else []) if (layer := file_layer(path))]
    return merge(layers)


def default_data_dir(environment: Mapping[str, str], home: Path) -> Path:
    """The folder for all indexes: `WHENCE_DATA_DIR`, or the user's cache folder (I6)."""
    if chosen := environment.get("WHENCE_DATA_DIR"):
        return Path(chosen).expanduser().absolute()
    cache = environment.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else home / ".cache") / "whence"


def resolve_root(path: Path) -> Path:
    """The folder that a path means, whole and without links; a RootError where there is none."""
    try:
        root = path.expanduser().resolve(strict=True)
    except FileNotFoundError as error:
        raise RootError(f"{path}: no such file or folder") from error
    except (OSError, RuntimeError, ValueError) as error:
        raise RootError(f"{path}: cannot be opened: {error}") from error
    if not root.is_dir():
        raise RootError(f"{path} is a file", hint="give the folder to index; a file can narrow a search on the command line")
    if not os.access(root, os.R_OK | os.X_OK):
        raise RootError(f"{path}: permission denied")
    return root


def load_settings(
    root: Path | None, *, call: Mapping[str, Any] | None = None, command_line: Mapping[str, Any] | None = None
) -> tuple[Settings, list[Setting]]:
    """Settings for a root from every source there is, with provenance (E4)."""
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "whence" / USER_FILE
    return load(root=root, environment=dict(os.environ), user_file=config, command_line=command_line, call=call)
