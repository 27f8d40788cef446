# Every target works as the first command after a clone: it makes .venv and installs what it needs.
# Wanted: make, a C library, Python 3.11 or later. `make PYTHON=...` names an interpreter, `VENV=...` another directory.

VENV ?= .venv
PY := $(VENV)/bin/python
MODEL ?= local:standard
JOBS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-clients everything check format coverage bench bench-gate docs

help: ## these lines
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 20

demo: $(VENV)/.has-demo ## an incident report becomes a verified object; MODEL=local:small is a small download
	@$(PY) examples/incident/demo.py --model $(MODEL)

test: $(VENV)/.has-dev ## the quick tests
	$(PY) -m pytest -q -n $(JOBS) -m "not slow and not live"

test-slow: $(VENV)/.has-everything ## the slow tests and those that need the embedded model or other people's programs
	$(PY) -m pytest -q -m "slow or live" --ignore tests/sdk

test-clients: $(VENV)/.has-clients ## the reference's official clients drive lastcall (a 400 MB download, npm)
	$(PY) -m pytest -q tests/sdk

everything: $(VENV)/.has-everything ## all that any test needs (npm, a gigabyte), so that none is skipped

check: $(VENV)/.has-dev ## lint, format, types, layers
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports --no-cache

format: $(VENV)/.has-dev ## lay the code out
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

coverage: $(VENV)/.has-dev ## each module of the pure layers, by its own test file alone
	$(PY) scripts/coverage_alone.py

bench: $(VENV)/.has-dev ## every figure beside a bare floor; PEERS=1 beside other libraries too
	$(PY) bench/run.py $(if $(PEERS),--peers)

bench-gate: $(VENV)/.has-dev ## the quick form of it, against bounds; part of CI
	$(PY) bench/run.py --gate

docs: $(VENV)/.has-dev ## the documentation as pages in site/
	$(PY) scripts/build_docs.py

$(VENV)/.has-demo: pyproject.toml scripts/make-venv
	@VENV=$(VENV) PYTHON="$(PYTHON)" scripts/make-venv local
	@touch $@

$(VENV)/.has-dev: pyproject.toml scripts/make-venv
	@VENV=$(VENV) PYTHON="$(PYTHON)" scripts/make-venv dev
	@touch $@

$(VENV)/.has-everything: pyproject.toml scripts/make-venv tests/peers/mcp/package-lock.json tests/browser/package-lock.json
	@VENV=$(VENV) PYTHON="$(PYTHON)" scripts/make-venv dev,clients-web,interop,peers,ray,uvloop
	npm ci --silent --prefix tests/peers/mcp
	npm ci --silent --prefix tests/browser
	$(PY) -m venv $(VENV)/apart # it pins libraries that lastcall has newer
	$(VENV)/apart/bin/pip install --quiet --disable-pip-version-check "schemathesis>=4,<5"
	@touch $(VENV)/.has-dev $@

$(VENV)/.has-clients: pyproject.toml scripts/make-venv
	@VENV=$(VENV) PYTHON="$(PYTHON)" scripts/make-venv dev,clients
	@touch $@
