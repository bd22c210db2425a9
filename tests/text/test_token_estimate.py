"""The estimate of tokens: near what models count, rather above than below, and quick to add up."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from small_cases import each
from whence.text import token_estimate

#: Texts with what three public tokenizers count for them: two of the GPT family (cl100k, o200k), one of Claude's.
SAMPLES = {
    "python": (
        '''def read_rows(path: str, *, limit: int = 100) -> list[dict[str, str]]:
    """The first rows of a table, each with its column names."""
    with open(path, encoding="utf-8") as file:
        reader = csv.DictReader(file)
        return [row for row, _ in zip(reader, range(limit))]
''',
        (75, 75, 82),
    ),
    "go": (
        """func (s *Server) handleUpload(w http.ResponseWriter, r *http.Request) {
\tif r.Method != http.MethodPost {
\t\thttp.Error(w, "method not allowed", http.StatusMethodNotAllowed)
\t\treturn
\t}
\tdefer r.Body.Close()
}
""",
        (52, 54, 71),
    ),
    "rust": (
        """impl<T: Clone> Stack<T> {
    pub fn pop(&mut self) -> Option<T> {
        self.items.last().cloned().map(|item| { self.items.pop(); item })
    }
}
""",
        (44, 44, 54),
    ),
    "html": (
        """<ul class="menu" id="main-menu">
  <li><a href="/about.html" title="About us">About</a></li>
</ul>
""",
        (34, 34, 39),
    ),
    "prose": (
        """A folder whose time stamp has not moved has the same entries, so only its known files
are looked at. Nothing is read twice, and an edit in the same second is still seen.
""",
        (39, 39, 40),
    ),
    "numbers": ("const PRIMES = [10007, 10009, 10037, 10039, 10061, 10067, 10069, 10079];\n", (37, 37, 30)),
    "russian": ("Функция возвращает список всех открытых соединений с базой данных.\n", (20, 16, 28)),
    "chinese": ("该函数返回与数据库的所有打开连接的列表。\n", (13, 12, 13)),
}

#: Any text, half characters included, and texts of the characters that matter for the rules.
texts = st.one_of(
    st.text(st.characters(exclude_categories=())),
    st.text("aB_ \n\t019.=`"),
    st.lists(st.sampled_from(["word ", "Camel", "\n    ", "é", "语", "😀"])).map("".join),
)


@each("language", SAMPLES)
def test_a_text_is_never_counted_below_any_of_three_tokenizers(language):
    text, real = SAMPLES[language]
    assert token_estimate.count_tokens(text) >= max(real)


def test_the_count_of_code_and_prose_is_within_a_tenth_of_the_greatest_of_the_three():
    kinds = ("python", "go", "rust", "html", "prose")
    ours = sum(token_estimate.count_tokens(SAMPLES[kind][0]) for kind in kinds)
    assert ours <= 1.1 * sum(max(SAMPLES[kind][1]) for kind in kinds)


def test_nothing_costs_nothing_and_anything_costs_something():
    assert token_estimate.count_tokens("") == 0
    assert [token_estimate.count_tokens(one) for one in ("a", " ", "\n", "0", "\0", "\ud800", "😀")] == [1, 1, 1, 2, 2, 2, 4]


def test_long_words_camel_case_and_identifiers_cost_more_than_plain_words():
    assert (
        token_estimate.count_tokens("read")
        < token_estimate.count_tokens("readRowsOfFile")
        < token_estimate.count_tokens("read_rows_of_the_file_here")
    )


def test_a_rule_of_dashes_is_cheap_and_as_many_different_marks_are_not():
    assert token_estimate.count_tokens("-" * 80) < 6 < token_estimate.count_tokens("+-*/" * 20)


@given(texts, texts)
def test_appending_never_makes_a_text_cheaper(before, after):
    assert token_estimate.count_tokens(before + after) >= token_estimate.count_tokens(before)


@given(texts, texts)
def test_two_texts_joined_cost_what_they_cost_apart_but_for_a_few_tokens(before, after):
    assert (
        abs(token_estimate.count_tokens(before + after) - token_estimate.count_tokens(before) - token_estimate.count_tokens(after))
        <= token_estimate.MAX_JOINT_ERROR
    )


@given(st.lists(texts.map(lambda text: text + "\n")))
def test_texts_that_end_their_lines_add_up_exactly(parts):
    assert token_estimate.weigh_texts(["".join(parts)]) == [sum(token_estimate.weigh_texts(parts))]


@given(st.lists(texts))
def test_many_texts_weighed_at_once_weigh_what_each_weighs_alone(parts):
    assert token_estimate.weigh_texts(parts) == [token_estimate.weigh_texts([part])[0] for part in parts]


@given(texts)
def test_no_text_weighs_less_than_the_least_that_is_known_of_it(text):
    assert token_estimate.least_weight(text) <= token_estimate.weigh_texts([text])[0]


def test_a_megabyte_is_counted_in_a_blink():
    text = SAMPLES["python"][0] * 4000
    assert len(text) > 1_000_000
    took = []
    for _ in range(5):
        start = time.process_time()
        token_estimate.count_tokens(text)
        took.append(time.process_time() - start)
    assert min(took) < 0.1
