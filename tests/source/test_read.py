"""The text of a tree is read without its secrets, and nothing in it moves."""

from __future__ import annotations

import os
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import examples
from sample_trees import write
from whence.source.read import label_secrets, mask_secrets, open_inside, read_masked, read_prefix, read_text, strip_secrets
from whence_bench.faults.planted_secrets import SAMPLES, draw


def drawn(sample: str) -> tuple[str, str]:
    text, [planted] = draw("", sample, "", random.Random(sample))
    return text, planted.secret


PIECES = [*(drawn(sample)[0] for _, sample in SAMPLES[::5]), "é", "\n", "\r\n", "\u2028", "🞶", "postgres://a:pässwörd9x@db/", "TOKEN="]


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=10).map("".join), st.sampled_from(["a.py", ".env"]))
@settings(max_examples=examples(100), deadline=None)
def test_offsets_lines_and_lengths_stay_in_characters_and_in_bytes(text, path):
    text = text.encode("utf-8", "replace").decode()
    clean, hidden = mask_secrets(text.encode(), path), label_secrets(text, path)
    assert len(clean) == len(text.encode()) == len(hidden.encode())
    assert len(clean.decode()) == len(text) == len(hidden)
    assert [len(line) for line in clean.decode().splitlines()] == [len(line) for line in text.splitlines()]
    assert mask_secrets(clean, path) == clean or path == ".env"


def test_a_secret_is_shown_as_what_it_is_and_indexed_as_nothing():
    text, secret = drawn("key = '«ghp_{a36}»' # of the till")
    hidden = label_secrets(text, "a.py")
    assert hidden == text.replace(secret, "[redacted: github-token]".ljust(len(secret), "*"))
    assert mask_secrets(text.encode(), "a.py") == text.replace(secret, "*" * len(secret)).encode()
    assert strip_secrets(text) == text.replace(secret, "*" * len(secret))
    short, secret = drawn("DB_PASS=«{g6}»")
    assert label_secrets(short, ".env") == "DB_PASS=******"


def test_a_key_keeps_its_line_ends():
    text, _ = drawn("before\n«-----BEGIN RSA PRIVATE KEY-----\n{b64}\n{b31}=\n-----END RSA PRIVATE KEY-----»\nafter\n")
    lines = label_secrets(text, "a.pem").split("\n")
    assert (lines[0], lines[5], len(lines)) == ("before", "after", 7)
    assert lines[1].startswith("[redacted: private-key]")
    assert all(set(line) <= {"*", " "} for line in lines[2:5])


def test_a_file_is_read_as_it_is_shown_and_links_lead_nowhere(tmp_path):
    text, secret = drawn("token = '«ghp_{a36}»'\n")
    root = write(tmp_path / "tree", {"in/a.py": text, "b.bin": b"\0\1", "c.py": "plain\n"})
    write(tmp_path, {"outside/x.py": "nothing to see"})
    (root / "link.py").symlink_to(tmp_path / "outside/x.py")
    (root / "out").symlink_to(tmp_path / "outside")
    os.mkfifo(root / "pipe")
    assert secret not in (read_text(root, "in/a.py", 1000) or secret)
    assert secret.encode() not in (read_masked(root, "in/a.py", 1000) or secret.encode())
    assert read_text(root, "c.py", 3) == "pla"
    assert secret in (read_text(root, "in/a.py", 1000, lambda raw: True) or "")  # taken at its word
    for path in ("b.bin", "link.py", "out/x.py", "pipe", "in", "../outside/x.py", "in/../c.py", "/etc/hostname", "", "gone.py"):
        assert read_text(root, path, 1000) is None, path
    assert read_prefix(open_inside(root, "c.py"), 100) == b"plain\n"
