"""Models as directories: where one is, whether it is whole, what it holds.

A model is named by a directory or by a hub id (`owner/name`). Whatever goes wrong
on the way to it, in the network, on the disk or inside a library, becomes one line.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from hashlib import blake2b, sha256
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO

from whence.core.errors import ModelUnavailable

#: A file that must be there, or several of which one must be, the best first.
Needed = str | tuple[str, ...]
#: Seconds that the hub has to answer: without a network, a search must not wait long for its words.
TIMEOUT_SECONDS = 5.0
_HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)
_LATER = "download it once while online, or give the directory of a model"
#: What names a neighbour that holds the weights of a file, when they are too large for one.
_PARTS = ("_data", ".data")
#: Files up to this size are read whole for a fingerprint, larger ones in samples.
_READ_WHOLE = 8 << 20
_SAMPLES, _SAMPLE = 128, 16 << 10
_LONGEST_REASON = 160


def local_directory(
    model: str, needed: Sequence[Needed], also: Sequence[str] = (), *, download: bool = True, progress: bool = False
) -> Path:
    """The directory of a model, at will downloaded if it is not on this machine; `also` names files it may have besides."""
    directory = Path(model).expanduser()
    if directory.is_dir():
        choose_files(model, _Files(directory), needed)
        return directory
    if not _HUB_ID.fullmatch(model):
        raise ModelUnavailable(f"model {model}: no such directory", hint="give a directory or a hub id such as owner/name")
    hub = import_library("huggingface_hub", model, "pip install huggingface_hub, or give the directory of a model")
    if found := _earlier_download(hub, model, needed, also):
        return found
    if not download:
        raise ModelUnavailable(f"model {model}: not on this machine", hint=f"whence model get {model}, or give the directory of a model")
    return _downloaded(hub, model, needed, also, progress=progress)


def import_library(name: str, model: str, hint: str) -> Any:
    """A library that only some models need."""
    try:
        return importlib.import_module(name)
    except Exception as error:
        # A library can be there and still not load: a missing shared object, another version of what it needs.
        reason = f"{name} is not installed" if isinstance(error, ModuleNotFoundError) else f"{name} cannot be loaded"
        raise ModelUnavailable(f"model {model}: {reason}", hint=hint) from error


@contextmanager
def model_errors(model: str, what: str) -> Iterator[None]:
    """Where a library reads what a model holds: its errors have no common class, and its traces help nobody."""
    try:
        yield
    except ModelUnavailable:
        raise
    except Exception as error:
        raise ModelUnavailable(f"model {model}: {what} cannot be used: {_one_line(error)}", hint="is the download complete?") from error


def choose_files(model: str, files: Container[str], needed: Sequence[Needed]) -> list[str]:
    """Of each needed file its name, of several that would do the first that is there."""
    chosen = []
    for names in needed:
        group = (names,) if isinstance(names, str) else names
        there = next((name for name in group if name in files), None)
        if there is None:
            raise ModelUnavailable(f"model {model}: it has no {' or '.join(group)}", hint="is it a model of this kind?")
        chosen.append(there)
    return chosen


def fingerprint_of(directory: Path, names: Sequence[str], form: str) -> str:
    """A checksum of some files and of the form in which texts are given to the model.

    A file above 8 MiB counts by its size and 128 samples: weights that were trained again differ everywhere.
    Names that are not there do not count, dates never.
    """
    digest = blake2b(form.encode(), digest_size=8)
    for name in _with_parts(names):
        path = directory / name
        if path.is_file():
            digest.update(f"\n{name} {path.stat().st_size}\n".encode())
            for sample in _samples(path):
                digest.update(sample)
    return digest.hexdigest()


def _with_parts(names: Sequence[str]) -> list[str]:
    return [name + part for name in names for part in ("", *_PARTS)]


def _samples(path: Path) -> Iterator[bytes]:
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= _READ_WHOLE:
            yield file.read()
            return
        for number in range(_SAMPLES):
            file.seek((size - _SAMPLE) * number // (_SAMPLES - 1))
            yield file.read(_SAMPLE)


class _Files:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (self._directory / name).is_file()


def _earlier_download(hub: Any, model: str, needed: Sequence[Needed], also: Sequence[str]) -> Path | None:
    """Where an earlier download is kept, if it is whole."""
    try:
        directory = Path(hub.snapshot_download(model, local_files_only=True, allow_patterns=list(also)))
        choose_files(model, _Files(directory), needed)
    except Exception:  # noqa: BLE001  -- whatever is wrong with it, the next step is the same
        return None
    return directory


def check_download(model: str, directory: Path) -> None:
    """Compare the large files of a download with the checksums that the hub states; those that differ are removed."""
    if not _HUB_ID.fullmatch(model) or Path(model).is_dir():
        return
    hub = import_library("huggingface_hub", model, "pip install huggingface_hub")
    wrong = []
    for file in _answer(hub, model).siblings or ():
        path = directory / file.rfilename
        if file.lfs is not None and path.is_file():
            with path.open("rb") as content:
                if file_digest(content) != file.lfs.sha256:
                    wrong.append(file.rfilename)
                    path.resolve().unlink()
                    path.unlink(missing_ok=True)
    if wrong:
        raise ModelUnavailable(f"model {model}: {', '.join(wrong)} did not arrive as it was sent; removed", hint="get it again")


def file_digest(content: BinaryIO) -> str:
    """The SHA-256 of a file."""
    digest = sha256()
    while piece := content.read(1 << 20):
        digest.update(piece)
    return digest.hexdigest()


def folder_size(directory: Path) -> int:
    """The bytes of a model's files."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def remove_download(model: str) -> int:
    """Remove all downloads of a model; how many bytes that frees."""
    hub = import_library("huggingface_hub", model, "pip install huggingface_hub")
    with model_errors(model, "the cache of downloads"):
        try:
            cache = hub.scan_cache_dir()
        except hub.CacheNotFound:
            return 0
        commits = [one.commit_hash for repository in cache.repos if repository.repo_id == model for one in repository.revisions]
        plan = cache.delete_revisions(*commits)
        plan.execute()
    return int(plan.expected_freed_size)


