"""Where a grammar fails, declarations still have names, and the lines it could not read are known."""

from __future__ import annotations

from small_cases import each
from whence.core.types import ParsedFile
from whence.parse.recovery import MAX_ERROR_RANGES, declarations, languages_with_patterns
from whence.parse.units import parse

#: Context parameters are newer than the grammar.
KOTLIN = b"""\
package sample

class Before { fun clean() = 1 }

context(project: Project)
internal fun Reporter.reportVisible(
    label: String,
) {
    val local = 1
    report(label)
}

/** All problems. */
internal object Problems {
    private val group = "a { brace in a string"

    context(project: Project)
    fun create(name: String): Problem = Problem(name)

    init {
        val temporary = 2
    }
}

private const val LIMIT = 3
"""

CPP = b"""\
class Vector {
 public:
  int* begin() noexcept LIFETIME_BOUND { return data_; }
  int* end() noexcept LIFETIME_BOUND {
    if (data_) { return data_ + size_; }
    return nullptr;
  }
  explicit operator bool() const LIFETIME_BOUND { return size_ > 0; }
};

TEST_F(VectorTest, GrowsAt(, {
#define GROW(n) grow((n) {
TEST_F(VectorTest, Shrinks) {
  EXPECT_TRUE(true);
}
"""

#: Per language: something no grammar reads, a declaration, and its name.
SAMPLES = {
    "c": (b"int x = ) ( ;;; {{\n", b"static int read_all(struct file *f)\n{\n  return 0;\n}\n", "read_all"),
    "csharp": (b"class A {{ ) ( \n", b"public static int ReadAll(string path) { return 0; }\n", "ReadAll"),
    "dart": (b"class A {{ ) ( \n", b"class Reader { }\n", "Reader"),
    "go": (b"func ( { ) }} (\n", b"func (r *Reader) ReadAll(n int) error {\n\treturn nil\n}\n", "ReadAll"),
    "java": (b"class A {{ ) ( \n", b"public static int readAll(String path) throws IOException { return 0; }\n", "readAll"),
    "javascript": (b"class {{ ) ( =>\n", b"export async function readAll(path) {\n  return 0\n}\n", "readAll"),
    "php": (b"<?php class {{ ) ( =>\n", b"public function readAll($path) { return 0; }\n", "readAll"),
    "python": (b"def ( { ) }} (\n", b"def read_all(path):\n    return 0\n", "read_all"),
    "rust": (b"fn ( { ) }} (\n", b"pub fn read_all(path: &str) -> usize {\n    0\n}\n", "read_all"),
    "scala": (b"class ( { ) }} (\n", b"  def readAll(path: String): Int = 0\n", "readAll"),
    "swift": (b"class ( { ) }} (\n", b"public func readAll(path: String) -> Int {\n  0\n}\n", "readAll"),
    "typescript": (b"class {{ ) ( =>\n", b"export interface Reader<T> { all(): T }\n", "Reader"),
    "tsx": (b"class {{ ) ( =>\n", b"export type Reader<T> = { all: T }\n", "Reader"),
}


def names(parsed: ParsedFile) -> dict[str, tuple[str, int, int]]:
    return {unit.qualified_name: (unit.kind, unit.first_line, unit.last_line) for unit in parsed.units if unit.name}


def test_declarations_in_broken_kotlin_have_names_kinds_and_lines() -> None:
    found = names(parse(KOTLIN, "kotlin"))
    assert found["Before.clean"][0] == "method"
    assert found["Reporter.reportVisible"] == ("method", 6, 11)
    assert found["Problems"][1:] == (13, 23)
    assert found["Problems.create"] == ("method", 18, 18)
    assert found["Problems.group"] == ("field", 15, 15)
    assert found["LIMIT"] == ("constant", 25, 25)


def test_local_values_are_not_recovered() -> None:
    found = names(parse(KOTLIN, "kotlin"))
    assert not [name for name in found if "local" in name or "temporary" in name]


def test_macros_that_a_grammar_does_not_know_lose_no_method() -> None:
    found = names(parse(CPP, "cpp"))
    assert found["Vector.begin"] == ("method", 3, 3)
    assert found["Vector.end"] == ("method", 4, 7)
    assert found["VectorTest.Shrinks"][0] == "method"
    assert "GROW" in found


def test_a_recovered_unit_has_its_signature_parameters_and_comment() -> None:
    units = {unit.name: unit for unit in parse(KOTLIN, "kotlin").units}
    assert units["reportVisible"].signature == "internal fun Reporter.reportVisible( label: String, )"
    assert units["reportVisible"].parameters == ("label: String",)
    assert units["Problems"].doc == "All problems."


def test_the_calls_of_a_recovered_function_are_its_own() -> None:
    units = {unit.name: unit for unit in parse(KOTLIN, "kotlin").units}
    assert units["reportVisible"].calls == ("report",)
    assert units["create"].calls == ("Problem",)


@each("language", SAMPLES)
def test_each_language_recovers_a_declaration_after_nonsense(language: str) -> None:
    nonsense, declaration, name = SAMPLES[language]
    parsed = parse(nonsense + declaration, language)
    assert parsed.errors
    assert name in {unit.name for unit in parsed.units}


def test_every_language_with_patterns_has_a_sample() -> None:
    assert set(languages_with_patterns()) == {*SAMPLES, "kotlin", "cpp"}


def test_unread_lines_are_known_and_a_clean_file_has_none() -> None:
    assert parse(b"fun a() = 1\n", "kotlin").errors == ()
    broken = parse(b"int one(void) {\n  return 1;\n}\n\nint two(void) {\n  return ) 2;\n}\n\nint three(void) {\n  return 3;\n}\n", "c")
    assert broken.errors == ((6, 6),)


def test_a_file_full_of_errors_keeps_few_ranges() -> None:
    text = b"".join(b"int f%d() { return 0; }\nint ) x;\n" % number for number in range(300))
    errors = parse(text, "c").errors
    assert 0 < len(errors) <= MAX_ERROR_RANGES
    assert errors[-1][1] <= 600


def test_a_function_ends_before_the_next_one_whatever_its_brackets_say() -> None:
    text = b"int one(void) {\n  if (x) {\n#ifdef A\n  } else {\n#else\n  } else if (y) {\n#endif\n  }\n\nint two(void) {\n  return 2;\n}\n"
    found = names(parse(text, "c"))
    assert found["two"] == ("function", 10, 12)
    assert found["one"][2] < 10


def test_a_directive_at_the_margin_ends_no_function() -> None:
    text = b"int one(void) {\n  int ) x;\n#define LIMIT 3\n#define TWICE(n) (2 * (n))\n  return LIMIT;\n}\n"
    assert names(parse(text, "c"))["one"] == ("function", 1, 6)


def test_patterns_see_no_declaration_in_comments_or_strings() -> None:
    text = b'/*\nfun commented() {}\n*/\nval x = """\nfun quoted() {}\n"""\nfun real() {}\n'
    assert [one.name for one in declarations(text, "kotlin", [(0, len(text))], ())] == ["x", "real"]
