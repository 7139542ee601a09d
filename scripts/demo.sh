#!/usr/bin/env bash
# `make demo`: the main job from an empty folder to an agent that uses a tool. Needs no key and no network.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
bun=$(echo "$root"/runtime/node_modules/@oven/bun-*/bin/bun)
PATH="$root/target/release:$PATH"
export BEEUNI_BUN=$bun
# What `beeuni setup` would install is in this project's folder already. Where OpenCode has no package, its chapter says so.
opencode=$(compgen -G "$root/runtime/node_modules/opencode-*/bin/opencode" | head -1 || true)
rg=$(compgen -G "$root/runtime/node_modules/@vscode/ripgrep-*/bin/rg" | head -1 || true)
export BEEUNI_OPENCODE=$opencode BEEUNI_RIPGREP=$rg
work=$(mktemp -d "${TMPDIR:-/tmp}/beeuni-demo-XXXXXX")
# Nothing of this demo stays in your home, and the same model answers on every machine.
export XDG_STATE_HOME=$work/sessions BEEUNI_MODEL=beeuni/rehearsal
unset BEEUNI_API_URL
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

printf '%sBeeuni: tools for AI agents, from an empty folder to an agent that uses one%s\n' "$bold" "$plain"

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

chapter "An agent uses it" "The same tool, called by a model. With no key the built-in rehearsal model answers: a stand-in
that follows such an instruction, and no language model. With OPENAI_API_KEY or another
provider's key, or Ollama, a real one does."
prompt="Call the lookup_order tool once with id A-1042 and print its output."
run beeuni run --prompt "$prompt"
printf '%sThe conversation is kept, and goes on. In a pipe the answer alone is on stdout.%s\n\n' "$dim" "$plain"
printf "%s\$ beeuni run --continue --prompt 'Call the lookup_order tool once with id A-1041 and print its output.' 2>/dev/null | head -3%s\n" "$bold" "$plain"
beeuni run --continue --prompt "${prompt/A-1042/A-1041}" 2>/dev/null >"$work/answer"
head -3 "$work/answer" | sed 's/^/  /'

chapter "The same tool on the other harness" "The experimental harness above is a loop inside beeuni. The standard one is OpenCode: the same
module, with the same name, arguments and output; models still come through Beeuni."
if [ -n "$opencode" ]; then
  run beeuni run --harness standard --prompt "$prompt"
else
  printf '%sOpenCode has no package for this machine (%s): this chapter is left out.%s\n' "$dim" "$(uname -sm)" "$plain"
fi

chapter "The daemon" "One per session: it hosts the tools behind HTTP, each agent's list decides who may call them,
and its agent takes prompts."
export BEEUNI_TOKEN=demo-token
printf '%s$ BEEUNI_TOKEN=demo-token beeuni daemon --project . --harness experimental --session demo &%s\n' "$bold" "$plain"
mkfifo "$work/ready"
beeuni daemon --project . --harness experimental --session demo --state "$work/state" >"$work/ready" 2>"$work/daemon.log" &
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
console.log(answer.output ?? answer.error ?? JSON.stringify(answer))
JS
call() {
  printf "%s\$ curl -H 'Authorization: Bearer demo-token' -d '%s' %s%s\n" "$bold" "$2" "$url$1" "$plain"
  "$bun" "$work/post.js" "$url$1" "$2" | sed 's/^/  /'
  printf '\n'
}
call /beeuni/tools/lookup_order '{"args":{"id":"A-1042"}}'
call /beeuni/tools/lookup_order '{"args":{"id":"A-9999"}}'
call /beeuni/tools/no_such_tool '{"args":{}}'
cat >"$work/session.js" <<'JS'
// Reads the session's events until the turn has ended, then its messages.
const [url] = process.argv.slice(2)
const headers = { authorization: `Bearer ${process.env.BEEUNI_TOKEN}` }
const events = await fetch(`${url}/beeuni/events?after=0`, { headers, signal: AbortSignal.timeout(60_000) })
let seen = ''
for await (const bytes of events.body) {
  seen += new TextDecoder().decode(bytes)
  if (seen.includes('"turn.ended"')) break
}
const answer = await fetch(`${url}/beeuni/sessions/demo/messages`, { headers })
for (const message of (await answer.json()).messages)
  for (const part of message.parts) {
    if (part.type === 'text') console.log(`${message.role}: ${part.text.split('\n').slice(0, 3).join('\n  ')}`)
    if (part.type === 'tool') console.log(`${message.role}: [${part.tool} ${part.arguments}: ${part.status}]`)
  }
JS
printf '%sThe same prompt over HTTP, then the messages that came of it:%s\n\n' "$dim" "$plain"
call /beeuni/sessions/demo/prompt "{\"text\":\"$prompt\"}"
printf "%s\$ curl -H 'Authorization: Bearer demo-token' %s/beeuni/sessions/demo/messages%s\n" "$bold" "$url" "$plain"
"$bun" "$work/session.js" "$url" | sed 's/^/  /'
printf '\n'
kill "$daemon"
wait "$daemon"
daemon=
printf 'The daemon stopped and left no process behind.\n'

printf '\n%s%sDone.%s Next: the README, then docs/tools.md on writing tools.\n' "$bold" "$accent" "$plain"
