"""What holds in every view, in a real browser: keys, the way back, colours, width, the token, and text that wants to be markup."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from mcp_servers import surroundings
from sample_histories import commit
from sample_trees import git, whence, write
from ui.opened import listen, opened, settle, url_has
from ui.pages import PHONE, Served, looks, serving
from ui.views import VIEWS, show
from whence.ui.app import STATIC

MOST_BYTES = 400_000
#: Pages that are opened at once.
TABS = 4
NUMBERED = [view for view in VIEWS if view.number]


def path_of(page: Any) -> str:
    found: str = page.evaluate("location.pathname + location.search")
    return found


# Keys.
def test_every_view_has_a_number_and_back_leads_to_the_one_before(page: Any):
    page.keyboard.press("Escape")  # out of the query
    for view in NUMBERED[1:]:
        page.keyboard.press(view.number)
        page.wait_for_selector(f"nav a[aria-current=page]:has-text('{view.name.title()}')")
        page.wait_for_selector("#content main:not(.wait)")
        assert path_of(page) == view.address.partition("?")[0]
        expect(page).to_have_title(re.compile(f"^{view.name.title()}"))
        page.keyboard.press("Escape")  # out of the field that a view may begin with
    for view in reversed(NUMBERED[:-1]):
        page.go_back()
        page.wait_for_selector(f"nav a[aria-current=page]:has-text('{view.name.title()}')")


def test_the_help_lists_what_is_bound_and_closes(page: Any):
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.wait_for_selector("dialog kbd")
    keys = page.locator("dialog kbd").all_inner_texts()
    assert {"?", "/", "j", "k", "o", "w", "Esc", *(view.number for view in NUMBERED)} <= set(keys)
    assert len(keys) == len(set(keys))
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")


def test_results_are_walked_and_opened_by_keys(page: Any, served: Served):
    show(page, served, VIEWS[0])
    page.keyboard.press("ArrowDown")
    first = page.inner_text(".results li.at h3 a")
    here = page.locator(".results li.at h3 a").first
    page.keyboard.press("j")
    expect(here).not_to_have_text(first)
    page.keyboard.press("k")
    expect(here).to_have_text(first)
    page.keyboard.press("o")
    page.wait_for_selector("aside.panel .code")
    page.keyboard.press("w")
    page.wait_for_selector("aside.panel [role=tab][aria-selected=true]:has-text('Why')")
    page.go_back()
    page.wait_for_selector("aside.panel [role=tab][aria-selected=true]:has-text('Source')")
    page.keyboard.press("Escape")
    page.wait_for_selector("aside.panel", state="detached")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "query"
    page.keyboard.type("3?")  # in the query these are letters
    url_has(page, "/?q=", "3%3F")
    assert page.locator("dialog").count() == 0


def test_what_is_asked_is_the_title(page: Any, served: Served):
    show(page, served, VIEWS[0])
    expect(page).to_have_title("cart total · Search · whence")


def test_colours_are_chosen_once(page: Any):
    def ground() -> str:
        found: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return found

    light = ground()
    page.click("button[aria-label^=Colours]")
    page.click("button[aria-label^='Colours: light']")
    page.wait_for_selector("html[data-theme=dark]")
    dark = ground()
    assert dark != light
    page.reload()
    page.wait_for_selector("button[aria-label^='Colours: dark']")
    assert ground() == dark


# The token.
def test_without_its_token_the_page_asks_for_the_link_and_takes_it(browser: Any, served: Served):
    with opened(browser, served, "/?q=discount", token=False) as page:
        assert "needs its token" in page.inner_text("h1")
        page.fill("input[name=token]", "not-the-token")
        page.keyboard.press("Enter")
        page.wait_for_selector("h1:has-text('needs its token')")
        page.fill("input[name=token]", served.link)
        page.keyboard.press("Enter")
        page.wait_for_selector(".results li")
        assert served.token not in page.url


def test_the_token_does_not_stay_in_the_address(page: Any, served: Served):
    assert served.token not in page.url
    page.reload()
    page.wait_for_selector("#query")
    assert page.evaluate("document.cookie") == ""


def test_when_the_server_is_gone_that_is_said_in_a_line(browser: Any, project: Path, home: Path):
    with serving(project, home=home) as one, opened(browser, one, excused="net::ERR_") as page:
        one.process.kill()
        one.process.wait()
        page.keyboard.type("d")
        assert page.inner_text(".wrong") == "the server does not answer is whence ui still running?"


# Every view.
@pytest.mark.parametrize("options", looks({}, {"color_scheme": "dark"}, {"viewport": PHONE}), ids=["light", "dark", "phone"])
def test_no_view_is_wider_than_the_screen_or_asks_another_machine(options: dict[str, Any], browser: Any, served: Served):
    wrong: list[str] = []
    requested: set[str] = set()
    with opened(browser, served, **options) as page:
        page.on("request", lambda one: requested.update([one.url]))
        for view in VIEWS:
            show(page, served, view)
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wrong.append(f"{view.name}: wider than the screen by {widest(page)}")
    assert wrong == []
    assert len(requested) > len(VIEWS)
    assert [url for url in requested if not url.startswith((served.base, "data:"))] == []


def widest(page: Any) -> str:
    """What reaches farthest to the right."""
    found: str = page.evaluate(
        """() => { const all = [...document.querySelectorAll("body *")];
        const far = all.reduce((most, one) => one.getBoundingClientRect().right > most.getBoundingClientRect().right ? one : most);
        return far.outerHTML.slice(0, 160); }"""
    )
    return found


def test_everything_in_the_package_weighs_little():
    """Whatever a view loads, it cannot be more than this."""
    assert sum(path.stat().st_size for path in STATIC.rglob("*") if path.suffix in (".js", ".css", ".html", ".svg")) <= MOST_BYTES


def test_what_the_first_view_is_made_of_is_asked_for_at_once():
    """The document names every module of it: a browser that finds them one by one asks six times in a row."""
    named = re.findall(r'rel="modulepreload" href="/static/([^"]+)"', (STATIC / "index.html").read_text(encoding="utf-8"))
    assert sorted(named) == sorted(path.relative_to(STATIC).as_posix() for path in imported_by(STATIC / "app.js"))


def imported_by(module: Path, known: frozenset[Path] = frozenset()) -> frozenset[Path]:
    """A module and all that it imports when it is loaded."""
    known |= {module}
    for name in re.findall(r'^(?:import|export)[^;"]* from "([^"]+)";', module.read_text(encoding="utf-8"), re.MULTILINE):
        other = Path(os.path.normpath(module.parent / name))
        known |= imported_by(other, known) if other not in known else frozenset()
    return known


# Text that wants to be markup.
EVIL = '"><img src=x onerror=window.__hit=1>'
BRANCH = '"><img/src=x/onerror=window.__hit=1>'
#: A tree whose names, code and notes are markup wherever a file system, a grammar or git allows it.
HOSTILE = {
    f"lib/{EVIL}.py": f'"""Total {EVIL} of the cart."""\n\n\ndef total():\n    """The cart {EVIL}."""\n    return "{EVIL[2:]}"\n',
    "lib/cart.js": f"class Cart {{\n  '{EVIL[1:]}'(cart) {{ return total(cart); }}\n}}\nfunction total(cart) {{ return new Cart(); }}\n",
    "README.md": f"# The cart {EVIL}\n\nThe total <script>window.__hit = 2</script> of the cart. [link](javascript:window.__hit=3)\n",
    "shop/cart.py": f"class Cart:\n    '''{EVIL}'''\n\n    def total(self):\n        return '<script>window.__hit=4</script>'\n",
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of such a tree, in a folder of such a name."""
    place = tmp_path_factory.mktemp("hostile")
    root, around = write(place / f"shop {EVIL}", HOSTILE), surroundings(place / "home")
    git("init", "-q", "-b", BRANCH, cwd=root)
    commit(root, f"The cart {EVIL}\n\n<script>window.__hit=5</script>")
    note = [f"The total of the cart {EVIL} is in shop/cart.py", "--topic", f"cart {EVIL}", "--tag", EVIL]
    for command in (["index"], ["remember", *note]):
        done = whence(*command, cwd=root, **around)
        assert done.returncode == 0, done.stderr
    with serving(root, home=place / "home") as one:
        yield one


