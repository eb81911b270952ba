# One entry per job. `make demo` and `make test` are all a newcomer needs; CI runs `make ci`.
# 3.11 or later
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Named after the contents of what it was made from: nbdev-export touches pyproject.toml without changing it
READY  := $(VENV)/ready-$(firstword $(shell cat pyproject.toml constraints.txt | cksum))
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Notebooks and tests run side by side: two processes that each want all cores would wait for each other
export OMP_NUM_THREADS ?= 1
# Bytecode is kept: each of hundreds of processes would compile the same modules, and each worker of pytest all tests
export PYTHONDONTWRITEBYTECODE :=
# Cells of a notebook are run in a thread, which is what a fit with checkpoints warns of
export PYTHONWARNINGS ?= ignore:no signal reaches a fit
.PHONY: demo test processes sound quick ci export save check docs site pictures bench mutants wheel browser interop
# Jobs write notebooks, modules and _proc/, which other jobs read
.NOTPARALLEL:
.DEFAULT_GOAL := test
# How `make check` writes README.md, beside the linters; for `make ci`, with the site
README  ?= python -m tools.build_docs --readme
# `make ci` runs jobs side by side, which read the modules
EXPORT  ?= nbdev-export
# Who may install what `make browser` needs
SUDO := $(if $(filter-out 0,$(shell id -u)),sudo -n)
# Each test of several processes has a time limit. This one is for tests that hang nevertheless
LIMIT := $(if $(shell command -v timeout),timeout -k 20 1800)

$(READY):
	$(PYTHON) -m venv $(VENV)
	# bytecode of all packages takes a minute, and most modules are never imported
	$(BIN)/pip install -q --no-compile -c constraints.txt -e '.[dev]'
	rm -f $(VENV)/ready-*
	touch $@

demo:    $(READY) ; learnloop demo
test:    $(READY) ; python -m tools.notebooks --timing && pytest -q -n auto --dist worksteal --ignore tests/scale   # a worker runs whole files, so that it makes what their tests share once
processes: $(READY) ; $(LIMIT) pytest -q -n 2 --dist worksteal --durations 10 tests/scale   # several processes that train together
sound:   $(READY) ; LEARNLOOP_FUSE_REAL=1 pytest -q -n 2 --dist worksteal --durations 10 tests/scale/test_fuse_sound.py   # drawn programs and others, compiled by the real compiler: this takes long
quick:   $(READY)   # one notebook, and the tests named after its module: `make quick NB=trace`
	nbdev-export && python -m tools.notebooks --timing $(or $(wildcard nbs/*/[0-9][0-9]_$(NB).ipynb),$(error no notebook is named '$(NB)'))
	pytest -q -x -n auto $(or $(wildcard tests/*/test_$(NB)*.py),tests/test_notebooks.py)
ci:      check test   # fits in several processes run beside the jobs that wait for an installation or a browser
	$(MAKE) processes >_proc/processes.log 2>&1 & $(MAKE) wheel browser EXPORT=true; rc=$$?; wait $$! || rc=1; cat _proc/processes.log; exit $$rc
	python -m tools.mutants --passed
ci:      README := python -m tools.build_docs
export:  $(READY) ; nbdev-export && nbdev-clean && python -m tools.stubs
save:    $(READY) ; python -m tools.notebooks --save && nbdev-clean   # refresh the outputs stored in notebooks
docs:    $(READY) ; nbdev-export && python -m tools.build_docs   # the site, in _docs/, and README.md
site:    docs ; (sleep 1; python -m webbrowser http://127.0.0.1:8000) & python -m http.server -b 127.0.0.1 -d _docs   # the same, opened in a browser
pictures: $(READY) ; python -m tools.pictures   # the figure in README.md, for light and dark pages
bench:   $(READY)   # ratios to loops written by hand, and what else things cost
	for o in overhead fuse inference memory imports tensors watch trace checkpoint processes; do python -m benchmarks.$$o || exit 1; done
mutants: $(READY) ; python -m tools.mutants   # plant faults, and see that some test catches each
wheel:   $(READY) ; $(EXPORT) && python -m tools.wheel_smoke   # the built package works where nothing else is installed
browser: $(READY)   # notebooks, reports, TensorBoard and what `make docs` built, as a browser shows them; it needs Debian's Chromium
	command -v chromium || command -v google-chrome || { $(SUDO) apt-get -q update && $(SUDO) apt-get -qy install --no-install-recommends chromium fonts-liberation; }
	$(LIMIT) pytest -q -o faulthandler_timeout=900 -o faulthandler_exit_on_timeout=true tests/browser/page_*.py
interop: $(READY) ; python -m tools.interop   # other systems' own callbacks, each in an environment of its own
check:   $(READY)   # notebooks, modules and README agree, and follow the house style
	$(EXPORT) && nbdev-clean && python -m tools.stubs
	$(README) & a=$$!; mypy & b=$$!; ruff check && chkstyle && lint-imports --no-cache --no-logo && python -m tools.house --check; rc=$$?; wait $$a && wait $$b && exit $$rc
	git diff --exit-code -- nbs learnloop README.md && test -z "$$(git ls-files -o --exclude-standard nbs learnloop)"
	# unclear phrases in what isn't committed, or in what was since BASE: to look at, as a phrase may be right where it stands
	git diff -U0 $(or $(BASE),HEAD) -- '*.py' '*.ipynb' '*.md' ':!learnloop' ':!tests' ':!README.md' | grep '^+' | \
		grep -Pi "$$(grep -v '^#' tools/phrases.txt | cut -f1 | paste -sd'|')" || true
