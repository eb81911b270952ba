# One entry per job. `make demo` and `make test` are all a newcomer needs; CI runs `make ci`.
# 3.11 or later
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
.PHONY: demo test ci export save check docs bench mutants wheel
# Jobs write notebooks, modules and _proc/, which other jobs read
.NOTPARALLEL:
.DEFAULT_GOAL := test

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q -c constraints.txt -e '.[dev]'
	touch $@

demo:    $(VENV)/ready ; learnloop demo
test:    $(VENV)/ready ; nbdev-test --n-workers 2 --timing && pytest -q
ci:      check test mutants docs wheel
export:  $(VENV)/ready ; nbdev-export && nbdev-clean
save:    $(VENV)/ready ; nbdev-test --save --n-workers 2 && nbdev-clean   # refresh the outputs stored in notebooks
docs:    $(VENV)/ready ; python -m tools.build_docs   # the site, in _docs/, and README.md
bench:   $(VENV)/ready ; python -m benchmarks.overhead
mutants: $(VENV)/ready ; python -m tools.mutants   # plant faults, and see that some test catches each
wheel:   $(VENV)/ready ; python -m tools.wheel_smoke   # the built package works where nothing else is installed
check:   $(VENV)/ready   # notebooks, modules and README agree, and follow the house style
	nbdev-export && nbdev-clean && python -m tools.build_docs --readme
	git diff --exit-code -- nbs learnloop README.md && test -z "$$(git ls-files -o --exclude-standard nbs learnloop)"
	ruff check && chkstyle
