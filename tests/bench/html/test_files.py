"""`--json`, `--html` and `--against` of every benchmark, and what is said of files that will not do, before anything is measured."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bench.html.reading import read
from bench.html.small_results import searched
from small_cases import each
from whence.cli.main import main
from whence.core.errors import StorageError
from whence_bench.cli import bench
from whence_bench.report import check_writable

MEASURES = sorted(set(bench.commands) - {"fetch"})


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return searched(tmp_path_factory.mktemp("corpus"))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is said in one line of options that cannot be; the corpus is not even looked for."""
    assert main(["bench", "search", "--corpus", "there is none", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert "there is none" not in printed.err
    return printed.err


@each("name", MEASURES)
def test_every_benchmark_writes_json_and_a_page_and_compares(name: str):
    given = {option for parameter in bench.commands[name].params for option in parameter.opts}
    assert {"--json", "--html", "--against"} <= given


def test_a_page_and_json_of_one_run_say_the_same(corpus: Path, tmp_path: Path):
    both = ["--json", str(tmp_path / "out.json"), "--html", str(tmp_path / "out.html")]
    assert main(["bench", "search", "--corpus", str(corpus), *both]) == 0
    result = json.loads((tmp_path / "out.json").read_text())
    words = read((tmp_path / "out.html").read_text(encoding="utf-8")).words
    for profile, figures in result["profiles"].items():
        assert profile in words
        assert f"{figures['ndcg']:.4f}" in words
        assert f"{figures['cpu_ms_p50']:.2f}" in words


def test_a_page_stands_beside_an_earlier_result_of_the_same_command(corpus: Path, tmp_path: Path):
    earlier = ["bench", "search", "--corpus", str(corpus), "--profile", "classic", "--json", str(tmp_path / "before.json")]
    assert main(earlier) == 0
    now = ["bench", "search", "--corpus", str(corpus), "--profile", "classic", "--html", str(tmp_path / "now.html")]
    assert main([*now, "--against", str(tmp_path / "before.json")]) == 0
    seen = read((tmp_path / "now.html").read_text(encoding="utf-8"))
    assert seen.headings[0] == "Beside the other result"
    assert "+0.0000" in seen.words


def test_a_page_of_parts_taken_away_stands_beside_another_of_them(corpus: Path, tmp_path: Path):
    before, page = tmp_path / "before.json", tmp_path / "now.html"
    command = ["bench", "search", "--corpus", str(corpus), "--ablate"]
    assert main([*command, "--json", str(before)]) == 0
    assert main([*command, "--html", str(page), "--against", str(before)]) == 0
    assert read(page.read_text(encoding="utf-8")).headings[0] == "Beside the other result"


@pytest.mark.parametrize("option", ["--json", "--html"])
def test_a_file_that_cannot_be_written_is_told_before_anything_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str):
    path = tmp_path / "nowhere" / "out"
    assert f"cannot write {path}" in refused(capsys, option, str(path))


def test_a_drawing_that_cannot_be_written_is_told_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], corpus: Path
):
    path = tmp_path / "nowhere" / "out.svg"
    assert main(["bench", "confidence", "--corpus", str(corpus), "--plot", str(path)]) == 2
    assert f"cannot write {path}" in capsys.readouterr().err


def test_a_run_that_fails_leaves_no_file_and_changes_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "kept.json").write_text("as before")
    files = ["--json", str(tmp_path / "kept.json"), "--html", str(tmp_path / "new.html")]
    assert main(["bench", "search", "--corpus", str(tmp_path / "none"), *files]) == 2
    assert "none" in capsys.readouterr().err
    assert (tmp_path / "kept.json").read_text() == "as before"
    assert not (tmp_path / "new.html").exists()


def test_a_pipe_is_not_opened_to_see_whether_it_can_be_written(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    check_writable(tmp_path / "pipe")  # would wait for a reader


def test_a_name_that_is_too_long_cannot_be_written(tmp_path: Path):
    with pytest.raises(StorageError, match="cannot write"):
        check_writable(tmp_path / ("long" * 200))


def test_another_result_is_for_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "before.json").write_text('{"benchmark": "search"}')
    assert "give --html FILE too" in refused(capsys, "--against", str(tmp_path / "before.json"))


@pytest.mark.parametrize("other", ["--json", "--against"])
def test_two_files_are_two(tmp_path: Path, capsys: pytest.CaptureFixture[str], other: str):
    (tmp_path / "one").write_text('{"benchmark": "search"}')
    assert "same file" in refused(capsys, "--html", str(tmp_path / "one"), other, str(tmp_path / "." / "one"))
    assert (tmp_path / "one").read_text() == '{"benchmark": "search"}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot read"),
        ("{", "is no JSON"),
        ("\xff\xfe", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[1]", "holds no figures"),
        ('{"benchmark": "speed"}', "`whence bench speed`"),
        ('{"benchmark": "search, ablated"}', "with the same flags"),
        ('{"benchmark": ["search"]}', "nothing that is known"),
        ("{}", "nothing that is known"),
    ],
)
def test_what_is_no_result_of_the_same_kind_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, said: str):
    if text is not None:
        (tmp_path / "before.json").write_bytes(text.encode("latin-1"))
    assert said in refused(capsys, "--html", str(tmp_path / "out.html"), "--against", str(tmp_path / "before.json"))
    assert not (tmp_path / "out.html").exists()
