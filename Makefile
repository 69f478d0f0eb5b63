# make app · make test · make test-all · make check · make bench: each makes .venv first, with the pinned
# versions.
PYTHON ?= python3
PORT ?= 7860
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input

export GRADIO_ANALYTICS_ENABLED := False
export HF_HUB_OFFLINE := 1
# Tests start some hundred programs: each module is compiled once, whatever the machine says of bytecode.
unexport PYTHONDONTWRITEBYTECODE

# Tests run on every core; the tests of a file stay on one of them, so that what they share is made once. In the
# order of the files: by number of tests, as is usual, the few that take longest would come when all is done.
PYTEST := $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

.PHONY: app test test-all check bench clean

app: $(VENV)/.app
	$(BIN)/askback app --port $(PORT)

# Every rule, in minutes.
test: $(VENV)/.dev
	$(PYTEST) -m 'not slow' --hypothesis-profile fast $(TESTS)

# Every test, and everything in it as often as it is worth. Servers that are killed and pages that load keep
# workers waiting: there are half as many more as there are cores.
test-all: $(VENV)/.dev
	$(PYTEST) -n $$(( $$(getconf _NPROCESSORS_ONLN) * 3 / 2 )) $(TESTS)

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy tests/benchmarks
	$(BIN)/lint-imports
	$(BIN)/askback check

# One table of all benchmarks, and the same as JSON; NAMES="dialogues log" measures these alone.
bench: $(VENV)/.dev
	$(BIN)/python tests/benchmarks $(NAMES) --json benchmarks.json

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Askback needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "This Python has no venv module; on Debian: apt-get install python3-venv"; exit 1; }

$(VENV)/.app: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) install --quiet --constraint constraints.txt --config-settings editable_mode=compat --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.app
	$(PIP) install --quiet --constraint constraints.txt --config-settings editable_mode=compat --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info