def _downloaded(hub: Any, model: str, needed: Sequence[Needed], also: Sequence[str], *, progress: bool = False) -> Path:
    listed = {file.rfilename for file in _answer(hub, model).siblings or ()}
    chosen = choose_files(model, listed, needed)
    # What is needed comes last: where it is, a download was not cut off before the rest.
    steps = list(also), _with_parts(chosen)
    try:
        with nullcontext() if progress else _no_progress_bars(hub):
            directory = [hub.snapshot_download(model, allow_patterns=step, etag_timeout=TIMEOUT_SECONDS) for step in steps][-1]
    except Exception as error:
        raise ModelUnavailable(f"model {model}: the download failed: {_one_line(error)}", hint="try again") from error
    choose_files(model, _Files(Path(directory)), needed)
    return Path(directory)


def _answer(hub: Any, model: str) -> Any:
    """What the hub knows of a model; one question, and a few seconds to answer it."""
    errors = importlib.import_module("huggingface_hub.errors")
    try:
        return _in_time(lambda: hub.HfApi().model_info(model, timeout=TIMEOUT_SECONDS, files_metadata=True))
    except errors.GatedRepoError as error:
        raise ModelUnavailable(f"model {model}: its owner asks for a login", hint="hf auth login") from error
    except errors.RepositoryNotFoundError as error:
        raise ModelUnavailable(f"model {model}: no such directory, and no such model on the hub", hint="is the name right?") from error
    except errors.OfflineModeIsEnabled as error:
        raise ModelUnavailable(f"model {model}: not on this machine, and downloads are switched off", hint=_LATER) from error
    except Exception as error:
        raise ModelUnavailable(f"model {model}: not on this machine, and the hub does not answer", hint=_LATER) from error


def _in_time(ask: Callable[[], Any]) -> Any:
    """An answer, or TimeoutError: a time limit on the connection alone does not hold while its address is looked up."""
    answers: list[Any] = []
    problems: list[Exception] = []

    def fetch() -> None:
        try:
            answers.append(ask())
        except Exception as error:  # noqa: BLE001  -- raised again below, in the thread that waits
            problems.append(error)

    thread = Thread(target=fetch, daemon=True)
    thread.start()
    thread.join(TIMEOUT_SECONDS + 1)
    if problems:
        raise problems[0]
    if not answers:
        raise TimeoutError
    return answers[0]


@contextmanager
def _no_progress_bars(hub: Any) -> Iterator[None]:
    shown = not hub.utils.are_progress_bars_disabled()
    if shown:
        hub.utils.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            hub.utils.enable_progress_bars()


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 1] + "…"
