"""Text that occurs in the tree is found first, on its own line, however it is typed."""

from __future__ import annotations

import pytest

from sample_trees import write
from small_cases import each
from whence.app.index import Index
from whence.retrieval.exact import align

TREE = {
    "net/client.py": (
        "DAY_MS = 86400000\nE_ACCESS = 0x80070005\n\n"
        'def open_socket(host):\n    """Open a socket to a host."""\n    if not host:\n'
        '        raise ValueError(f"could not resolve {host} after {tries} attempts")\n    return connect_quietly(host)\n'
    ),
    "net/retry.py": (
        '"""Retries.\n\nSee https://example.org/docs/retry-after#seconds for the rules.\n"""\n\n'
        "class RetryPolicyForIdempotentRequests:\n    def next_delay(self, attempts):\n        return attempts * 2\n\n"
        'def load(settings):\n    return settings["http.keep-alive"]\n'
    ),
    "net/sockets.py": "def socket_names(host):\n    # resolve a host, after some attempts, to all of its sockets\n    return [host]\n",
    "text/slug.py": "def slugify(title):\n    return title.lower()\n\n\ndef is_logged_in(user):\n    return bool(user)\n",
    "text/log.py": "def log(line):\n    print(line)\n",
    **{f"more/part_{n}.py": f"def part_{n}(host):\n    # could not say\n    return host, {n}\n" for n in range(12)},
}


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exact")
    with Index.open(write(folder / "tree", TREE), data_dir=folder / "data", settings={"index.workers": 1}) as opened:
        yield opened


@each(
    ("query", "path", "text"),
    [
        ("could not resolve {host} after {tries} attempts", "net/client.py", "could not resolve"),
        ("could not resolve example.org after 3 attempts", "net/client.py", "could not resolve"),
        ("86400000", "net/client.py", "86400000"),
        ("0x80070005", "net/client.py", "0x80070005"),
        ("connect_quietly", "net/client.py", "connect_quietly"),
        ("https://example.org/docs/retry-after#seconds", "net/retry.py", "https://example.org"),
        ("http.keep-alive", "net/retry.py", "http.keep-alive"),
        ("RetryPolicyForIdempotentRequests", "net/retry.py", "class RetryPolicyForIdempotentRequests"),
        ("retrypolicyforidempotentrequests", "net/retry.py", "class RetryPolicyForIdempotentRequests"),
        ("slugify bool", "text/slug.py", "def slugify"),
    ],
)
def test_what_occurs_in_one_file_is_first_with_its_line(index, query, path, text):
    found = index.search(query)
    assert found[0].path == path
    assert any(text in line.text for line in found[0].lines)
    assert found.confidence is not None
    assert found.confidence.here


def test_the_receipt_says_which_line_has_the_text(index):
    why = {line.signal: line for line in index.search("connect_quietly")[0].why}
    assert why["exact"].contribution > 0
    assert why["exact"].because == "line 8: 'connect_quietly', in no other file"


def test_a_name_too_long_to_be_a_term_is_found(tmp_path):
    name = "check_" + "_and_".join(["every_single_precondition_of_the_request"] * 2)
    root = write(tmp_path / "tree", {"a.py": f"def {name}():\n    pass\n", "b.py": "def other():\n    pass\n"})
    with Index.open(root, data_dir=tmp_path / "data", settings={"index.model": "none", "index.workers": 1}) as index:
        assert [one.path for one in index.search(name.replace("_", ""))][:1] == ["a.py"]


def test_a_part_of_a_name_finds_it_and_a_phrase_is_not_taken_for_another_word(index):
    assert index.search("slug")[0].path == "text/slug.py"
    assert index.search("logged in")[0].path == "text/slug.py"


def test_a_text_in_many_files_does_not_lead(index):
    assert index.search("could not say").found[0].ranked.pool.exact is None


def test_only_files_that_may_be_returned_are_searched(index):
    assert "net/client.py" not in [one.path for one in index.search("86400000", paths=["text"])]


@each(
    ("text", "literal", "share", "lines"),
    [
        ("a\nthe whole text\n", "the whole text", 1.0, [2]),
        ('raise Error("no such key: %s in %s" % x)', "no such key: alpha in beta", 0.5, [1]),
        ("# no such key in a comment", "no such key: alpha in beta", 0.0, []),
        ("nothing of it", "no such key: alpha in beta", 0.0, []),
    ],
)
def test_a_literal_is_aligned_with_its_line(text, literal, share, lines):
    words = literal.replace(":", "").split()
    found, at = align(text, literal, words, dict.fromkeys(words, 1.0))
    assert found >= share if share else found == 0
    assert at == lines
