#!/usr/bin/env bash
# Runs each fuzz target for some seconds (default 600), one after the other: rust/fuzz/run.sh [seconds] [target...]
# Inputs found on the way go to rust/fuzz/found, a failing one to rust/fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-600}
targets=("${@:2}")
((${#targets[@]})) || targets=(block file hints iguana ion json lanes logs resume unfold vectors xsv zion_chunk)

cargo fuzz --version >/dev/null 2>&1 || cargo install cargo-fuzz
# The instrumentation needs options that stable compilers hide.
if cargo +nightly --version >/dev/null 2>&1; then
    export RUSTUP_TOOLCHAIN=nightly
else
    export RUSTC_BOOTSTRAP=1
fi
for target in "${targets[@]}"; do
    mkdir -p "found/$target"
    printf '\n== %s, %s s\n' "$target" "$seconds"
    cargo fuzz run --fuzz-dir . "$target" "found/$target" "corpus/$target" -- \
        -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1
done
