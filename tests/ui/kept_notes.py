"""A served repository with notes: fresh ones, some whose code has changed or is gone, and one that is archived."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_servers import surroundings
from sample_histories import commit
from sample_shop import FILES
from sample_trees import git, whence, write
from ui.pages import Served, serving

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
EDITED = "A text.\n"
#: What a note may say that must stay text.
HOSTILE = """\
<img src=x onerror="document.title='hurt'"> <script>document.title = "hurt"</script>

[a link](javascript:document.title='hurt') and ![a picture](http://127.0.0.1:9/pixel.png)

<a href="javascript:alert(1)">another</a> `<b>code</b>` **<i>strong</i>**

```html
</code></pre><img src=x onerror=alert(1)>
```
"""
#: Code that changed after the notes were written: one function differs, another is gone.
SINCE = {
    "shop/price.py": FILES["shop/price.py"].replace("count > 10", "count >= 12"),
    "shop/checkout.py": FILES["shop/checkout.py"].partition("def receipt")[0].rstrip() + "\n",
}


@dataclass(frozen=True, slots=True)
class Kept:
    """A server, its repository and its notes."""

    served: Served
    root: Path
    notes: Path
    states: dict[str, str]

    def wrote(self, text: str, **fields: Any) -> dict[str, Any]:
        """A new note."""
        return self._done("notes", {"text": text, **fields})

    def changed(self, note: dict[str, Any], **fields: Any) -> dict[str, Any]:
        """A note after a change."""
        return self._done(f"notes/{note['key']}", {"expected": note["seen"], **fields})

    def did(self, action: str, note: dict[str, Any]) -> dict[str, Any]:
        """A note after something was done to it."""
        return self._done(f"notes/{note['key']}/{action}", {"expected": note["seen"]})

    def by_hand(self, name: str, text: str) -> Path:
        """A file that a person has written into the folder of notes."""
        path = self.notes / name
        path.write_text(text, encoding="utf-8")
        return path

    @contextmanager
    def cart_changed(self) -> Iterator[None]:
        """While the code of the cart is another."""
        write(self.root, {"shop/cart.py": FILES["shop/cart.py"].replace("append(", "insert(0, ")})
        try:
            yield
        finally:
            write(self.root, {"shop/cart.py": FILES["shop/cart.py"]})

    def _done(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        status, said = self.served.ask(path, body)
        assert status == 200, said
        found: dict[str, Any] = said
        return found


@contextmanager
def keeping(place: Path) -> Iterator[Kept]:
    """Notes about code that was committed, some of which has changed since."""
    root, home = write(place / "shop", FILES), place / "home"
    git("init", "-q", cwd=root)
    commit(root, "The shop opens")
    notes = home / "data" / "notes"
    with serving(root, home=home) as served:
        kept = Kept(served, root, notes, {})
        about = {"tags": ["price", "sales"], "about": ["shop/price.py#discount"]}
        kept.wrote("The discount counts **pieces**, not articles.\n\n- `count > 10` is more than ten\n", topic="discount rule", **about)
        kept.wrote("A receipt is printed, never mailed.\n", topic="the receipt", about=["shop/checkout.py#receipt"])
        kept.wrote("A cart is emptied by the checkout after payment.\n", topic="who empties the cart", about=["shop/cart.py#Cart"])
        kept.wrote("Deploys hang when the queue is full: drain it before the rollout.\n", topic="deploy hangs", project="ops", tags=["ops"])
        kept.did("archive", kept.wrote("Call the herring supplier before noon.\n", topic="herring supplier"))
        (notes / "general").mkdir()
        kept.by_hand("general/nobodys.md", "---\ncreated: 2001-02-03T10:00:00Z\n---\n\nOf no project, and old.\n")
        write(root, SINCE)
        kept.states.update(
            {
                "shop/discount-rule": "stale",
                "shop/the-receipt": "stale",
                "shop/who-empties-the-cart": "fresh",
                "ops/deploy-hangs": "fresh",
                "shop/herring-supplier": "archived",
                "general/nobodys": "fresh",
            }
        )
        yield kept


@contextmanager
def two_teams(place: Path) -> Iterator[Served]:
    """Two repositories, each with notes of its own team under the same key."""
    home = place / "home"
    roots = [write(place / name, {"a.py": "A = 1\n", ".whence/notes/general/rule.md": _rule(name)}) for name in ("app", "lib")]
    for root in roots:
        git("init", "-q", cwd=root)
        assert whence("index", str(root), cwd=root, **surroundings(home)).returncode == 0
    with serving(*roots, home=home, more=("--set", "memory.place=repository")) as served:
        yield served


def _rule(name: str) -> str:
    return f"---\ntopic: rule of {name}\n---\n\nThe rule of {name}.\n"
