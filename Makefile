# Two commands on a fresh machine: `make demo` (the miniature, end to end) and `make test` (lint, types, tests).
PYTHON ?= python3
CORES ?= 2
BIN := .venv/bin
SNAKEMAKE := $(BIN)/snakemake --cores $(CORES)

.PHONY: demo test check pytest format generated report clean

demo: .venv/.installed
	@$(SNAKEMAKE) --quiet rules
	@$(BIN)/hone show

test: check pytest

# What people and CI run before anything else; warnings are errors.
check: .venv/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint

pytest: .venv/.installed
	$(BIN)/pytest

format: .venv/.installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/snakefmt Snakefile workflow

# Files generated from the typed config and the records.
generated: .venv/.installed
	$(BIN)/hone generated

report: demo
	$(SNAKEMAKE) --report results/report.html

# Everything that the pipeline made. Answers, builds and traces that were paid for stay in .hone/.
clean:
	rm -rf results .snakemake

.venv/.installed: envs/requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r envs/requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