def test_names_code_and_notes_that_are_markup_are_shown_as_text(browser: Any, hostile: Served):
    root = hostile.ask("roots")[1]["roots"][0]["name"]
    evil = quote(EVIL)
    questions = [f"?q=cart+total&symbol={evil}&task={evil}", f"?root={evil}"]
    addresses = [f"{view.address.partition('?')[0]}{question}" for view in NUMBERED for question in questions]
    addresses += [f"/?q={evil}", f"/?q=lang:{evil}", *(view.address for view in VIEWS)]
    addresses += [f"/?q=cart+total&open={quote(f'{root}:{path}')}{panel}" for path in HOSTILE for panel in ("", "&panel=source")]
    wrong: list[str] = []
    with opened(browser, hostile) as page:
        tabs = [page, *(page.context.new_page() for _ in range(TABS - 1))]
        for tab in tabs:
            tab.on("dialog", lambda dialog: wrong.append(dialog.message))
            listen(tab, wrong)
            tab.goto(hostile.link)
            tab.wait_for_selector("#content main")
        for at in range(0, len(addresses), TABS):
            together = list(zip(tabs, addresses[at : at + TABS], strict=False))
            for tab, address in together:
                tab.goto(f"{hostile.base}{address}")
            for tab, address in together:
                tab.wait_for_selector("#content main:not(.wait)")
                settle(tab)
                wrong += [f"{address}: {one}" for one in made_of_text(tab)]
        page.goto(f"{hostile.base}/?q=cart+total")
        page.wait_for_selector(".results li")
        assert EVIL in page.inner_text("main")
    assert wrong == []


def made_of_text(page: Any) -> list[str]:
    """What stands in a page that can only have come from text; the page's own policy would keep a script from running anyway."""
    found: list[str] = page.evaluate(
        """() => [
          ...[...document.querySelectorAll("img, script:not([src]), iframe, object, embed, base")].map((one) => one.outerHTML),
          ...[...document.links].filter((one) => one.origin !== location.origin).map((one) => one.href),
          ...[...document.querySelectorAll("*")].filter((one) => [...one.attributes].some(({name}) => name.startsWith("on"))).map((one) => one.outerHTML),
          ...(window.__hit === undefined ? [] : [`a script ran: ${window.__hit}`]),
        ]"""
    )
    return found
