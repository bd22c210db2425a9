"""The search view, in a real browser."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from mcp_servers import until
from sample_histories import commit
from sample_shop import FILES
from sample_trees import git, write
from small_cases import each
from ui.opened import counts, opened, settle, url_has
from ui.pages import PHONE, Served, looks, serving

FIRST, HERE = ".results li:first-child h3 a", ".results li.at h3 a"
#: A second repository, in other languages, with a folder whose name has a blank in it.
LIBRARY = {
    "pay/terminal.go": 'package pay\n\n// Terminal charges a card with a total.\ntype Terminal struct{}\n\n// Charge takes the total off a card.\nfunc (t *Terminal) Charge(total int) string {\n\treturn "paid"\n}\n',
    "pay/limits.go": "package pay\n\n// Limit of the total of one day.\nfunc Limit() int { return 500 }\n",
    "my tools/report.js": "// The total of a day.\nexport function dailyTotal(sales) {\n  return sales.reduce((sum, sale) => sum + sale.total, 0);\n}\n",
}


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Two repositories, served together."""
    place = tmp_path_factory.mktemp("several")
    roots = [write(place / "shop", FILES), write(place / "library", LIBRARY)]
    for root in roots:
        git("init", "-q", cwd=root)
        commit(root, "It begins")
    with serving(*roots, home=place / "home") as one:
        for root in ("shop", "library"):
            until(lambda asked={"queries": [], "a": {}, "b": {}, "root": root}: one.ask("compare", asked)[0] == 200)  # it is indexed
        yield one


# As one types.
def test_results_come_as_one_types(page: Any):
    page.keyboard.type("discount")
    page.wait_for_selector(".results li")
    assert "shop/price.py" in page.inner_text(".results li:first-child h3")
    page.wait_for_url("**/?q=discount")


def test_no_answer_is_shown_after_that_of_a_later_query(page: Any):
    """The first question is answered late; typing goes on meanwhile."""
    held: list[Any] = []
    page.route("**/api/search", lambda route: held.append(route) if not held else route.continue_())
    page.fill("#query", "discount")
    while not held:
        page.wait_for_timeout(10)
    page.keyboard.type(" receipt")
    held[0].continue_()
    page.wait_for_selector("main[data-of='discount receipt'][aria-busy=false]")
    page.fill("#query", "receipt")
    page.wait_for_selector("main[data-of=receipt][aria-busy=false]")
    expect(page.locator(FIRST).first).to_have_text(re.compile("shop/checkout.py"))
    page.wait_for_timeout(300)  # nothing comes afterwards
    assert page.get_attribute("main", "data-of") == "receipt"
    assert "shop/checkout.py" in page.inner_text(FIRST)


def test_while_one_types_questions_do_not_pile_up(page: Any):
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.post_data_json["query"]) if one.url.endswith("/api/search") else None)
    page.route("**/api/search", lambda route: (time.sleep(0.15), route.continue_()))
    page.keyboard.type("where is the discount", delay=5)
    page.wait_for_selector("main[data-of='where is the discount'][aria-busy=false]")
    assert asked[-1] == "where is the discount"
    assert len(asked) < len("where is the discount") / 2


def test_an_empty_query_says_what_to_do(show: Any):
    page = show("/?q=cart")
    page.wait_for_selector(".results li")
    page.fill("#query", "")
    page.wait_for_selector(".empty:has-text('Type what you look for')")
    assert page.locator(".results li, .facet, .sure").count() == 0


# The code that is shown.
def test_code_has_the_colours_of_its_language(show: Any):
    page = show("/?q=sum+of+all+prices")
    page.wait_for_selector(".results li:first-child .code")
    kinds = {
        kind: page.locator(f".results .c-{kind}").all_inner_texts()
        for kind in ("keyword", "string", "function", "type", "number", "comment")
    }
    assert {"def", "return"} <= set(kinds["keyword"])
    assert '"""The sum of all prices, discounts taken off."""' in "".join(kinds["string"])
    assert {"sum", "discount"} <= set(kinds["function"])
    colours = {
        kind: page.locator(f".results span.c-{kind}").first.evaluate("one => getComputedStyle(one).color")
        for kind in ("keyword", "string", "function")
    }
    plain = page.locator(".results .code").first.evaluate("one => getComputedStyle(one).color")
    assert len({plain, *colours.values()}) == 4


