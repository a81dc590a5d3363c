# The contract: one verb per target, and CI calls nothing but these targets.
# Variables: PYTHON (the interpreter that creates .venv), PIP_ARGS (passed to every pip install), JOBS (tests run at
# once), PORT (make serve), SAMPLE and SEED (make mutate), NOTEBOOKS (make chapters-run, seeds, elsewhere),
# SHIFT (make seeds), NOISE and STAGE (make elsewhere), FIGURES and FORMAT (make figures), EDITION and LAB_ARGS (make
# lab), CHAPTER (below), and for other environments VENV (the folder) and PINS (constraints on versions), as `make
# oldest` sets them.

PYTHON ?= python3
PIP_ARGS ?=
JOBS ?= 2
PORT ?= 8000
SHIFT ?= 1000
NOISE ?= 1
FORMAT ?= svg

VENV := .venv
PINS := -c constraints.txt

# Which skips are allowed; tests/QUARANTINES.md explains the values. Only we have the corpora and the notes.
REQUIRE_ALL ?= but-corpora,notes
export REQUIRE_ALL

# Hundreds of processes import the package and the tests, so their bytecode is kept (`make clean` removes it).
unexport PYTHONDONTWRITEBYTECODE

RUN := $(VENV)/bin/python
# What a reader needs, and what the tests need as well.
READY := $(VENV)/ready
TESTED := $(VENV)/tested
NOTEBOOKS = $(shell ls -r chapters/*.ipynb 2>/dev/null)

# Low bits of a sum depend on the number of threads, so results to be compared are computed with one.
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
# Importing nbval takes two seconds in each process, so only the stage that uses it does.
PYTEST := $(RUN) -m pytest -q --no-fold-skipped -p no:nbval
UNIT := not page and not slow and not cuda and not hosts
SHAPES := --jaxtyping-packages=annotated_transformer,beartype.beartype
# A test that hangs ends its process (`timeout` in pyproject.toml). A new one begins the file again, and may hang, too.
BY_FILE := -n $(JOBS) --dist loadfile --max-worker-restart=1
BUILD_BOOK := $(VENV)/bin/jupyter-book build . $(if $(CHAPTER),,--all) -W -n --keep-going

# What `make test` runs, in this order; each is a target of its own, and so is each part of `static`.
STAGES := static unit chapters-run pages
PARTS := render lint types fresh

# CHAPTER=16, or training: the stages test that chapter alone, by the tests of its room and by its cases of the tests
# that have one for each chapter. Pages of the reference (api/) may have the name of a room. One process runs them all:
# to collect such a test costs more than to run it, and each process would collect all.
ifdef CHAPTER
JOBS := 0
NAME := $(basename $(notdir $(filter chapters/$(CHAPTER)_% chapters/0$(CHAPTER)_%,$(wildcard chapters/[0-9]*.ipynb)) \
  $(wildcard chapters/$(CHAPTER).ipynb chapters/[0-9][0-9]_$(CHAPTER).ipynb)))
ifneq ($(words $(NAME)),1)
$(error there is no chapter $(CHAPTER); there are $(sort $(basename $(notdir $(wildcard chapters/*.ipynb)))))
endif
ROOM := $(shell echo $(NAME) | sed 's/^[0-9]*_//')
TESTS := $(wildcard tests/book/chapters/test_$(ROOM).py)
ONLY := $(TESTS) $(shell grep -lsE 'ids=lambda path|parametrize..name"|parametrize..room"' tests/book/*.py tests/builder/*.py) -k "$(ROOM) and not api/"
NOTEBOOKS := chapters/$(NAME).ipynb
PARTS := chapters-run render fresh
STAGES := unit static pages
endif

.DEFAULT_GOAL := help
.PHONY: help book serve test quick ci lint types fresh render chapters lab student figures poster clean browser environment links downloads epub oldest newest slow cuda hosts seeds elsewhere mutate $(STAGES) $(PARTS)

help:  ## show this list
	@echo 'Usage: make TARGET [PIP_ARGS="…"] [PYTHON=python3.13] [JOBS=8] [CHAPTER=16]'
	@echo
	@awk -F ':.*##' '/^[a-z-]+:.*##/ { printf "  %-14s%s\n", $$1, $$2 }' Makefile
	@echo
	@echo 'Without make (on Windows, use .venv\Scripts\python instead of .venv/bin/python):'
	@echo '  $(PYTHON) -m venv $(VENV)'
	@echo '  $(RUN) -m pip install -c constraints.txt torch'
	@echo '  $(RUN) -m pip install -c constraints.txt -e ".[book,test]"'
	@echo '  $(BUILD_BOOK)    # the book, in _build/html'
	@echo '  $(RUN) -m http.server --bind 127.0.0.1 --directory _build/html $(PORT)'
	@echo '  $(RUN) -m builder.build    # execute the chapters that changed'
	@echo '  $(RUN) -m pytest -m "not page" $(SHAPES)'

book: render  ## set up, then render the chapters as committed, without executing them
	@echo
	@echo 'The book: open _build/html/index.html, or run `make serve`.'

serve:  ## serve the rendered book on this machine only
	@test -f _build/html/index.html || { echo 'There is no book yet: run `make book` first.' >&2; exit 1; }
	@echo 'The book: http://127.0.0.1:$(PORT)/ (Ctrl-C stops the server)'
	@$(PYTHON) -m http.server --bind 127.0.0.1 --directory _build/html $(PORT)

# Later stages run even if one fails; the summary lists all of them.
test: $(TESTED)  ## run the tests, in about half an hour on two cores; with CHAPTER=16, those of that chapter alone
	@failed=; summary=; all=$$(date +%s); \
	for stage in $(STAGES); do \
	  echo; echo "=== $$stage"; start=$$(date +%s); \
	  if $(MAKE) --no-print-directory $$stage; then word=ok; \
	  else word=FAILED; failed="$$failed $$stage"; fi; \
	  summary="$$summary$$stage $$(($$(date +%s) - start)) $$word\n"; \
	done; \
	echo; printf "$$summary" | awk '{ printf "%-14s%5d s  %s\n", $$1, $$2, $$3 }'; \
	echo "make test: $$(($$(date +%s) - all)) s"; \
	if [ -n "$$failed" ]; then echo "failed:$$failed" >&2; exit 1; fi

# Without files, pytest would run all tests; its status is 5 if the markers leave none.
quick: lint  ## lint, and run the test files of what differs from the last commit, in less than a minute
	@files=$$($(RUN) -m tests.quick); [ -z "$$files" ] || \
	  $(ONE_THREAD) $(PYTEST) -n $(JOBS) --dist worksteal -m "$(UNIT)" $(SHAPES) $$files || [ $$? = 5 ]

ci: $(TESTED)  ## run what CI runs: these tests and the slow ones
	@$(MAKE) --no-print-directory test STAGES="$(STAGES) slow"

# Each of these runs in one process, so several run at once; the longest starts first.
static: $(TESTED)  ## render, lint, types, and fresh, JOBS at once; with CHAPTER, its chapters-run, render, and fresh
	@$(MAKE) --no-print-directory -k -j $(filter-out 0,$(JOBS)) $(if $(filter output-sync,$(.FEATURES)),-O) $(PARTS)

lint: $(TESTED)  ## check code and formatting (ruff, oxlint, oxfmt), spelling (typos), workflows (zizmor), and settings (repo-review)
	$(RUN) -m ruff check --output-format=concise .
	$(RUN) -m ruff format --check --output-format=concise .
	$(VENV)/bin/oxlint
	$(VENV)/bin/oxfmt --check '**/*.js' '**/*.ts'
	$(VENV)/bin/typos
	$(VENV)/bin/zizmor --offline --quiet .
	$(VENV)/bin/repo-review --show err .

# In one process: mypy's workers must start within three seconds, and on a busy machine, just set up, they do not.
types: $(TESTED)  ## run mypy in strict mode, less strict on the tests, and check the types of JavaScript (deno)
	$(RUN) -m mypy
	DENO_DIR=_build/deno $(VENV)/bin/deno check --quiet --no-remote --no-npm --no-lock annotated_transformer builder

unit: browser  ## run the unit tests: with all annotated shapes checked, and error messages without, as for users
	$(ONE_THREAD) $(PYTEST) -n $(JOBS) --dist worksteal --durations=5 -m "$(UNIT)" $(SHAPES) $(ONLY)

fresh: $(READY)  ## check that each notebook is up to date with its source
	$(ONE_THREAD) $(RUN) -m builder.build --check $(NAME)

# From the last chapter to the first, because the later ones take longer: no processor then waits for one at the end.
chapters-run: $(TESTED)  ## execute every chapter again and compare its outputs (nbval)
	$(ONE_THREAD) $(PYTEST) $(BY_FILE) --no-loadscope-reorder -p nbval --nbval \
	  --nbval-sanitize-with chapters/nbval_sanitize.cfg --nbval-cell-timeout=600 $(or $(NOTEBOOKS),$(error there are no chapters: run make chapters))

mutate: browser  ## draw wrong programs at random, SAMPLE=100 of them, and count which the tests notice
	$(RUN) -m tests.mutation.sample $(or $(SAMPLE),100) --seed $(or $(SEED),$(shell date +%s)) --workers $(JOBS)

# --all, because a page that is not rebuilt does not repeat its warnings. For one chapter, Sphinx forgets its page, and
# reads and writes what is missing or has changed. A build of this page alone takes a third of the time (13 s of
# processor time, not 38, on a busy machine), but warns of each reference to another page: 26 times in chapter 16.
render: $(READY)  ## render the book, with warnings as errors
	$(if $(CHAPTER),rm -f _build/.doctrees/chapters/$(NAME).doctree)
	$(BUILD_BOOK)

# Not a stage of `make test`: external sites are sometimes down.
links: $(READY)  ## check that the book's external links still work (accesses those sites)
	$(BUILD_BOOK) --builder linkcheck --path-output _build/links

downloads: $(READY)  ## download the published corpora from their sites to _build/corpora, and verify them
	$(RUN) -m annotated_transformer download multi30k --to _build/corpora
	$(RUN) -m annotated_transformer download tatoeba --to _build/corpora

pages: browser  ## test the rendered pages in a browser
	$(PYTEST) -n $(JOBS) --dist worksteal -m "page and not slow" $(ONLY)

slow: browser  ## run the tests that take too long for `make test`, after rendering the book
	$(ONE_THREAD) $(PYTEST) $(BY_FILE) -m slow $(SHAPES) $(ONLY)

cuda: $(TESTED)  ## test training and translating on a CUDA device, against the CPU, with all of the machine's devices
	$(PYTEST) -m cuda

hosts: $(TESTED)  ## train on two hosts, which are network namespaces on this one; needs root, and Linux's `ip`
	$(PYTEST) -m hosts

chapters: $(READY)  ## execute the chapters whose source changed and write their notebooks
	$(ONE_THREAD) $(RUN) -m builder.build

seeds: $(TESTED)  ## run the chapters with all seeds shifted, and list the claims that fail: SHIFT=1000 NOTEBOOKS=…
	@failed=; for notebook in $(NOTEBOOKS); do \
	  $(ONE_THREAD) $(RUN) -m builder.seeds $(SHIFT) $$notebook || failed=1; \
	done; [ -z "$$failed" ]

# What a training run gives depends on rounding, and rounding on the processor: tests/elsewhere makes up another one.
elsewhere: $(TESTED)  ## chapters-run, or STAGE=unit, with the terms of sums in another order: NOISE=1 NOTEBOOKS=…
	NOISE=$(NOISE) PYTHONPATH="$(CURDIR)/tests/elsewhere" $(MAKE) $(or $(STAGE),chapters-run)

# Two other environments, each in its own folder. Neither has the versions of constraints.txt, so the tests that
# compare them are deselected. Pages and outputs may differ there, so `oldest` runs only the tests.
OTHER = PYTEST_ADDOPTS="$(PYTEST_ADDOPTS) -p tests.foreign_warnings $(PINNED:%=--deselect=tests/test_environment.py::%)" $(MAKE) VENV=.venv-$@
PINNED := test_law_the_environment_holds_the_pinned_versions test_law_what_bleu_in_japanese_and_korean_needs_is_pinned

oldest:  ## run the tests with the oldest direct requirements that pyproject.toml allows, in .venv-oldest
	@mkdir -p .venv-oldest
	$(PYTHON) tests/oldest.py > .venv-oldest/constraints.txt
	$(OTHER) PINS="-c .venv-oldest/constraints.txt" STAGES=unit test

newest:  ## run `make test` with the newest versions of everything, in .venv-newest
	$(OTHER) PINS= test

# JupyterLab refuses to run as root without being told; in a container, most users are. It stores which notebooks
# are open in a folder that all JupyterLabs of a user share, so without one of its own an edition opens the other's.
COPIES = _$(or $(EDITION),lab)
lab: $(READY)  ## open JupyterLab on your copies of the chapters: EDITION=student LAB_ARGS="--no-browser --port 9999"
	@$(RUN) -m builder.lab $(EDITION:%=--%)
	$(VENV)/bin/jupyter trust $(COPIES)/*.ipynb
	JUPYTERLAB_WORKSPACES_DIR="$(CURDIR)/$(COPIES)/.workspaces" \
	  $(VENV)/bin/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) $(LAB_ARGS) $(COPIES)/start.ipynb

student: $(READY)  ## copy the notebooks without solutions into _student, where your answers are kept
	@$(RUN) -m builder.lab --student
	@echo 'Your copies are in _student; to work in them: make lab EDITION=student'

figures: $(READY)  ## write the figures of the chapters into _build/figures: FIGURES="4.1 16.4" for some, FORMAT=svg,png,pdf
	@$(RUN) -m builder.figures _build/figures --format $(FORMAT) $(FIGURES)
	@echo 'The figures: _build/figures'

epub: $(READY)  ## write the book as an EPUB: _build/print/annotated-transformer.epub
	$(VENV)/bin/jupyter-book build . --builder custom --custom-builder epub -n --keep-going
	@mkdir -p _build/print && cp _build/epub/annotated-transformer.epub _build/print

poster: browser  ## draw the whole Transformer on one sheet of A3, and print it as PDF, which the next `make book` links
	@$(ONE_THREAD) $(RUN) -m builder.explorer.poster

clean:  ## remove generated files, except .venv, .venv-oldest, .venv-newest, _lab, and _student
	rm -rf _build handbook .mypy_cache .ruff_cache .pytest_cache
	find annotated_transformer benchmarks chapters tests -name __pycache__ -type d -prune -exec rm -rf {} +

# What runs tests depends on it: without a browser, it fails here, with one message.
browser: $(TESTED)  ## find a Chromium for the tests, or install one
	@$(RUN) -m tests.browser

environment: $(TESTED)  ## only set up the environment, with what the tests need

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = ".".join(map(str, sys.version_info[:3])); sys.exit(None if sys.version_info >= (3, 11) \
	else f"Python 3.11 or newer is needed, and $(PYTHON) is {v}: run make PYTHON=python3.11, or the name of your Python")'
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install $(PIP_ARGS) $(PINS) torch
	$(RUN) -m pip install $(PIP_ARGS) $(PINS) -e ".[book]"
	@touch $@

$(TESTED): $(READY)
	$(RUN) -m pip install $(PIP_ARGS) $(PINS) -e ".[book,test]"
	@touch $@
