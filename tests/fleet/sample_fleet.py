"""A small fleet: three repositories, of the group red, of the group blue, and of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sample_histories import commit
from sample_trees import git, write
from whence import Index
from whence.fleet.counts import refresh_totals
from whence.fleet.engine import Engine
from whence.fleet.registry import Registry
from whence.fleet.sync import sync_index

RED, BLUE, BOTH = "acme/crimson", "umbra/cobalt", "shared/kit"
GROUPS = {RED: ["red"], BLUE: ["blue"], BOTH: ["red", "blue"]}
#: No real one: put together so that no scanner of this file takes it for one.
SECRET = "AKIA" + "4QX7ZB3MNW2KTRYV"
#: Words that stand in the blue repository alone: in its code, names, paths, comments, documents, and commits.
FOREIGN = ("quokkastore", "zanzibarflux", "vellichor", "umbra", "cobalt", "nudibranch", "ganglypuff", "xylophagous", SECRET)
TREES: Mapping[str, Mapping[str, str]] = {
    RED: {
        "store/session.py": '"""Sessions."""\n\nfrom kit.retry import retry_later\n\n\nclass SessionStore:\n    """Keeps sessions, and retries when the connection is lost."""\n\n    def open_session(self, user):\n        return retry_later(lambda: user)\n',
        "store/billing.py": '"""Bills."""\n\n\ndef charge_card(card, total):\n    """Charge a card with a total, with a timeout."""\n    return total\n',
        "README.md": "# Crimson\n\nSessions and bills: a session is opened, a card is charged.\n",
    },
    BLUE: {
        "vellichor/quokkastore.py": f'"""Zanzibarflux keeps sessions. Its key is {SECRET}."""\n\nfrom kit.retry import retry_later\n\n\nclass QuokkaStore:\n    """Keeps sessions of nudibranch users, and retries when the connection is lost."""\n\n    def open_ganglypuff(self, user):\n        return retry_later(lambda: user)\n\n\ndef charge_card(card, total):\n    """Charge a card, xylophagous."""\n    return total\n',
        "vellichor/session.py": '"""Sessions of the nudibranch."""\n\n\nclass SessionStore:\n    def open_session(self, user):\n        return user\n',
        "vellichor/timeouts.go": "package vellichor\n\n// Zanzibarflux waits for a timeout of the connection.\nfunc Zanzibarflux(timeout int) error { return nil }\n",
        "docs/ganglypuff.md": "# Ganglypuff\n\nHow the nudibranch session is opened, and a card is charged.\n",
    },
    BOTH: {
        "kit/retry.py": '"""Retries."""\n\n\ndef retry_later(work, times=3):\n    """Run work again when the connection is lost, after a timeout."""\n    return work()\n',
        "kit/clock.py": '"""Clocks."""\n\n\ndef sleep_until(moment):\n    """Wait for a moment."""\n    return moment\n',
    },
}
MESSAGES = {
    RED: ("Sessions are opened again when the connection is lost", "Bills: a card is charged once"),
    BLUE: ("Zanzibarflux: sessions of the nudibranch are opened again when the connection is lost", "A card is charged, xylophagous"),
    BOTH: ("Retries wait for a timeout", "A clock for whoever waits"),
}


def planted(place: Path, names: Sequence[str] = tuple(TREES)) -> dict[str, Path]:
    """The trees of some repositories, each with two commits."""
    found = {}
    for name in names:
        root = write(place / name.replace("/", "-"), {})
        root.mkdir(parents=True, exist_ok=True)
        git("init", "-q", cwd=root)
        for at, message in enumerate(MESSAGES[name]):
            write(root, dict(list(TREES[name].items())[at::2]))
            commit(root, message, 1_700_000_000 + at)
        found[name] = root
    return found


def sent(engine: Engine, trees: Mapping[str, Path], data: Path) -> None:
    """Send some trees to a fleet that has all collections."""
    registry = Registry(engine)
    for name, root in trees.items():
        with Index.open(root, data_dir=data) as index:
            sync_index(engine, registry.add(name, str(root), GROUPS[name]), index.writer)
    refresh_totals(engine)
