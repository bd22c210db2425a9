"""What a symbol is called in an answer, language by language (A1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from sample_trees import write
from small_cases import each
from whence import Index

FILES = {
    "a.py": "class Outer:\n    class Inner:\n        def walrus_inside(self):\n            return 1\n\n    def walrus_plain(self):\n        return 2\n\n\n"
    "def walrus_free():\n    return 3\n",
    "b.rb": "module Zoo\n  class WalrusPool\n    def feed(fish)\n      fish\n    end\n\n    def self.opening\n      1\n    end\n  end\nend\n\n"
    "def walrus_top\n  1\nend\n",
    "c.go": "package zoo\n\ntype WalrusShed struct{ n int }\n\nfunc (p *WalrusShed) Clean() int { return p.n }\n\nfunc NewWalrus() *WalrusShed { return nil }\n",
    "WalrusHouse.java": "package zoo;\n\npublic class WalrusHouse {\n  static class Door {\n    void unlock() {}\n  }\n\n  int count() { return 1; }\n}\n",
    "WalrusTank.cs": "namespace Zoo.Water {\n  public class WalrusTank {\n    public int Fill() { return 1; }\n  }\n}\n",
    "f.rs": "pub mod water {\n    pub struct WalrusIce;\n    impl WalrusIce {\n        pub fn melt(&self) -> i32 { 1 }\n    }\n"
    "    pub trait WalrusFood {\n        fn eat(&self);\n    }\n}\n\npub fn walrus_rust() {}\n",
    "g.ts": "export class WalrusView {\n  draw(): number { return 1 }\n}\n\nexport const walrusArrow = () => 1\n\nexport interface WalrusProps { title: string }\n",
}
EXPECTED = {
    "a.py": {"Outer.Inner.walrus_inside", "Outer.walrus_plain", "walrus_free"},
    "b.rb": {"Zoo::WalrusPool", "Zoo::WalrusPool.feed", "Zoo::WalrusPool.opening", "walrus_top"},
    "c.go": {"WalrusShed", "WalrusShed.Clean", "NewWalrus"},
    "WalrusHouse.java": {"WalrusHouse", "WalrusHouse.Door", "WalrusHouse.Door.unlock", "WalrusHouse.count"},
    "WalrusTank.cs": {"WalrusTank", "WalrusTank.Fill"},
    "f.rs": {"WalrusIce", "WalrusIce.melt", "WalrusFood", "WalrusFood.eat", "walrus_rust"},
    "g.ts": {"WalrusView", "WalrusView.draw", "walrusArrow", "WalrusProps"},
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    root: Path = write(tmp_path_factory.mktemp("names") / "tree", FILES)
    by_path: dict[str, set[str]] = {}
    with Index.open(root, data_dir=tmp_path_factory.mktemp("data")) as index:
        for one in index.context("walrus").symbols:
            by_path.setdefault(one.path, set()).add(one.qualified_name)
    return by_path


@each("path", sorted(EXPECTED))
def test_a_name_is_written_as_the_language_writes_it(found, path):
    assert found[path] >= EXPECTED[path]
