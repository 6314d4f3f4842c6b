# dialtools: make demo | test | test-all | test-foreign | test-oldest | mutants | storm | fuzz | lint | types | man | package | pictures | bench | flood | clean
VENV ?= .venv
PYTHON ?= python3
BIN := $(abspath $(VENV))/bin
VERSIONS ?= constraints.txt
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint $(VERSIONS) --editable

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-foreign test-oldest lint types man package pictures bench mutants storm fuzz flood clean
PAGES := dialtools tests bench examples papers

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: pyproject.toml $(VERSIONS) | $(BIN)/python
	$(INSTALL) .
	@touch $@

$(VENV)/.ready-tests: pyproject.toml $(VERSIONS) | $(BIN)/python
	$(INSTALL) '.[test]'
	@touch $(VENV)/.ready $@

demo: $(VENV)/.ready ## corpus -> pairs -> train -> embed -> eval, and a table before and after
	PATH="$(BIN):$$PATH" bash examples/demo.sh

test: $(VENV)/.ready-tests types ## lint, check types and run every test
	$(BIN)/ruff format --check --quiet $(PAGES)
	$(BIN)/ruff check $(PAGES)
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

test-all: $(VENV)/.ready-tests ## the exhaustive tests too
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m 'not foreign'

test-foreign: $(VENV)/.ready-tests ## suites and tools that others wrote: sentence-transformers, mteb, trec_eval, jq, csvkit, Miller, ...
	$(INSTALL) '.[test,foreign]'
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: --dest .cache/foreign \
		sentence-transformers==5.3.0
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m 'not exhaustive' -rs tests/foreign tests/embed/test_vectors_page.py

.cache/oldest.txt: pyproject.toml
	@mkdir -p .cache
	sed -nE 's/^  "([a-z0-9-]+)>=([0-9.]+)",?$$/\1~=\2.0/p' pyproject.toml > $@

test-oldest: .cache/oldest.txt ## every test with the oldest releases that pyproject.toml allows, in .venv-oldest
	$(MAKE) VENV=.venv-oldest VERSIONS=.cache/oldest.txt .venv-oldest/.ready-tests
	.venv-oldest/bin/python -m pytest --numprocesses auto --dist worksteal

mutants: $(VENV)/.ready-tests ## put faults into FILES="globs" and print those that no test notices
	$(BIN)/python tests/mutants $(foreach glob,$(FILES),'$(glob)') $(if $(FAULTS),--faults $(FAULTS)) \
		--count $(or $(COUNT),50) --seed $(or $(SEED),0) --jobs $(or $(JOBS),1) \
		--score $(or $(SCORE),0) $(if $(TESTS),--tests $(TESTS))

storm: $(VENV)/.ready-tests ## KILLS=100 SEED=0 JOBS=1: stop commands at random moments, compare with unbroken runs
	$(BIN)/python tests/storm --kills $(or $(KILLS),100) --seed $(or $(SEED),0) --jobs $(or $(JOBS),1)

fuzz: $(VENV)/.ready-tests ## feed every command for MINUTES, JOBS at a time, what SEED draws; tests/fuzz/README.md
	$(BIN)/python tests/fuzz --minutes $(or $(MINUTES),10) --seed $(or $(SEED),0) --jobs $(or $(JOBS),1)

lint: $(VENV)/.ready-tests ## format and check
	$(BIN)/ruff format $(PAGES)
	$(BIN)/ruff check --fix $(PAGES)
	$(BIN)/lint-imports --no-cache

types: $(VENV)/.ready-tests ## check types (basedpyright: pyright as one package, with its own node)
	$(BIN)/basedpyright --pythonpath $(BIN)/python --warnings

man: $(VENV)/.ready ## regenerate man pages and completions
	$(BIN)/python -m dialtools.cli._man

package: $(VENV)/.ready-tests ## dist/: wheel and source, the same bytes each time, and what a package index checks
	$(BIN)/python -m hatchling build --directory dist
	$(BIN)/python -m pytest tests/test_package.py

pictures: $(VENV)/.ready ## run what README's pictures show, and draw them
	PATH="$(BIN):$$PATH" $(BIN)/python bench/pictures.py

bench: $(VENV)/.ready ## compare with the peers, side by side
	$(INSTALL) '.[bench]'
	for row in help pairs freq embed train eval; do $(BIN)/python bench/$$row.py; done

flood: $(VENV)/.ready ## GIGABYTES=10 [COMMAND=pairs|freq|train|embed|augment]: a stream that is never stored
	$(BIN)/python bench/flood.py $(COMMAND) --gigabytes $(or $(GIGABYTES),1)

clean: ## remove what the targets made
	rm -rf $(VENV) demo build dist *.egg-info
