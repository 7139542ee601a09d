#!/usr/bin/env bash
# `make demo`: the main job from an empty folder to a tool behind HTTP. Needs no key and no network.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
bun=$(echo "$root"/runtime/node_modules/@oven/bun-*/bin/bun)
PATH="$root/target/release:$PATH"
export BEEUNI_BUN=$bun
work=$(mktemp -d "${TMPDIR:-/tmp}/beeuni-demo-XXXXXX")
daemon=
finish() {
  [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' dim=$'\e[2m' accent=$'\e[33m' plain=$'\e[0m'; else bold='' dim='' accent='' plain=''; fi
step=0
chapter() {
  step=$((step + 1))
  printf '\n%s%s%d. %s%s\n' "$bold" "$accent" "$step" "$1" "$plain"
  [ -z "${2:-}" ] || printf '%s%s%s\n' "$dim" "$2" "$plain"
  printf '\n'
}
# Shows a command as a person would type it, then runs it.
run() {
  local shown='$'
  for word in "$@"; do
    case "$word" in *[\ \{\"]*) shown+=" '$word'" ;; *) shown+=" $word" ;; esac
  done
  printf '%s%s%s\n' "$bold" "$shown" "$plain"
  "$@" 2>&1 | sed 's/^/  /'
  printf '\n'
}

printf '%sBeeuni: tools for AI agents, from an empty folder to an HTTP call%s\n' "$bold" "$plain"

chapter "Start a project" "A manifest, a first agent, a memory and a git repository."
cd "$work"
run beeuni init shop
cd shop

chapter "Write a tool" "tools new writes a module and declares it in beeuni.yaml. This demo then puts its own
module there: it reads data/orders.csv and adds up an order."
run beeuni tools new lookup_order
mkdir -p data
cp "$root/demo/orders.csv" data/orders.csv
cp "$root/demo/lookup_order.ts" tools/lookup_order.ts
printf '%s$ cat tools/lookup_order.ts%s\n' "$bold" "$plain"
sed 's/^/  /' tools/lookup_order.ts

chapter "Check it" "validate reads the manifest, ls shows what a session gets, check loads every module."
run beeuni validate
run beeuni tools ls
run beeuni tools check

chapter "Call it" "The same host, the same worker and the same limits as in a session. No server, no model."
run beeuni tools call lookup_order --args '{"id":"A-1042"}'
printf '%sA wrong id: the tool says what to change, and the exit code is 1.%s\n\n' "$dim" "$plain"
run beeuni tools call lookup_order --args '{"id":"A-9999"}' || true

chapter "Two of the five Beeuni tools" "memory keeps notes under memory/ in the project; show puts something before the user."
run beeuni tools call memory --args '{"command":"create","path":"/memories/orders.md","file_text":"A-1042 is in transit.\n"}'
run beeuni tools call memory --args '{"command":"view","path":"/memories/orders.md"}'
run beeuni tools call show --args '{"action":"show","type":"csv","path":"data/orders.csv","title":"Orders"}'

chapter "The daemon" "One per session: it hosts the tools, and each agent's list decides who may call them."
export BEEUNI_TOKEN=demo-token
printf '%s$ BEEUNI_TOKEN=demo-token beeuni daemon --project . --harness none &%s\n' "$bold" "$plain"
mkfifo "$work/ready"
beeuni daemon --project . --harness none --state "$work/state" >"$work/ready" 2>"$work/daemon.log" &
daemon=$!
if ! read -r ready <"$work/ready"; then
  sed 's/^/  /' "$work/daemon.log" >&2
  exit 1
fi
printf '  %s\n\n' "$ready"
url=${ready#*\"url\":\"}
url=${url%%\"*}
cat >"$work/post.js" <<'JS'
const [url, body] = process.argv.slice(2)
const response = await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${process.env.BEEUNI_TOKEN}` }, body })
const answer = await response.json()
console.log(`HTTP ${response.status}`)
console.log(answer.output ?? answer.error)
JS
call() {
  printf "%s\$ curl -H 'Authorization: Bearer demo-token' -d '%s' %s%s\n" "$bold" "$2" "$url$1" "$plain"
  "$bun" "$work/post.js" "$url$1" "$2" | sed 's/^/  /'
  printf '\n'
}
call /beeuni/tools/lookup_order '{"args":{"id":"A-1042"}}'
call /beeuni/tools/lookup_order '{"args":{"id":"A-9999"}}'
call /beeuni/tools/no_such_tool '{"args":{}}'
kill "$daemon"
wait "$daemon"
daemon=
printf 'The daemon stopped and left no process behind.\n'

printf '\n%s%sDone.%s Next: the README, then docs/tools.md on writing tools.\n' "$bold" "$accent" "$plain"
