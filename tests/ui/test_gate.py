"""Who may come in: nobody without the token, nobody from elsewhere, and nothing leaves that is not meant to."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_servers import until
from sample_shop import FILES
from sample_trees import git, write
from small_cases import each
from ui.pages import Served, serving
from ui.questions import Endpoint, document_of, endpoints_of, prepared
from ui.wire import sent
from whence.app.workspace import Workspace
from whence.ui import app as application
from whence_bench.faults.planted_secrets import draw

STATIC = application.STATIC
ASSETS = sorted(f"/static/{path.relative_to(STATIC).as_posix()}" for path in STATIC.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def endpoints(served: Served) -> list[Endpoint]:
    """All that can be asked."""
    return endpoints_of(document_of(served))


# The token.
def test_without_the_token_every_path_of_the_api_says_the_same(served: Served, endpoints: list[Endpoint]):
    told = set()
    for line in [
        *(one.line({}) for one in endpoints),
        "GET /api/openapi.json",
        "GET /api/no/such",
        "OPTIONS /api/search",
    ]:
        joined = f"{line}{'&' if '?' in line else '?'}token={served.token}&access_token={served.token}"
        for answer in (
            sent(served, line, Authorization=None),
            sent(served, line, Authorization="Bearer wrong"),
            sent(served, joined, Authorization=None),
            sent(served, line, Authorization=None, Cookie=f"token={served.token}; whence-token={served.token}"),
        ):
            assert answer.status == 401, line
            told.add((answer.body, answer.headers["www-authenticate"]))
    assert len(told) == 1  # whatever was asked, and whatever was wrong


@each("shown", ["", "Bearer", "Bearer ", "bearer {}", "Bearer {}x", "Basic {}", "{}", "Bearer {}, Bearer {}"])
def test_a_token_is_shown_exactly_as_it_is(served: Served, shown: str):
    assert sent(served, "GET /api/roots", Authorization=shown.replace("{}", served.token)).status == 401
    assert sent(served, "GET /api/roots", b"", f"Authorization: Bearer {served.token}").status == 401  # two of them


@each(
    "path",
    [
        "//api/roots",
        "/API/roots",
        "/%61pi/roots",
        "/./api/roots",
        "/static/../api/roots",
        "/static/%2e%2e/api/roots",
        "/api;/roots",
        "/\\api/roots",
    ],
)
def test_no_way_of_writing_a_path_leads_past_the_token(served: Served, path: str):
    answer = sent(served, f"GET {path}", Authorization=None)
    assert answer.status in (400, 401, 404), answer
    assert b"shop" not in answer.body


def test_nothing_of_the_tree_can_be_read_without_the_token(served: Served, project: Path):
    about = [name.encode() for name in (str(project), project.name + '"', "walruses", "herring", "cart.py")]
    for path in [*application.VIEWS, *ASSETS, "/api", "/no/such/page", "/static/", "/static", "/favicon.ico", "/openapi.json", "/docs"]:
        for method in ("GET", "HEAD", "POST", "OPTIONS"):
            answer = sent(served, f"{method} {path}", Authorization=None)
            assert answer.status < 500, path
            assert [word for word in about if word in answer.body] == [], path


# From elsewhere.
@each("path", ["/", "/index", "/static/app.js", "/api/roots", "/api/openapi.json"])
def test_what_was_sent_to_another_name_is_refused(served: Served, path: str):
    """DNS rebinding: a page of evil.example has its name point here, and the browser sends what the page wants."""
    port = served.base.rpartition(":")[2]
    for host in (
        "evil.example",
        f"evil.example:{port}",
        f"127.0.0.1.evil.example:{port}",
        f"localhost.:{port}",
        f"0.0.0.0:{port}",
        f"127.1:{port}",
        "",
    ):
        answer = sent(served, f"GET {path}", Host=host)
        assert answer.status in (400, 421), host
        assert b"whence" not in answer.body
    assert sent(served, f"GET {path}", b"", "Host: evil.example").status in (400, 421)
    assert sent(served, f"GET {path}", Host=None).status in (400, 421)
    assert sent(served, f"GET http://evil.example{path}").status == 400


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/api/roots"])
def test_no_page_of_another_origin_is_answered_and_none_is_told_that_it_may_ask(served: Served, path: str):
    port = int(served.base.rpartition(":")[2])
    for origin in (
        "null",
        "file://",
        "http://evil.example",
        f"https://127.0.0.1:{port}",
        f"http://127.0.0.1:{port + 1}",
        f"{served.base}/",
    ):
        for method in ("GET", "POST", "OPTIONS"):
            answer = sent(served, f"{method} {path}", Origin=origin)
            assert answer.status == 403, origin
            assert not [name for name in answer.headers if name.startswith("access-control")]
    for site in ("cross-site", "same-site", "anything"):
        assert sent(served, f"GET {path}", Sec_Fetch_Site=site).status == 403
    for site in ("same-origin", "none"):
        assert sent(served, f"GET {path}", Origin=served.base, Sec_Fetch_Site=site).status == 200


def test_only_this_machine_can_reach_it(served: Served):
    place, port = Path(f"/proc/{served.process.pid}"), int(served.base.rpartition(":")[2])
    own = {str(one.readlink()) for one in (place / "fd").iterdir() if one.is_symlink()}
    rows = [line.split() for name in ("tcp", "tcp6", "udp", "udp6") for line in (place / "net" / name).read_text().splitlines()[1:]]
    listened = [row[1] for row in rows if f"socket:[{row[9]}]" in own and row[3] in ("0A", "07")]
    assert listened == [f"0100007F:{port:04X}"]


# What the page is made of.
@each(
    "path",
    [
        "/static/../app.py",
        "/static/../../../../../../../../../../etc/passwd",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e%2f%2e%2e%2fui%2fapp.py",
        "/static/lib/../../app.py",
        "/static/..\\app.py",
        "/static/..%5capp.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/%00",
        "/static/app.js%00.txt",
        "/static/%ff%fe",
        f"/static/{STATIC.parent}/app.py",
        "/static/" + "x" * 300,
        "/static/lib",
        "/static/lib/",
    ],
)
def test_no_path_leads_out_of_the_assets(served: Served, path: str):
    answer = sent(served, f"GET {path}")
    assert answer.status in (400, 404), answer.body[:300]
    assert not re.search(rb"import|root:|Traceback", answer.body)


def test_no_link_among_the_assets_leads_out_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assets = write(tmp_path / "assets", {"index.html": "", "here.js": "1"})
    (tmp_path / "outside.js").write_text("secret")
    (assets / "there.js").symlink_to(tmp_path / "outside.js")
    (assets / "folder").symlink_to(tmp_path)
    monkeypatch.setattr(application, "STATIC", assets)
    app = application.make_app(Workspace([tmp_path], {}))
    assert {path: asyncio.run(status_of(app, path)) for path in ("/static/here.js", "/static/there.js", "/static/folder/outside.js")} == {
        "/static/here.js": 200,
        "/static/there.js": 404,
        "/static/folder/outside.js": 404,
    }


async def status_of(app: Any, path: str) -> int:
    """What an application answers, without a server around it."""
    said: list[dict[str, Any]] = []
    coming = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        if not coming:
            await asyncio.Event().wait()  # the caller stays
        return coming.pop()

    async def send(message: dict[str, Any]) -> None:
        said.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"", "headers": [], "root_path": ""}
    await app(scope, receive, send)
    found: int = said[0]["status"]
    return found


@each("path", ["/", "/memory", "/static/app.js", "/api/roots", "/api/source?path=none", "/static/none", "/none", "/api/none"])
def test_every_answer_says_what_a_browser_may_do_with_it(served: Served, path: str):
    answer = sent(served, f"GET {path}")
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert not re.search(r"unsafe-eval|https?:|\*", answer.headers["content-security-policy"])
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["cache-control"] == ("no-store" if path.startswith("/api/") else "no-cache")
    assert not {"set-cookie", "server", "x-powered-by", "access-control-allow-origin"} & set(answer.headers)


def test_the_document_holds_no_script_no_handler_and_no_address_of_another_machine():
    text = (STATIC / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<script(?![^>]*\bsrc=)[^>]*>", text) == []
    assert re.findall(r"\son\w+=|javascript:|https?://|//\w+\.", text) == []


def test_no_script_of_ours_makes_markup_of_text():
    own = [path for path in STATIC.rglob("*.js") if "vendor" not in path.parts]
    assert own
    for path in own:
        found = re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|\beval\(|new Function", path.read_text()
        )
        assert found == [], path


# The tree.
def drawn(sample: str) -> tuple[str, str]:
    text, [planted] = draw("", sample, "", random.Random(sample))
    return text, planted.secret


TOKEN_LINE, TOKEN = drawn('TOKEN = "«ghp_{a36}»"')
ENVIRONMENT, PASSWORD = drawn("STAGE=production\nDB_PASS=«{l12}»\n")
OUTSIDE = "a word that stands outside: pangolin"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A tree with secrets, links that lead out and files that are not indexed."""
    place = tmp_path_factory.mktemp("guarded")
    till = f"def open_till():\n    '''Opens the till.'''\n    return '{TOKEN}'\n\n\n{TOKEN_LINE}\n"
    files = {**FILES, "till.py": till, ".env": ENVIRONMENT, ".gitignore": "left_out.py\n", "left_out.py": "pangolin = 1\n"}
    root = write(place / "tree", files)
    write(place / "outside", {"other.py": f"# {OUTSIDE}\n"})
    git("init", "-q", cwd=root)
    git("add", "-A", cwd=root)
    git("commit", "-q", "-m", f"Open the till with {TOKEN}", cwd=root)
    (root / "link.py").symlink_to(place / "outside" / "other.py")
    (root / "linked").symlink_to(place / "outside")
    with serving(root, home=place / "home") as one:
        until(lambda: one.ask("source?path=till.py")[0] == 200, 30)  # it is being indexed
        yield one