def test_what_matched_is_marked_and_lines_have_their_numbers(show: Any):
    page = show("/?q=discount")
    page.wait_for_selector(".results mark")
    assert {text.lower() for text in page.locator(".results mark").all_inner_texts()} >= {"discount"}
    line = page.locator(".results li:first-child .line:has(mark:text-is('discount'))").first
    text = FILES["shop/price.py"].splitlines()[int(line.get_attribute("data-line")) - 1]
    assert line.inner_text().removeprefix(line.get_attribute("data-line")).strip("\n") == text


# What narrows an answer.
@each(
    ("heading", "value", "operator", "left"),
    [
        ("Language", "go", "lang:go", ["pay/limits.go", "pay/terminal.go"]),
        ("Kind", "method", "kind:method", ["pay/terminal.go", "shop/cart.py"]),
        ("Folder", "my tools", 'path:"my tools/"', ["my tools/report.js"]),
        ("Folder", "shop", "path:shop/", ["shop/cart.py", "shop/checkout.py", "shop/price.py"]),
    ],
)
def test_a_facet_writes_its_operator_into_the_query_and_takes_it_out_again(
    browser: Any, several: Served, heading: str, value: str, operator: str, left: list[str]
):
    with opened(browser, several, "/?q=total") as page:
        page.wait_for_selector(".facet")
        facet = page.locator(f".facets section:has(h2:text-is('{heading}')) .facet:has(span:text-is('{value}'))")
        before = set(paths(page))
        facet.click()
        expect(page.locator("#query")).to_have_value(f"total {operator}")
        expect(facet).to_have_attribute("aria-pressed", "true")
        page.wait_for_selector(f"main[data-of='total {operator}'][aria-busy=false]")
        assert sorted(paths(page)) == left
        facet.click()
        expect(page.locator("#query")).to_have_value("total")
        page.wait_for_selector("main[data-of=total][aria-busy=false]")
        assert set(paths(page)) == before > set(left)
        page.go_back()  # a click is a step
        expect(page.locator("#query")).to_have_value(f"total {operator}")


def paths(page: Any) -> list[str]:
    """The files that are shown."""
    return [
        re.sub(r":\d+$", "", text).split("/", 1)[1] if several_roots(page) else text
        for text in page.locator(".results h3 > a").all_inner_texts()
    ]


def several_roots(page: Any) -> bool:
    return bool(page.locator(".roots select").count())


def test_facets_count_what_was_ranked(show: Any, served: Served):
    counted = served.ask("search", {"query": "cart total"})[1]["facets"]
    page = show("/?q=cart+total")
    page.wait_for_selector(".facet")
    shown = dict(text.split("\n") for text in page.locator(".facet").all_inner_texts())
    assert shown == {name: str(count) for group in ("languages", "kinds", "folders") for name, count in counted[group].items()}


# The query language.
@pytest.mark.parametrize(
    ("query", "caret", "said"),
    [
        ("lang:pythn total", 5, "unknown language 'pythn'"),
        ("kind:nothing cart", 5, "unknown kind 'nothing'"),
        ("total (cart lang:go", 6, "the parenthesis is never closed"),
        ("cart callers:nosuch", 13, "no such symbol: 'nosuch'"),
    ],
)
def test_a_mistake_is_told_beneath_the_query_with_a_caret(page: Any, query: str, caret: int, said: str):
    page.keyboard.type(query)
    wrong = page.wait_for_selector("#query-wrong .wrong")
    expect(page.locator("#query")).to_have_attribute("aria-invalid", "true")
    typed, pointer = page.inner_text(".caret").split("\n")
    assert typed == query
    assert pointer.index("^") == caret
    assert said in wrong.inner_text()
    page.fill("#query", "cart total")
    page.wait_for_selector("#query-wrong", state="detached")
    page.wait_for_selector(".results li")
    assert page.get_attribute("#query", "aria-invalid") is None


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('"less for many"', ["shop/price.py"]),
        ("cart -path:tests -path:checkout", ["shop/cart.py"]),
        ("/card\\.charge/", ["shop/checkout.py"]),
        ("callers:discount", ["shop/cart.py"]),
        ("sym:receipt OR sym:discount", ["shop/checkout.py", "shop/price.py"]),
        ("in:docs walruses", ["README.md"]),
    ],
)
def test_the_whole_query_language_is_understood(page: Any, query: str, found: list[str]):
    page.fill("#query", query)
    page.wait_for_selector("main[aria-busy=false] .results li")
    expect(page.locator("main")).to_have_attribute("data-of", query)
    assert sorted(re.sub(r":\d+$", "", text) for text in page.locator(".results h3 > a").all_inner_texts()) == found


