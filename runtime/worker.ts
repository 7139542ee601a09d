// One worker process: imports tool modules, runs `execute` and answers over the channel.
//
// The daemon sends: `init` once, `load` per tool, `env` when the variables change, then `call`, `abort`, `ping`.
// Calls start in the order in which they arrive. A page shared with the daemon works even while this process is
// stuck in a loop: its first word is the id of the last call that started (calls after it may run elsewhere), the
// other words are ids of calls that were stopped before they started (word 1 + id modulo STOPPED_WORDS).

import { flush, Kind, open, send, uncurry } from "./channel.ts";
import { loadTool, LoadError, type Tool } from "./module.ts";
import { errorText, outputText, Refused, stackOf } from "./text.ts";

type Message =
  | { t: "init"; session: string; directory: string; progress: string }
  | { t: "load"; i: number; n: string; p: string }
  | { t: "env"; v: Record<string, string> }
  | { t: "call"; i: number; n: string; g: string; d?: string; a: Record<string, unknown> }
  | { t: "abort"; i: number; r: string }
  | { t: "ping"; i: number };

type Running = { controller?: AbortController; reason?: string };

const stringify = JSON.stringify;
const tools: Record<string, Tool> = Object.create(null);
const running = new Map<number, Running>();
const runningOf = uncurry(Map.prototype.get) as (map: Map<number, Running>, id: number) => Running | undefined;
const keepRunning = uncurry(Map.prototype.set) as (map: Map<number, Running>, id: number, entry: Running) => void;
const forget = uncurry(Map.prototype.delete) as (map: Map<number, Running>, id: number) => boolean;
const eachRunning = uncurry(Map.prototype.forEach) as unknown as (map: Map<number, Running>, each: (entry: Running, id: number) => void) => void;
let count = 0;
let session = "";
let directory = "";
let env: Record<string, string> = {};
const STOPPED_WORDS = 1023;
let page = new Uint32Array(1 + STOPPED_WORDS);

function receive(message: Message) {
  switch (message.t) {
    case "call":
      return void call(message);
    case "env":
      env = message.v;
      return;
    case "abort":
      return abort(message.i, message.r);
    case "ping":
      return send(Kind.pong, message.i, "");
    case "load":
      return void load(message.i, message.n, message.p);
    case "init":
      session = message.session;
      directory = message.directory;
      page = new Uint32Array(Bun.mmap(message.progress, { shared: true }).buffer, 0, 1 + STOPPED_WORDS);
  }
}

async function load(id: number, name: string, path: string) {
  try {
    const tool = await loadTool(path);
    tools[name] = tool;
    send(Kind.loaded, id, stringify({ description: tool.description, parameters: tool.parameters }));
    globalsAfterLoad = fingerprint();
  } catch (error) {
    if (!(error instanceof LoadError)) logStack(error);
    send(Kind.loadFailed, id, errorText(error));
  }
}

async function call(message: Message & { t: "call" }) {
  const id = message.i;
  page[0] = id;
  if (page[1 + (id % STOPPED_WORDS)] === id) return send(Kind.error, id, "the call was stopped before it started");
  const entry: Running = {};
  keepRunning(running, id, entry);
  count += 1;
  const now = env;
  try {
    const result = tools[message.n]!.execute(message.a, {
      sessionId: session,
      agent: message.g,
      directory: message.d ?? directory,
      // A copy for each call: what one call changes, the next does not see.
      get env() {
        const copy = { ...now };
        Object.defineProperty(this, "env", { value: copy, enumerable: true });
        return copy;
      },
      // Made when the tool asks for it: most tools never do.
      get signal() {
        return signalOf(entry);
      },
    });
    // A plain value needs no trip through the promise queue.
    let value = result;
    if (typeof result === "object" && result !== null) {
      keepTicking();
      value = await result;
    }
    if (runningOf(running, id)) finish(id, Kind.ok, outputText(value));
  } catch (error) {
    if (!runningOf(running, id)) return;
    const failed = entry.reason !== undefined && isAbort(error) ? entry.reason : errorText(error);
    if (!(error instanceof Refused)) logStack(error);
    finish(id, Kind.error, failed);
  }
}

function finish(id: number, kind: Kind, text: string) {
  forget(running, id);
  count -= 1;
  send(kind, id, text);
  if (globalsAfterLoad !== undefined && changed(globalsAfterLoad)) {
    send(Kind.retire, 0, "a call changed global objects");
    globalsAfterLoad = undefined;
  }
}

// Bun reports a rejection that nobody handles at the end of the next turn of its event loop, and a loop with
// nothing to do sleeps. While calls wait for something, a slow tick makes sure that there is a next turn.
const TICK_MS = 50;
const startTicking = setInterval;
const stopTicking = clearInterval;
let ticking: ReturnType<typeof setInterval> | undefined;
function keepTicking() {
  ticking ??= startTicking(() => {
    if (count > 0) return;
    stopTicking(ticking);
    ticking = undefined;
  }, TICK_MS);
}

function signalOf(entry: Running): AbortSignal {
  if (!entry.controller) {
    entry.controller = new AbortController();
    if (entry.reason !== undefined) entry.controller.abort(new DOMException(entry.reason, "AbortError"));
  }
  return entry.controller.signal;
}

function abort(id: number, reason: string) {
  const entry = runningOf(running, id);
  if (!entry) return;
  entry.reason = reason;
  entry.controller?.abort(new DOMException(reason, "AbortError"));
}

function isAbort(error: unknown): boolean {
  return (error as { name?: unknown } | null)?.name === "AbortError";
}

// Errors that no call waits for. With one call running it is that call's doing; otherwise nobody can tell whose,
// and the calls that run are left alone.
function stray(what: string, error: unknown) {
  const text = `${what}: ${errorText(error)}`;
  send(Kind.log, 0, stackOf(error) ? `${what}: ${stackOf(error)}` : text);
  if (count !== 1) return;
  eachRunning(running, (_entry, id) => finish(id, Kind.error, text));
}
process.on("unhandledRejection", (error) => stray("unhandled rejection", error));
process.on("uncaughtException", (error) => stray("uncaught exception", error));

function logStack(error: unknown) {
  const stack = stackOf(error);
  if (stack !== "") send(Kind.log, 0, stack);
}

// What a tool must not change for the calls that come after it. Compared after each call against the state
// after its module was imported (a polyfill that a module installs is its own affair).
let globalsAfterLoad: unknown[] | undefined;
const NOTHING = {};
function fingerprint(): unknown[] {
  return [
    globalThis.JSON, JSON.parse, JSON.stringify, globalThis.fetch, globalThis.Promise, globalThis.console, globalThis.process, process.exit,
    Array.prototype.push, Array.prototype.map, Object.keys, Promise.prototype.then, String.prototype.replace, Date.now, Math.random,
    globalThis.setTimeout, globalThis.Object, globalThis.Array, globalThis.Date, globalThis.Error,
  ];
}
function changed(before: unknown[]): boolean {
  const now = fingerprint();
  for (let index = 0; index < now.length; index++) if (now[index] !== before[index]) return true;
  // A member that was added to Object.prototype shows up in every object.
  for (const _key in NOTHING) return true;
  return false;
}

await open(receive as never);
flush();
