# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# one BLAS thread a process: parallelism is joblib's, and sums keep their order
export OPENBLAS_NUM_THREADS = 1
export OMP_NUM_THREADS = 1
export MKL_NUM_THREADS = 1
export MPLBACKEND = Agg

.PHONY: demo test test-slow faults coverage validity mutation lint docs bench clean minimum newest
.PHONY: wheel licenses bad-calls man compiled

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

compiled: $(VENV)/.test
	$(BIN)/python -m tests.compile_once

test: $(VENV)/.test  ## lint, architecture, types, doctests, tests
	$(MAKE) --no-print-directory -j2 lint compiled
	$(BIN)/python -m pytest -m "not slow" -n auto --dist loadfile --ignore=tests/faults

test-slow: $(VENV)/.test  ## the long simulations of every statistical guarantee
	$(BIN)/python -m pytest -m slow

faults: $(VENV)/.test  ## some kills, full disks, damaged files; many with ALL=1
	$(BIN)/python -m pytest tests/faults -n auto $(if $(ALL),,-m "not slow")

coverage: $(VENV)/.test  ## every line and branch of the statistics runs in their tests
	$(BIN)/python -m pytest -m "not slow" --cov=neuroextrap.stats --cov-branch \
		--cov-report=term-missing:skip-covered --cov-fail-under=100 tests/stats

validity: $(VENV)/.test  ## simulate every guarantee, write the page of the guide
	$(BIN)/python -m benchmarks.validity

mutation: $(VENV)/.test  ## change the formulas of the statistics: do tests notice?
	$(BIN)/python -m pip install --quiet --editable ".[mutation]"
	NUMBA_DISABLE_JIT=1 $(BIN)/mutmut run --max-children 2
	$(BIN)/mutmut results

docs: $(VENV)/.docs  ## documentation and gallery, warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

man: $(VENV)/.docs  ## the manual page, from the parser of the command line
	$(BIN)/argparse-manpage --module neuroextrap.cli._main --function build_parser \
		--prog neuroextrap --project-name neuroextrap --manual-title neuroextrap \
		--output docs/_build/neuroextrap.1

bench: $(VENV)/.test  ## one table of ratios; each is timed after equality is checked
	$(BIN)/python benchmarks/_table.py --quick

# quick tests, in an environment of its own, which is kept; TESTS="tests/stats" runs some
TESTS ?=
QUICK = -m pytest -m "not slow" -n auto --dist loadfile $(TESTS)

minimum:  ## the tests under the lowest versions that pyproject.toml declares
	$(PYTHON) -m venv .venv-minimum
	$(PYTHON) .ci/lowest_versions.py > .venv-minimum/lowest.txt
	.venv-minimum/bin/python -m pip install --quiet -r .venv-minimum/lowest.txt
	.venv-minimum/bin/python -m pip install --quiet --no-deps --editable .
	.venv-minimum/bin/python $(QUICK)

newest:  ## the tests under the newest versions that can be had today
	$(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager \
		--editable ".[test]"
	.venv-newest/bin/python $(QUICK)

wheel:  ## build wheel and sdist, install each in a clean environment, run the demo there
	rm -rf dist .venv-wheel
	$(PYTHON) -m venv .venv-wheel/build
	.venv-wheel/build/bin/python -m pip install --quiet build twine
	.venv-wheel/build/bin/python -m build --outdir dist .
	.venv-wheel/build/bin/python -m twine check --strict dist/*
	$(PYTHON) .ci/try_package.py dist .venv-wheel

licenses: $(VENV)/.test  ## what the dependencies are licensed under
	$(BIN)/python .ci/licenses.py > docs/licenses.tsv

bad-calls: $(VENV)/.test  ## every wrong call, each with its error; the count is printed
	$(BIN)/python -m pytest tests/bad_calls -n auto

clean:
	rm -rf dist .venv-minimum .venv-newest .venv-wheel mutants
	rm -rf $(VENV) demo_output docs/_build docs/auto_examples docs/api/generated
