"""A benchmark of a few files, laid out as `whence bench fetch search` does it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sample_trees import write


def lay_out(directory: Path, files: Mapping[str, str], questions: Sequence[Mapping[str, Any]], **spec: Any) -> Path:
    """A corpus of one repository, `tiny`."""
    write(directory / "repos" / "tiny", dict(files))
    (directory / "annotations").mkdir()
    (directory / "annotations" / "tiny.json").write_text(json.dumps(questions))
    (directory / "repos.json").write_text(json.dumps([{"name": "tiny", "language": "python", **spec}]))
    return directory
