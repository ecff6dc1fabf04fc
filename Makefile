# Everything below needs only Python 3.11+, pip and make.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Tests start hundreds of processes, and each would compile all it imports.
export PYTHONDONTWRITEBYTECODE =
# uv installs five times as fast as pip; it comes by pip, into the environment that it fills.
PIP    = $(1)/bin/python -m pip install --quiet --disable-pip-version-check
UV     = $(1)/bin/uv pip install --quiet --python $(1)/bin/python
make_env = $(PYTHON) -m venv --clear $(1) && $(call PIP,$(1)) "uv>=0.8"

.PHONY: help demo test fast coverage test-extras test-parity golden-evalscope versions floor torture fuzz lint check format bench bench-rescoring simulate catalogue map wheel core docs clean

help:            ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

demo: $(VENV)/.demo   ## install, then run the first evaluation offline
	$(BIN)/eyechart demo

test: $(VENV)/.dev    ## the whole suite: core and small extras
	@# Three at once on two cores, since many tests wait for a server or a clock.
	$(BIN)/python -m pytest -n 3 --dist worksteal -m "not torture and not extras"

fast: $(VENV)/.dev    ## the tests to run while you work, less than a minute
	$(BIN)/python -m pytest -n 2 --hypothesis-profile fast -m "not slow and not ocr and not torture and not extras"

# Lines run by the tests, also in the processes that they start. COVERED selects the tests.
COVERED ?= not torture and not extras
coverage: $(VENV)/.dev   ## the share of lines that the whole suite runs, and the ten least covered modules
	@mkdir -p build
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -p no:cacheprovider -m "$(COVERED)"
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage json --quiet -o build/coverage.json
	$(BIN)/python tools/coverage_table.py build/coverage.json | tee build/coverage.md

versions:        ## the fast tests with every other Python from 3.11 on that is on this machine
	$(PYTHON) tools/versions.py --except $(PYTHON) $(if $(NEWEST),--newest)

FLOOR := $(VENV)-floor
FLOOR_EXTRAS := ocr parquet hub inspect multi pandas polars evalscope pdf
comma := ,
empty :=

floor: $(FLOOR)/.done   ## the fast tests with the lowest version of every dependency that pyproject.toml allows
	$(FLOOR)/bin/python -m pytest -n 2 --hypothesis-profile fast -m "not slow and not ocr and not torture and not extras"

# The build of torch for CPUs, in CI and here. Users get what pip finds for their machine.
CPU_TORCH ?= torch==2.13.0
EXTRAS := $(VENV)-extras
PAGES  := tests/extras/browser tests/extras/view
# A mock server of many providers; its tests are skipped where npm is not installed.
AIMOCK ?= @copilotkit/aimock@1.43.0

test-extras: $(EXTRAS)/.done   ## the tests that need torch, Ray, servers or a browser, on the CPU
	@command -v chromium >/dev/null || { echo "installing chromium for the tests of pages"; \
	  apt-get update -qq && apt-get install -qq --no-install-recommends chromium >/dev/null; }
	@! command -v npm >/dev/null || test -d $(EXTRAS)/aimock || \
	  npm install --silent --no-audit --no-fund --prefix $(EXTRAS)/aimock "$(AIMOCK)" || echo "no aimock: its tests are skipped"
	@# Playwright keeps an event loop running, so that its tests have a process of their own.
	OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 $(EXTRAS)/bin/python -m pytest tests/extras $(PAGES:%=--ignore %)
	OMP_NUM_THREADS=1 $(EXTRAS)/bin/python -m pytest $(PAGES)

PARITY := $(VENV)-parity
MS_VLMEVAL := ms-vlmeval==0.0.20

test-parity: $(VENV)/.dev $(PARITY)/.done $(PARITY)/nltk_data   ## compare with the released evalscope and ms-vlmeval, end to end; some minutes
	EYECHART_PARITY=$(abspath $(PARITY)/bin/python) NLTK_DATA=$(abspath $(PARITY)/nltk_data) $(BIN)/python -m pytest tests/parity

# New vectors in tests/golden from the released evalscope: make golden-evalscope
golden-evalscope: $(PARITY)/.done $(PARITY)/nltk_data
	PYTHONPATH=tests NLTK_DATA=$(abspath $(PARITY)/nltk_data) $(PARITY)/bin/python tests/parity/write_golden.py

torture: $(VENV)/.dev ## the crash tests in full length, some minutes; says how many processes it killed
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/torture

MINUTES ?= 30
fuzz: $(VENV)/.dev    ## mutated files, images, answers, journals, options and logs for MINUTES (30); findings are stored
	cd tests && ../$(BIN)/python -m fuzz --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

lint: $(VENV)/.dev    ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

check: lint      ## format, lint, types, layers, fast tests
	$(MAKE) fast

