"""The estimate of tokens: near what models count, rather above than below, and quick to add up."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from small_cases import each
from whence.text import token_estimate

#: Texts with what four public tokenizers count for them (training/token_costs.py): cl100k, o200k, Llama 3's and Claude's.
SAMPLES = {
    "python": (
        'def read_rows(path: str, *, limit: int = 100) -> list[dict[str, str]]:\n    """The first rows of a table, each with its column names."""\n    with open(path, encoding="utf-8") as file:\n        reader = csv.DictReader(file)\n        return [row for row, _ in zip(reader, range(limit))]\n',
        (75, 75, 75, 82),
    ),
    "go": (
        'func (s *Server) handleUpload(w http.ResponseWriter, r *http.Request) {\n\tif r.Method != http.MethodPost {\n\t\thttp.Error(w, "method not allowed", http.StatusMethodNotAllowed)\n\t\treturn\n\t}\n\tdefer r.Body.Close()\n}\n',
        (52, 54, 52, 71),
    ),
    "rust": (
        "impl<T: Clone> Stack<T> {\n    pub fn pop(&mut self) -> Option<T> {\n        self.items.last().cloned().map(|item| { self.items.pop(); item })\n    }\n}\n",
        (44, 44, 44, 54),
    ),
    "html": (
        '<ul class="menu" id="main-menu">\n  <li><a href="/about.html" title="About us">About</a></li>\n</ul>\n',
        (34, 34, 34, 39),
    ),
    "prose": (
        "A folder whose time stamp has not moved has the same entries, so only its known files\nare looked at. Nothing is read twice, and an edit in the same second is still seen.\n",
        (39, 39, 39, 40),
    ),
    "numbers": (
        "const PRIMES = [10007, 10009, 10037, 10039, 10061, 10067, 10069, 10079];\n",
        (37, 37, 37, 30),
    ),
    "russian": (
        "Функция возвращает список всех открытых соединений с базой данных.\n",
        (20, 16, 16, 28),
    ),
    "chinese": (
        "该函数返回与数据库的所有打开连接的列表。\n",
        (13, 12, 12, 13),
    ),
    "java": (
        "public final class CartService implements Service<Cart> {\n    @Override\n    public Optional<Cart> findById(@NonNull UUID id) {\n        return repository.findById(id).filter(Cart::isOpen);\n    }\n}\n",
        (43, 47, 43, 50),
    ),
    "typescript": (
        "export async function loadUser(id: string, opts?: Partial<Options>): Promise<User | null> {\n  const res = await fetch(`/api/users/${id}`, { signal: opts?.signal });\n  return res.ok ? ((await res.json()) as User) : null;\n}\n",
        (57, 57, 57, 68),
    ),
    "c": (
        "static int parse_header(const uint8_t *buf, size_t len, struct header *out)\n{\n\tif (len < sizeof(*out) || buf[0] != 0x7f)\n\t\treturn -EINVAL;\n\tmemcpy(out, buf, sizeof(*out));\n\treturn 0;\n}\n",
        (60, 60, 60, 74),
    ),
    "ruby": (
        "module Billing\n  class Invoice < ApplicationRecord\n    validates :number, presence: true, uniqueness: { scope: :account_id }\n    def overdue? = due_on.past? && !paid?\n  end\nend\n",
        (46, 47, 46, 50),
    ),
    "minified": (
        '!function(e,t){"object"==typeof exports?module.exports=t():e.Q=t()}(this,function(){var n={};function r(e){if(n[e])return n[e].exports;var o=n[e]={i:e,l:!1,exports:{}};return t[e].call(o.exports,o,o.exports,r),o.l=!0,o.exports}});\n',
        (75, 76, 75, 105),
    ),
    "base64": (
        "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==\n",
        (67, 66, 67, 68),
    ),
    "hex": (
        "5076895d654955345f635c95e5398f1b140971e1 57e03bca91d2c0ffee00badc0de12345f00dfeed\n",
        (45, 45, 45, 44),
    ),
    "long names": (
        "assertThatTheUnderlyingConnectionIsReturnedToThePoolAfterAnInterruptedTransaction();\nABSTRACT_SINGLETON_PROXY_FACTORY_BEAN_DEFINITION_REGISTRY_POST_PROCESSOR = 1\n",
        (34, 34, 34, 47),
    ),
    "emoji": (
        "✅ done 🎉🎉 next 🚀 → 👩\u200d💻 fixes 🐛 in 🧪 tests ⚠️\n",
        (34, 28, 33, 35),
    ),
    "japanese": (
        "この関数は、データベースへの開いている接続をすべて返します。\n",
        (31, 22, 18, 28),
    ),
    "armenian": (
        "Այս ֆունկցիան վերադարձնում է բոլոր բաց կապերը։\n",
        (87, 14, 79, 87),
    ),
    "letters": (
        "qxzkvjw pftgbnh ywmcrlq zzkxj vbnqwp hjklfd mnbvcx trewqy plokij\n",
        (36, 35, 36, 36),
    ),
}

#: Any text, half characters included, and texts of the characters that matter for the rules.
texts = st.one_of(
    st.text(st.characters(exclude_categories=())),
    st.text("aB_ \n\t019.=`"),
    st.lists(st.sampled_from(["word ", "Camel", "\n    ", "é", "语", "😀"])).map("".join),
)


@each("language", SAMPLES)
def test_a_text_is_never_counted_below_any_of_four_tokenizers(language):
    text, real = SAMPLES[language]
    assert token_estimate.count_tokens(text) >= max(real)


def test_the_count_of_code_and_prose_is_within_a_quarter_of_the_greatest_of_the_four():
    kinds = ("python", "go", "rust", "html", "prose")
    ours = sum(token_estimate.count_tokens(SAMPLES[kind][0]) for kind in kinds)
    assert ours <= 1.25 * sum(max(SAMPLES[kind][1]) for kind in kinds)


def test_every_digit_costs_the_same_so_that_only_the_length_of_a_number_counts():
    assert len({token_estimate.weigh_texts([f" {digit}{digit} of {digit}\n"])[0] for digit in range(10)}) == 1


def test_nothing_costs_nothing_and_anything_costs_something():
    assert token_estimate.count_tokens("") == 0
    assert all(1 <= token_estimate.count_tokens(one) <= 5 for one in ("a", " ", "\n", "0", "\0", "\ud800", "😀"))


def test_long_words_camel_case_and_identifiers_cost_more_than_plain_words():
    assert (
        token_estimate.count_tokens("read")
        < token_estimate.count_tokens("readRowsOfFile")
        < token_estimate.count_tokens("read_rows_of_the_file_here")
    )


def test_a_rule_of_dashes_is_cheap_and_as_many_different_marks_are_not():
    assert token_estimate.count_tokens("-" * 80) < 8 < token_estimate.count_tokens("+-*/" * 20)


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
