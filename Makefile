# What a person types after cloning: `make start` to use it, `make test` to check it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: start test test-full lint bench clean

start: $(VENV)/installed
	@$(BIN)/recollect start
	@echo 'recollect is $(BIN)/recollect'

test: $(VENV)/tested lint
	$(BIN)/python -m pytest -m "not full"

test-full: $(VENV)/tested lint
	$(BIN)/python -m pytest

lint: $(VENV)/tested
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/mypy

bench: $(VENV)/benched
	$(BIN)/python -m benchmarks.store
	$(BIN)/python -m benchmarks.search
	$(BIN)/python -m benchmarks.retrieval

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(BIN)/python pyproject.toml requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock -e .
	$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/tested: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock -e '.[test]'
	@touch $@

$(VENV)/benched: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
