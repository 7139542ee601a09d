#!/usr/bin/env bash
# Checks what the build needs and installs the rest into folders of this project.
set -euo pipefail
cd "$(dirname "$0")/.."

missing() {
  echo "error: $1 was not found: $2" >&2
  exit 1
}
command -v cargo >/dev/null || missing "cargo" "install Rust 1.91 or newer, for example with rustup (https://rustup.rs)"
command -v cc >/dev/null || missing "a C compiler (cc)" "install one, for example with: apt-get install gcc"
command -v npm >/dev/null || missing "npm" "install Node.js 20 or newer with npm, for example with: apt-get install nodejs npm"
command -v git >/dev/null || missing "git" "install it, for example with: apt-get install git"

# Bun, OpenCode, ripgrep and what the tests need, pinned by the lock file. The stamp makes a second run cost nothing.
stamp=runtime/node_modules/.installed
if [ ! -e "$stamp" ] || [ runtime/package-lock.json -nt "$stamp" ]; then
  echo "Installing Bun and OpenCode into runtime/node_modules …" >&2
  npm ci --prefix runtime --ignore-scripts --no-audit --no-fund --loglevel=error >&2
  touch "$stamp"
fi
for bun in runtime/node_modules/@oven/bun-*/bin/bun; do
  [ -x "$bun" ] || continue
  "$bun" --version >/dev/null || missing "a Bun that runs on this machine" "$bun was installed but does not start"
  found=1
done
[ -n "${found:-}" ] || missing "Bun" "npm installed no @oven/bun package for this machine ($(uname -sm)); Bun runs on Linux and macOS on x64 and arm64"

# There is no OpenCode for every machine that Bun runs on; its tests and the standard harness need one.
for program in runtime/node_modules/opencode-*/bin/opencode runtime/node_modules/@vscode/ripgrep-*/bin/rg; do
  [ -x "$program" ] || {
    echo "note: npm has no ${program##*/} for this machine ($(uname -sm)): name one with BEEUNI_OPENCODE and BEEUNI_RIPGREP" >&2
    continue
  }
  # OpenCode makes folders in its home as soon as it starts.
  home="$(mktemp -d)"
  HOME="$home" XDG_CONFIG_HOME="$home" XDG_DATA_HOME="$home" XDG_CACHE_HOME="$home" XDG_STATE_HOME="$home" \
    "$program" --version >/dev/null || missing "a ${program##*/} that runs on this machine" "$program was installed but does not start"
  rm -rf "$home"
done
