"""The index view: what its API tells of an index, and how it looks in a real browser."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from sample_histories import commit
from sample_shop import FILES
from sample_trees import git, whence, write
from small_cases import each
from ui.opened import counts, opened, url_has
from ui.pages import PHONE, Served, looks, serving
from whence.ui.api.index import part_of

HOSTILE = "<img src=x onerror=alert(1)>.py"
MANY = 120


def told(served: Served, path: str) -> Any:
    status, said = served.ask(path)
    assert status == 200, said
    return said


def settled(served: Served, root: str = "") -> Any:
    """What is told of an index once it is built."""
    until = time.monotonic() + 30
    while (said := told(served, f"index?root={root}"))["progress"]["building"]:
        assert time.monotonic() < until
        time.sleep(0.05)
    return said


def paths_of(served: Served, query: str = "") -> list[str]:
    return [one["path"] for one in told(served, f"index/files?{query}")["files"]]


# What is asked, without a browser.
def test_the_figures_are_those_of_the_command_line(served, project, home):
    said = told(served, "index")["held"]
    done = whence("status", str(project), "--json", cwd=project, WHENCE_DATA_DIR=str(home / "data"))
    facts = json.loads(done.stdout)
    same = ("files", "units", "source_bytes", "directory", "segments", "commits", "made_with")
    assert {name: said[name] for name in same} == {name: facts[name] for name in same}
    assert {one["language"]: one["files"] for one in said["languages"]} == {one["language"]: one["files"] for one in facts["languages"]}
    assert {one["reason"]: one["count"] for one in said["left_out"]} == facts["left_out"]
    assert said["model"]["fingerprint"] == facts["model_fingerprint"]


def test_lines_are_counted_by_language(served):
    languages = {one["language"]: one for one in told(served, "index")["held"]["languages"]}
    python = [text for path, text in FILES.items() if path.endswith(".py")]
    assert languages["python"]["lines"] == sum(text.count("\n") for text in python)
    assert languages["python"]["bytes"] == sum(len(text.encode()) for text in python)


def test_the_parts_on_disk_are_what_lies_in_the_folder(served):
    held = told(served, "index")["held"]
    parts = {one["part"]: one["bytes"] for one in held["disk"]}
    assert {"segments", "vectors", "database", "columns"} <= set(parts)
    assert sum(parts.values()) == held["index_bytes"]
    assert parts["segments"] == sum(path.stat().st_size for path in Path(held["directory"]).rglob("*.segment"))


@each(
    ("name", "part"),
    [("a.segment", "segments"), ("a.segment.vectors", "vectors"), ("a.graph", "graph"), ("truth.db-wal", "database"), ("sealed", "others")],
)
def test_a_file_of_an_index_is_told_by_its_name(name, part):
    assert part_of(Path(name)) == part


def test_settings_that_nobody_chose_are_not_listed(served):
    assert told(served, "index")["held"]["settings"] == []


def test_files_are_found_by_words_of_their_paths(served):
    assert paths_of(served, "q=PRICE") == ["shop/price.py"]
    assert paths_of(served, "q=cart+tests") == ["tests/test_cart.py"]
    assert paths_of(served, "language=markdown") == ["README.md"]
    assert paths_of(served, "q=walrus") == []


def test_files_can_be_ordered_by_size(served):
    sizes = [one["bytes"] for one in told(served, "index/files?order=bytes")["files"]]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == len(FILES)


def test_what_was_left_out_is_listed_with_its_reason(served):
    found = told(served, "index/files?state=left_out")["files"]
    assert [one["path"] for one in found if one["path"] == ".git/"]
    assert all(one["reason"] for one in found)
    assert paths_of(served, f"state=left_out&reason={quote('a folder that never holds source')}") == [".git/"]


def test_a_page_beyond_the_last_is_the_last(served):
    said = told(served, "index/files?page=99")
    assert (said["page"], said["pages"], said["total"]) == (1, 1, len(FILES))


@pytest.mark.parametrize("path", ["index?root=nowhere", "index/files?root=nowhere", "index/health?root=nowhere"])
def test_a_root_that_is_not_served_is_refused(served, path):
    status, said = served.ask(path)
    assert status == 400
    assert "nowhere" in said["error"]


@each("query", ["state=gone", "order=mood", "page=two", "colour=red"])
def test_a_question_that_makes_no_sense_is_refused(served, query):
    assert served.ask(f"index/files?{query}")[0] == 422


def test_the_quick_checks_say_how_the_index_is(served):
    said = told(served, "index/health")
    levels = {one["name"]: one["level"] for one in said["findings"]}
    assert (levels["database"], levels["derived files"], levels["rows"]) == ("ok", "ok", "ok")
    assert "packages" not in levels
    assert said["level"] in ("ok", "warning")


def test_on_request_everything_is_loaded_and_recall_is_measured(served):
    findings = told(served, "index/health?verify=true&measure=true")["findings"]
    assert next(one for one in findings if one["name"] == "packages")["level"] == "ok"
    measured = [one["recall"] for one in findings if one["recall"]]
    assert {one["kind"] for one in measured} >= {"doc comments"}
    assert all(0 <= one["first"] <= one["ten"] <= 1 and one["questions"] > 0 for one in measured)


# A tree that changes, with a server of its own.
@pytest.fixture(scope="module")
def moving(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write(tmp_path_factory.mktemp("moving") / "shop", FILES | {f"many/part_{n}.py": f"PART_{n} = {n}\n" for n in range(MANY)})
    write(root, {HOSTILE: "x = 1\n", "blob.bin": "\0\0\0"})
    Path(os.fsdecode(bytes(root) + b"/caf\xe9.py")).write_text("y = 2\n", encoding="utf-8")
    git("init", "-q", cwd=root)
    commit(root, "Many parts")
    return root


@pytest.fixture(scope="module")
def own(moving: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Nothing is indexed when it is started."""
    with serving(moving, home=tmp_path_factory.mktemp("moving-home"), more=("--set", "index.history=7")) as one:
        yield one


