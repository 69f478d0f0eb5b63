# make app · make test · make test-all · make check · make bench: each first creates .venv with the pinned versions.
PYTHON ?= python3
PORT ?= 7860
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input

export GRADIO_ANALYTICS_ENABLED := False
export HF_HUB_OFFLINE := 1
# Tests start hundreds of processes: write bytecode so that each module is compiled only once.
unexport PYTHONDONTWRITEBYTECODE

# Tests run on all cores; the tests of a file stay on one worker, so that shared fixtures are built once. Files run
# in their order: pytest-xdist's default, by number of tests, would start the slowest ones last.
PYTEST := $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

.PHONY: app test test-all check bench clean

app: $(VENV)/.app
	$(BIN)/askback app --port $(PORT)

# Every rule, within minutes.
test: $(VENV)/.dev
	$(PYTEST) -m 'not slow' --hypothesis-profile fast $(TESTS)

# All tests, with more repetitions. Killed servers and loading pages keep workers waiting, so there are two workers
# per core.
test-all: $(VENV)/.dev
	$(PYTEST) -n $$(( $$(getconf _NPROCESSORS_ONLN) * 2 )) $(TESTS)

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy tests/benchmarks
	$(BIN)/lint-imports
	$(BIN)/askback check

# All benchmarks as one table and as JSON; NAMES="dialogues log" selects some.
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
