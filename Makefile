# Jackdaw: the project's commands. `make help` lists them.
PYTHON3 ?= python3
VENV    := .venv
PYTHON  := $(VENV)/bin/python
STAMP   := $(VENV)/.done
DOCS    := $(VENV)/.docs
PATHS   := . host scripts flow/plugins
SV      := $(shell git ls-files '*.sv' '*.svh' | grep -v /generated/)
JOBS    ?= 2
SEED    ?= 1
COUNT   ?= 200
PYTEST   = $(PYTHON) -m pytest -n $(JOBS) --dist loadgroup --no-loadscope-reorder --durations=15 \
  --junitxml=build/report/tests.xml --seed $(SEED)
# Where tests are: here, and in engines that bring their own.
TESTS    = tests $(shell $(PYTHON) -m flow.manifest tests)
# Records are of commits: --record where the tree is one's, asked when a flow begins.
RECORD   = $(shell $(PYTHON) -m flow.results)
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
# Hundreds of processes import the same modules; what they compile is kept, but not in the tree.
export PYTHONDONTWRITEBYTECODE :=
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache

.PHONY: help setup demo test regress test-all coverage lint lint-types lint-rtl format waves registers clean prove mutate report synth docs

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1  /p' $(MAKEFILE_LIST) | awk '{n=$$1; $$1=""; printf "  make %-10s%s\n", n, $$0}'

setup: $(STAMP) ## install everything into .venv
$(STAMP): requirements.txt
	@echo "Jackdaw: installing the pinned tools into $(VENV) (about a minute)"
	@test -x $(PYTHON) || $(PYTHON3) -m venv $(VENV)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --use-pep517 -r requirements.txt
	@for p in $(PATHS); do realpath $$p; done > $$($(PYTHON) -c 'import site; print(site.getsitepackages()[0])')/jackdaw.pth
	@$(PYTHON) -m flow.toolchain $(VENV)/bin
	@touch $@

$(DOCS): $(STAMP) requirements-docs.txt
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --use-pep517 -r requirements.txt -r requirements-docs.txt
	@touch $@

demo: setup ## train DQN on CartPole with every replay and learner operation in simulated RTL
	@$(PYTHON) scripts/train.py --agent dqn --env CartPole-v1 --device sim --seed $(SEED) --out runs/demo-seed$(SEED) --overwrite

# Models compile in a quarter of the time that -O2 takes, and run for a fifth longer.
test regress test-all coverage: export JD_OPTIMIZE := -Og

# Lint of the largest devices takes minutes: that is for `make lint` and `make regress`.
test: export QUICK := --quick
test: setup $(DOCS) lint ## the regression, in ten minutes: each block, each engine's smallest build (CHANGED=1: what changed)
	JD_EFFORT=$(or $(EFFORT),0.1) $(PYTEST) --tier test --batch 8 $(if $(CHANGED),--changed) $(TESTS)

regress: setup $(DOCS) lint ## the thorough regression, hours: all configurations, goals, proofs (FOLDERS="a3c lib" for some)
	$(PYTEST) --tier regress $(or $(addprefix tests/,$(FOLDERS)),$(TESTS))

test-all: setup $(DOCS) lint ## the thorough regression with the full-size runs
	$(PYTEST) --tier all $(TESTS)

coverage: setup ## line, branch, toggle and functional coverage of the regression: build/coverage/html
	rm -rf build/coverage
	@start=$$(date +%s); JD_COVERAGE=1 $(PYTEST) --tier regress -q $(or $(addprefix tests/,$(FOLDERS)),$(TESTS)) && \
	$(PYTHON) scripts/report_coverage.py --seed $(SEED) --since $$start $(if $(FOLDERS),,$(RECORD))

lint: setup ## ruff, mypy, verible, Verilator -Wall for every core
	@$(MAKE) --no-print-directory -j $(JOBS) lint-types lint-rtl

lint-types: setup
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	MYPYPATH=$$($(PYTHON) -m flow.manifest python) $(PYTHON) -m mypy

lint-rtl: setup
	$(PYTHON) scripts/registers.py --check
	$(PYTHON) scripts/learner_tables.py --check
	$(PYTHON) scripts/replay_tables.py --check
	$(PYTHON) scripts/fixed_tables.py --check
	@verible-verilog-lint --rules_config lint/verible.rules $(SV)
	$(PYTHON) scripts/lint_rtl.py --jobs 1 $(QUICK)

prove: setup ## formal proofs of the blocks (all, or PROOFS="NAME ..."), each with a planted bug
	$(PYTHON) scripts/prove.py $(or $(PROOFS),$(RECORD))

mutate: setup ## mutation score (FOLDERS="lib replay learner shell" COUNT=200 SEED=1)
	$(PYTHON) scripts/mutate.py $(FOLDERS) --count $(COUNT) --seed $(SEED) --jobs $(JOBS) $(RECORD)

report: setup ## one page of everything that was measured: docs/report/index.html
	$(PYTHON) scripts/report.py $(RECORD) --bench $(addprefix --tests ,$(wildcard build/report/tests.xml))

synth: setup ## synthesise every block, estimate its longest path (docs/synthesis.md)
	$(PYTHON) scripts/synth.py $(RECORD)

docs: setup $(DOCS) ## build the documentation site: build/site/index.html
	@NO_MKDOCS_2_WARNING=1 PYTHONPATH=. $(PYTHON) -m mkdocs build
	@echo "site: build/site/index.html"

format: setup ## format Python
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

registers: setup ## make the register package, Python map and tables again from the SystemRDL
	$(PYTHON) scripts/registers.py

waves: setup ## make waves TEST=tests/lib/test_stream.py::test_x: run one test with waveforms
	@test -n "$(TEST)" || { echo 'usage: make waves TEST=tests/FILE.py::NAME'; exit 2; }
	JD_WAVES=1 $(PYTHON) -m pytest -q --seed $(SEED) $(TEST)
	@echo "waveform: build/last.fst"; command -v surfer >/dev/null && surfer build/last.fst || { command -v gtkwave >/dev/null && gtkwave build/last.fst; } || true

clean: ## remove everything that was built (keeps .venv and runs)
	rm -rf build
