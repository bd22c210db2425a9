"""A small mail program that the tests of `context` ask about."""

from __future__ import annotations

from pathlib import Path

from sample_trees import write
from whence.context.pack import ContextPack, Symbol

FILES = {
    "mail/client.py": '''"""Sends messages to a server."""

from mail.queue import Queue
from mail.retry import wait_between


class Client:
    """A connection to a mail server."""

    def __init__(self, host, timeout=10):
        self.host = host
        self.timeout = timeout
        self.queue = Queue()

    def send(self, message):
        """Send a message, and try again when the server is busy."""
        for attempt in range(3):
            if self.deliver(message):
                return True
            wait_between(attempt)
        self.queue.put(message)
        return False

    def deliver(self, message):
        """Hand one message over to the server."""
        return self.host.accept(message, self.timeout)
''',
    "mail/queue.py": '''"""Messages that wait."""

from mail.store import save_message


class Queue:
    """Keeps messages in the order of their arrival."""

    def __init__(self):
        self.waiting = []

    def put(self, message):
        """Add a message at the end."""
        self.waiting.append(message)
        save_message(message)

    def drain(self):
        """Take out all messages."""
        taken, self.waiting = self.waiting, []
        return taken
''',
    "mail/retry.py": '''"""How long to wait."""

LONGEST_WAIT = 60


def wait_between(attempt):
    """Seconds between two attempts, doubled each time."""
    return min(2**attempt, LONGEST_WAIT)
''',
    "mail/store.py": '''"""Messages on disk."""


def save_message(message):
    """Write a message to its file."""
    with open(message.name, "w") as file:
        file.write(encode(message))


def encode(message):
    """A message as text."""
    return str(message)
''',
    "mail/calendar.py": '''"""Dates."""


def first_day_of_week(country):
    """Sunday or Monday."""
    return "Sunday" if country == "US" else "Monday"
''',
    "tests/test_client.py": """from mail.client import Client


def test_a_busy_server_is_asked_again():
    assert Client("host").send("hello")
""",
    "README.md": "# Mail\n\nSends messages.\n",
}
TASK = "wait longer between attempts to send a message"


def mail_tree(root: Path) -> Path:
    """The tree, written."""
    return write(root, FILES)


def names(pack: ContextPack) -> list[str]:
    """The names of all symbols, best first."""
    return [one.qualified_name for one in pack.symbols]


def place(pack: ContextPack, name: str) -> int:
    """Where a symbol stands, counted from 1."""
    return names(pack).index(name) + 1


def folded(one: Symbol) -> float:
    """The lines of a symbol's receipt, added and multiplied in their order."""
    score = 0.0
    for line in one.why:
        score = score * line.contribution if line.operation == "x" else score + line.contribution
    return score


def answer(pack: ContextPack) -> list[tuple[str, str, int, int, str, float]]:
    """All that can be seen of the symbols of an answer."""
    return [(one.qualified_name, one.path, one.start_line, one.end_line, one.kind, one.score) for one in pack.symbols]