def test_a_first_build_is_watched_and_then_told_as_a_run(own):
    first = told(own, "index")
    assert first["progress"]["building"]
    said = settled(own)
    assert said["held"]["files"] == len(FILES) + MANY + 2
    assert [(one["what"], one["removed"]) for one in said["runs"]] == [("built", 0)]
    assert said["runs"][0]["units"] == said["held"]["units"]


def test_settings_that_somebody_chose_say_where_they_are_from(own):
    (setting,) = settled(own)["held"]["settings"]
    assert (setting["name"], setting["value"], setting["source"]) == ("index.history", "7", "command line")


def test_many_files_come_a_page_at_a_time(own):
    settled(own)
    pages = [told(own, f"index/files?q=many/&page={page}") for page in (1, 2, 3)]
    assert {one["pages"] for one in pages} == {3}
    assert len({one["path"] for page in pages for one in page["files"]}) == MANY


def test_names_that_are_no_unicode_are_listed(own):
    settled(own)
    assert any(path.startswith("caf") for path in paths_of(own, "q=caf"))


def test_what_only_a_look_inside_told_is_left_out_with_its_size(own):
    settled(own)
    (found,) = told(own, "index/files?state=left_out&q=blob")["files"]
    assert found["reason"].startswith("binary")
    assert found["bytes"] == 3


def test_a_refresh_takes_in_what_changed_and_is_told(own, moving):
    settled(own)
    write(moving, {"shop/tax.py": "TAX = 7\n"})
    assert own.ask("index/refresh", {})[0] == 200
    said = settled(own)
    assert paths_of(own, "q=tax") == ["shop/tax.py"]
    assert (said["runs"][0]["what"], said["runs"][0]["added"]) == ("refreshed", 1)


