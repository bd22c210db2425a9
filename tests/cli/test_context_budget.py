"""What is printed stays within the budget, whatever is asked, in every format (P2, Z4)."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import examples
from context.mail_tree import FILES
from sample_trees import write
from small_cases import each
from whence.cli.main import main
from whence.text import token_estimate

HOSTILE = {
    "odd/marks.py": '# <![CDATA[ ]]> & <b> ``` ```` "quotes" \\ \x0b\n\n\ndef marks_and_tags(value):\n    """Ends ]]> and ``` and <tag attr="1"> & more."""\n'
    "    return '```' + \"]]>\" + value\n",
    "odd/<a> & 'b'.py": "def in_a_file_with_marks():\n    return 1\n",
    "odd/long.py": "def long_one():\n" + "".join(f"    step_{number} = compute(step, {number})\n" for number in range(400)),
    "odd/wide.py": "def wide_one():\n    return '" + "x" * 30_000 + "'\n",
    "odd/sprachen.py": 'def größe():\n    """Die Größe 大きさ 😀."""\n    return 1\n',
    "odd/tabs.go": "package odd\n\nfunc TabsInside() int {\n\tif true {\n\t\treturn 1\n\t}\n\treturn 2\n}\n",
}
TASKS = [
    "wait between attempts to send",
    "marks and tags",
    "long one",
    "größe 大きさ",
    "<task> & `marks` ]]> \" '",
    "in a file with marks",
    "zzyzx",
    "wide_one",
]
FORMATS = ["markdown", "xml", "json"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = write(tmp_path_factory.mktemp("budget") / "tree", FILES | HOSTILE)
    data = tmp_path_factory.mktemp("data")
    before, environment = os.getcwd(), dict(os.environ)  # noqa: PTH109
    os.environ |= {"WHENCE_DATA_DIR": str(data), "XDG_CONFIG_HOME": str(data)}
    os.chdir(root)
    yield root
    os.chdir(before)
    os.environ.clear()
    os.environ.update(environment)


def printed(*arguments: str) -> tuple[int, str, str]:
    """What the command prints: exit code, standard output, standard error."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(["context", *arguments])
    return code, out.getvalue(), err.getvalue()


asked = st.sampled_from(TASKS).map(lambda task: [task]) | st.sampled_from(
    [["--files", "mail"], ["--files", "odd"], ["--files", "odd/long.py", "--files", "mail/client.py"]]
)


@settings(max_examples=examples(60), deadline=None)
@given(asked, st.integers(1, 700) | st.integers(700, 60_000), st.sampled_from(FORMATS), st.sampled_from(["default", "classic"]))
def test_no_answer_costs_more_than_its_budget(tree, what, budget, form, profile):
    code, out, err = printed(*what, "--budget", str(budget), "--format", form, "--profile", profile)
    if code == 2:
        assert out == ""
        assert re.fullmatch(r"whence: a budget of \d+ tokens is too small for an answer \(the least is \d+\)\n", err)
        assert int(re.findall(r"\d+", err)[1]) > budget
        return
    assert token_estimate.count_tokens(out) <= budget
    assert str(token_estimate.count_tokens(out)) in out.splitlines()[-1 if form != "xml" else -2]


@settings(max_examples=examples(25), deadline=None)
@given(
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=60),
    st.integers(150, 3_000),
    st.sampled_from(FORMATS),
)
def test_no_task_makes_an_answer_that_costs_more_or_cannot_be_read(tree, task, budget, form):
    code, out, _ = printed("--budget", str(budget), "--format", form, "--", task)
    if code == 2:
        return
    assert token_estimate.count_tokens(out) <= budget
    if form == "json":
        json.loads(out)
    if form == "xml":
        ET.fromstring(out)


@each("form", FORMATS)
@each("task", TASKS[:5])
def test_the_least_budget_that_is_told_is_enough(tree, task, form):
    _, _, err = printed(task, "--budget", "1", "--format", form)
    least = re.findall(r"\d+", err)[-1]
    code, out, _ = printed(task, "--budget", least, "--format", form)
    assert code in (0, 1)
    assert token_estimate.count_tokens(out) <= int(least)


@each("budget", [300, 50_000])
@each("task", TASKS)
def test_xml_parses_and_holds_the_source_as_it_is(tree, task, budget):
    code, out, _ = printed(task, "--budget", str(budget), "--format", "xml")
    root = ET.fromstring(out)
    assert root.tag == "context"
    assert root.attrib["task"] == task
    assert {child.tag for child in root} <= {"symbol", "freshness", "warning", "budget"}
    assert (code == 0) == bool(root.findall("symbol"))
    if task == "marks and tags" and budget > 5_000:
        whole = next(one for one in root.findall("symbol") if "marks_and_tags" in one.attrib.get("at", ""))
        assert "return '```' + \"]]>\" + value" in (whole.text or "")


POINTER = {"form", "key", "start_line"}
FULL = POINTER | {"end_line", "path", "name", "kind"}
ALLOWED = {
    "pointer": (POINTER, POINTER),
    "signature": (FULL, FULL | {"because", "signature", "doc"}),
    "excerpt": (FULL | {"body", "lines_shown"}, FULL | {"because", "body", "in", "lines_shown"}),
    "body": (FULL | {"body"}, FULL | {"because", "body", "in"}),
}


@each("budget", [300, 50_000])
@each("task", TASKS)
def test_json_parses_and_has_one_form(tree, task, budget):
    code, out, _ = printed(task, "--budget", str(budget), "--json")
    told = json.loads(out)
    assert [key for key in told if key != "warning"] == ["task", "freshness", "symbols", "inside", "left_out", "budget", "tokens"]
    assert (told["task"], told["budget"]) == (task, budget)
    assert told["tokens"] == token_estimate.count_tokens(out) <= budget
    assert told["freshness"] == {"commit": None, "changed_files": 0, "fresh": True}
    assert told["left_out"].keys() == ({"count", "how"} if told["left_out"]["count"] else {"count"})
    assert (code == 0) == bool(told["symbols"])
    for one in told["symbols"]:
        least, most = ALLOWED[one["form"]]
        assert least <= one.keys() <= most


@pytest.mark.parametrize(("form", "written"), [("xml", "<warning>not here, most likely"), ("json", '"warning":"not here, most likely')])
def test_a_program_is_told_that_the_answer_is_most_likely_not_here(tree, form, written):
    assert written in printed("frobnicate the quux of the zorble", "--budget", "400", "--format", form)[1]


def test_a_task_of_stop_words_gives_nothing_and_says_so(tree):
    assert printed("the of and") == (2, "", "whence: the task holds no word to go by (describe the task in words)\n")


def test_every_ranked_symbol_is_shown_inside_another_or_counted_as_left_out(tree):
    listed = json.loads(printed("wait between attempts to send", "--list", "-k", "1000", "--json")[1])["ranked"]
    for budget in ("200", "400", "900", "5000", "50000"):
        told = json.loads(printed("wait between attempts to send", "--json", "--budget", budget)[1])
        assert len(told["symbols"]) + told["inside"] + told["left_out"]["count"] == min(listed, 150)


def test_more_budget_shows_at_least_the_symbols_of_less(tree):
    before: set[str] = set()
    for budget in (200, 300, 500, 800, 1_500, 4_000, 20_000):
        _, out, _ = printed("wait between attempts to send", "--budget", str(budget))
        now = {
            name
            for name in ("wait_between", "Client.send", "Queue.put", "LONGEST_WAIT", "Client.deliver")
            if name.rpartition(".")[2] in out
        }
        assert before <= now
        before = now
    assert len(before) == 5
