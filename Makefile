# Two commands on a fresh machine: `make demo` (a small run, end to end) and `make test` (lint, types, tests).
PYTHON ?= python3
CHECK_PYTHON := import sys; known = (3, 11) <= sys.version_info < (3, 14); \
	sys.exit(None if known else "Hone needs Python 3.11 to 3.13; name one, such as: make demo PYTHON=python3.12")
CORES ?= 2
BIN := .venv/bin
SNAKEMAKE := $(BIN)/snakemake --cores $(CORES)

.PHONY: demo test slow check lint types pytest format generated report h200 clean

demo: .venv/.installed
	@$(SNAKEMAKE)
	@$(BIN)/hone show
	@echo "All tables and figures: results/config/summary.md; in a browser: $(BIN)/hone view --open"

test: check pytest

# What people and CI run before anything else; warnings are errors. `make --jobs 2 check` runs both parts side by side.
check: lint types
lint: .venv/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint
types: .venv/.installed
	$(BIN)/mypy

# Three workers for two cores, as tests wait for processes of theirs; a file's tests stay on one, because they share a
# run or build on one another.
PYTEST := $(BIN)/pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder
pytest: .venv/.installed
	$(PYTEST)

# Whole runs, a Slurm, a browser: what takes ten seconds or more. Root on Debian or Ubuntu, for the Slurm.
slow: .venv/.installed
	$(PYTEST) -m slow

format: .venv/.installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/snakefmt Snakefile workflow

# Files generated from the typed config and the records.
generated: .venv/.installed
	$(BIN)/hone generated

report: demo
	$(SNAKEMAKE) --report results/report.html

# What one GPU machine can show of the judge, in about half an hour (`make h200 CORES=16`): results/h200/tables and studies.
EVIL := tests/evil/gpu
STUDY = $(BIN)/python -m studies $(1) --config config/h200.yaml
h200: .venv/.installed
	$(SNAKEMAKE) --resources llm=1 gpu=8 --configfile config/h200.yaml
	$(call STUDY,containment) --good '$(EVIL)/honest_*.cu' $(foreach file,$(shell cat $(EVIL)/containment.txt),--bad $(EVIL)/$(file))
	$(call STUDY,profiler) $(EVIL)/honest_relu_*.cu $(EVIL)/honest_row_sum_*.cu
	$(call STUDY,kills) --times 20 $(EVIL)/honest_row_sum_warp.cu $(EVIL)/honest_scale_float4.cu $(EVIL)/zeros.cu

# Everything that the pipeline made. Answers, builds and traces that were paid for stay in .hone/.
clean:
	rm -rf results .snakemake

# uv fetches in parallel: half a minute where pip takes five. Its own variables choose another index or PyTorch build
# (README.md); a folder of wheels that pip knows is used, too.
UV_PIN := uv==0.13.9
ifdef PIP_FIND_LINKS
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
endif
UV_INSTALL := $(BIN)/uv pip install --python $(BIN)/python

.venv/.packages: envs/requirements.lock
	@$(PYTHON) -c '$(CHECK_PYTHON)'
	@echo "Making the environment .venv, once. The largest package, PyTorch, takes its time."
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check $(UV_PIN)
	@$(UV_INSTALL) --compile-bytecode -r envs/requirements.lock
	@touch $@

.venv/.installed: .venv/.packages pyproject.toml
	@$(UV_INSTALL) --quiet --no-deps --no-build-isolation -e .
	@touch $@