format: $(VENV)/.dev  ## write the code the way ruff writes it
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev   ## how fast and lean: ratios to a bare client in the same run
	@$(BIN)/python -m compileall -q src  # as in an installed package, even where Python is told to write no bytecode
	$(BIN)/python bench/engine.py

bench-rescoring: $(VENV)/.dev   ## how fast stored replies are scored again
	$(BIN)/python bench/rescoring.py

simulate: $(VENV)/.dev ## how often the intervals of ec.stats contain the true value: the tables of bench/simulated.md
	@$(BIN)/python bench/simulate.py

catalogue: $(VENV)/.dev ## write what follows from declarations: the list of built-in parts, tables in docs
	$(BIN)/python tools/write_names.py
	$(BIN)/python tools/write_catalogue.py

map: $(VENV)/.dev     ## packages, modules, lines, imports between packages, repeated names, the files that a sample passes through
	@$(BIN)/python tools/map.py

wheel: $(VENV)/.dev   ## build the package
	rm -f dist/eyechart-*.whl
	$(BIN)/python -m build --wheel --outdir dist .

core: wheel      ## install the wheel alone into a fresh environment; run the tutorials with it
	rm -rf dist/venv && $(PYTHON) -m venv dist/venv
	dist/venv/bin/pip install --quiet --disable-pip-version-check dist/eyechart-*.whl
	@! dist/venv/bin/pip list --disable-pip-version-check 2>/dev/null \
	  | grep -iE '^(torch|transformers|numpy|pandas|datasets|onnxruntime|pyarrow) ' || (echo "the core is not light"; exit 1)
	cd dist && venv/bin/eyechart demo --limit 12 -q
	dist/venv/bin/pip install --quiet --disable-pip-version-check pytest pandas  # for what tutorials show
	EYECHART_WHEEL_ENV=dist/venv $(BIN)/python -m pytest tests/wheel

docs: $(VENV)-docs/.done   ## build the site of the documentation into build/site; fails on a broken link
	$(VENV)-docs/bin/python tools/build_site.py

clean:           ## remove what was built
	rm -rf $(VENV) $(VENV)-3.* $(VENV)-docs $(FLOOR) $(EXTRAS) $(PARITY) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/.uv:
	$(call make_env,$(VENV))
	@touch $@

$(EXTRAS)/.done: pyproject.toml
	@echo "installing eyechart, torch, transformers and Ray into $(EXTRAS) (about a minute)"
	$(call make_env,$(EXTRAS))
	$(call PIP,$(EXTRAS)) "$(CPU_TORCH)"  # pip finds builds in local folders
	$(call UV,$(EXTRAS)) --editable ".[hf,ray,mlflow,wandb]" --group extras
	@touch $@

# Only our own dependencies are held down: theirs, and the tools, are as new as these allow.
$(FLOOR)/.done: pyproject.toml
	$(call make_env,$(FLOOR))
	$(FLOOR)/bin/uv pip compile --quiet --no-deps --resolution lowest-direct --python $(FLOOR)/bin/python \
	  $(FLOOR_EXTRAS:%=--extra %) --output-file $(FLOOR)/lowest.txt pyproject.toml
	$(call UV,$(FLOOR)) --constraint $(FLOOR)/lowest.txt \
	  --editable ".[$(subst $(empty) $(empty),$(comma),$(FLOOR_EXTRAS))]" --group dev
	@touch $@

$(PARITY)/.done: tests/parity/requirements.txt
	@echo "installing evalscope and ms-vlmeval into $(PARITY) (a few minutes)"
	$(PYTHON) -m venv --clear $(PARITY)
	$(call PIP,$(PARITY)) "$(CPU_TORCH)" -r tests/parity/requirements.txt
	$(call PIP,$(PARITY)) --no-deps $(MS_VLMEVAL)
	@touch $@

# nltk's sentence model, which BLEU needs and which pip cannot install: this package brings it along.
$(PARITY)/nltk_data: $(PARITY)/.done
	$(PARITY)/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --dest $(PARITY)/wheels llama-index-core
	$(PARITY)/bin/python tests/parity/unpack_sentences.py $(PARITY)/wheels $@

$(VENV)-docs/.done: pyproject.toml
	$(call make_env,$(VENV)-docs)
	$(call UV,$(VENV)-docs) --group docs
	@touch $@

$(VENV)/.demo: $(VENV)/.uv pyproject.toml
	@echo "installing eyechart with its [ocr] extra into $(VENV) (about a minute)"
	$(call UV,$(VENV)) --editable ".[ocr]"
	@touch $@

$(VENV)/.dev: $(VENV)/.uv pyproject.toml
	@echo "installing eyechart and the tools of its developers into $(VENV)"
	$(call UV,$(VENV)) --editable ".[ocr,parquet,hub,inspect,multi,pandas,polars]" --group dev
	@touch $@ $(VENV)/.demo