# How it stands.
def test_what_is_not_here_is_said_and_why(show: Any):
    page = show("/?q=kubernetes+ingress+certificates")
    doubt = page.wait_for_selector(".sure.doubtful")
    assert doubt.inner_text().strip().startswith("not here, most likely (confidence 0.")
    assert "only code was searched" in doubt.inner_text()
    assert page.inner_text(".empty") == "Nothing found."


def test_files_that_are_not_indexed_and_hold_the_words_are_told_of_when_the_typing_pauses(browser: Any, tmp_path: Path):
    files = {"a.py": "def one():\n    return 1\n", ".gitignore": "attic/\n", "attic/old.py": "kubernetes = 'ingress certificates'\n"}
    root = write(tmp_path / "tree", files)
    git("init", "-q", cwd=root)
    with serving(root, home=tmp_path / "home") as one, opened(browser, one, "/?q=kubernetes+ingress+certificates") as page:
        expect(page.locator(".sure.doubtful")).to_contain_text("1 file that was left out", timeout=30_000)
        question = {"query": "kubernetes ingress certificates"}
        assert "left out" in one.ask("search", question)[1]["confidence"]["said"]
        assert "left out" not in one.ask("search", {**question, "hurried": True})[1]["confidence"]["said"]


def test_what_is_here_says_how_sure_that_is(show: Any, served: Served):
    sure = served.ask("search", {"query": "cart total"})[1]["confidence"]["probability"]
    page = show("/?q=cart+total")
    page.wait_for_selector(".sure:not(.doubtful)")
    assert page.inner_text(".sure").strip() == f"{sure:.2f} sure that the answer is here"
    assert float(page.get_attribute(".sure meter", "value")) == pytest.approx(sure)


def test_what_the_answer_is_of_is_shown(show: Any, served: Served):
    commit_shown = served.ask("search", {"query": "cart"})[1]["roots"][0]["fresh"]["commit"][:10]
    page = show("/?q=cart+total")
    page.wait_for_selector(".results li")
    assert re.search(
        rf"^\d+ files · commit {commit_shown} · indexed \d+ (s|min) ago · up to date$", page.inner_text(".states p:first-child")
    )


def test_files_that_changed_since_are_counted(page: Any):
    """As long as another holds the index, what changed cannot be taken in."""

    def aged(route: Any) -> None:
        answer = route.fetch()
        said = answer.json()
        said["roots"][0]["fresh"] |= {"changed_files": 3, "fresh": False}
        route.fulfill(response=answer, body=json.dumps(said))

    page.route("**/api/search", aged)
    page.keyboard.type("cart")
    expect(page.locator(".states p").first).to_have_text(re.compile("· 3 files changed since$"))
    page.unroute_all(behavior="wait")


def test_what_is_written_meanwhile_is_found(browser: Any, several: Served):
    root = Path(next(one["path"] for one in several.ask("roots")[1]["roots"] if one["name"] == "library"))
    with opened(browser, several, "/?q=herringbone") as page:
        page.wait_for_selector(".empty:has-text('Nothing found')")
        write(root, {"pay/pattern.go": "package pay\n\n// Herringbone is a pattern.\nfunc Herringbone() {}\n"})
        try:
            page.keyboard.press("End")
            page.keyboard.type(" pattern")
            expect(page.locator(FIRST).first).to_have_text(re.compile("library/pay/pattern.go"))
        finally:
            (root / "pay/pattern.go").unlink()