@each(
    "path",
    [
        "../outside/other.py",
        "shop/../../outside/other.py",
        "link.py",
        "linked/other.py",
        "/etc/passwd",
        "{root}/shop/cart.py",
        "{root}/../outside/other.py",
        ".git/config",
        ".git/HEAD",
        "left_out.py",
        "shop",
        "",
        ".",
        "shop/cart.py/",
        "shop//cart.py",
        "./shop/cart.py",
        "shop/cart.py\0",
        "~/.bashrc",
        "file:///etc/passwd",
        "x" * 5_000,
    ],
)
def test_only_what_is_indexed_can_be_read(guarded: Served, path: str):
    root = guarded.ask("roots")[1]["roots"][0]["path"]
    endpoint = Endpoint("GET", "/api/source", {})
    answer = sent(guarded, endpoint.line({"path": path.replace("{root}", root)}))
    assert answer.status == 400, answer.body
    assert set(answer.json()) == {"error", "hint", "at"}
    assert b"pangolin" not in answer.body


@each("root", ["/", "/etc", "..", "../outside", "{root}/../outside", "other"])
def test_only_the_folders_that_were_named_can_be_asked(guarded: Served, root: str):
    known = guarded.ask("roots")[1]["roots"][0]["path"]
    endpoint = Endpoint("GET", "/api/source", {})
    assert sent(guarded, endpoint.line({"path": "other.py", "root": root.replace("{root}", known)})).status == 400
    assert guarded.ask("search", {"query": "pangolin", "root": root.replace("{root}", known)})[0] == 400


