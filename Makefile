# One command per task; `make` alone lists them. Everything is installed into .venv from requirements.lock.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

# Quiet and local: no telemetry, no price list fetched at import. `--lm` and API keys still work.
export DO_NOT_TRACK = true
export LITELLM_LOCAL_MODEL_COST_MAP = True
export MLFLOW_DISABLE_TELEMETRY = true
# Without .pyc files every process compiles DSPy and MLflow anew (seconds each).
unexport PYTHONDONTWRITEBYTECODE
# Leftovers of another environment must not leak into this one.
unexport PYTHONPATH
unexport VIRTUAL_ENV

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-model lint check format wheel lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  Another interpreter: rm -rf .venv; make setup PYTHON=python3.12"

setup: $(INSTALLED) ## create .venv and install the locked dependencies and this checkout (about a minute)

# uv installs in seconds; plain pip does the same in minutes where uv cannot be had or fails.
$(INSTALLED): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make setup PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	@if $(BIN)/python -m pip install -qq --disable-pip-version-check uv \
	  && $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock \
	  && $(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps -e . ; then echo "installed with uv"; \
	else echo "uv failed; installing with pip, which takes minutes" \
	  && $(BIN)/python -m pip install -qq --no-deps --require-hashes -r requirements.lock \
	  && $(BIN)/python -m pip install -qq --no-deps -e . ; fi
	@touch $@

demo: setup ## answer, judge and compile on the bundled sample, offline
	$(BIN)/python -m reflective_rag.experiments.demo

# One process per core, at most WORKERS: each holds DSPy, MLflow and LanceDB in memory. By file, so that what a file sets up
# once (a store, an index, a model) is set up once. Without `-n` the tests run in one process, as pytest does by itself.
WORKERS ?= 8
test: setup ## all tests, offline, on up to 8 cores (WORKERS=2: on two); prints why any was skipped
	$(BIN)/python -m pytest -q -n logical --maxprocesses $(WORKERS) --dist loadfile

test-model: setup ## tests on a tiny local language model, fetched first
	$(BIN)/python tests/tools/fetch_smollm2.py
	$(BIN)/python -m pytest -q -m model

lint: setup ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy -p reflective_rag
	$(BIN)/mypy tests

check: lint test ## what a change must pass

format: setup ## rewrite the files in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel: setup ## build the wheel and try it in a clean environment outside the checkout
	bash tests/tools/try_wheel.sh "$(PYTHON)"

# Keeps the locked versions that still fit; `make lock UPGRADE=1` takes the newest that the bounds allow.
lock: setup ## write requirements.lock anew from pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links --extra files --extra local --extra models --extra serve --group dev $(if $(UPGRADE),--upgrade) \
	  pyproject.toml -o requirements.lock

clean: ## remove caches and build output (not .venv)
	rm -rf build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
