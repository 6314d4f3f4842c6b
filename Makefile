# dialtools: make demo | test | test-all | lint | man | bench | clean
VENV ?= .venv
PYTHON ?= python3
BIN := $(abspath $(VENV))/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint man bench clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) .
	@touch $@

$(VENV)/.ready-tests: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) '.[test]'
	@touch $(VENV)/.ready $@

demo: $(VENV)/.ready ## corpus -> pairs -> train -> embed -> eval, and a table before and after
	PATH="$(BIN):$$PATH" bash examples/demo.sh

test: $(VENV)/.ready-tests ## lint and run every test
	$(BIN)/ruff check dialtools tests bench examples
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

test-all: $(VENV)/.ready-tests ## the exhaustive tests too
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m ''

lint: $(VENV)/.ready-tests ## format and check
	$(BIN)/ruff format dialtools tests bench examples
	$(BIN)/ruff check --fix dialtools tests bench examples
	$(BIN)/lint-imports --no-cache

man: $(VENV)/.ready ## regenerate man pages and completions
	$(BIN)/python -m dialtools.cli._man

bench: $(VENV)/.ready ## compare with the peers, side by side
	$(INSTALL) '.[bench]'
	for row in pairs freq embed train eval; do $(BIN)/python bench/$$row.py; done

clean: ## remove what the targets made
	rm -rf $(VENV) demo build dist *.egg-info
