"""Pinned recollections: what a change of any signal or weight does to the answers from notes is read as a diff of one file."""

from __future__ import annotations

from pathlib import Path

from conftest import Golden
from whence import Memory

HERE = Path(__file__).parent
#: Project, topic, kind, day, text.
NOTES = [
    (
        "shop",
        "payment gateway",
        "durable",
        "2023-02-01",
        "The payment gateway answers within 800 ms; after that we retry once and then show the error page.",
    ),
    ("shop", "retry policy", "durable", "2023-02-03", "Retries use exponential backoff with jitter, at most three, never for refunds."),
    ("shop", "database choice", "durable", "2023-02-10", "We chose PostgreSQL over SQLite because two services write at the same time."),
    (
        "shop",
        "deploy",
        "durable",
        "2023-03-06",
        "Deploys happen on Tuesdays. The staging server is called heron, production is called osprey.",
    ),
    ("shop", "design-respec-notes", "durable", "2023-03-20", "Rewriting the design: buttons get rounder, the checkout loses two pages."),
    (
        "shop",
        "checkout spec",
        "resource",
        "2023-03-21",
        "The spec of the checkout: address, delivery, payment, confirmation. No account is needed.",
    ),
    (
        "shop",
        "incident of the certificates",
        "durable",
        "2023-05-12",
        "The certificate of osprey had expired; orders failed for forty minutes. Renewal is automatic now.",
    ),
    (
        "shop",
        "standup",
        "session",
        "2023-05-15",
        "# 2023-05-15\n\nAda works on the cart, Ben on search. The rounding of discounts is still wrong.",
    ),
    (
        "shop",
        "retrospective",
        "session",
        "2023-06-30",
        "# 2023-06-30\n\nWhat went well: fewer alarms. What did not: reviews wait for days. Last week nobody was on call.",
    ),
    (
        "shop",
        "handoff discounts",
        "handoff",
        "2023-07-04",
        "Branch discounts: two discounts on one cart add up now, tests are green, the currency is still missing.",
    ),
    (
        "shop",
        "how to release",
        "skill",
        "2023-07-10",
        "To release: bump the version, write the changelog, tag, wait for the build, deploy to heron, then to osprey.",
    ),
    (
        "shop",
        "pack about payments",
        "pack",
        "2023-07-11",
        "Everything about the payment gateway, retries and refunds, put together for an agent.",
    ),
    ("shop", "valencia-v1", "resource", "2023-08-01", "First plan of the warehouse in Spain: three halls, robots in the second one."),
    ("shop", "valencia-v2", "resource", "2023-09-01", "Second plan of the warehouse in Spain: two halls, no robots."),
    (
        "home",
        "boiler",
        "durable",
        "2022-10-05",
        "The heating engineer comes every October and needs the key of the cellar. Pressure should be 1.5 bar.",
    ),
    ("home", "cat", "durable", "2022-11-11", "Minka eats tuna only and gets ill from milk. The vet is Dr. Okafor in Mill Lane."),
    (
        "home",
        "tyres",
        "durable",
        "2022-11-20",
        "The winter tyres lie in the garage of my brother; change them when it drops below seven degrees.",
    ),
    ("home", "bread", "durable", "2023-01-08", "500 g flour, 350 g water, 10 g salt; the dough rests over night in the fridge."),
    ("home", "wifi", "durable", "2023-01-15", "The router stands behind the piano. When films stutter it has to be restarted."),
    ("home", "birthday of Noor", "durable", "2023-04-02", "Noor turns eight on 14 May 2023 and wants a telescope, no more dolls."),
    (
        "home",
        "weekend at the sea",
        "session",
        "2023-05-21",
        "# 2023-05-21\n\nWe went to the sea with Noor and Sam. Sam lost a tooth, the hotel had no breakfast.",
    ),
    ("home", "summer plans", "durable", "2023-06-01", "In August we take the night train to Lisbon; the tickets are in the blue folder."),
    ("home", "allergy", "durable", "2023-06-11", "Sam must not eat hazelnuts: the rash came back within an hour."),
    ("", "books", "resource", "2023-07-01", "To read: a history of salt, and the one about lighthouses that Ben recommended."),
    ("", "gate code of old", "durable", "2021-01-01", "The code of the gate is on the back of the calendar."),
]
QUESTIONS = [
    "why did we pick postgres?",
    "payment gateway timeout",
    "spec",
    "valencia-v1",
    "what is the production server called",
    "why did orders fail in May 2023?",
    "what did we do on 21 May 2023",
    "how do I publish a new version",
    "what does the kitten like to eat",
    "is there anything a child may not eat",
    "slow internet",
    "present for Noor",
    "when are the wheels changed",
    "restart",
    "xylophone",
]


def listing(memory: Memory, question: str, profile: str) -> str:
    found = memory.recall(question, profile=profile, k=5)
    lines = (f"{at:>3}  {one.score:>6.2f}  {one.category:<10} {one.label:<13} {one.note.key}" for at, one in enumerate(found, 1))
    return "\n".join([f"[{profile}] {question}", *lines]) + "\n"


def test_notes_are_ranked_as_they_were_when_last_looked_at(tmp_path, monkeypatch, golden: Golden):
    monkeypatch.chdir(tmp_path)
    with Memory.open(tmp_path / "notes", data_dir=tmp_path / "data") as memory:
        for project, topic, kind, created, text in NOTES:
            memory.remember(text, project=project, topic=topic, kind=kind, created=created)
        memory.edit("gate-code-of-old", valid_until="2022-01-01")
        told = [listing(memory, question, profile) for profile in ("default", "classic") for question in QUESTIONS]
    golden(HERE / "notes.txt", "\n".join(told))
