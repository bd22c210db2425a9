"""A page read as strictly as no browser does: every element ends, and nothing in it loads or runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

#: Elements that have no end, of those that a report uses.
VOID = ("meta",)
#: All elements that a report is made of.
KNOWN = frozenset(
    "html head meta title style body header nav main section h1 h2 h3 h4 p a ul li code details summary div figure figcaption"
    " table caption thead tbody tr th td svg desc g line path rect circle polygon text".split()
)


@dataclass
class Seen(HTMLParser):
    """What stands in a page."""

    tags: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)  # all text, as a reader has it
    headings: list[str] = field(default_factory=list)  # of the second level
    pictures: list[dict[str, str]] = field(default_factory=list)  # the title and description of each
    _open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in VOID:
            self._open.append(tag)
        if tag == "svg":
            self.pictures.append({})

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        inside = self._open[-1] if self._open else ""
        if inside == "style":
            assert "url(" not in data
            assert "@import" not in data
            return
        self.words.append(data)
        if inside == "h2":
            self.headings.append(data)
        if inside in ("title", "desc") and self._open[-2:-1] == ["svg"]:
            self.pictures[-1][inside] = data

    def done(self) -> None:
        assert self._open == []


def read(page: str) -> Seen:
    """Read a page, and have it refused when it is not what a report may be."""
    seen = Seen()
    seen.feed(page)
    seen.close()
    seen.done()
    assert page.startswith("<!doctype html>\n<html lang")
    assert set(map(str.lower, seen.tags)) <= {name.lower() for name in KNOWN}
    assert len(seen.ids) == len(set(seen.ids))
    for name, value in seen.attributes:
        assert not name.startswith("on"), name
        assert name not in ("src", "srcset", "action", "background", "data"), name
        assert name != "href" or value.startswith("#"), value
        assert name in ("content", "aria-label") or "nan" not in value or name not in PLACES, (name, value)
    for picture in seen.pictures:
        assert picture.get("title")
        assert picture.get("desc")
    return seen


#: Attributes that say where something is drawn.
PLACES = frozenset("x y x1 x2 y1 y2 cx cy r d points width height viewbox transform".split())
