# On a fresh machine: `make demo` shows what Glassformer does, `make test` proves it.
# Both make .venv first, and only when it is missing or older than what it is made from.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
STAMP := .venv/.made

.PHONY: setup browser demo test test-long check format bench dist clean

setup: $(STAMP)

NATIVE := $(wildcard native/*/*.cpp native/*/*.h native/sources.txt native/build.py)

$(STAMP): pyproject.toml constraints.txt hatch_build.py $(NATIVE)
	@echo "== making .venv with $$($(PYTHON) --version); the first time takes a few minutes"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt pip
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(STAMP)
	@echo "== .venv is ready"

demo: setup
	@$(BIN)/glassformer demo

# The explorer is tested in a real browser: Debian's, where we may install it.
browser:
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		&& apt-get update -qq && apt-get install -qq -y chromium >/dev/null; } \
		|| echo "== no chromium here: the tests of the explorer's page will be skipped"

test: setup browser
	$(BIN)/python -m pytest -m forked --cov --cov-report=
	$(BIN)/python -m pytest -n 2 --dist worksteal --durations 25 --cov --cov-append --cov-report=term

test-long: setup browser
	$(BIN)/python -m pytest -m long -p no:randomly

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup
	$(BIN)/python -m benchmarks.attention_cost
	$(BIN)/python -m benchmarks.store_memory
	$(BIN)/python -m benchmarks.train_speed
	$(BIN)/python -m benchmarks.decode_speed

dist: setup
	$(BIN)/python -m hatchling build -d dist

clean:
	rm -rf .venv dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
