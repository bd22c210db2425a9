"""`whence search -i`: results while you type, with their code; Enter opens one in the editor."""

from __future__ import annotations

import curses
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from whence.app.presenters.text import relative, safe
from whence.cli.terminal import open_in_editor
from whence.core.errors import QueryError
from whence.parse.highlight import colour_lines

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.app.presenters.search import JoinedAnswer
    from whence.search.result import SearchResult

    Answer = JoinedAnswer[tuple[Index, SearchResult]]

KEYS = "Enter open  Up Down choose  PgUp PgDn scroll the code  Ctrl-U clear  Esc quit"
#: Rows of results beside which the code still has room.
MAX_RESULTS = 12
#: Lines of code above the best one.
LINES_ABOVE = 3
#: Milliseconds after Esc in which the rest of the code of a key must arrive.
ESCAPE_DELAY = 25
_ENTER, _ESCAPE, _ERASE = ("\n", "\r", curses.KEY_ENTER), ("\x1b", "\x03", "\x07"), ("\x7f", "\b", curses.KEY_BACKSPACE)
_UP, _DOWN = (curses.KEY_UP, "\x10"), (curses.KEY_DOWN, "\x0e")
_CLEAR, _ERASE_WORD = "\x15", "\x17"
#: The colours of code by its kind; of a terminal's eight all are legible on black and on white.
_KINDS = {"keyword": curses.COLOR_BLUE, "string": curses.COLOR_GREEN, "comment": curses.COLOR_CYAN, "number": curses.COLOR_GREEN}
_PATH, _WARNING = curses.COLOR_MAGENTA, curses.COLOR_RED


def pick(ask: Callable[[str], Answer], query: str) -> bool:
    """Show the picker until the user leaves it; True if a result was opened."""
    curses.set_escdelay(ESCAPE_DELAY)
    return curses.wrapper(lambda screen: _Picker(screen, ask, query).run())


def _coloured(colour: int) -> int:
    return curses.color_pair(colour) if curses.has_colors() else curses.A_NORMAL


class _Picker:
    def __init__(self, screen: curses.window, ask: Callable[[str], Answer], query: str) -> None:
        self._screen, self._ask, self.query = screen, ask, query
        self._answer: Answer | None = None
        self._message, self._chosen, self._scrolled, self._opened = "", 0, 0, False
        if curses.has_colors():
            curses.use_default_colors()
            for colour in range(1, curses.COLOR_WHITE):
                curses.init_pair(colour, colour, -1)

    def run(self) -> bool:
        self._search()
        while True:
            self._draw()
            before = self.query
            keys = list(self._typed())
            if any(key in _ESCAPE for key in keys):
                return self._opened
            for key in keys:
                self._react(key)
            if self.query != before:
                self._search()

    def _typed(self) -> Iterator[str | int]:
        """The next key, and all that were typed meanwhile: they are answered together."""
        self._screen.nodelay(False)
        with suppress(curses.error):  # a signal
            yield self._screen.get_wch()
        self._screen.nodelay(True)
        with suppress(curses.error):  # no more keys
            while True:
                yield self._screen.get_wch()

    def _react(self, key: str | int) -> None:
        page = max(self._screen.getmaxyx()[0] // 2, 1)
        if key in _ENTER:
            self._open()
        elif key in _ERASE:
            self.query = self.query[:-1]
        elif key == _CLEAR:
            self.query = ""
        elif key == _ERASE_WORD:
            self.query = self.query.rstrip().rpartition(" ")[0]
        elif key in _UP or key in _DOWN:
            last = len(self._answer.results) - 1 if self._answer else 0
            self._chosen, self._scrolled = max(min(self._chosen + (1 if key in _DOWN else -1), last), 0), 0
        elif key in (curses.KEY_NPAGE, curses.KEY_PPAGE):
            self._scrolled += page if key == curses.KEY_NPAGE else -page
        elif isinstance(key, str) and key.isprintable():
            self.query += key

    def _search(self) -> None:
        began, self._chosen, self._scrolled = time.perf_counter(), 0, 0
        if not self.query.strip():
            self._answer, self._message = None, "type a question, a name or a query"
            return
        try:
            self._answer = self._ask(self.query)
        except QueryError as error:  # half typed: the last results stay
            self._message = error.message.partition("\n")[0]
            return
        doubt = str(self._answer.low_confidence or "")
        found = f"{len(self._answer.results)} files, {(time.perf_counter() - began) * 1000:.0f} ms"
        self._message = "   ".join(filter(None, [doubt, *self._answer.notes, found]))

    def _open(self) -> None:
        if not (self._answer and self._answer.results):
            return
        index, result = self._answer.results[self._chosen]
        curses.endwin()
        open_in_editor(index.root / result.path, result.best_start)
        self._opened = True
        self._screen.refresh()

    # Drawing.
    def _draw(self) -> None:
        self._screen.erase()
        rows, _ = self._screen.getmaxyx()
        results = self._answer.results if self._answer else []
        listed = min(len(results), MAX_RESULTS, max(rows // 3, 1))
        first = max(self._chosen - listed + 1, 0)
        doubtful = self._answer is not None and bool(str(self._answer.low_confidence or ""))
        self._put(1, 0, self._message, _coloured(_WARNING) if doubtful else curses.A_DIM)
        for row, (index, result) in enumerate(results[first : first + listed], 2):
            self._result(row, index, result, chosen=first + row - 2 == self._chosen)
        if results:
            self._code(results[self._chosen][1], listed + 3, rows - listed - 4)
        self._put(rows - 1, 0, KEYS, curses.A_DIM)
        self._put(0, 0, f"> {self.query}", curses.A_BOLD)  # last: the cursor stays behind it
        self._screen.refresh()

    def _result(self, row: int, index: Index, result: SearchResult, *, chosen: bool) -> None:
        how = curses.A_REVERSE if chosen else curses.A_NORMAL
        place = f"{relative(index.root, result.path)}:{result.best_start}"
        self._put(row, 0, " " * self._screen.getmaxyx()[1], how)
        self._put(row, 1, place, how | _coloured(_PATH))
        self._put(row, len(place) + 3, f"{result.kind} {result.qualified_name}" if result.name else "", how)

    def _code(self, result: SearchResult, row: int, room: int) -> None:
        """The file of a result around its best lines; those that hold the words of the query are marked."""
        lines = [line.expandtabs(4) for line in result.text_lines]
        start = max(min(result.best_start - 1 - LINES_ABOVE + self._scrolled, len(lines) - 1), 0)
        self._scrolled = start - max(result.best_start - 1 - LINES_ABOVE, 0)
        shown, marked = lines[start : start + room], {line.number for line in result.lines}
        width = len(str(start + len(shown)))
        for at, (line, colours) in enumerate(zip(shown, colour_lines(result.language, shown), strict=True)):
            inside = result.best_start <= start + at + 1 <= result.best_end
            number = curses.A_BOLD if start + at + 1 in marked else curses.A_DIM
            self._put(row + at, 0, f"{start + at + 1:>{width}} {'│' if inside else ' '} ", number)
            self._put(row + at, width + 3, line, curses.A_NORMAL)
            for begin, end, kind in colours:
                self._put(row + at, width + 3 + begin, line[begin:end], _coloured(_KINDS.get(kind, 0)))

    def _put(self, row: int, column: int, text: str, how: int) -> None:
        """Write a text where it fits; control characters are shown, never sent."""
        rows, columns = self._screen.getmaxyx()
        if 0 <= row < rows and column < columns:
            with suppress(curses.error):  # the last cell of the screen
                self._screen.addnstr(row, column, safe(text), columns - column, how)
