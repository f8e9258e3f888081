# `make demo` and `make test` are for everyone; the others are for developers. Everything lives in .venv.
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

.PHONY: build demo test test-all attack simulate lint format bench fuzz vectors man wheel clean

build: $(VENV)/.built

$(VENV)/.venv:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "sdb needs Python 3.11 or newer: make PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade 'pip>=25.1' 'maturin>=1.14,<2'
	touch $@

$(VENV)/.dev: $(VENV)/.venv pyproject.toml
	$(BIN)/pip install --quiet --group dev
	touch $@

$(VENV)/.built: $(VENV)/.venv pyproject.toml $(RUST_SOURCES)
	@echo "building sdb"; . $(BIN)/activate && maturin develop --quiet --release --locked >/dev/null
	touch $@

demo: $(VENV)/.built
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash testdata/demo.sh

# Three at a time on two processors: many tests wait for the disk, or for other processes.
test: $(VENV)/.built $(VENV)/.dev
	SDB_VECTORS="$${SDB_VECTORS:-$$($(VECTORS))}" $(CARGO) test $(MANIFEST) --package zion --locked
	$(BIN)/pytest -q -n 3 --dist loadgroup -m 'not slow'

test-all: $(VENV)/.built $(VENV)/.dev
	SDB_VECTORS="$${SDB_VECTORS:-$$($(VECTORS))}" $(CARGO) test $(MANIFEST) --package zion --locked -- --include-ignored
	$(BIN)/pytest -q -n 3 --dist loadgroup

# Damaged and crafted files, kills, outages, mutated queries and inputs: some ten minutes. Other ones
# with SDB_ATTACK_SEED=2, and many more with SDB_ATTACK_ROUNDS=20.
attack: $(VENV)/.built $(VENV)/.dev
	$(BIN)/pytest -q -n 2 --dist worksteal tests/attack tests/kill

# Commits to tables, from seeds that nobody has seen yet; the one that fails is printed with the command that plays it again.
simulate: $(VENV)/.built $(VENV)/.dev
	$(BIN)/python -m tests.table.simulation --first $$(date +%s)000 --seconds $(SIMULATE_SECONDS)

lint: $(VENV)/.built $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/stubtest --mypy-config-file pyproject.toml --allowlist .ci/stubtest-allow sdb._core
	$(BIN)/lint-imports --no-logo
	cargo fmt $(MANIFEST) --all --check
	$(CARGO) clippy $(MANIFEST) --workspace --all-targets --locked -- --deny warnings

format: $(VENV)/.dev
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format
	cargo fmt $(MANIFEST) --all

bench: $(VENV)/.built $(VENV)/.dev
	$(BIN)/pip install --quiet --group bench
	$(BIN)/pytest -q benchmarks
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/query.py
	$(BIN)/python benchmarks/unpacked.py
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/feeding.py
	$(BIN)/python -m benchmarks.stored
	$(BIN)/python benchmarks/spark.py

# Each target for FUZZ_SECONDS; needs `cargo install cargo-fuzz`.
fuzz:
	rust/fuzz/run.sh $(FUZZ_SECONDS)

# The test vectors that are checked in, taken over from SDB_VECTORS or ../shared/vectors; --check compares.
vectors: $(VENV)/.venv
	$(VECTORS) --refresh

# Manual pages, from what --help says; a wheel has what lies in this folder.
MAN := sdb._core.data/data/share/man/man1

man: $(VENV)/.built
	rm -rf $(MAN)
	$(BIN)/python -m sdb.cli.manual $(MAN)

# For any Linux with glibc 2.17 or newer: zig, which comes from the package index, brings that version. The wheel
# is then tried in an empty environment.
wheel: man
	$(BIN)/pip install --quiet 'maturin[zig]>=1.14,<2'
	rm -rf dist
	. $(BIN)/activate && maturin build --quiet --release --locked --zig --compatibility manylinux2014 --out dist
	.ci/try-wheel dist/*.whl

clean:
	rm -rf $(VENV) .pytest_cache rust/target rust/fuzz/target demo dist sdb._core.data
