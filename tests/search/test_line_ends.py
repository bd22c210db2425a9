"""Files with CRLF line ends: numbers, lines and patterns are those of the lines that an editor shows."""

from __future__ import annotations

from pathlib import Path

from sample_trees import whence, write


def test_lines_of_a_file_with_carriage_returns_are_numbered_and_shown_without_them(tmp_path: Path) -> None:
    root = write(
        tmp_path / "tree", {"a.py": b"def alpha(x):\r\n    # odd needle\r\n    return x\r\n\r\n\r\ndef beta(y):\r\n    return y\r\n"}
    )
    assert whence("search", "-e", "return .$", "-n", cwd=root).stdout == "a.py:3:    return x\na.py:7:    return y\n"
    assert whence("search", "/needle$/", "-n", cwd=root).stdout == "a.py:2:    # odd needle\n"
    shown = whence("search", "beta", cwd=root).stdout
    assert "a.py:6-7" in shown
    assert "\\x0d" not in shown
    assert whence("search", "-e", "nowhere$", cwd=root).returncode == 1
