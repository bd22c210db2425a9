"""`python -m whence` is the command `whence`."""

from whence.serve.cli.main import run

run()
