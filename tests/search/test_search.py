"""What a search finds and in which order, asked of real trees through `whence.Index` (Q1 to Q8, R1 to R6, F4)."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns import examples
from sample_trees import SOURCES, whence, write
from small_cases import each
from whence import Index, SearchResult
from whence.core.errors import UsageError
from whence.core.profiles import ALL_PROFILES, PROFILES, RELATED, RERANK
from whence.ranking import ledger
from whence.ranking.ledger import LedgerLine
from whence.ranking.pool import collapse
from whence.search.pipeline import Searcher
from whence.search.request import SearchRequest

BOTH = pytest.mark.parametrize("profile", ["classic", "default"])  # words have a part in both
WORDS_ALONE = {"index.model": "none"}


def found(root: Path, query: str = "", *, files: Mapping[str, str | bytes] | None = None, **options: object) -> list[SearchResult]:
    """Results of one search of a tree; asked with the index open, since a result reads from it."""
    chosen: dict[str, object] = options.pop("settings", {})  # type: ignore[assignment]
    with Index.open(write(root, files or {}), settings=chosen) as index:
        results = index.search(query, **options)  # type: ignore[arg-type]
        for result in results:
            _ = result.why, result.lines
        return results


def paths(results: list[SearchResult]) -> list[str]:
    return [result.path for result in results]


def entry(result: SearchResult, signal: str) -> LedgerLine:
    return next(line for line in result.why if line.signal == signal)


# Q1: any word may match; files with more of them come first.
@BOTH
def test_a_file_with_all_words_beats_one_with_a_single_frequent_word(tmp_path, profile):
    files = {
        "one.py": "x = [\n" + "    alpha,\n" * 12 + "]\n",
        "two.py": "x = [\n    alpha,\n    beta,\n    gamma,\n]\n" + "# noise\n" * 10,
    }
    assert paths(found(tmp_path, "alpha beta gamma", files=files, profile=profile)) == ["two.py", "one.py"]


def test_the_lexical_score_is_multiplied_by_the_share_of_words_matched(tmp_path):
    files = {"part.py": "x = [alpha]\n", "full.py": "x = [alpha, beta]\n", "none.py": "x = [gamma]\n"}
    with Index.open(write(tmp_path, files)) as index:
        half, whole = (
            {result.path: result for result in index.search("alpha beta", profile="classic", k=3)}[name] for name in ("part.py", "full.py")
        )
        pool = whole._found.ranked.pool
        held = pool.statistics.holds(pool.distinct_files).mean(axis=0)
    assert dict(zip([pool.snapshot.path(int(file)) for file in pool.distinct_files], held.tolist(), strict=True)) == {
        "part.py": 0.5,
        "full.py": 1.0,
    }
    assert half.score < whole.score


@BOTH
def test_a_file_with_none_of_the_words_is_not_found(tmp_path, profile):
    files = {"one.py": "x = [alpha]\n", "two.py": "x = [beta]\n"}
    assert paths(found(tmp_path, "alpha delta", files=files, profile=profile)) == ["one.py"]


# Q2: every word must occur in the file.
@BOTH
def test_with_and_every_word_must_occur_in_the_file(tmp_path, profile):
    files = {
        "both.py": "def first():\n    return alpha\n\n\ndef second():\n    return beta\n",
        "one.py": "x = [alpha, alpha]\n",
        "beta/alpha.py": "x = [gamma]\n",
    }
    assert paths(found(tmp_path, "alpha beta", files=files, profile=profile, operator="and")) == ["both.py"]


def test_with_and_a_word_that_occurs_nowhere_finds_nothing(tmp_path):
    assert found(tmp_path, "alpha missing", files={"a.py": "x = [alpha]\n"}, operator="and") == []


def test_any_other_operator_is_refused_naming_the_two(tmp_path):
    with pytest.raises(UsageError, match=r"'nand' \(allowed: or, and\)"):
        found(tmp_path, "alpha", files={"a.py": "alpha = 1\n"}, operator="nand")


# Q3: equal scores.
@BOTH
def test_equal_scores_are_ordered_by_concentration_then_by_path(tmp_path, profile):
    together, apart = "x = [\n    (alpha, beta),\n    (other, thing),\n]\n", "x = [\n    (alpha, thing),\n    (other, beta),\n]\n"
    files = {"aa.py": apart, "bb.py": apart, "cc.py": together, "dd.py": together}
    results = found(tmp_path, "alpha beta", files=files, profile=profile, settings=WORDS_ALONE)
    assert len({result.score for result in results}) == 1
    assert paths(results) == ["cc.py", "dd.py", "aa.py", "bb.py"]


@BOTH
def test_ties_at_the_cut_are_broken_before_the_cut(tmp_path, profile):
    together, apart = "x = [\n    (alpha, beta),\n    (other, thing),\n]\n", "x = [\n    (alpha, thing),\n    (other, beta),\n]\n"
    files = {**{f"a{letter}.py": apart for letter in "abcdef"}, "zz.py": together}
    assert paths(found(tmp_path, "alpha beta", files=files, profile=profile, k=1, settings=WORDS_ALONE)) == ["zz.py"]


# Q4: relaxation.
RELAXED = {
    "four.py": "x = [alpha, beta, gamma, delta]\n",
    "three.py": "x = [alpha, beta, gamma]\n",
    "three_rich.py": "def gamma(alpha, beta):\n    return alpha, beta\n",
    "two.py": "def alpha(beta):\n    return alpha, beta\n",
    "one.py": "x = [alpha]\n",
    "last.py": "x = [beta, gamma, delta]\n",
}


@BOTH
def test_relaxation_merges_ever_shorter_beginnings_longest_first(tmp_path, profile):
    results = found(tmp_path, "alpha beta gamma delta", files=RELAXED, profile=profile, operator="and", relaxation=">1")
    assert {(result.path, result.matched) for result in results} == {
        ("four.py", "alpha beta gamma delta"),
        ("three.py", "alpha beta gamma"),
        ("three_rich.py", "alpha beta gamma"),
        ("two.py", "alpha beta"),
    }
    lengths = [len(result.matched.split()) for result in results]
    assert lengths == sorted(lengths, reverse=True)
    assert results[1].score >= results[2].score


def test_relaxation_keeps_more_words_than_its_number(tmp_path):
    results = found(tmp_path, "alpha beta gamma delta", files=RELAXED, operator="and", relaxation=">2")
    assert {result.path for result in results} == {"four.py", "three.py", "three_rich.py"}


def test_a_query_of_three_words_is_not_relaxed(tmp_path):
    results = found(tmp_path, "alpha beta delta", files=RELAXED, operator="and", relaxation=">1")
    assert paths(results) == ["four.py"]


def test_words_that_repeat_do_not_make_a_query_long_enough_to_relax(tmp_path):
    results = found(tmp_path, "alpha alpha beta delta", files=RELAXED, operator="and", relaxation=">1")
    assert paths(results) == ["four.py"]


def test_a_file_is_listed_once_however_many_beginnings_it_matches(tmp_path):
    results = found(tmp_path, "alpha beta gamma delta", files=RELAXED, operator="and", relaxation=">1")
    assert len(set(paths(results))) == len(results)


def test_without_relaxation_no_result_claims_a_beginning(tmp_path):
    assert {result.matched for result in found(tmp_path, "alpha beta gamma delta", files=RELAXED)} == {""}


# Q5: proximity.
FAR = "x = [alpha]\n" + "# nothing here, only to keep the two words far from each other in this file\n" * 40 + "y = [beta]\n"


def test_neighbouring_words_that_stand_together_count_more(tmp_path):
    files = {"near.py": "x = [alpha, beta]\n" + FAR.replace("alpha", "one").replace("beta", "two"), "far.py": FAR}
    results = {result.path: result for result in found(tmp_path, "alpha beta", files=files, profile="classic")}
    assert entry(results["near.py"], "proximity").value == 1.0
    assert entry(results["far.py"], "proximity").value == 0.0


def test_a_pair_with_an_absent_word_is_skipped(tmp_path):
    results = found(tmp_path, "alpha beta missing", files={"near.py": "x = [alpha, beta]\n"}, profile="classic")
    assert entry(results[0], "proximity").value == 1.0


def test_where_every_pair_has_an_absent_word_there_is_no_bonus(tmp_path):
    results = found(tmp_path, "alpha missing beta", files={"near.py": "x = [alpha, beta]\n"}, profile="classic")
    assert entry(results[0], "proximity").value == 0.0


# Q6: the text filter comes first.
CROWD = {f"crowd/alpha_{n:02}.py": f"def alpha_{n}(alpha):\n    return alpha\n" for n in range(60)}


@BOTH
def test_a_file_far_below_the_pool_is_found_when_the_pattern_selects_it(tmp_path, profile):
    files = {**CROWD, "far/below/other.py": "def unrelated():\n    # some words about alpha\n    return NEEDLE\n"}
    small = {"search.pool": 10, "search.pool_per_result": 1}
    assert "far/below/other.py" not in paths(found(tmp_path, "alpha", files=files, profile=profile, settings=small, k=10))
    assert paths(found(tmp_path, "alpha", profile=profile, settings=small, k=10, pattern="NEEDLE")) == ["far/below/other.py"]


def test_only_units_that_match_the_pattern_are_candidates(tmp_path):
    files = {"a.py": "def alpha():\n    return 1\n\n\ndef other():\n    return alpha() + NEEDLE\n"}
    results = found(tmp_path, "alpha", files=files, pattern="NEEDLE")
    assert [(result.name, result.matching_lines) for result in results] == [("other", (6,))]


PATTERNED = {"a.py": "alpha = get(1)\n", "b.py": "alpha = getter(1)\n", "c.py": "alpha = GET(1)\n", "d.py": "alpha = g.t(1)\n"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"pattern": "g.t"}, {"a.py", "b.py", "d.py"}),
        ({"pattern": "g.t", "fixed": True}, {"d.py"}),
        ({"pattern": "get", "word": True}, {"a.py"}),
        ({"pattern": "get", "ignore_case": True}, {"a.py", "b.py", "c.py"}),
        ({"pattern": "get", "word": True, "ignore_case": True}, {"a.py", "c.py"}),
    ],
)
def test_fixed_word_and_case_narrow_or_widen_the_pattern(tmp_path, options, expected):
    assert set(paths(found(tmp_path, "alpha", files=PATTERNED, **options))) == expected
    assert set(paths(found(tmp_path, **options))) == expected


def test_a_pattern_alone_finds_all_files_in_the_order_of_paths(tmp_path):
    files = {f"{letter}{number}.py": "NEEDLE = 1\n" for letter in "zyx" for number in range(20)}
    assert paths(found(tmp_path, files=files, pattern="NEEDLE")) == sorted(files)


def test_a_pattern_alone_shows_only_lines_of_the_kind_that_was_asked_for(tmp_path):
    files = {"a.py": "NEEDLE = 1\n\n\nclass Other:\n    size = NEEDLE\n\n\ndef work():\n    return NEEDLE\n"}
    assert [result.matching_lines for result in found(tmp_path, files=files, pattern="NEEDLE", kinds=("function",))] == [(9,)]


# Q7: filters.
MIXED = {
    "src/app.py": "class Alpha:\n    def run(self):\n        return alpha\n",
    "src/app.ts": "export function alpha(): number { return 1 }\n",
    "lib/deep/tool.go": "package tool\n\nfunc Alpha() int { return 1 }\n",
    "docs/guide.md": "# Alpha\n\nAll about alpha.\n",
    "settings.yaml": "alpha: 1\n",
}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with Index.open(write(tmp_path_factory.mktemp("mixed"), MIXED), data_dir=tmp_path_factory.mktemp("data")) as index:
        yield index


@each(
    ("options", "expected"),
    [
        ({}, {"src/app.py", "src/app.ts", "lib/deep/tool.go"}),
        ({"content": "docs"}, {"docs/guide.md"}),
        ({"content": "config"}, {"settings.yaml"}),
        ({"content": "all"}, set(MIXED)),
        ({"include": ("*.py",)}, {"src/app.py"}),
        ({"include": ("src/**",)}, {"src/app.py", "src/app.ts"}),
        ({"include": ("*.py", "*.go")}, {"src/app.py", "lib/deep/tool.go"}),
        ({"exclude": ("src/",)}, {"lib/deep/tool.go"}),
        ({"include": ("src/**",), "exclude": ("*.ts",)}, {"src/app.py"}),
        ({"languages": ("go",)}, {"lib/deep/tool.go"}),
        ({"languages": ("go", "python")}, {"lib/deep/tool.go", "src/app.py"}),
        ({"kinds": ("class",)}, {"src/app.py"}),
        ({"kinds": ("function",)}, {"src/app.ts", "lib/deep/tool.go"}),
        ({"paths": ("src",)}, {"src/app.py", "src/app.ts"}),
        ({"paths": ("src/app.py", "lib")}, {"src/app.py", "lib/deep/tool.go"}),
        ({"paths": ("sr",)}, set()),
    ],
)
def test_filters_say_which_files_may_be_found(mixed, options, expected):
    assert set(paths(mixed.search("alpha", **options))) == expected


def test_a_result_of_a_kind_is_a_unit_of_that_kind(mixed):
    assert [(result.kind, result.name) for result in mixed.search("alpha", kinds=("method",))] == [("method", "run")]


def test_several_roots_are_searched_together_and_cut_to_k(tmp_path):
    for name in ("one", "two"):
        write(tmp_path / name / ".git", {"HEAD": "ref: refs/heads/main\n"})
        write(tmp_path / name, {f"{letter}.py": f"def alpha_{letter}():\n    return alpha\n" for letter in "abcd"})
    done = whence("search", "alpha", "one", "two", "-l", "-k", "5", cwd=tmp_path)
    listed = done.stdout.split()
    assert len(listed) == 5
    assert {line.partition("/")[0] for line in listed} == {"one", "two"}


def test_a_pattern_over_several_roots_is_cut_to_k_too(tmp_path):
    for name in ("one", "two"):
        write(tmp_path / name / ".git", {"HEAD": "ref: refs/heads/main\n"})
        write(tmp_path / name, {f"{letter}.py": "NEEDLE = 1\n" for letter in "abcd"})
    assert len(whence("search", "", "one", "two", "-e", "NEEDLE", "-l", "-k", "5", cwd=tmp_path).stdout.split()) == 5


# Q8: k is a contract.
@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    root = tmp_path_factory.mktemp("wide")
    for n in range(400):
        body = "".join(f"def alpha_{n}_{m}(value):\n    return alpha(value, {m})\n\n\n" for m in range(8 if n < 40 else 1))
        tail = "NEEDLE = 1\n" if n % 2 else ""
        write(root, {f"part{n % 7}/module_{n}.py": body + tail})
    with Index.open(root, data_dir=tmp_path_factory.mktemp("data"), settings={"search.pool": 20, "search.pool_per_result": 1}) as index:
        yield index


@BOTH
@pytest.mark.parametrize("k", [1, 10, 250, 400])
def test_exactly_k_distinct_files_when_that_many_match(wide, profile, k):
    results = wide.search("alpha value", k=k, profile=profile)
    assert len(results) == len(set(paths(results))) == k


@each("options", [{"operator": "and"}, {"pattern": "return"}, {"kinds": ("function",)}, {"include": ("*.py",)}])
def test_exactly_k_files_also_with_filters(wide, options):
    assert len(set(paths(wide.search("alpha value", k=250, **options)))) == 250


def test_a_pattern_that_fewer_files_match_gives_those(wide):
    assert len(wide.search("alpha", k=250, pattern=r"alpha_\d*[13579]_0")) == 200


def test_more_than_there_are_gives_all(wide):
    assert len(wide.search("alpha value", k=1_000)) == 400


# R1: penalties of the classic profile, by their numbers.
FACTORS = {
    "src/app.py": 1.0,
    "src/latest.py": 1.0,
    "src/contest.go": 1.0,
    "src/compatible.py": 1.0,
    "tests/app.py": 0.3,
    "src/__tests__/app.js": 0.3,
    "spec/app.rb": 0.3,
    "testing/app.py": 0.3,
    "src/test_app.py": 0.3,
    "src/app_test.go": 0.3,
    "src/app.test.ts": 0.3,
    "src/app.spec.js": 0.3,
    "src/app_spec.rb": 0.3,
    "src/AppTest.java": 0.3,
    "src/AppTest.php": 0.3,
    "src/app_test.exs": 0.3,
    "src/compat/app.py": 0.3,
    "src/_compat.py": 0.3,
    "src/legacy/app.c": 0.3,
    "examples/app.py": 0.3,
    "example/app.rs": 0.3,
    "_examples/app.go": 0.3,
    "docs_src/app.py": 0.3,
    "docs/app.py": 1.0,
    "pkg/__init__.py": 0.5,
    "src/package-info.java": 0.5,
    "src/index.ts": 0.5,
    "src/mod.rs": 0.5,
    "src/app.d.ts": 0.7,
    "tests/__init__.py": 0.3 * 0.5,
    "examples/legacy/test_app.py": 0.3**3,
    "src/legacy/app.d.ts": 0.3 * 0.7,
}


@pytest.fixture(scope="module")
def penalised(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LedgerLine]:
    """The line of the penalty for files that differ in nothing but their paths."""
    root = write(tmp_path_factory.mktemp("paths"), dict.fromkeys(FACTORS, "x = [alpha]\n"))
    with Index.open(root, data_dir=tmp_path_factory.mktemp("data")) as index:
        return {result.path: entry(result, "path_penalty") for result in index.search("alpha", profile="classic", k=100)}


@each("path", FACTORS)
def test_a_penalty_is_a_factor_and_factors_compound(penalised, path):
    assert penalised[path].operation == "x"
    assert penalised[path].contribution == pytest.approx(FACTORS[path])


@pytest.mark.parametrize("query", ["alpha test", "tests of alpha", "alpha spec", "alpha benchmark", "Testing alpha"])
def test_no_penalty_when_the_query_speaks_of_tests(tmp_path, query):
    files = {"tests/test_a.py": "x = [alpha]\n", "legacy/b.py": "x = [alpha]\n"}
    assert {entry(result, "path_penalty").contribution for result in found(tmp_path, query, files=files, profile="classic")} == {1.0}


@BOTH
def test_tests_come_after_what_they_test(tmp_path, profile):
    files = {"tests/test_alpha.py": "def test_alpha():\n    assert alpha()\n", "lib/alpha.py": "def alpha():\n    return 1\n"}
    assert paths(found(tmp_path, "alpha", files=files, profile=profile)) == ["lib/alpha.py", "tests/test_alpha.py"]
    assert paths(found(tmp_path, "tests of alpha", profile=profile))[0] == "tests/test_alpha.py"


# R2: the file's name.
def best_before(results: list[SearchResult], phase: str) -> float:
    """The highest score before a phase, for trees with one unit a file."""
    phases = [one.name.lower() for one in ledger.Phase]
    return max(fold([line for line in result.why if phases.index(line.phase) < phases.index(phase)]) for result in results)


def fold(lines: list[LedgerLine]) -> float:
    score = 0.0
    for line in lines:
        score = score + line.contribution if line.operation == "+" else score * line.contribution
    return score


@pytest.mark.parametrize(
    ("path", "query", "share"),
    [
        ("dependency.py", "resolve dependencies", 0.40),
        ("dependencies.py", "resolve dependency", 0.40),
        ("my_func.py", "myfunc result", 0.40),
        ("myfunc.py", "my_func result", 0.40),
        ("http_client.py", "client pool", 0.40),
        ("config.py", "configuration of alpha", 0.20),
        ("configuration.py", "config of alpha", 0.20),
        ("co.py", "config of alpha", 0.0),
        ("the.py", "the alpha", 0.0),
        ("of.py", "alpha of beta", 0.0),
        ("other.py", "alpha of beta", 0.0),
    ],
)
def test_a_word_in_the_files_name_adds_its_share_of_the_best_score(tmp_path, path, query, share):
    text = "x = [resolve, dependency, myfunc, result, client, pool, config, alpha, beta]\n"
    results = found(tmp_path, query, files={path: text, "zz.py": text}, profile="classic")
    boost = entry(next(result for result in results if result.path == path), "stem_boost")
    assert boost.contribution == pytest.approx(share * best_before(results, "stem"))


# R3: definitions.
@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("def alpha():\n    return 1\n", 0.25),
        ("class AlphaBeta:\n    size = 1\n", 0.25),
        ("def unrelated():\n    return alpha\n", 0.0),
        ("# alpha\nprint(alpha)\n", 0.0),
    ],
)
def test_a_unit_that_defines_a_word_gets_its_share_of_the_best_score(tmp_path, text, share):
    results = found(tmp_path, "alpha", files={"xx.py": text, "yy.py": "print(alpha, 1)\n"}, profile="classic")
    boost = entry(next(result for result in results if result.path == "xx.py"), "definition_boost")
    assert boost.contribution == pytest.approx(share * best_before(results, "definition"))


def test_a_run_of_lines_defines_nothing(tmp_path):
    results = found(tmp_path, "alpha", files={"xx.py": "print(alpha)\n"}, profile="classic")
    assert (results[0].kind, entry(results[0], "definition_boost").value) == ("raw", 0.0)


# R4: coherence.
def test_each_files_best_unit_gets_its_files_share_of_the_fullest_files_sum(tmp_path):
    files = {
        "xx.py": "def one():\n    return alpha\n\n\ndef two():\n    return alpha, alpha, alpha\n\n\ndef three():\n    return alpha, alpha\n",
        "yy.py": "def four():\n    return alpha\n",
    }
    results = found(tmp_path, "alpha", files=files, profile="classic")
    ranked = results[0]._found.ranked
    before = np.zeros(ranked.ledger.size)
    for part in ranked.ledger.entries:
        if part.signal != "coherence_boost":
            before = before + part.contribution if part.operation.value == "+" else before * part.contribution
    part = next(part for part in ranked.ledger.entries if part.signal == "coherence_boost")
    sums = {path: sum(before[row] for row in range(len(before)) if ranked.pool.path(row) == path) for path in files}
    for path in files:
        rows = [row for row in range(len(before)) if ranked.pool.path(row) == path]
        best = max(rows, key=lambda row: before[row])
        assert part.contribution[best] == pytest.approx(0.20 * before.max() * sums[path] / max(sums.values()))
        assert [part.contribution[row] for row in rows if row != best] == [0.0] * (len(rows) - 1)


# R5: one result a file.
@BOTH
def test_the_best_unit_leads_and_the_span_covers_all_that_matched(tmp_path, profile):
    text = "def first():\n    return beta\n\n\ndef alpha(beta):\n    return alpha, beta\n\n\ndef third():\n    return beta\n\n\ndef fourth():\n    return 1\n"
    (result,) = found(tmp_path, "alpha beta", files={"xx.py": text}, profile=profile)
    assert (result.name, result.kind) == ("alpha", "function")
    assert (result.best_start, result.best_end) == (5, 6)
    assert (result.start_line, result.end_line) == (1, 10)


# R6: signals.
def test_every_file_of_signals_is_a_signal_of_that_name():
    folders = ("ranking/signals/files", "ranking/signals/symbols")
    files = {path.stem for folder in folders for path in (SOURCES / "whence" / folder).glob("*.py")} - {"__init__"}
    assert {name for name in ledger.signal_names() if not name.startswith(ledger.OF_NOTES)} == files
    assert {ledger.signal_named(name).name for name in files} == files


@each("name", ledger.signal_names())
def test_every_signal_is_documented_and_used(name):
    assert len(ledger.signal_named(name).doc.split()) >= 5
    assert any(name in profile.signals for profile in (*ALL_PROFILES.values(), RELATED))


@each(("profile", "name"), [(profile, name) for profile in ALL_PROFILES for name in ALL_PROFILES[profile].signals])
def test_every_signal_of_a_profile_exists_and_has_a_weight(profile, name):
    assert ledger.signal_named(name)
    assert ALL_PROFILES[profile].weighs(name) or (profile, name) == ("default", RERANK)  # files are read again on request only


def test_a_signal_of_weight_0_is_not_in_the_ledger(tmp_path):
    zero = {"profiles.default.signals.verbatim.short": 0.0, "profiles.default.signals.verbatim.long": 0.0}
    (result,) = found(tmp_path, "alpha", files={"a.py": "alpha = 1\n"}, settings=zero)
    assert "verbatim" not in {line.signal for line in result.why}


def test_a_signal_of_weight_0_is_not_even_loaded(tmp_path, own_data_dir):
    write(tmp_path, {"a.py": "alpha = 1\n"})
    program = (
        "import sys, whence\n"
        f"with whence.Index.open({str(tmp_path)!r}, settings={{'profiles.default.signals.verbatim.short': 0.0}}) as index:\n"
        "    assert index.search('alpha')\n"
        "print('whence.ranking.signals.files.verbatim' in sys.modules, 'whence.ranking.signals.files.unit' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(SOURCES), "WHENCE_DATA_DIR": str(own_data_dir)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False True\n"


def test_the_order_of_signals_inside_a_phase_does_not_matter(sample):
    for profile in PROFILES:
        forth = sample.search("cart total discount", profile=profile)
        turned = dataclasses.replace(PROFILES[profile], signals=dict(reversed(PROFILES[profile].signals.items())))
        settings = dataclasses.replace(sample.settings, profiles={**PROFILES, profile: turned})
        reader = dataclasses.replace(sample.reader, settings=settings)
        back = Searcher(reader, lambda *_: pytest.fail("no name was asked for")).search(
            SearchRequest("cart total discount", profile=profile)
        )
        assert [(result.path, pytest.approx(result.score)) for result in back] == [(result.path, result.score) for result in forth]


# The score is the fold of the ledger.
@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    root = tmp_path_factory.mktemp("sample") / "project"
    shutil.copytree(Path(__file__).parents[1] / "golden/project", root)
    with Index.open(root, data_dir=tmp_path_factory.mktemp("data")) as index:
        yield index


VOCABULARY = sorted(
    {
        word
        for path in (Path(__file__).parents[1] / "golden/project").rglob("*.*")
        for word in re.findall(r"\w{2,}", path.read_text(encoding="utf-8"))
    }
)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=12), st.sampled_from(sorted(PROFILES)), st.sampled_from(["or", "and"]))
def test_the_score_is_what_its_ledger_adds_up_to(sample, words, profile, operator):
    results = sample.search(" ".join(words), profile=profile, operator=operator, content="all", k=30)
    for result in results:
        assert result.score == pytest.approx(fold(result.why), rel=1e-12, abs=1e-12)
        for line in result.why:
            if line.operation == "x":
                assert line.contribution == pytest.approx(line.value**line.weight)
            elif line.phase == "match":
                assert line.contribution == pytest.approx(line.value * line.weight)
    scores = [result.score for result in results]
    assert scores == sorted(scores, reverse=True)


def test_every_line_of_the_ledger_says_why(sample):
    for profile in PROFILES:
        for result in sample.search("cart total discount", profile=profile):
            assert all(line.because for line in result.why)


# F4: what is no number comes last.
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_not_finite_sorts_last(sample, odd):
    pool = sample.search("cart", k=3)[0]._found.ranked.pool
    scores = np.linspace(1.0, 2.0, len(pool.units))
    first = int(pool.files[-1])
    scores[pool.files == first] = odd
    hits = collapse(pool, scores)
    assert hits[-1].file == first
    assert [hit.score for hit in hits[:-1]] == sorted((hit.score for hit in hits[:-1]), reverse=True)


def test_one_unit_without_a_finite_score_does_not_pull_its_file_down(sample):
    pool = sample.search("cart", k=3)[0]._found.ranked.pool
    rows = np.flatnonzero(pool.files == np.bincount(pool.files).argmax())
    scores = np.zeros(len(pool.units))
    scores[rows[0]], scores[rows[1]] = np.nan, 5.0
    assert (collapse(pool, scores)[0].file, collapse(pool, scores)[0].row) == (int(pool.files[rows[1]]), int(rows[1]))


# The Python interface (A1).
def test_a_result_has_what_the_interface_promises(sample):
    result = sample.search("PaymentGateway", k=1)[0]
    assert result.path == "shop/payments/gateway.py"
    assert (result.name, result.kind, result.language) == ("PaymentGateway", "class", "python")
    assert 1 <= result.start_line <= result.best_start <= result.best_end <= result.end_line
    assert isinstance(result.score, float)
    assert result.why


def test_a_method_knows_its_qualified_name(sample):
    result = sample.search("add_item", k=1)[0]
    assert (result.name, result.qualified_name) == ("add_item", "Cart.add_item")


def test_the_lines_shown_hold_words_of_the_query(sample):
    result = sample.search("exponential backoff", k=1)[0]
    assert any("exponential backoff" in line.text for line in result.lines)
    assert all(line.text[start:end] for line in result.lines for start, end in line.marks)


def test_a_profile_that_does_not_exist_is_refused_naming_those_that_do(sample):
    with pytest.raises(UsageError, match=r"no profile 'best' \(allowed: default, classic, semantic\)"):
        sample.search("cart", profile="best")


def test_an_option_that_does_not_exist_is_refused(sample):
    with pytest.raises(TypeError, match="colour"):
        sample.search("cart", colour="red")


def test_an_empty_query_without_a_pattern_is_refused(sample):
    with pytest.raises(UsageError, match="the query is empty"):
        sample.search("  ")


def test_a_closed_index_says_so(tmp_path):
    index = Index.open(write(tmp_path, {"a.py": "alpha = 1\n"}))
    index.close()
    with pytest.raises(Exception, match="closed"):
        index.search("alpha")
