# `make run` measures this machine, `make test` tests the project; both set up what they need.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
WHEELS := var/wheels
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check --no-input -q

.DEFAULT_GOAL := help
.PHONY: help setup setup-test run demo drills coverage test lines check bench matrix release audit fuzz mutants faults spack mirror lock clean

help:  ## show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 14

# A run that builds what it was asked for takes as long as it takes.
ACCEPTANCE_MINUTES ?= $(if $(ACCEPTANCE_BUILD),,5)

# Rounds in which a bare run measures again what is undecided, within the same minutes.
ROUNDS ?= 17

run: setup  ## build or install the suites for this machine, run the checks, judge the results
	@. ./env.sh && id=$$(date +%s)-$$$$ && status=0 verdict=0 \
	  && export ACCEPTANCE_MINUTES=$(ACCEPTANCE_MINUTES) \
	  && { reframe -c checks -r --session-extras run=$$id $(ARGS) || status=$$?; } \
	  && { echo; acceptance gate --run $$id --again $(ROUNDS) || verdict=$$?; echo; } \
	  && { acceptance report || true; } \
	  && { [ $$verdict = 0 ] || exit $$verdict; } && exit $$status

demo: setup  ## with SimGrid: healthy nights of a simulated fabric, then a cable fails
	@. ./env.sh && sh tests/drills/demo.sh var/demo

drills: setup  ## with SimGrid: would the checks see it? faults in a simulated system: make drills ARGS=--help
	@. ./env.sh && $(VENV)/bin/python -m tests.drills $(ARGS)

faults: setup-test  ## kill, full disk, wrong clock, no locks: is anything lost, or green? ARGS=PATTERN chooses rows
	@. ./env.sh && $(VENV)/bin/python -m tests.faults $(ARGS)

coverage: setup  ## which cases the rows and claims of reference/ judge; JUDGES=1: the cases of each row
	@. ./env.sh && $(VENV)/bin/python -m tests.reference_coverage $(if $(JUDGES),--judges) $(ARGS)

test: setup-test  ## run all tests of the project, three at a time: many wait
	@. ./env.sh && $(VENV)/bin/python -m pytest -n 3 --max-worker-restart=0 --no-loadscope-reorder $(TESTS)

lines: setup $(VENV)/.installed-audit  ## which lines of the package and the checks the tests run: takes twice as long
	@rm -rf var/lines && . ./env.sh && status=0 \
	  && { $(VENV)/bin/coverage run -m pytest -n 3 --max-worker-restart=0 --no-loadscope-reorder $(TESTS) || status=$$?; } \
	  && $(VENV)/bin/python -m tests.tested.lines && exit $$status

MINUTES ?= 60
fuzz: setup-test  ## damaged outputs of others for all that reads them, an hour in all: make fuzz MINUTES=10
	@. ./env.sh && $(VENV)/bin/python -m tests.fuzz --record --minutes $(MINUTES)

check: setup-test  ## lint, format and types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

bench: setup-test $(VENV)/.installed-bench  ## ratios: our harness against plain ReFrame, our detection against others
	@. ./env.sh && $(VENV)/bin/python -m tests.bench $(BENCHES)

# Afterwards var/dist has what anybody gets who builds this commit, byte for byte, and beside it the
# bill of materials that was written last.
BILL := var/audit/interconnect-acceptance.cdx.json
release: $(VENV)/.installed  ## build wheel and sdist of this commit into var/dist, with SHA256SUMS
	@test -z "$$(git status --porcelain)" \
	  || { echo "make: a release is of a commit; commit or remove what 'git status' lists" >&2; exit 1; }
	@rm -rf var/dist && $(VENV)/bin/python -m hatchling build -d var/dist >/dev/null
	@if [ $(BILL) -nt requirements.lock ] && [ $(BILL) -nt pyproject.toml ]; then cp $(BILL) var/dist; \
	 else echo "make: without a bill of materials: $(BILL) is not there, or older than requirements.lock" >&2; fi
	@cd var/dist && sha256sum * > SHA256SUMS && cat SHA256SUMS

matrix: setup-test  ## with each Python, ReFrame and set of dependencies: make matrix ARGS=--list
	@. ./env.sh && $(VENV)/bin/python -m tests.matrix $(ARGS)

