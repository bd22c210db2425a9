"""The question is found in the paste, and an ordinary question is left as it is."""

from __future__ import annotations

import json
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import examples, some
from small_cases import each
from whence.memory.retrieval import plan_query
from whence.query.parser import PLAIN, clean_paste, parse_query
from whence.query.paste import MAX_READ
from whence.query.plan import make_plan
from whence.text.analyzer import prose_language

ASKED = "where are expired sessions removed"
PROMPT = """You are an expert software engineer working inside a terminal.

IMPORTANT: Never guess URLs.

# Tone
- Be concise.
- Do not add preambles.

# Tools
- search_code: find code by meaning. Input: a query.
- read_file: read a file.

```
Question: what is in this example?
```

<example>
<user>what is 2 + 2?</user>
User: how many files are there?
</example>

When you are done, give a short summary of what you found and where it is."""


@each(
    "text",
    [
        ASKED,
        "SessionStore.remove_expired",
        "fix(http): do not retry after a redirect",
        "Question: mark in URLs",
        '"session expired" -test path:src/**',
        "You are able to log in twice with one token",
        "how is <Route> rendered",
        "[[link]] parsing in notes",
        "404 handler",
        "act as a proxy for websockets",
        "Sessions are lost after a restart.\n\nYou are logged out as soon as the server restarts. It should keep you logged in.\n\nFixes #12",
        "Retry\n\nUser: anonymous requests are retried, too. System: all.\n\n- never retry a POST\n- always wait",
        "user: root\nsystem: linux\nkeep these out of the container",
        'package.json:\n{"name": "app", "description": "a query builder"}',
        "It fails:\n\n```python\nraise ValueError('no')\n```\n\nExpected: it does not.",
        "",
        " \n\t ",
    ],
)
def test_an_ordinary_question_is_asked_as_it_is(text):
    assert (clean_paste(text).text, clean_paste(text).kind, clean_paste(text).note) == (text, PLAIN, "")


@each(
    ("paste", "kind"),
    [
        (f"{PROMPT}\n\n{ASKED}", "prompt"),
        (f"{PROMPT}\n\n{ASKED}\n\nThanks!\n\nAnswer in one sentence.", "prompt"),
        (f"{PROMPT}\n\n## User question\n\n{ASKED}\n\n## Notes\n\nThe tests are slow today.", "prompt"),
        (f"{PROMPT}\n\n**Query:** {ASKED}\n\n**Format:** JSON", "prompt"),
        (f"{PROMPT}\n\n{ASKED}".replace("\n", "\\n"), "prompt"),
        (f"You are a helpful assistant. Answer briefly. {ASKED}", "prompt"),
        (f"{PROMPT}\n\nUser: how are they made?\nAssistant: By a factory.\nUser: {ASKED}\nAssistant:", "prompt"),
        (f"**Human:** {ASKED}\n\n**Claude:** Shall I look?\n\n**Human:** yes, go ahead", "chat"),
        (f"<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n{ASKED}<|im_end|>\n<|im_start|>assistant\n", "chat"),
        (f"[INST] <<SYS>>\n{PROMPT}\n<</SYS>>\n\n{ASKED} [/INST]", "chat"),
        (f"<rules>\n{PROMPT}\n</rules>\n<user_query>\n{ASKED}\n</user_query>", "envelope"),
        (f"{ASKED}\n<system-reminder>\nThe list of tasks is empty.\n</system-reminder>", "envelope"),
        (
            f'<invoke name="search">\n<parameter name="path">src</parameter>\n<parameter name="query">{ASKED}</parameter>\n</invoke>',
            "envelope",
        ),
        (json.dumps({"query": ASKED, "limit": 10, "path": "src"}), "envelope"),
        (f"```json\n{json.dumps({'tool_input': {'query': ASKED}}, indent=2)}\n```", "envelope"),
        (json.dumps({"params": {"name": "search", "arguments": json.dumps({"question": ASKED})}}), "envelope"),
        (json.dumps([{"role": "system", "content": PROMPT}, {"role": "user", "content": [{"type": "text", "text": ASKED}]}]), "envelope"),
        (f"search(query={ASKED!r}, k=5)", "envelope"),
        (str({"query": ASKED, "k": 5}), "envelope"),
    ],
)
def test_the_question_is_taken_out_of_what_an_agent_pastes_around_it(paste, kind):
    found = clean_paste(paste)
    assert (found.text, found.kind) == (ASKED, kind)
    assert found.note
    assert clean_paste(found.text).text == found.text


