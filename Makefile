# `make help` lists the targets, from the comments after two hashes. Everything lives in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CARGO := cargo --quiet
MANIFEST := --manifest-path rust/Cargo.toml
RUST_SOURCES := $(shell find rust/zion rust/py -name '*.rs' -o -name Cargo.toml) rust/Cargo.toml rust/Cargo.lock
VECTORS := $(BIN)/python tests/vectors/archive.py
FUZZ_SECONDS ?= 600
SIMULATE_SECONDS ?= 3600
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONDONTWRITEBYTECODE  # each worker, and each command that tests run, would compile all modules again

# The cargo profile of the Rust core: `release`, or `dev`, which builds quickly and runs slowly. Each has a stamp, and
# only the profile that was built last has one: `make test` after `make build PROFILE=dev` builds the release again.
PROFILE ?= release
BUILT := $(VENV)/.built-$(PROFILE)

# T=FILE, T=FILE::TEST or T=EXPRESSION (of pytest -k). Slow tests run only where their name is given after `::`.
SELECTED = $(if $(or $(findstring .py,$(T)),$(wildcard $(T))),'$(T)',-k '$(T)') $(if $(findstring ::,$(T)),,-m 'not slow')

# Tests for `make check`: quick, and without servers, Java and command lines.
QUICK := tests/unit tests/docs tests/table --ignore=tests/table/test_simulation.py

.DEFAULT_GOAL := build
.PHONY: help build demo check test test-wide test-all attack simulate lint format compare bench fuzz vectors man wheel clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

build: $(BUILT) ## build sdb into .venv; PROFILE=dev builds quickly, and sdb is slow

$(VENV)/.venv:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "sdb needs Python 3.11 or newer: make PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade 'pip>=25.1' 'maturin>=1.14,<2'
	touch $@

$(VENV)/.dev: $(VENV)/.venv pyproject.toml
	$(BIN)/pip install --quiet --group dev
	touch $@

$(VENV)/.built-%: $(VENV)/.venv pyproject.toml $(RUST_SOURCES)
	@echo "building sdb ($*)"; rm -f $(VENV)/.built*; . $(BIN)/activate && maturin develop --quiet --profile $* --locked --extras serve >/dev/null
	touch $@

demo: $(BUILT) ## pack and query some events, to see what sdb does
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash testdata/demo.sh

check: $(BUILT) $(VENV)/.dev ## before each commit: format, types, import contracts, cargo check, quick tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	cargo fmt $(MANIFEST) --all --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(CARGO) check $(MANIFEST) --workspace --all-targets --locked
	$(BIN)/pytest -q -n 2 -m 'not slow and not s3 and not spark' $(QUICK)

# Three at a time on two processors: many tests wait for the disk, or for other processes.
ifdef T
test: $(BUILT) $(VENV)/.dev
	$(BIN)/pytest -q $(SELECTED)
else
test: $(BUILT) $(VENV)/.dev ## the tests for every day; T=FILE, T=FILE::TEST or T=EXPRESSION: some of them
	SDB_VECTORS="$${SDB_VECTORS:-$$($(VECTORS))}" $(CARGO) test $(MANIFEST) --package zion --locked
	$(BIN)/pytest -q -n 3 --dist loadgroup -m 'not slow and not wide'
endif

# Also with examples that nobody has seen: SDB_RANDOM=1 make test-wide
test-wide: $(BUILT) $(VENV)/.dev ## the other ones: Spark, attacks, kills, other engines, journeys; all seeds and examples
	SDB_ALL_SEEDS=1 $(BIN)/pytest -q -n 3 --dist loadgroup -m 'wide and not slow'

test-all: $(BUILT) $(VENV)/.dev ## all tests
	SDB_VECTORS="$${SDB_VECTORS:-$$($(VECTORS))}" $(CARGO) test $(MANIFEST) --package zion --locked -- --include-ignored
	$(BIN)/pytest -q -n 3 --dist loadgroup

# Some ten minutes. Other ones with SDB_ATTACK_SEED=2, and many more with SDB_ATTACK_ROUNDS=20.
attack: $(BUILT) $(VENV)/.dev ## damaged and crafted files, kills, outages, mutated queries and inputs, fuzzed requests
	$(BIN)/pytest -q -n 2 --dist worksteal tests/attack tests/kill
	SDB_FUZZ_SECONDS=600 $(BIN)/pytest -q tests/serve/test_fuzzed_requests.py

# The seed that fails is printed with the command that plays it again.
simulate: $(BUILT) $(VENV)/.dev ## commits to tables, from seeds that nobody has seen yet, for SIMULATE_SECONDS
	$(BIN)/python -m tests.table.simulation --first $$(date +%s)000 --seconds $(SIMULATE_SECONDS)

lint: $(BUILT) $(VENV)/.dev ## all linters: what check has, stubtest, clippy
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/stubtest --mypy-config-file pyproject.toml --allowlist .ci/stubtest-allow sdb._core
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m tests.words
	cargo fmt $(MANIFEST) --all --check
	$(CARGO) clippy $(MANIFEST) --workspace --all-targets --locked -- --deny warnings

format: $(VENV)/.dev ## format Python and Rust
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format
	cargo fmt $(MANIFEST) --all

compare: $(VENV)/.built-release $(VENV)/.dev ## the tables of the README: sizes and times beside gzip and Parquet
	$(BIN)/python benchmarks/compare.py

bench: $(VENV)/.built-release $(VENV)/.dev ## the numbers of docs
	$(BIN)/pip install --quiet --group bench
	$(BIN)/pytest -q benchmarks
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/query.py
	$(BIN)/python benchmarks/unpacked.py
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/feeding.py
	$(BIN)/python -m benchmarks.stored
	$(BIN)/python benchmarks/spark.py

fuzz: ## each fuzz target for FUZZ_SECONDS; needs `cargo install cargo-fuzz`
	rust/fuzz/run.sh $(FUZZ_SECONDS)

vectors: $(VENV)/.venv ## check in the test vectors of SDB_VECTORS or ../shared/vectors
	$(VECTORS) --refresh

# From what --help says; a wheel has what lies in this folder.
MAN := sdb._core.data/data/share/man/man1

man: $(BUILT) ## manual pages
	rm -rf $(MAN)
	$(BIN)/python -m sdb.cli.manual $(MAN)

# For any Linux with glibc 2.17 or newer: zig, which comes from the package index, brings that version.
wheel: man ## a wheel for other machines in dist, tried in an empty environment
	$(BIN)/pip install --quiet 'maturin[zig]>=1.14,<2'
	rm -rf dist
	. $(BIN)/activate && maturin build --quiet --release --locked --zig --compatibility manylinux2014 --out dist
	.ci/try-wheel dist/*.whl

clean: ## remove all that was made, .venv too
	rm -rf $(VENV) .pytest_cache rust/target rust/fuzz/target demo dist sdb._core.data
