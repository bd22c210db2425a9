# What CI runs is what you run. `make install` and `make test` are all there is to know.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: install dev test lint types unit docs golden bench clean

install: $(BIN)/whence  ## the command, in a virtual environment of its own

$(BIN)/whence: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $(BIN)/whence

$(VENV)/dev: pyproject.toml $(BIN)/whence
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(VENV)/dev

dev: $(VENV)/dev  ## what the tests need

test: dev lint types unit  ## everything CI checks

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: dev
	$(BIN)/mypy

unit: dev  ## on every core, the tests of a file together
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

docs: dev  ## write the generated references again
	$(BIN)/python -m pytest tests/docs --update-golden

golden: dev  ## write the pinned listings again; read the diff before you commit it
	$(BIN)/python -m pytest tests --update-golden

bench: install  ## CORPUS=DIR, as laid out in docs/experiments.md
	$(BIN)/whence bench search --corpus $(CORPUS)

clean:
	rm -rf $(VENV) build dist *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