# Several repositories.
def test_several_repositories_are_searched_together_or_one_of_them(browser: Any, several: Served):
    with opened(browser, several, "/?q=charge+the+card") as page:
        page.wait_for_selector(".results li")
        assert {text.split("/")[0] for text in page.locator(".results h3 > a").all_inner_texts()} == {"library", "shop"}
        assert [text.partition(":")[0] for text in page.locator(".states p:has-text('commit')").all_inner_texts()] == ["shop", "library"]
        page.select_option(".roots select", "library")
        url_has(page, "root=library")
        counts(page, ".results h3 > a:has-text('shop/')", 0)
        assert {text.split("/")[0] for text in page.locator(".results h3 > a").all_inner_texts()} == {"library"}
        page.click(".results li:first-child h3 > a")
        page.wait_for_selector("aside.panel .code")
        assert "Charge" in page.inner_text("aside.panel .code")
        page.go_back()
        page.go_back()
        expect(page.locator(".roots select")).to_have_value("")


def test_what_only_one_repository_says_is_said_in_its_name(several: Served):
    notes = several.ask("search", {"query": "total lang:go"})[1]["notes"]
    assert [note.partition(" of ")[0] for note in notes if "drop lang:go" in note and " 0 of " in note] == ["shop: 0"]


# Keys and links.
def test_arrows_walk_the_results_and_enter_opens_one(show: Any):
    page = show("/?q=cart+total")
    page.wait_for_selector(".results li:nth-child(3)")
    files = page.locator(".results h3 > a").all_inner_texts()
    here = page.locator(HERE).first
    page.keyboard.press("ArrowDown")  # out of the query, to the first
    expect(page.locator(".results h3 > a").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(here).to_have_text(files[1])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")  # there is no fourth
    expect(here).to_have_text(files[2])
    page.keyboard.press("ArrowUp")
    expect(here).to_have_text(files[1])
    page.keyboard.press("Enter")
    page.wait_for_selector("aside.panel .code")
    url_has(page, "panel=source", re.sub(r":\d+$", "", files[1]).replace("/", "%2F"))
    page.keyboard.press("Escape")
    page.wait_for_selector("aside.panel", state="detached")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#query")).to_be_focused()


def test_the_source_shows_the_whole_file_at_the_lines_that_matter(show: Any):
    page = show("/?q=cart+total&open=shop:shop/cart.py&panel=source")
    page.wait_for_selector("aside.panel .code .line.lit")
    shown = page.locator("aside.panel .code .line")
    assert shown.count() == FILES["shop/cart.py"].count("\n") + 1
    lit = page.locator("aside.panel .line.lit").all_inner_texts()
    assert any("def total" in line for line in lit)
    expect(page.locator("aside.panel .line.lit").first).to_be_in_viewport()


def test_a_link_shows_what_was_shown_when_it_was_kept(browser: Any, page: Any, served: Served):
    page.keyboard.type("cart total")
    page.wait_for_selector(".facet")
    page.click(".facet:has(span:text-is('function'))")
    page.wait_for_selector("main[data-of='cart total kind:function'][aria-busy=false]")
    page.click(".results li:nth-child(2) button.why")
    page.wait_for_selector("aside.panel h2, aside.panel h3")
    url_has(page, "open=")
    kept, text = page.url, shown_text(page)
    with opened(browser, served, kept.removeprefix(served.base)) as other:
        other.wait_for_selector("aside.panel h2, aside.panel h3")
        settle(other)
        assert other.input_value("#query") == "cart total kind:function"
        assert shown_text(other) == text


def shown_text(page: Any) -> list[str]:
    """What is found and what is said of it, without times."""
    return [*page.locator(".results li").all_inner_texts(), page.inner_text("aside.panel")]


def test_more_results_are_given_when_asked_for(show: Any):
    page = show("/?q=cart+total&k=2")
    counts(page, ".results > li", 2)
    page.click("button:has-text('More results')")
    page.wait_for_selector(".results > li:nth-child(3)")
    url_has(page, "k=12")


@pytest.mark.parametrize("page", looks({}, {"color_scheme": "dark"}, {"viewport": PHONE}), indirect=True, ids=["light", "dark", "phone"])
def test_everybody_can_use_it(show: Any, accessible: Any):
    page = show("/?q=cart+total&open=shop:shop/cart.py&panel=source")
    page.wait_for_selector(".results li")
    page.wait_for_selector(".panel .code")
    accessible(page)