def test_wrappings_are_opened_one_in_another():
    inner = json.dumps({"messages": [{"role": "user", "content": f"<user_query>{PROMPT}\n\n{ASKED}</user_query>"}]})
    assert clean_paste(f"```json\n{inner}\n```").text == ASKED


TRACES = {
    "Python": (
        (
            'Traceback (most recent call last):\n  File "/srv/app/web/views.py", line 3, in show\n    load()\n'
            '  File "/srv/app/store/sessions.py", line 9, in remove_expired\n    parse()\n'
            "  File \"/usr/lib/python3.11/json/decoder.py\", line 337, in decode\n    raise\nKeyError: 'name'"
        ),
        "remove_expired srv/app/store/sessions.py\nKeyError: 'name'\nshow srv/app/web/views.py",
    ),
    "Java": (
        (
            "java.lang.RuntimeException: outer\n\tat org.shop.web.Views.show(Views.java:3)\nCaused by: java.lang.IllegalStateException: closed\n"
            "\tat java.base/java.util.ArrayList.forEach(ArrayList.java:1)\n\tat org.shop.store.Sessions$1.removeExpired(Sessions.java:9)\n\t... 3 more"
        ),
        (
            "Sessions.removeExpired org/shop/store/Sessions.java\n"
            "java.lang.RuntimeException: outer\nCaused by: java.lang.IllegalStateException: closed\nViews.show org/shop/web/Views.java"
        ),
    ),
    "JavaScript": (
        (
            "TypeError: no\n    at removeExpired (/home/ci/app/src/sessions.ts:9:1)\n"
            "    at Layer.handle (/home/ci/app/node_modules/express/lib/layer.js:5:1)\n    at node:internal/process/task_queues:95:5"
        ),
        "removeExpired ci/app/src/sessions.ts\nTypeError: no\nLayer.handle express/lib/layer.js",
    ),
    "JavaScript outside of functions": (
        (
            "TypeError: no\n    at Object.<anonymous> (/app/web/src/sessions.ts:12:5)\n"
            "    at Module._compile (node:internal/modules/cjs/loader:1254:14)\n    at Array.map (<anonymous>)"
        ),
        "app/web/src/sessions.ts\nTypeError: no",
    ),
    "Go": (
        (
            "panic: nil map\n\ngoroutine 1 [running]:\nruntime.panicmem(...)\n\t/usr/local/go/src/runtime/panic.go:260\n"
            "shop/store.(*Sessions).RemoveExpired(0xc0001)\n\t/build/store/sessions.go:9 +0x1d\nmain.main()\n\t/build/main.go:3 +0x2"
        ),
        "Sessions.RemoveExpired build/store/sessions.go\npanic: nil map\nmain.main build/main.go",
    ),
    "Ruby in a log": (
        (
            "2024-05-01 12:00:00,123 ERROR [web-1] undefined method `each' for nil (NoMethodError)\n"
            "2024-05-01 12:00:00,124 ERROR [web-1] \tfrom /app/lib/sessions.rb:9:in `remove_expired'\n"
            "2024-05-01 12:00:00,125 ERROR [web-1] \tfrom /app/lib/views.rb:3:in `show'"
        ),
        "remove_expired app/lib/sessions.rb\nundefined method `each' for nil (NoMethodError)\nshow app/lib/views.rb",
    ),
    "C# under a question": (
        (
            "Why does this happen?\n\nSystem.InvalidOperationException: empty\n   at System.Linq.Enumerable.First[T](IEnumerable`1 source)\n"
            "   at Shop.Store.Sessions.RemoveExpired(String key) in C:\\work\\Store\\Sessions.cs:line 9\n   at Shop.Web.Views.Show() in C:\\work\\Web\\Views.cs:line 3"
        ),
        "Why does this happen?\nSessions.RemoveExpired work/Store/Sessions.cs\nSystem.InvalidOperationException: empty\nViews.Show work/Web/Views.cs",
    ),
}


