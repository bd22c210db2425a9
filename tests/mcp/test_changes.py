"""What happens to the files, the index and the settings while the server runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hindrances import obeying_permissions
from mcp_servers import Bare, surroundings
from sample_shop import make_project
from sample_trees import git, write

#: However busy the machine is, an index of five files is waited for.
PATIENT = ("--set", "mcp.patience=60")


@pytest.mark.parametrize("watch", ["true", "false"])
def test_an_edit_is_seen_by_the_next_call(watch: str, tmp_path: Path) -> None:
    root = make_project(tmp_path / "shop-root")
    with Bare(tmp_path / "home", root, more=(*PATIENT, "--set", f"mcp.watch={watch}")) as server:
        assert "discount" in server.call("search", query="less for many")
        for number in range(3):
            write(root, {"shop/price.py": f"def reduction_{number}(price):\n    '''Less for many.'''\n    return price\n"})
            assert f"reduction_{number} " in server.call("search", query="less for many")
        (root / "shop" / "price.py").unlink()
        assert "price.py" not in server.call("search", query="less for many")
        write(root, {"new/folder/stamps.py": "def lick_the_stamp():\n    pass\n"})
        assert "new/folder/stamps.py" in server.call("search", query="lick the stamp")
        before = server.call("search", query="cart").splitlines()[-1]
        git("add", ".", cwd=root)
        git("commit", "-qm", "Stamps", cwd=root)
        after = server.call("search", query="cart").splitlines()[-1]
        assert git("rev-parse", "HEAD", cwd=root)[:10] in after
        assert git("rev-parse", "HEAD~1", cwd=root)[:10] in before
        assert "up to date" in after


def test_a_deleted_index_is_made_again_and_a_deleted_root_is_told_of_until_it_is_back(tmp_path: Path) -> None:
    home, root = tmp_path / "home", make_project(tmp_path / "shop-root")
    with Bare(home, root, more=PATIENT) as server:
        assert "method Cart.total" in server.call("search", query="sum of all prices")
        (index,) = (home / "data" / "indexes").iterdir()
        shutil.rmtree(index)
        assert "method Cart.total" in server.call("search", query="sum of all prices")
        assert (index / "truth.db").exists()
        (index / "truth.db").write_bytes(b"no database at all" * 1000)
        assert "method Cart.total" in server.call("search", query="sum of all prices")
        root.rename(tmp_path / "away")
        for tool, arguments in (("search", {"query": "cart"}), ("graph", {"question": "callers", "symbol": "pay"})):
            said = server.call(tool, **arguments)
            assert said.wrong
            assert f"{root} is gone" in said
            assert "\n" not in said
        server.ping()
        (tmp_path / "away").rename(root)
        assert "method Cart.total" in server.call("search", query="sum of all prices")


def test_a_data_folder_that_cannot_be_written_is_said_in_one_line_and_an_index_in_it_still_answers(tmp_path: Path) -> None:
    home, root = tmp_path / "home", make_project(tmp_path / "shop-root")
    data = home / "data"
    hindered = {"env": surroundings(home), "preexec_fn": obeying_permissions()}
    data.mkdir(parents=True)
    data.chmod(0o500)
    try:
        with Bare(home, root, more=PATIENT, **hindered) as server:
            for _ in range(2):
                said = server.call("search", query="cart")
                assert said.wrong
                assert "cannot write to" in said
                assert "\n" not in said
            assert server.call("remember", text="something").wrong
            data.chmod(0o700)
            assert "Cart" in server.call("search", query="cart"), "tried again with the next question"
        everything = [data, *data.rglob("*")]
        for place in everything:
            place.chmod(0o500 if place.is_dir() else 0o400)
        with Bare(home, root, more=PATIENT, **hindered) as server:
            assert "Cart" in server.call("search", query="cart")
            write(root, {"more.py": "def something_new():\n    pass\n", "large.py": "x = 1  # cart\n" * 50_000})
            for _ in range(3):
                said = server.call("search", query="cart")
                assert not said.wrong, said
                assert "Cart" in said
    finally:
        for folder in [data, *(place for place in data.rglob("*") if place.is_dir())]:
            folder.chmod(0o700)


def test_a_broken_settings_file_is_told_in_one_line_and_mended_without_a_restart(tmp_path: Path) -> None:
    root = make_project(tmp_path / "shop-root")
    write(root, {".whence.toml": "[search\nk = "})
    with Bare(tmp_path / "home", root, more=PATIENT) as server:
        for tool, arguments in (("search", {"query": "cart"}), ("recall", {"query": "cart"}), ("context", {"task": "cart"})):
            said = server.call(tool, **arguments)
            assert said.wrong
            assert ".whence.toml" in said
            assert "\n" not in said
        answer = server.ask("resources/read", {"uri": "whence://status"})
        assert ".whence.toml" in answer["error"]["message"]
        (root / ".whence.toml").unlink()
        assert "Cart" in server.call("search", query="cart")
