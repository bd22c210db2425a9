"""Who may use a definition, and which definitions make a value."""

from __future__ import annotations

from small_cases import each
from whence.core.types import Unit
from whence.parse.units import is_constructor, is_hidden, parse

#: (language, source, the names that are meant for their own type, file or package only)
HIDDEN = [
    (
        "python",
        "def go(): pass\n\ndef _kept(): pass\n\nclass _Own:\n    def __init__(self): pass\n\n    def __lost(self): pass\n\n    def __len__(self): pass\n",
        "_kept _Own __lost",
    ),
    (
        "go",
        "package a\n\nfunc Go() {}\n\nfunc kept() {}\n\ntype Cart struct{}\n\nfunc (c Cart) add() {}\n\ntype own struct{}\n",
        "kept add own",
    ),
    (
        "rust",
        "pub fn go() {}\nfn kept() {}\npub(crate) fn near() {}\npub struct S {}\nimpl S {\n    pub fn open(&self) {}\n    fn own(&self) {}\n}\n",
        "kept own",
    ),
    (
        "java",
        "public class A {\n  private int kept;\n  public void go() {}\n  private static final int lost() { return 1; }\n  protected void near() {}\n}\n",
        "kept lost",
    ),
    (
        "csharp",
        "public class A {\n  private int Kept() { return 1; }\n  public int Go() { return 1; }\n  internal int Near() { return 1; }\n}\n",
        "Kept",
    ),
    ("kotlin", "class A {\n  private fun kept() {}\n  fun go() {}\n}\nprivate fun lost() {}\n", "kept lost"),
    (
        "php",
        "<?php\nclass A {\n  private function kept() {}\n  public function go() {}\n  private static function lost() {}\n}\n",
        "kept lost",
    ),
    ("typescript", "export class A {\n  private kept() {}\n  go() {}\n  #lost() {}\n}\n", "kept #lost"),
    ("swift", "public class A {\n  private func kept() {}\n  fileprivate func near() {}\n  func go() {}\n}\n", "kept near"),
]


@each(("language", "source", "hidden"), HIDDEN)
def test_what_is_kept_from_others_is_told_by_name_and_signature(language: str, source: str, hidden: str) -> None:
    units = [unit for unit in parse(source.encode(), language).units if unit.name]
    assert [unit.name for unit in units if is_hidden(unit, language)] == hidden.split()
    assert any(not is_hidden(unit, language) for unit in units)


CONSTRUCTORS = [
    ("python", "class A:\n    def __init__(self): pass\n\n    def go(self): pass\n\ndef init(): pass\n", ["A.__init__"]),
    ("java", "class A {\n  A(int x) {}\n  void go() {}\n}\n", ["A.A"]),
    ("typescript", "class A {\n  constructor(x: number) {}\n  go() {}\n}\nfunction constructor() {}\n", ["A.constructor"]),
    ("ruby", "class A\n  def initialize(x)\n  end\n\n  def go\n  end\nend\n", ["A.initialize"]),
    ("php", "<?php\nclass A {\n  function __construct() {}\n  function go() {}\n}\n", ["A.__construct"]),
    ("rust", "struct A {}\nimpl A {\n    pub fn new() -> Self { A {} }\n    fn go(&self) {}\n}\nfn new() {}\n", ["A.new"]),
    ("go", "package a\n\nfunc New() {}\n\nfunc init() {}\n", []),
]


@each(("language", "source", "expected"), CONSTRUCTORS)
def test_what_makes_a_value_of_the_type_around_it_is_its_constructor(language: str, source: str, expected: list[str]) -> None:
    assert [unit.qualified_name for unit in parse(source.encode(), language).units if is_constructor(unit)] == expected


def test_a_word_of_the_body_keeps_nothing() -> None:
    unit = Unit("method", "go", "A.go", 1, 1, 0, 1, ("A",), signature="public void go(int a, int b, int c) // private")
    assert not is_hidden(unit, "java")
