# What a person types after cloning: `make start` to use it, `make test` to check it.
# `make test PYTHON=python3.12` keeps an environment of its own beside `.venv`.
PYTHON ?= python3
VENV := .venv$(addprefix -,$(filter-out python3,$(notdir $(PYTHON))))
BIN := $(VENV)/bin

# Where the real clients lie that `make test-agents` runs (`tools/clients.py` says which); RECOLLECT_AGENTS
# names other ones.
AGENTS := $(VENV)/agents

# The packages whose sessions Recollect keeps, apart from what the suite needs: they bring plugins of pytest along.
INTEGRATIONS := $(VENV)/integrations

CHECKED := src tests benchmarks training tools examples

# A worker for each core; who has nothing left to do takes over what waits for another.
CORES := -n auto --dist worksteal

# An environment that was begun and failed is begun again.
.DELETE_ON_ERROR:
.PHONY: start test test-full test-agents agents integrations test-integrations wheel-check lint lock bench clean

start: $(VENV)/installed
	@$(BIN)/recollect start
	@echo 'recollect is $(BIN)/recollect'

test: $(VENV)/tested lint
	$(BIN)/python -m pytest $(CORES) -m "not full and not agents and not integrations and not wheel"

test-full: $(VENV)/tested lint
	$(BIN)/python -m pytest $(CORES) -m "not agents and not integrations and not wheel" --hypothesis-profile=full

ifdef RECOLLECT_AGENTS
agents:
else
agents: $(BIN)/python
	$(BIN)/python tools/clients.py $(AGENTS)
export RECOLLECT_AGENTS := $(abspath $(AGENTS))
endif

test-agents: $(VENV)/tested agents
	$(BIN)/python -m pytest -m agents tests/clients

integrations: $(INTEGRATIONS)/installed

test-integrations: integrations
	$(INTEGRATIONS)/bin/mypy src/recollect/integrations
	$(INTEGRATIONS)/bin/python -m pytest -m integrations tests/integrations

wheel-check: $(VENV)/tested
	$(BIN)/python -m pytest -m wheel tests/test_wheel.py

lint: $(VENV)/tested
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy

# Pins what is new and takes the hashes of all files: what pip's index says, on any machine.
lock: $(VENV)/tested
	$(BIN)/python tools/lock.py

bench: $(VENV)/benched
	$(BIN)/python -m benchmarks.store
	$(BIN)/python -m benchmarks.search
	$(BIN)/python -m benchmarks.retrieval
	$(BIN)/python -m benchmarks.hook
	$(BIN)/python -m benchmarks.mcp
	$(BIN)/python -m benchmarks.assemble
	$(BIN)/python -m benchmarks.redact

$(BIN)/python:
	@tools/venv $(PYTHON) $(VENV)

$(VENV)/installed: $(BIN)/python pyproject.toml requirements.lock
	@$(BIN)/python tools/install.py
	@$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/tested: $(VENV)/installed requirements-test.lock
	@$(BIN)/python tools/install.py test
	@touch $@

$(VENV)/benched: $(VENV)/installed constraints.txt
	@$(BIN)/python tools/install.py bench
	@touch $@

$(INTEGRATIONS)/bin/python: $(BIN)/python
	@tools/venv $(PYTHON) $(INTEGRATIONS)

$(INTEGRATIONS)/installed: $(INTEGRATIONS)/bin/python pyproject.toml requirements-test.lock constraints-integrations.txt
	@$(INTEGRATIONS)/bin/python tools/install.py test integrations
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
