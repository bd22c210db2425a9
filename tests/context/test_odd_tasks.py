"""Tasks that are not a short English sentence: pasted traces and issues, other languages, too much, next to nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from campaigns import some
from context.mail_tree import FILES, names, place
from sample_trees import write
from small_cases import each
from whence import Index
from whence.core.errors import QueryError

PROFILES = ["default", "classic"]
MORE = {
    "mail/warteschlange.py": '"""Die Warteschlange."""\n\n\ndef leere_warteschlange(schlange):\n    """Leert die Warteschlange und verschickt alle Nachrichten."""\n    return schlange\n',
    "mail/saisoukou.py": 'def resend(message):\n    """メッセージを再送信する。"""\n    return message\n',
    "mail/settings.py": 'def read_settings(path):\n    """Read the settings file."""\n    return path\n\n\ndef default_settings():\n    """What holds when nothing is set."""\n    return {}\n',
}
TRACE = """Traceback (most recent call last):
  File "/home/ada/run.py", line 12, in <module>
    main()
  File "/home/ada/mail/client.py", line 21, in send
    self.queue.put(message)
  File "/home/ada/mail/queue.py", line 15, in put
    save_message(message)
  File "/home/ada/mail/store.py", line 6, in save_message
    with open(message.name, "w") as file:
AttributeError: 'str' object has no attribute 'name'
"""
JAVA_TRACE = """Exception in thread "main" java.lang.IllegalStateException: no lock
\tat org.zoo.Keeper.feedAnimals(Keeper.java:14)
\tat org.zoo.Gate.openGate(Gate.java:8)
\tat org.zoo.Main.main(Main.java:5)
"""
JAVA = {
    "src/org/zoo/Keeper.java": "package org.zoo;\n\nclass Keeper {\n  void feedAnimals() { throw new IllegalStateException(); }\n  void sweepFloor() {}\n}\n",
    "src/org/zoo/Gate.java": "package org.zoo;\n\nclass Gate {\n  void openGate() { new Keeper().feedAnimals(); }\n  void paintGate() {}\n}\n",
    "src/org/zoo/Shop.java": "package org.zoo;\n\nclass Shop {\n  void sellTicket() {}\n  void countMoney() {}\n}\n",
}
ISSUE = (
    """# Messages are lost when the disk is full

### What happened

When the server is busy, `Client.send` puts the message into the queue and the queue saves it.
If the disk is full, saving fails and the message is gone: it is neither in the queue nor on disk.

### To reproduce

```python
import datetime
from mail.client import Client

class Busy:
    def accept(self, message, timeout):
        return False

client = Client(Busy())
client.send(Message("hello"))   # OSError: [Errno 28] No space left on device
print(datetime.date.today().isoweekday())
```

### Expected

`save_message` should report the trouble, and `Queue.put` should keep the message.

### Environment

