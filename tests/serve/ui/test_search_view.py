"""The search view, in a real browser."""

from __future__ import annotations

import pytest

from serve.ui.conftest import PHONE


def test_results_come_as_one_types(page):
    page.keyboard.type("discount")
    page.wait_for_selector(".results li")
    assert "shop/price.py" in page.inner_text(".results li:first-child h3")
    page.wait_for_url("**/?q=discount")


def test_a_wrong_query_is_told_beneath_the_box_with_a_caret(show):
    page = show("/?q=lang:pythn+total")
    page.wait_for_selector("#query-wrong")
    assert "^" in page.inner_text(".caret")


def test_a_facet_narrows_the_query_and_stands_in_it(show):
    page = show("/?q=cart+total")
    page.wait_for_selector(".facet")
    page.click(".facet:has-text('function')")
    page.wait_for_selector(".facet[aria-pressed=true]")
    assert page.input_value("#query") == "cart total kind:function"
    page.click(".facet[aria-pressed=true]")
    page.wait_for_function("document.querySelector('#query').value === 'cart total'")


@pytest.mark.parametrize("page", [{}, {"color_scheme": "dark"}, {"viewport": PHONE}], indirect=True, ids=["light", "dark", "phone"])
def test_everybody_can_use_it(show, accessible):
    page = show("/?q=cart+total")
    page.wait_for_selector(".results li")
    accessible(page)
