# Two commands do everything on a fresh machine:
#   make reproduce   set up, then run the main job
#   make test        set up, then lint, types, architecture and tests
.DEFAULT_GOAL := help
.PHONY: help setup setup-dev reproduce test lint types architecture tests clean

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --constraint constraints.txt
INPUTS := pyproject.toml constraints.txt

help:
	@echo "make reproduce   set up, then rebuild the paper's numbers"
	@echo "make test        set up, then lint, types, architecture and tests"
	@echo "make clean       remove the environment and all caches"

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "error: $(PYTHON) is too old: Python 3.11 or newer is needed (make PYTHON=python3.12 ...)"; exit 2; }
	$(PYTHON) -m venv .venv

.venv/.core: .venv/bin/python $(INPUTS)
	$(PIP) --editable .
	@touch $@

.venv/.dev: .venv/bin/python $(INPUTS)
	$(PIP) --editable '.[train,controller,dev]'
	@touch .venv/.core $@

setup: .venv/.core

setup-dev: .venv/.dev

reproduce: setup
	$(BIN)/tacan reproduce

test: lint types architecture tests

lint: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup-dev
	$(BIN)/mypy

architecture: setup-dev
	$(BIN)/lint-imports

tests: setup-dev
	$(BIN)/pytest

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