"""
    + "\n".join(f"- package-{number}: {number}.{number % 7}.0" for number in range(120))
    + "\n\n<details><summary>Log</summary>\n\n"
    + "\n".join(f"    2024-01-0{number % 9 + 1} 12:00:0{number % 10} INFO host accepted connection {number}" for number in range(60))
    + "\n\n</details>\n"
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    root: Path = write(tmp_path_factory.mktemp("odd") / "tree", FILES | MORE | JAVA)
    with Index.open(root, data_dir=tmp_path_factory.mktemp("data")) as opened:
        yield opened


# What people paste.
def test_the_functions_of_a_stack_trace_lead(index):
    found = names(index.context(TRACE))
    assert {"save_message", "Queue.put", "Client.send"} <= set(found[:6])
    assert "first_day_of_week" not in found[:10]


def test_a_trace_with_a_question_before_it_is_answered_from_both(index):
    found = names(index.context(f"why does this crash?\n\n{TRACE}"))
    assert {"save_message", "Queue.put", "Client.send"} <= set(found[:6])


def test_the_functions_of_a_java_trace_lead(index):
    found = names(index.context(JAVA_TRACE))
    assert found[0] == "Keeper.feedAnimals"
    assert {"Keeper.feedAnimals", "Gate.openGate"} <= set(found[:6])
    assert found.index("Gate.openGate") < min(found.index(name) for name in found if name.startswith("Shop"))


def test_a_whole_issue_with_quoted_code_is_answered_by_what_it_speaks_of(index):
    assert len(ISSUE) > 6_000
    pack = index.context(ISSUE)
    assert {"save_message", "Queue.put", "Client.send"} <= set(names(pack)[:8])
    assert place(pack, "save_message") < len(pack.symbols) / 2
    heading = pack.text.partition("\n")[0]
    assert heading.startswith("# # Messages are lost when the disk is full")
    assert len(heading) < 300


def test_a_name_in_back_quotes_leads_among_other_words(index):
    task = "the thing in `default_settings` surprises me when messages are sent"
    assert "default_settings" in names(index.context(task))[:3]
    assert "default_settings" in names(index.context(task, profile="classic"))


# Other languages.
def test_a_task_in_german_finds_german_comments(index):
    task = "Die Warteschlange soll vor dem Beenden geleert werden"
    assert names(index.context(task))[0] == "leere_warteschlange"
    assert "leere_warteschlange" in names(index.context(task, profile="classic"))


@pytest.mark.parametrize("profile", PROFILES)
def test_a_task_in_japanese_finds_japanese_comments(index, profile):
    assert names(index.context("メッセージを再送信する", profile=profile))[0] == "resend"


def test_names_in_a_task_of_any_language_are_found(index):
    for task in (
        "`wait_between` を長くしてください",
        "Bitte `wait_between` länger machen",
        "сделай `wait_between` дольше",
        "اجعل `wait_between` أطول",
    ):
        assert names(index.context(task))[0] == "wait_between", task


def test_a_language_that_nothing_here_is_written_in_is_no_error(index):
    for task in ("ช่วยแก้ไขด้วย", "Ἄνδρα μοι ἔννεπε", "😀 🎉 emoji", "ﬁx oﬃce"):
        assert index.context(task).tokens < 50_000


# Next to nothing.
@each("profile", PROFILES)
@each("task", ["?!. () -> ***", "----", "「」。、", "```\n```", "((((", "\0\0", "\u200b\u200b.", "-" * 50_000])
def test_a_task_of_marks_alone_is_refused_with_what_to_do(index, task, profile):
    with pytest.raises(QueryError, match="no word to go by") as refusal:
        index.context(task, profile=profile)
    assert "in words" in refusal.value.hint


@pytest.mark.parametrize("profile", PROFILES)
def test_stop_words_alone_say_nothing(index, profile):
    with pytest.raises(QueryError, match="no word to go by"):
        index.context("what is the of and", profile=profile)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_word_that_is_nowhere_gets_an_answer_within_the_budget(index, profile):
    assert index.context("zzyzx", profile=profile).tokens <= 50_000


# Too much.
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    "task",
    some([
        "wait between attempts " * 4_600, "wait_between()" * 7_200, "`wait_between` " * 6_800, "日本語" * 33_000, "ab." * 33_000, "x/" * 50_000 + "f.py",
        "A b " * 25_000, "wait\n" * 20_000, "```\nwait_between\n" * 6_000, "(" * 50_000 + "wait", "Wait::" * 16_000, "waitBetween" * 9_000,
        " ".join(f"word{number}" for number in range(12_000)),
    ]),
    ids=lambda task: task[:12],
)  # fmt: skip
def test_a_hundred_thousand_letters_are_answered_in_a_moment(index, task, profile):
    began = time.process_time()
    pack = index.context(task, profile=profile)
    assert pack.tokens <= pack.budget
    assert len(pack.text.partition("\n")[0]) < 300
    assert time.process_time() - began < 8


def test_the_first_words_of_a_long_text_count(index):
    task = "wait longer between attempts. " + "The weather is fine today and the train was late again. " * 1_800
    assert len(task) > 100_000
    assert "wait_between" in names(index.context(task))[:3]


@each("profile", PROFILES)
@each("between", ["\0", "\x1b[31m", "\r", "\u202e", "\ufeff", "\ud800"])
def test_control_characters_part_words_and_are_not_printed(index, between, profile):
    pack = index.context(f"wait{between} between{between} attempts", profile=profile)
    assert "wait_between" in names(pack)[:3]
    assert not set("\0\x1b\r\ud800") & set(pack.text)
    pack.text.encode("utf-8")
