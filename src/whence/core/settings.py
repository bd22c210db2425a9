"""One frozen tree of settings, merged once: call, command line, environment, project, user, default (E4)."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from stat import S_ISREG
from typing import Any

from whence.core.errors import RootError, SettingError
from whence.core.settings_schema import Settings

PROJECT_FILE = ".whence.toml"
USER_FILE = "config.toml"
ENVIRONMENT_PREFIX = "WHENCE_"
#: What a repository may set to what is shipped, or to none. (Programs and folders it may not name are refused where they are used.)
_MODELS = ("index.model", "memory.model")
#: What a repository may not set at all: whom the user's secrets are sent to, and who may see what.
_FLEET = "fleet."
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
        dataclasses.replace(leaf, value=_listed(name, chosen[name][0]), source=chosen[name][1]) if name in chosen else leaf
        for name, leaf in leaves.items()
    ]
    return settings, listed


def _listed(name: str, value: Any) -> Any:
    """A value as lists of settings have it: a secret is nothing that a list may tell."""
    return SECRET_PLACEHOLDER if value and _metadata(name).get("secret") else value


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
        return [leaf for key, child in node.items() for leaf in _leaves(child, f"{prefix}{key}.")]
    if dataclasses.is_dataclass(node):
        return [leaf for f in dataclasses.fields(node) for leaf in _leaves(getattr(node, f.name), f"{prefix}{f.name}.", f.metadata)]
    metadata = metadata or {}
    return [Setting(prefix[:-1], node, "default", metadata.get("doc", ""), _allowed(node, metadata))]


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
        said = SECRET_PLACEHOLDER if _metadata(leaf.name).get("secret") else format_value(raw)
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
        return {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}.get(
            raw.lower(), raw
        )
    try:
        return kind(raw)
    except ValueError:
        return raw


def _within(leaf: Setting, value: Any) -> bool:
    metadata = _metadata(leaf.name)
    if "choices" in metadata and value not in metadata["choices"]:
        return False
    if "pattern" in metadata and not re.fullmatch(metadata["pattern"], value):
        return False
    if isinstance(value, float) and not -1e12 < value < 1e12:  # also refuses NaN
        return False
    if not isinstance(value, int | float):
        return True
    return bool(value >= metadata.get("min", value) and value <= metadata.get("max", value))


def _metadata(name: str) -> Mapping[str, Any]:
    node: Any = Settings()
    metadata: Mapping[str, Any] = {}
    for step in name.split("."):
        if isinstance(node, Mapping):
            node, metadata = node[step], {}
        else:
            metadata = next(f.metadata for f in dataclasses.fields(node) if f.name == step)
            node = getattr(node, step)
    return metadata


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
        if name.startswith(_FLEET):
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
