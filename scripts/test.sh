#!/usr/bin/env bash
# `make test`: the Rust tests with cargo-nextest where it is installed (faster), else with cargo; then the Beeuni
# tools' own tests with Bun.
set -euo pipefail
cd "$(dirname "$0")/.."
if cargo nextest --version >/dev/null 2>&1; then
  cargo nextest run --locked --workspace
else
  cargo test --locked --workspace --quiet
fi
cargo test --locked --workspace --doc --quiet
bun=$(echo runtime/node_modules/@oven/bun-*/bin/bun)
"$bun" test tools/tests
