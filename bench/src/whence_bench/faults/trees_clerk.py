"""Runs command lines one after another in one process: starting one for each costs more than most of them do.

A command with its folder and environment is a line of JSON on standard input, its answer one on standard output.
"""

from __future__ import annotations

import io
import json
import os
import resource
import runpy
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout


def answered(arguments: list[str]) -> dict[str, object]:
    """What a command wrote, how it ended, and the megabytes that this process has needed so far."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        try:
            sys.argv = ["whence", *arguments]
            runpy.run_module("whence", run_name="__main__")
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 2 if ended.code else 0
        except BaseException:  # noqa: BLE001  -- whatever it is, it is what a user would see
            code = 70
            traceback.print_exc()
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8", "surrogateescape"))
    return {"code": code, "out": texts[0], "err": texts[1], "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000}


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    for line in sys.stdin:
        arguments, cwd, environment = json.loads(line)
        os.chdir(cwd)
        os.environ.update(environment)
        answers.write(json.dumps(answered(arguments)) + "\n")
        answers.flush()
