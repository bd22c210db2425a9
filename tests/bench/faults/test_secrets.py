"""Planted secrets are nowhere in what whence keeps and says; one that nothing gives away is found there."""

from __future__ import annotations

import base64
import random
import sqlite3
import zlib
from contextlib import closing

import pytest

from whence_bench.faults import secrets
from whence_bench.faults.part import Bounds
from whence_bench.faults.planted_secrets import SAMPLES, draw

#: A word that only its owner knows for a secret.
UNKNOWN = ("unknown", "They say «{l30}» in the cellar.")


def test_no_planted_secret_is_kept_or_said_and_one_that_nobody_can_know_is_reported(tmp_path):
    part = secrets.examined(Bounds(tmp_path, 60, 1, True, lambda _: None), (*SAMPLES, UNKNOWN))
    assert [line for line in part.wrong if "unknown" not in line and "found something" not in line] == []
    assert any("truth.db" in line or ".segment" in line for line in part.wrong)
    assert any(line.startswith("whence search") for line in part.wrong)
    assert part.facts["kinds"] >= 100
    assert part.tried > 600
    assert part.facts["not_reached"] == 0


@pytest.mark.parametrize("way", ["plain", "large", "backwards", "base64", "zlib", "sqlite", "wide"])
def test_a_fragment_is_found_however_it_is_kept(tmp_path, way):
    _, planted = draw("github-token", "«ghp_{a36}»", "a.py", random.Random(4))
    part = planted[0].parts[0][5:21]
    with closing(sqlite3.connect(tmp_path / "x.db")) as db:
        db.execute("CREATE TABLE t (x)")
        db.execute("INSERT INTO t VALUES (?)", [part])
        db.commit()
    kept = {
        "plain": part.encode(),
        "large": part.upper().encode(),
        "backwards": part[::-1].encode(),
        "base64": base64.b64encode(b"ab" + planted[0].parts[0].encode()),
        "zlib": b"head" + zlib.compress(b"some words " + part.encode()) + b"tail",
        "sqlite": (tmp_path / "x.db").read_bytes(),
        "wide": part.encode("utf-16"),
    }[way]
    wanted = secrets.Fragments(planted)
    assert wanted.held_by(b"before " * 9 + kept + b" after") == ["a part of a secret: github-token, from a.py"]
    assert wanted.held_by(b"before " * 9 + part[:7].encode() + b" after") == []