@each("language", TRACES)
def test_a_stack_trace_is_read_as_its_own_frames_from_the_innermost_and_its_error(language):
    text, read = TRACES[language]
    found = clean_paste(text)
    assert (found.text, found.kind) == (read, "trace")
    plan = make_plan(found.text, decay=0.1, quoted=0.3)
    assert any("essions" in path for path in plan.paths)


def test_a_report_with_a_trace_in_it_is_left_as_it_is():
    report = " ".join(["Sessions that have expired are not removed when the server was down at midnight."] * 4)
    assert clean_paste(f"{report}\n\n{TRACES['Python'][0]}").kind == PLAIN


def test_log_lines_lose_times_levels_and_ids_and_errors_come_first():
    log = (
        "2024-05-01T12:00:00.1Z INFO  [main] shop.Web - listening on 10.0.0.1:8080\n"
        "2024-05-01T12:00:01.2Z ERROR [pool-1] shop.Sessions - cannot remove session 7f3a9c0e12ab after 120ms\n"
        "2024-05-01T12:00:02.2Z ERROR [pool-2] shop.Sessions - cannot remove session 0a3a9c0e12ff after 80ms\n"
    )
    found = clean_paste(log)
    assert (found.text, found.kind) == ("shop.Sessions - cannot remove session after\nshop.Web - listening on", "log")


def test_an_issue_is_read_without_its_form():
    issue = (
        "Sessions stay\n\n<!-- Search the issues first. -->\n- [x] I have read the rules\n\n### Describe the bug\n\nExpired ones are kept.\n\n"
        "### Environment\n\n- OS: Linux\n\n### Expected behavior\n\nA clear and concise description of what you expected to happen.\n"
    )
    assert (clean_paste(issue).text, clean_paste(issue).kind) == ("Sessions stay\n\nExpired ones are kept.", "issue")


def test_the_line_numbers_of_a_listing_are_left_out():
    assert clean_paste("  1\tdef remove():\n  2\t    pass\n  3\tremove()").text == "def remove():\n    pass\nremove()"


def test_plans_say_what_was_done_with_a_paste():
    paste = f"{PROMPT}\n\n{ASKED}"
    parsed, alone = (parse_query(text) for text in (paste, ASKED))
    assert parsed.paste_note == "the question was taken from the end of a pasted prompt"
    assert (parsed.text, alone.paste_note) == (ASKED, "")
    note, note_alone = (plan_query(text, prose_language("english"), 739_000) for text in (paste, ASKED))
    assert (note.words, note.text, bool(note.remark)) == (note_alone.words, ASKED, True)


PIECES = [
    "You are an assistant. ", "User: ", "Assistant:\n", "\n\n", "<user_query>", "</user_query>", "<a>", "</a>", '{"query": "', '"}', "[", "```\n",
    '  File "a.py", line 1, in f\n', "\tat a.b.C.d(C.java:1)\n", "2024-01-01 12:00:00 ERROR x\n", "### Description\n", "<!--", "-->", "Question: ",
    "- [x] ", "1\t", "\\n", "\0", "\ud800", "é", "never ", "/", "a.", "at ", "[INST]", "<<SYS>>", "0x1 ", "how does it work", "#", "**", "\r\n",
]  # fmt: skip


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=20)), max_size=40))
@settings(deadline=None, max_examples=examples(150))
def test_any_text_gives_a_question_that_says_something_if_the_text_does(pieces):
    text = "".join(pieces)
    found = clean_paste(text)
    assert found.text == text if found.kind == PLAIN else found.text.strip() and found.note
    assert clean_paste(text) == found


@each("piece", some([*PIECES, "```a\n", "at ////", "you are a ", "<!-- x\n### Description\n", "word ", " ", "### User\nx\n"]))
def test_time_grows_with_the_text_and_no_faster(piece):
    def spent(text: str) -> float:
        began = time.process_time()
        clean_paste(text)
        return time.process_time() - began

    clean_paste(piece * 10)
    text = piece * (3 * MAX_READ // len(piece))
    assert min(spent(text) for _ in range(2)) < 0.5  # of 90 kB; measured: at most 0.04
