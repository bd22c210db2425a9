"""How every view looks, compared roughly with kept pictures: `make golden` takes them again; look at them before you commit.

Pictures are kept small and grey, and compared after blurring, so that another font or another version of the browser passes,
and a view that lost its layout, its colours or its content does not.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_servers import surroundings
from sample_histories import commit
from sample_shop import FILES
from sample_trees import git, whence, write
from ui.opened import opened
from ui.pages import PHONE, Served, looks, serving
from ui.views import VIEWS, View, show

KEPT = Path(__file__).parent / "pictures"
#: Pixels of a kept picture for each of the screen.
SCALE = 1 / 4
#: Letters are spread over so many pixels of a kept picture before it is compared.
BLUR = 2
#: How far the pictures may differ in the mean, and in a tile: of 255.
MEAN, TILE = 3.0, 20.0
TILES = 8
#: What is said of the machine, its folders and its processes is another text everywhere.
OF_THE_MACHINE = ".findings, .path { display: none }"
WAYS = {"light": {}, "dark": {"color_scheme": "dark"}, "phone": {"viewport": PHONE}}


@pytest.fixture(scope="module")
def pictured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A project with a note that holds and one whose code has changed."""
    place = tmp_path_factory.mktemp("pictured")
    root, around = write(place / "shop", FILES), surroundings(place / "home")
    git("init", "-q", cwd=root)
    commit(root, "The shop opens")
    notes = [
        ["Discounts are taken off before taxes.", "--topic", "discounts", "--about", "shop/price.py#discount", "--tag", "price"],
        ["The total is summed line by line.", "--topic", "totals", "--about", "shop/cart.py#Cart.total"],
    ]
    for command in (["index"], *(["remember", *note] for note in notes)):
        done = whence(*command, cwd=root, **around)
        assert done.returncode == 0, done.stderr
    write(root, {"shop/cart.py": FILES["shop/cart.py"].replace("return sum(", "return 1 + sum(")})
    commit(root, "The total counts a bag")
    assert whence("index", cwd=root, **around).returncode == 0
    with serving(root, home=place / "home") as one:
        yield one


@pytest.mark.parametrize("way", looks(*WAYS))
def test_every_view_looks_as_it_did(way: str, browser: Any, pictured: Served, request: pytest.FixtureRequest):
    wrong: list[str] = []
    with opened(browser, pictured, **WAYS[way]) as page:
        for view in VIEWS:
            taken = picture_of(page, pictured, view)
            kept = KEPT / f"{view.name}-{way}.png"
            if request.config.getoption("--update-golden"):
                KEPT.mkdir(exist_ok=True)
                taken.save(kept, optimize=True)
            wrong += [f"{kept.name}: {said}" for said in differences(kept, taken)]
    assert wrong == []


def picture_of(page: Any, served: Served, view: View) -> Any:
    from PIL import Image

    show(page, served, view)
    page.evaluate("document.activeElement?.blur()")  # a caret blinks
    page.add_style_tag(content=OF_THE_MACHINE)
    image = Image.open(io.BytesIO(page.screenshot())).convert("L")
    return image.resize([round(side * SCALE) for side in image.size], Image.Resampling.BOX)


def differences(kept: Path, taken: Any) -> Iterator[str]:
    from PIL import Image, ImageChops, ImageFilter, ImageStat

    if not kept.is_file():
        yield "there is no such picture; make golden takes it"
        return
    before = Image.open(kept)
    if before.size != taken.size:
        yield f"{taken.size} instead of {before.size}"
        return
    blurred = [one.filter(ImageFilter.GaussianBlur(BLUR)) for one in (before, taken)]
    apart = ImageChops.difference(*blurred)
    mean = ImageStat.Stat(apart).mean[0]
    _, tile = apart.resize((TILES, TILES), Image.Resampling.BOX).getextrema()
    if mean > MEAN or tile > TILE:
        yield f"differs by {mean:.1f} in the mean and {tile} in a tile"


def test_a_view_that_lost_its_content_is_told(browser: Any, pictured: Served):
    """The comparison is rough, but not blind."""
    with opened(browser, pictured) as page:
        taken = picture_of(page, pictured, View("", "/?q=walrusless+zebra", "main"))
    for name in ("search-light", "graph-light", "why-light", "search-dark"):
        assert list(differences(KEPT / f"{name}.png", taken)), name