def test_an_index_can_be_built_anew_beside_the_server(own):
    before = settled(own)
    database = Path(before["held"]["directory"]) / "truth.db"
    written = before["runs"][0]["at"]
    status, progress = own.ask("index/refresh", {"force": True})
    assert (status, progress["building"]) == (200, True)
    after = settled(own)
    assert after["held"]["files"] == before["held"]["files"]
    assert database.is_file()
    assert [one["what"] for one in after["runs"]] == ["built"]
    assert after["runs"][0]["at"] > written
    assert own.ask("search", {"query": "discount"})[1]["results"][0]["path"] == "shop/price.py"


def test_an_unknown_wish_for_a_refresh_is_refused(own):
    assert own.ask("index/refresh", {"forcefully": True})[0] == 422


# In a browser.
def test_bars_are_of_the_chosen_measure_and_a_language_narrows_the_list(show):
    page = show("/index")
    page.click(".measures button:has-text('Files')")
    url_has(page, "by=files")
    assert page.get_attribute(".languages th[aria-sort]", "class") == "number by"
    page.click(".languages button:has-text('markdown')")
    counts(page, ".files tbody tr", 1)
    url_has(page, "language=markdown")
    assert page.eval_on_selector("#files", "(one) => one.getBoundingClientRect().top < innerHeight")
    assert page.inner_text(".files tbody tr td.path") == "README.md"


def test_keys_refresh_and_lead_to_the_filter(show):
    page = show("/index")
    page.wait_for_selector(".files tbody tr")
    with page.expect_response("**/api/index/refresh"):
        page.keyboard.press("r")
    page.keyboard.press("/")
    page.keyboard.type("price")
    counts(page, ".files tbody tr", 1)
    page.click(".files tbody a")
    page.wait_for_selector(".source h2:has-text('shop/price.py')")


def test_a_reason_opens_to_what_was_left_out(show):
    page = show("/index")
    page.click(".left-out summary:has-text('never holds source')")
    page.wait_for_selector(".left-out li:has-text('.git/')")


def test_everything_can_be_checked(show):
    page = show("/index")
    page.wait_for_selector(".findings li.ok")
    page.click("text=Check everything")
    page.wait_for_selector(".findings li:has-text('packages')", timeout=60_000)


def test_pages_of_files_are_turned_and_what_is_left_out_is_listed(browser, own):
    settled(own)
    with opened(browser, own, "/index?q=many/") as page:
        counts(page, ".files tbody tr", 50)
        page.click("text=Next →")
        page.wait_for_selector("text=Page 2 of 3")
        url_has(page, "page=2")
        page.select_option(".filters label:has-text('State') select", "left_out")
        page.fill("#file-filter", "blob")
        page.wait_for_selector(".files tbody tr:has-text('binary')")
        counts(page, ".files tbody tr", 1)
        url_has(page, "state=left_out", "q=blob")


def test_a_hostile_name_stays_text(browser, own):
    settled(own)
    with opened(browser, own, "/index?q=onerror") as page:
        counts(page, ".files tbody tr", 1)
        assert page.inner_text(".files tbody td.path") == HOSTILE
        assert page.locator("main img").count() == 0


def test_an_index_is_built_anew_only_when_that_is_confirmed(browser, own, accessible):
    before = settled(own)["runs"][0]["at"]
    with opened(browser, own, "/index") as page:
        page.wait_for_selector(".findings li")
        page.click("text=Build anew …")
        accessible(page)
        page.keyboard.press("Escape")
        counts(page, "dialog", 0)
        assert settled(own)["runs"][0]["at"] == before
        page.click("text=Build anew …")
        with page.expect_response("**/api/index/refresh"):
            page.click("dialog button.main")
        assert settled(own)["runs"][0]["at"] > before
        page.wait_for_selector(".standing:has-text('up to date')", timeout=30_000)
        page.wait_for_selector(".findings li.ok")
        counts(page, ".files tbody tr", 50)


@pytest.mark.parametrize("page", looks({}, {"color_scheme": "dark"}, {"viewport": PHONE}), indirect=True, ids=["light", "dark", "phone"])
def test_everybody_can_use_it(show, accessible):
    page = show("/index")
    page.wait_for_selector(".files tbody tr")
    page.wait_for_selector(".findings li")
    accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
