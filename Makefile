# nvgen's tasks.  Everything runs in .venv, which is made on first use; PYTHON says with which Python.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
MINUTES ?= 5
SEED ?= $(shell date +%j%H%M)
FOUND ?= found
# a worker has a whole file: what one of its tests has compiled, read or asked, the others share
SHARED := -n auto --dist loadfile --no-loadscope-reorder

# compiled modules are kept, whatever the caller's environment says, and not among the sources
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/pycache

.DEFAULT_GOAL := help
.PHONY: help demo test test-all evidence lint types unit gpu-test mutation bench fuzz docs clean

help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY) ## one kernel through every stage: LLVM IR, MIR, PTX, ptxas, CPU simulator, numpy
	@$(BIN)/python samples/demo.py

test: lint ## linters, type checker, import order and all the tests
	@$(MAKE) --no-print-directory -j 2 types unit

evidence: $(READY) ## ask ptxas about every recorded statement and write tests/oracle/verdicts
	$(BIN)/python -m tests.oracle.write_evidence

lint: $(READY) ## formatting, linting, import order
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache

types: $(READY) ## the type checker
	$(BIN)/mypy

unit: $(READY) ## the tests, on all cores
	$(BIN)/python -m pytest $(SHARED)

test-all: lint types ## as test, with all of what that draws by the day or reads from a record
	$(BIN)/python -m pytest $(SHARED) --live

gpu-test: $(READY) ## the tests that also run on a GPU, on the GPU that is here
	$(BIN)/python -m pytest -n auto --dist worksteal -m "gpu or nvgen_kernel_test" --device cuda -rs

mutation: $(READY) ## seed faults one at a time, and say which tests find them
	$(BIN)/python -m tests.mutation.run --jobs 2

bench: $(READY) ## speed of compiler, checker and simulator, and machine code: ratios in one run
	$(BIN)/python tests/benchmarks/compile_speed.py
	$(BIN)/python tests/benchmarks/machine_code.py
	$(BIN)/python tests/benchmarks/ptx_check.py
	$(BIN)/python tests/benchmarks/simulator_speed.py

fuzz: $(READY) ## spoilt input of every kind for MINUTES (5): what goes wrong is kept in FOUND
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) --seed $(SEED) --folder $(FOUND)

docs: $(READY) ## write intrinsics/reference, docs/builder.md and the builder's stub anew, from rows
	$(BIN)/python -m isel.reference
	$(BIN)/python -m nvgen.builder.reference

clean: ## remove .venv and what the tools left behind
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks build *.egg-info

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "nvgen needs Python 3.11 or newer; say which: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "setting up $(VENV) ..."
	@$(PYTHON) -m venv --clear $(VENV) 2>/dev/null || $(PYTHON) -m virtualenv -q --clear $(VENV) || \
	  uv venv -q --seed --clear --python $(PYTHON) $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@
