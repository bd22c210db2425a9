"""Which folder is meant, and which settings hold for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whence import settings as settings_module
from whence.errors import RootError
from whence.knobs import Settings
from whence.settings import Setting


def checked_root(path: Path) -> Path:
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
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "whence" / settings_module.USER_FILE
    return settings_module.load(root=root, environment=dict(os.environ), user_file=config, command_line=command_line, call=call)
