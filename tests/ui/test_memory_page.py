"""The memory view in a real browser: everything by mouse and by keys, on a phone, and for everybody."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from ui.kept_notes import HOSTILE, SECRET, Kept, keeping
from ui.opened import SECONDS, counts, opened, settle, url_has
from ui.pages import PHONE, looks

Opens = Callable[..., AbstractContextManager[Any]]
RULE = "shop/discount-rule"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """A server with notes of each state."""
    with keeping(tmp_path_factory.mktemp("kept")) as one:
        yield one


@pytest.fixture
def memory(browser: Any, kept: Kept) -> Opens:
    """Opens the view at what is asked for, such as `note=shop/x`."""

    def open_it(query: str = "", **options: Any) -> AbstractContextManager[Any]:
        return opened(browser, kept.served, f"/memory?{query}", **options)

    return open_it


def text_of(kept: Kept, key: str) -> str:
    text: str = kept.served.ask(f"notes/{key}")[1]["text"]
    return text


def state_of(kept: Kept, key: str) -> str:
    status, said = kept.served.ask(f"notes/{key}")
    return said["state"] if status == 200 else "forgotten"


def listed(page: Any, *names: str) -> None:
    """Wait until just these notes are listed, in any order."""
    counts(page, ".notes > li", len(names))
    for name in names:
        page.wait_for_selector(f".notes h3 a:text-is('{name}')")


def holds(page: Any, field: str, text: str) -> None:
    """Wait until a field holds a text: what is drafted anew comes a moment later."""
    until = time.monotonic() + SECONDS
    while text not in page.input_value(f"{field} >> nth=0"):
        assert time.monotonic() < until
        page.wait_for_timeout(20)


# Looking.
def test_notes_are_listed_with_their_states_and_filters_narrow_the_list(memory):
    with memory() as page:
        page.wait_for_selector(".notes li:has-text('discount rule') .badge.stale:text-is('stale')")
        page.click(".facets button:has-text('archived')")
        listed(page, "herring supplier")
        url_has(page, "state=archived")
        page.click("text=Show all")
        page.click(".facets button:has-text('ops') >> nth=0")
        listed(page, "deploy hangs")
        page.go_back()
        page.wait_for_selector(".notes li:has-text('discount rule')")


def test_typing_recalls_and_says_how_each_note_was_found(memory):
    with memory() as page:
        page.keyboard.press("/")
        page.keyboard.type("why does the rollout hang")
        page.wait_for_selector(".notes > li:first-child:has-text('deploy hangs') .found:has-text('exact')")
        page.wait_for_selector(".notes > li:first-child mark")
        page.keyboard.press("Escape")
        page.keyboard.press("o")
        page.wait_for_selector(".note-panel .ledger tbody tr")
        url_has(page, "q=why+does+the+rollout+hang", "note=ops%2Fdeploy-hangs")


def test_a_stale_note_shows_what_became_of_its_code_in_signs_and_in_colours(memory):
    with memory(f"note={RULE}") as page:
        page.wait_for_selector(".codes .diff .line.gone")
        assert page.inner_text(".diff .line.gone").split("\t")[-1].strip().startswith("8- ")
        assert ">= 12" in page.inner_text(".diff .line.new")
        assert "+ " in page.inner_text(".diff .line.new")
        colours = page.eval_on_selector_all(".diff .line", "all => [...new Set(all.map((one) => getComputedStyle(one).backgroundColor))]")
        assert len(colours) == 3
        assert "compared with commit" in page.inner_text(".spoken")


def test_the_timeline_narrows_the_list_to_its_days_by_mouse_and_by_keys(memory):
    with memory() as page:
        page.click(".timeline .days button:first-child")
        url_has(page, "since=200", "until=20")
        listed(page, "Of no project, and old.")
        page.click("text=All days")
        page.wait_for_selector(".notes li:has-text('discount rule')")
        page.focus(".timeline .days button[tabindex='0']")
        for _ in range(60):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        url_has(page, "since=2")
        page.wait_for_selector(".notes li:has-text('discount rule')")
        counts(page, ".notes li:has-text('Of no project')", 0)


def test_days_without_notes_can_be_left_again(memory):
    with memory("project=ops&since=1999-01-01&until=1999-01-02") as page:
        page.wait_for_selector("text=No note fits")
        page.click("text=All days")
        listed(page, "deploy hangs")


def test_notes_are_walked_and_opened_by_keys(memory):
    with memory("project=shop&state=stale") as page:
        page.wait_for_selector(".notes > li:nth-child(2)")
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("o")
        second = page.inner_text(".notes > li:nth-child(2) h3 a")
        page.wait_for_selector(f".note-panel h2:text-is('{second}')")
        page.keyboard.press("k")
        first = page.inner_text(".notes > li:nth-child(1) h3 a")
        page.wait_for_selector(f".note-panel h2:text-is('{first}')")
        page.keyboard.press("Escape")
        counts(page, ".note-panel", 0)


def test_the_keys_are_listed(memory):
    with memory(f"note={RULE}") as page:
        page.wait_for_selector(".deeds")
        page.keyboard.press("?")
        for does in ("edit the note", "forget the note", "merge what is selected", "write a new note", "the note is still true"):
            page.wait_for_selector(f".keys dd:text-is('{does}')")


def test_a_note_that_is_not_there_is_told(memory):
    with memory("note=shop/nowhere") as page:
        page.wait_for_selector(".note-panel [role=alert]:has-text('there is no note')")


def test_the_text_of_a_note_stays_text(memory, kept):
    kept.by_hand("shop/hostile.md", f"---\nproject: shop\ntopic: '<img src=x onerror=alert(1)>'\n---\n\n{HOSTILE}")
    asked: list[str] = []
    with memory() as page:
        page.on("request", lambda one: asked.append(one.url))
        page.on("dialog", lambda one: asked.append(one.message))
        page.goto(f"{kept.served.base}/memory?note=shop/hostile&q=picture+link")
        page.wait_for_selector(".prose pre")
        assert page.locator("main img, main script, main iframe, a[href^='javascript']").count() == 0
        assert page.locator(".prose a, .prose b, .prose i").count() == 0
        shown = page.inner_text(".prose")
        for piece in ("<img src=x onerror=", "[a link](javascript:", "![a picture](http://127.0.0.1:9/pixel.png)", "</code></pre>"):
            assert piece in shown
        assert page.inner_text(".prose strong") == "<i>strong</i>"
        assert "hurt" not in page.title()
        page.keyboard.press("e")
        page.wait_for_selector(".note-form textarea")
    assert all(one.startswith(kept.served.base) for one in asked)


def test_markdown_is_shown_as_what_it_is(memory, kept):
    kept.wrote("# Head\n\n1. one\n2. two\n\n- a *b* **c** `d`\n  - deep\n\n> said\n\n```\ncode **not** strong\n```\n\nlast", topic="marks")
    with memory("note=shop/marks") as page:
        page.wait_for_selector(".prose h4.level-1:text-is('Head')")
        assert page.inner_text(".prose li.counted >> nth=1") == "2. two"
        assert [page.inner_text(f".prose li {tag}") for tag in ("em", "strong", "code")] == ["b", "c", "d"]
        assert page.inner_text(".prose blockquote") == "said"
        assert page.inner_text(".prose pre").strip() == "code **not** strong"
        assert page.inner_text(".prose > p") == "last"


# Writing.
def test_a_note_is_written_by_keys(memory, kept):
    with memory() as page:
        page.wait_for_selector(".notes li")
        page.keyboard.press("n")
        page.wait_for_selector("textarea:focus")
        page.keyboard.type("Herring is sold by the barrel.")
        page.keyboard.press("Tab")
        page.keyboard.type("barrels")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(".note-panel h2:text-is('barrels')")
        page.wait_for_selector(".notes li:has-text('barrels')")
    assert text_of(kept, "shop/barrels") == "Herring is sold by the barrel."


def test_a_note_of_a_topic_that_is_there_leads_to_it_and_what_was_typed_stays(memory, kept):
    with memory() as page:
        page.click("text=New note")
        page.fill("textarea >> nth=0", "Another rule.")
        page.fill("label:has-text('Topic') input", "discount rule")
        page.click("button:has-text('Remember')")
        page.wait_for_selector("[role=alert]:has-text('has this topic already')")
        page.click("text=Look at discount rule")
        page.wait_for_selector(".note-panel .codes")
        page.click("text=New note")
        page.wait_for_selector("text=This is what you typed before")
        assert page.input_value("textarea >> nth=0") == "Another rule."
        page.click("text=Start over")
        assert page.input_value("textarea >> nth=0") == ""
    assert "pieces" in text_of(kept, RULE)


def test_a_secret_is_refused_and_can_be_left_out(memory, kept):
    with memory("do=new") as page:
        page.fill("textarea >> nth=0", f"Use {SECRET} to pay.")
        page.fill("label:has-text('Topic') input", "paying")
        page.click("button:has-text('Remember')")
        page.wait_for_selector("[role=alert]:has-text('looks like a secret')")
        assert "--redact" not in page.inner_text("[role=alert]")
        assert page.input_value("textarea >> nth=0") == f"Use {SECRET} to pay."
        page.click("text=Remember it without the secret")
        page.wait_for_selector(".note-panel h2:text-is('paying')")
    assert SECRET not in text_of(kept, "shop/paying")


def test_a_note_is_edited_by_mouse_and_its_history_grows(memory, kept):
    kept.wrote("Before.\n", topic="to edit", tags=["old"])
    with memory("note=shop/to-edit") as page:
        page.click(".deeds button:text-is('Edit')")
        page.fill("textarea >> nth=0", "After.\n")
        page.fill("label:has-text('Tags') input", "new, #other")
        page.click("button:text-is('Store')")
        page.wait_for_selector(".prose:has-text('After.')")
        page.click(".versions summary >> nth=0")
        assert "Before." in page.inner_text(".versions .line.gone")
        page.wait_for_selector(".note-panel .facts:has-text('#other')")


def test_what_was_typed_is_there_again_after_looking_at_another_note(memory, kept):
    kept.wrote("Kept.\n", topic="half typed")
    with memory("note=shop/half-typed") as page:
        page.wait_for_selector(".deeds")
        page.keyboard.press("e")
        page.wait_for_selector("textarea:focus")
        page.keyboard.press("Control+End")
        page.keyboard.type("And more.")
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        page.wait_for_selector(".prose")
        page.click(".notes a:text-is('discount rule')")
        page.click(".notes a:text-is('half typed')")
        page.wait_for_selector(".prose:has-text('Kept.')")
        page.keyboard.press("e")
        page.wait_for_selector("text=This is what you typed before")
        assert page.input_value("textarea >> nth=0") == "Kept.\nAnd more."
        page.click("text=Cancel")
        page.wait_for_selector(".prose")
        page.keyboard.press("e")
        page.wait_for_selector("textarea:focus")
        assert page.input_value("textarea >> nth=0") == "Kept.\n"
    assert text_of(kept, "shop/half-typed") == "Kept.\n"


@pytest.mark.parametrize("mine", [True, False], ids=["mine", "theirs"])
def test_what_another_wrote_meanwhile_is_compared_and_not_lost(memory, kept, mine):
    note = kept.wrote("First.\n", topic=f"contested {mine}")
    with memory(f"note={note['key']}&do=edit") as page:
        page.fill("textarea >> nth=0", "Mine.\n")
        kept.changed(note, text=f"Theirs.\n{'long ' * 40}\n", tags=["theirs"])
        assert page.locator(".notes > li.at.open").count() == 1
        page.click("button:text-is('Store')")
        page.wait_for_selector("[role=alert]:has-text('was changed meanwhile')")
        assert "Theirs." in page.inner_text(".conflict .line.new >> nth=0")
        assert page.eval_on_selector(".note-panel", "(one) => one.scrollWidth <= one.clientWidth")
        assert text_of(kept, note["key"]).startswith("Theirs.\n")
        if mine:
            page.click("text=Store mine over it")
            page.wait_for_selector(".prose:has-text('Mine.')")
        else:
            page.click("text=Drop mine, take what is there")
            counts(page, ".conflict", 0)
            assert page.input_value("textarea >> nth=0").startswith("Theirs.\n")
    now = kept.served.ask(f"notes/{note['key']}")[1]
    assert (now["text"].partition("\n")[0], now["tags"]) == ("Mine." if mine else "Theirs.", ["theirs"])


# Keeping, merging and letting go.
def test_a_note_is_archived_and_restored_by_key_and_by_mouse(memory, kept):
    key = kept.wrote("Away.\n", topic="away")["key"]
    with memory(f"note={key}") as page:
        page.wait_for_selector(".deeds")
        page.keyboard.press("a")
        page.wait_for_selector(".note-panel .badge.archived")
        counts(page, ".notes a:text-is('away')", 0)
        assert state_of(kept, key) == "archived"
        page.click(".deeds button:text-is('Restore')")
        page.wait_for_selector(".notes a:text-is('away')")
        assert state_of(kept, key) == "fresh"


@pytest.mark.parametrize("by", ["mouse", "key"])
def test_a_stale_note_is_said_to_be_still_true(memory, kept, by):
    key = kept.wrote("Adding appends.\n", topic=f"affirmed by {by}", about=["shop/cart.py#Cart.add"])["key"]
    with kept.cart_changed(), memory(f"note={key}") as page:
        page.wait_for_selector(".note-panel .facts .badge.stale")
        if by == "key":
            page.keyboard.press("t")
        else:
            page.click("text=Still true")
        page.wait_for_selector(".note-panel .facts .badge.fresh")
        assert state_of(kept, key) == "fresh"


def test_what_cannot_be_done_is_told_beside_the_buttons(memory):
    with memory("note=shop/the-receipt") as page:
        page.click("text=Still true")
        page.wait_for_selector(".deeds [role=alert]:has-text('edit the note')")


@pytest.mark.parametrize("by", ["mouse", "keys"])
def test_a_note_is_forgotten_only_when_that_is_confirmed(memory, kept, by):
    note = kept.wrote("One.\n", topic=f"forget by {by}")
    key = kept.changed(note, text="Two.\n")["key"]
    with memory(f"note={key}") as page:
        page.wait_for_selector(".deeds")
        page.keyboard.press("f")
        page.wait_for_selector("dialog[open]:has-text('1 earlier version')")
        page.keyboard.press("Escape")
        counts(page, "dialog[open]", 0)
        assert state_of(kept, key) == "fresh"
        if by == "keys":
            page.keyboard.press("f")
            page.keyboard.press("Tab")
            page.keyboard.press("Enter")
        else:
            page.click("text=Forget …")
            page.click("dialog >> text=Forget it")
        counts(page, ".note-panel", 0)
        counts(page, f".notes a:text-is('forget by {by}')", 0)
        counts(page, ".notes :focus", 1)
    assert state_of(kept, key) == "forgotten"


@pytest.mark.parametrize("by", ["mouse", "keys"])
def test_notes_are_merged(memory, kept, by):
    for name in ("left", "right"):
        kept.wrote(f"The {name} one.\n", topic=f"{name} by {by}", tags=[f"merged-{by}"])
    with memory(f"tag=merged-{by}") as page:
        counts(page, ".notes > li", 2)
        if by == "keys":
            for key in "jxjxm":
                page.keyboard.press(key)
        else:
            page.check(".notes > li:nth-child(1) input")
            page.wait_for_selector(".selection:has-text('tick another')")
            page.check(".notes > li:nth-child(2) input")
            page.click(".selection button.main")
        page.wait_for_selector(".note-form textarea")
        page.click(f".into label:has-text('right by {by}')")
        holds(page, "textarea", f"## right by {by}")
        page.fill("textarea >> nth=0", "Both of them.\n")
        page.click("button:text-is('Merge')")
        page.wait_for_selector(".prose:has-text('Both of them.')")
    assert text_of(kept, f"shop/right-by-{by}") == "Both of them.\n"
    assert state_of(kept, f"shop/left-by-{by}") == "archived"


def test_a_merge_of_what_was_changed_meanwhile_is_refused_and_read_again(memory, kept):
    one, _ = (kept.wrote(f"{name}\n", topic=f"raced {name}", tags=["raced"]) for name in ("left", "right"))
    with memory("tag=raced") as page:
        counts(page, ".notes > li", 2)
        for key in "jxjxm":
            page.keyboard.press(key)
        page.wait_for_selector(".note-form textarea")
        kept.changed(one, text="Changed by another.\n")
        page.click("button:text-is('Merge')")
        page.wait_for_selector("[role=alert]:has-text('nothing was merged')")
        page.click("text=Read them again")
        holds(page, "textarea", "Changed by another.")
        counts(page, ".note-form [role=alert]", 0)
    assert state_of(kept, "shop/raced-left") == state_of(kept, "shop/raced-right") == "fresh"


# On a phone, and for everybody.
def test_on_a_phone_a_note_lies_over_the_list_and_others_can_be_ticked_to_merge(memory):
    with memory("project=shop&state=stale", viewport=PHONE) as page:
        page.click(".notes > li:nth-child(1) h3 a")
        page.wait_for_selector(".note-panel .deeds")
        assert page.eval_on_selector(".note-panel", "(one) => one.getBoundingClientRect().width === innerWidth")
        assert page.evaluate("document.activeElement.closest('.note-panel') !== null")
        page.click("text=Merge with …")
        counts(page, ".note-panel", 0)
        page.wait_for_selector(".selection:has-text('tick another')")
        page.check(".notes > li:nth-child(2) input")
        page.click(".selection button.main")
        page.wait_for_selector(".note-form textarea")
        page.click("aside button[aria-label='Close']")
        counts(page, ".note-panel", 0)


LOOKS = [{}, {"color_scheme": "dark"}, {"viewport": PHONE}, {"viewport": PHONE, "color_scheme": "dark"}]


@pytest.mark.parametrize("options", looks(*LOOKS), ids=["light", "dark", "phone", "dark phone"])
@pytest.mark.parametrize(
    ("query", "ready"),
    [
        ("state=all", ".notes li .badge.archived"),
        (f"q=discount+of+pieces&note={RULE}", ".codes .diff .line.gone"),
        ("note=shop/the-receipt&do=edit", ".note-form textarea"),
        ("do=new", ".note-form textarea"),
    ],
    ids=["list", "note", "edit", "new"],
)
def test_everybody_can_use_it(memory, accessible, query, ready, options):
    with memory(query, **options) as page:
        page.wait_for_selector(ready, state="attached")
        settle(page)
        accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate("[...document.querySelectorAll('.panel')].every((one) => one.scrollWidth <= one.clientWidth)")


@pytest.mark.parametrize("options", looks(*LOOKS[:2]), ids=["light", "dark"])
def test_everybody_can_merge_and_forget(memory, accessible, kept, options):
    with memory("project=shop&state=stale", **options) as page:
        page.wait_for_selector(".notes > li:nth-child(2)")
        for key in "jxjxm":
            page.keyboard.press(key)
        page.wait_for_selector(".note-form textarea")
        accessible(page)
        page.goto(f"{kept.served.base}/memory?note={RULE}")
        page.wait_for_selector(".codes .diff")
        page.keyboard.press("f")
        page.wait_for_selector("dialog[open]")
        accessible(page)