audit: $(VENV)/.installed-audit  ## look up advisories on all that is locked; write the bill of materials of a release
	@. ./env.sh && $(VENV)/bin/python -m tests.audit

COUNT ?= 20
SEED ?= 1

mutants: setup-test $(VENV)/.installed-audit  ## faults drawn in our own code, and which ones tests see: make mutants ROOMS="verdict nodes" SEED=2
	@. ./env.sh && $(VENV)/bin/python -m tests.mutants --count $(COUNT) --seed $(SEED) $(ROOMS)

setup: $(VENV)/.installed $(WHEELS)/.installed
setup-test: setup $(VENV)/.installed-test

# A venv without ensurepip (Debian without python3-venv) borrows the system's pip.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	  || { echo "make: $(PYTHON) is older than 3.10; name another one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 \
	  || { rm -rf $(VENV) && $(PYTHON) -m venv --without-pip $(VENV) \
	       && $(PYTHON) -m pip --python $(VENV)/bin/python install -q pip; } \
	  || { rm -rf $(VENV); echo "make: cannot make a Python environment; install python3-venv or python3-pip" >&2; exit 1; }

$(VENV)/.installed: requirements.lock pyproject.toml | $(VENV)/bin/python
	@echo "make: installing Python packages into $(VENV)"
	@$(PIP) install --require-hashes -r requirements.lock
	@PYTHONWARNINGS=ignore $(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.installed-test: requirements-test.lock $(VENV)/.installed
	@$(PIP) install --require-hashes -r requirements-test.lock
	@touch $@

$(VENV)/.installed-audit: requirements-audit.lock $(VENV)/.installed-test
	@$(PIP) install --require-hashes -r requirements-audit.lock
	@touch $@

# Of Otava only its analysis is wanted, not the databases and clouds that it can read and write.
$(VENV)/.installed-bench: requirements-bench.lock $(VENV)/.installed-test
	@$(PIP) install --require-hashes --no-deps -r requirements-bench.lock
	@touch $@

# Built aside and moved into place, so that an interrupted installation leaves no half of one.
$(WHEELS)/.installed: requirements-wheels.lock | $(VENV)/.installed
	@rm -rf $(WHEELS) $(WHEELS).part && mkdir -p var
	@if [ "$$(uname -m)" = x86_64 ]; then \
	   echo "make: installing the Intel MPI Benchmarks into $(WHEELS)"; \
	   $(PIP) install --require-hashes --ignore-installed --prefix $(WHEELS).part -r requirements-wheels.lock; \
	 else \
	   echo "make: the Intel MPI Benchmarks come as wheels for x86_64 only"; mkdir $(WHEELS).part; \
	 fi
	@touch $(WHEELS).part/.installed && mv $(WHEELS).part $(WHEELS)

LOCK := $(VENV)/bin/uv pip compile -q --universal --python-version 3.10 --generate-hashes \
        --no-emit-index-url --no-annotate --no-header
spack: $(VENV)/.installed  ## get the pinned Spack and its recipes, unless there is a Spack
	@. ./env.sh && acceptance spack get

mirror: $(VENV)/.installed  ## make a mirror for machines without a network: make mirror DEST=folder
	@test -n "$(DEST)" || { echo "make: say where: make mirror DEST=folder" >&2; exit 2; }
	@. ./env.sh && acceptance spack mirror "$(DEST)"

lock: setup-test  ## renew the lock files from pyproject.toml
	$(LOCK) pyproject.toml --extra build -o requirements.lock
	$(LOCK) pyproject.toml --extra otel -c requirements.lock -o requirements-otel.lock
	$(LOCK) pyproject.toml --extra test --extra otel -c requirements.lock -o requirements-test.lock
	$(LOCK) pyproject.toml --extra audit --extra test --extra otel -c requirements-test.lock -o requirements-audit.lock
	@sed -n "s/^wheels = \[\(.*\)\]/\1/p" pyproject.toml | tr -d '" ' | tr , "\n" | $(LOCK) - -o requirements-wheels.lock
	@sed -n "s/^bench = \[\(.*\)\]/\1/p" pyproject.toml | tr -d '" ' | tr , "\n" | $(LOCK) --no-deps - -o requirements-bench.lock

clean:  ## remove the environments; measured results in var/ stay
	rm -rf $(VENV) $(WHEELS) $(WHEELS).part
