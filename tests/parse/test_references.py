"""What units speak of: each language has a small sample and, as text, the relations a person expects of it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from campaigns import some
from conftest import Golden
from small_cases import each
from whence.core.types import EDGE_KINDS, ParsedFile, Reference
from whence.parse.languages import LANGUAGES
from whence.parse.references import EXPRESSION, MOST_OF_ONE_UNIT, SUPER, CollectedReferences, joining_of, receiver_of, references
from whence.parse.units import line_starts, parse, windows
from whence.parse.values import Expressions

FIXTURES = Path(__file__).parent / "fixtures"
SAMPLES = sorted(FIXTURES.glob("*/relations.*"))
WITH_GRAMMAR = [language.name for language in LANGUAGES if language.grammar]
#: Seconds for a million bytes: several times what they need, and far less than their square would.
LONGEST = 3.0
#: They have no names of their own: prose, and pages whose scripts are another language's.
WITHOUT_RELATIONS = {"markdown", "html"}


def speaker(parsed: ParsedFile, one: Reference) -> str:
    """Who mentions: a unit, the file around the units, or a type that is named at the place."""
    return one.receiver if one.unit < 0 else parsed.units[one.unit].qualified_name or "(the file)"


def render(parsed: ParsedFile) -> str:
    """Relations as sentences: who, what it does, to which names."""
    said: dict[str, list[str]] = {}
    for one in parsed.references:
        name = f"{one.receiver}.{one.name}" if one.receiver and one.unit >= 0 else one.name
        said.setdefault(f"{speaker(parsed, one)} {one.kind}", []).append(name)
    return "".join(f"{start} {', '.join(names)}\n" for start, names in said.items())


def said(source: str, language: str, kind: str) -> list[str]:
    """Everything of one kind, with what stands before it."""
    found = parse(source.encode(), language).references
    return [f"{one.receiver}.{one.name}" if one.receiver else one.name for one in found if one.kind == kind]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.parent.name)
def test_a_sample_gives_the_relations_a_person_expects(sample: Path, golden: Golden) -> None:
    parsed = parse(sample.read_bytes(), sample.parent.name)
    golden(sample.parent / "expected.relations", render(parsed))


def test_every_language_with_relations_has_a_sample() -> None:
    assert {path.parent.name for path in SAMPLES} == set(WITH_GRAMMAR) - WITHOUT_RELATIONS


@each("sample", SAMPLES)
def test_calls_in_arguments_and_lambdas_belong_to_the_unit_around_them_and_those_of_an_inner_function_to_that(sample: Path) -> None:
    parsed = parse(sample.read_bytes(), sample.parent.name)
    inner = [one for one in parsed.references if one.kind == "calls" and one.name.lower() in ("helper", "one", "deep")]
    around = {parsed.units[one.unit].name.lower() for one in inner}
    assert around <= {"run", "save", "cleanup", "list", "inner", "local"}
    assert bool(inner) == (sample.parent.name != "sql")


@each("sample", SAMPLES)
def test_a_mention_stands_where_it_says_and_in_its_unit(sample: Path) -> None:
    source = sample.read_bytes()
    parsed = parse(source, sample.parent.name)
    for one in parsed.references:
        assert one.kind in EDGE_KINDS
        if ":" not in one.name:
            assert source[one.at : one.at + len(one.name.encode())].decode() == one.name
        if one.unit >= 0:
            assert parsed.units[one.unit].start <= one.at < parsed.units[one.unit].end


@each(
    ("language", "source", "receiver"),
    [
        ("python", "self.name", "self"),
        ("python", "super().name", SUPER),
        ("python", "make().name", "make()"),
        ("python", "'text'.name", EXPRESSION),
        ("python", "query\n    .name", "query"),
        ("python", "query(\n)\n    .name", "query()"),
        ("python", "name", ""),
        ("python", "[start:name", ""),
        ("javascript", "call(...name", ""),
        ("javascript", "user?.name", "user"),
        ("swift", "return .name", ""),
        ("rust", "0..name", ""),
        ("rust", "Type::name", "Type"),
        ("rust", "Type::<T>::name", "Type"),
        ("cpp", "this->name", "this"),
        ("php", "$this->name", "self"),
        ("php", "Space\\name", "Space"),
        ("perl", "$self->name", "self"),
        ("lua", "table:name", "table"),
        ("r", "self$name", "self"),
        ("r", "base::name", "base"),
        ("ocaml", "self#name", "self"),
        ("ruby", "@clock.name", "self.clock"),
        ("ruby", "clock&.name", "clock"),
        ("kotlin", "user?.name", "user"),
    ],
)
def test_what_stands_before_a_name_is_read_as_the_language_joins_names(language: str, source: str, receiver: str) -> None:
    joining = joining_of(language)
    assert receiver_of(Expressions(source, language, joining.separators, joining.letters), source.rindex("name"), joining) == receiver


@each(
    ("language", "source", "call"),
    [
        ("python", "def f(clock: Clock): clock.now()\n", "Clock.now"),
        ("python", "def f(clock: Optional[Clock]): clock.now()\n", "Clock.now"),
        ("python", "def f(clocks: list[Clock]): clocks.now()\n", "Clock*.now"),
        ("python", "class A:\n    def __init__(self, clock: Clock): ...\n    def f(self): self.clock.now()\n", "self.clock.now"),
        ("typescript", "class A {\n  constructor(private clock: Clock) {}\n  f() { this.clock.now(); }\n}\n", "self.clock.now"),
        ("typescript", "function f(clocks: Clock[]) { clocks.now(); }\n", "Clock*.now"),
        ("java", "class A {\n  private final Clock clock;\n  void f() { clock.now(); }\n}\n", "clock.now"),
        ("csharp", "class A {\n  private readonly IClock _clock;\n  void F() { _clock.now(); }\n}\n", "_clock.now"),
        ("kotlin", "class A(val clock: Clock) {\n  fun f() { clock.now() }\n}\n", "clock.now"),
        ("go", "package p\nfunc (c *Clock) f() { c.now() }\n", "self.now"),
        ("rust", "fn f(clock: Arc<Clock>) { clock.now(); }\n", "Clock.now"),
        ("javascript", "const clock = new Clock();\nfunction f() { clock.now(); }\n", "clock.now"),
        ("ruby", "clock = Clock.new\ndef f\n  clock.now\nend\n", "Clock.new.now"),
    ],
)
def test_a_variable_goes_by_what_its_unit_tells_of_its_value(language: str, source: str, call: str) -> None:
    assert call in said(source, language, "calls")


def test_a_second_value_does_not_hide_what_a_name_is_after_it() -> None:
    source = "def f():\n    a = Clock()\n    a.now()\n    a = Watch()\n    a.now()\n"
    assert said(source, "python", "calls") == ["Clock", "Clock().now", "Watch", "Watch().now"]


def test_a_variable_given_to_a_function_is_no_reference() -> None:
    source = "def known(): ...\ndef f(given):\n    local = 1\n    each(given, local, known)\n"
    assert said(source, "python", "references") == ["known"]


def test_what_decorates_a_unit_is_not_called_by_it() -> None:
    source = "@app.route('/x')\ndef f():\n    pass\n"
    assert (said(source, "python", "decorates"), said(source, "python", "calls")) == (["app.route"], [])


def test_a_type_in_a_signature_is_a_hint_and_in_a_body_a_reference() -> None:
    source = "def f(clock: Clock):\n    return Watch\n"
    assert (said(source, "python", "type_hint_of"), said(source, "python", "references")) == (["Clock"], ["Watch"])


def test_comments_and_doc_strings_mention_nothing() -> None:
    source = 'def f():\n    """Calls Nothing."""\n    # Clock.now() and self.field\n    return 1\n'
    assert parse(source.encode(), "python").references == ()


def test_fields_of_its_own_are_accessed_and_methods_are_not() -> None:
    source = "class A:\n    def f(self):\n        self.ready = self.steady(myself.going)\n"
    assert said(source, "python", "accesses_field") == ["self.ready"]


def test_a_field_given_to_a_function_is_accessed() -> None:
    assert said("class A:\n    def f(self): each(self.field)\n", "python", "accesses_field") == ["self.field"]


def test_a_decorator_of_python_is_no_field() -> None:
    assert said("class A:\n    @property\n    def f(self): ...\n", "python", "accesses_field") == []


def test_the_same_name_is_mentioned_once_by_a_unit_where_it_first_stands() -> None:
    found = parse(b"def f():\n    g()\n    g()\n", "python").references
    assert [(one.name, one.at) for one in found] == [("g", 13)]


def test_generics_and_elements_of_markup_are_told_apart() -> None:
    source = "const a = () => { const [b] = useState<Price>(); return <Row></Row>; };\n"
    assert (said(source, "tsx", "calls"), said(source, "tsx", "references")) == (["useState", "Row"], ["Price"])


def test_a_table_is_cut_off() -> None:
    source = "def f():\n    return [" + ", ".join(f"Name{number}" for number in range(3 * MOST_OF_ONE_UNIT)) + "]\n"
    assert len(said(source, "python", "references")) == MOST_OF_ONE_UNIT


def test_names_beyond_the_alphabet_keep_their_places() -> None:
    source = "def größe(): ...\ndef f():\n    'äöü'; each(größe); Größe.neu()\n".encode()
    places = {one.name: one.at for one in parse(source, "python").references}
    assert places["größe"] == source.rindex("größe".encode())
    assert places["neu"] == source.rindex(b"neu")


HOSTILE = {
    "signs of equality": b"=" * 1_000_000,
    "dots and letters": b".a" * 500_000,
    "capitals": b"A" * 1_000_000,
    "capitals and dots": b"Abc." * 250_000,
    "fields": b"self.self.this.this->" * 45_000,
    "fields of Ruby": b"@abc" * 200_000 + b"@abc" + b" " * 200_000,
    "values made": b"= Foo(" * 150_000,
    "elements": b"<A={a}</A" * 100_000,
    "zeros": b"\0" * 500_000 + b"class A:\0\n",
    "no UTF-8": b"class \xff\xfe(\xc3): raise \xff\n" * 30_000,
    "nesting": b"f(" * 5_000 + b")" * 5_000,
}


@each("text", some(HOSTILE))
@each("language", ["python", "ruby", "tsx"])
def test_no_text_takes_more_than_its_length_is_worth(text: str, language: str) -> None:
    source = HOSTILE[text]
    lines = line_starts(source)
    units = list(windows(lines, 0, len(lines) - 1, source))
    started = time.thread_time()
    references(source, CollectedReferences(language, units, [], [], [], [], []))
    assert time.thread_time() - started < LONGEST
