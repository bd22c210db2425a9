"""`python -m whence` is the command `whence`."""

from whence.cli.main import run

run()