def test_a_file_that_became_a_link_is_not_read_though_the_index_still_knows_it(guarded: Served):
    root = Path(guarded.ask("roots")[1]["roots"][0]["path"])
    readme = root / "README.md"
    text = readme.read_text()
    readme.unlink()
    readme.symlink_to(root.parent / "outside" / "other.py")
    try:
        answer = sent(guarded, "GET /api/source?path=README.md")
        assert b"pangolin" not in answer.body
        assert answer.status == 400
    finally:
        readme.unlink()
        readme.write_text(text)


def test_no_secret_leaves_by_any_path(guarded: Served):
    """Whatever is asked about the file that holds it, and even where the question itself brings it along."""
    for one in endpoints_of(document_of(guarded)):
        for given in about_the_till(prepared(guarded, one)):
            answer = sent(guarded, one.line(given), one.body(given))
            assert answer.status < 500, (one.name, given)
            for secret in (TOKEN, TOKEN[6:30], PASSWORD):
                assert secret.encode() not in answer.body, (one.name, given)


#: What says which note is meant, and what cannot be any text.
KEPT = ("folder", "slug", "key", "expected", "factors", "state")


def about_the_till(question: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A question, turned to the file with the secret in each of its texts; and with the secret in each of them."""
    for text in (
        "till.py",
        "open_till",
        "open the till",
        "till.py#open_till",
        "TOKEN",
        f"open the till {TOKEN}",
        f'sym:open_till "{TOKEN}"',
        ".env",
    ):
        yield {name: value if name in KEPT else turned(value, text) for name, value in question.items()}


def turned(value: Any, text: str) -> Any:
    """A value with another text in it, wherever it holds one."""
    if isinstance(value, str):
        return text
    if isinstance(value, dict):
        return {name: one if name in KEPT else turned(one, text) for name, one in value.items()}
    return [turned(one, text) for one in value] if isinstance(value, list) else value
