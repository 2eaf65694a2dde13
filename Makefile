# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# one BLAS thread a process: parallelism is joblib's, and sums keep their order
export OPENBLAS_NUM_THREADS = 1
export OMP_NUM_THREADS = 1
export MKL_NUM_THREADS = 1
export MPLBACKEND = Agg

.PHONY: demo test test-slow faults coverage lint docs bench clean

$(VENV)/.base: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[plotting]"
	touch $@

$(VENV)/.test: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $(VENV)/.base $@

$(VENV)/.docs: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

demo: $(VENV)/.base  ## whole-brain maps of simulated data with known truth
	$(BIN)/neuroextrap demo demo_output --overwrite

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

test: lint  ## lint, architecture, types, doctests, tests
	$(BIN)/python -m pytest -m "not slow"

test-slow: $(VENV)/.test  ## the long simulations of every statistical guarantee
	$(BIN)/python -m pytest -m slow

faults: $(VENV)/.test  ## kills, full disks, damaged files; prints how many and their end
	$(BIN)/python -m pytest tests/faults

coverage: $(VENV)/.test  ## every line and branch of the statistics runs in their tests
	$(BIN)/python -m pytest -m "not slow" --cov=neuroextrap.stats --cov-branch \
		--cov-report=term-missing:skip-covered --cov-fail-under=100 tests/stats

docs: $(VENV)/.docs  ## documentation and gallery, warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.test  ## tables of ratios; each checks equality before it times
	for script in benchmarks/*.py; do $(BIN)/python $$script --quick || exit 1; done

clean:
	rm -rf $(VENV) demo_output docs/_build docs/auto_examples docs/api/generated
