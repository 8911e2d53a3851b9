# On a fresh machine: `make demo` shows what Glassformer does, `make test` proves it.
# Both make .venv first, and only when it is missing or older than what it is made from.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
STAMP := .venv/.made

.PHONY: setup demo test test-long check format bench dist clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@echo "== making .venv with $$($(PYTHON) --version); the first time takes a few minutes"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt pip
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(STAMP)
	@echo "== .venv is ready"

demo: setup
	@$(BIN)/glassformer demo

test: setup
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term

test-long: setup
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

dist: setup
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf .venv dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
