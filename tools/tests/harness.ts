// What the tool tests share: running a tool the way a worker does, and servers that play a provider.

import { mkdtemp, rm } from 'node:fs/promises';
import * as net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const TOOLS = ['web_search', 'image_search', 'scrape_webpage', 'memory', 'show'] as const;
export type ToolName = (typeof TOOLS)[number];

export interface Call {
  env?: Record<string, string | undefined>;
  agent?: string;
  directory?: string;
  signal?: AbortSignal;
}

export const toolPath = (name: ToolName) => join(import.meta.dir, '..', `${name}.ts`);

export async function load(name: ToolName) {
  return (await import(toolPath(name))).default;
}

/** Calls a tool and returns what the model receives (M3): a text as it is, else the value its JSON says. */
export async function run(name: ToolName, args: Record<string, unknown>, call: Call = {}): Promise<any> {
  const tool = await load(name);
  const output = await tool.execute(args, {
    sessionId: 'session-1',
    agent: call.agent ?? 'beeuni',
    directory: call.directory ?? '/nonexistent',
    env: call.env ?? {},
    signal: call.signal ?? new AbortController().signal,
  });
  return typeof output === 'string' ? output : JSON.parse(JSON.stringify(output));
}

/** The error that a call must end with. */
export async function errorOf(call: Promise<unknown>): Promise<any> {
  const outcome = await call.then((value) => ({ value }), (error) => ({ error }));
  if ('error' in outcome) return outcome.error;
  throw new Error(`expected an error, got ${JSON.stringify(outcome.value)}`);
}

// ── Clean-up ──────────────────────────────────────────────────────────────────────────────────

const cleanups: (() => unknown)[] = [];

/** Undoes what the helpers of this file made. For `afterEach`. */
export async function cleanUp() {
  while (cleanups.length > 0) await cleanups.pop()?.();
}

export function onCleanUp(work: () => unknown) {
  cleanups.push(work);
}

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'beeuni-tools-'));
  onCleanUp(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

// ── Servers ───────────────────────────────────────────────────────────────────────────────────

export interface Received {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: any;
  at: number;
}

/** An HTTP server on a free port that keeps what it received. */
export function serve(answer: (request: Received, count: number) => Response | Promise<Response>) {
  const received: Received[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    async fetch(request) {
      const entry = {
        method: request.method,
        path: new URL(request.url).pathname,
        headers: Object.fromEntries(request.headers),
        body: await request.json().catch(() => undefined),
        at: performance.now(),
      };
      received.push(entry);
      return answer(entry, received.length);
    },
  });
  onCleanUp(() => server.stop(true));
  return { url: `http://127.0.0.1:${server.port}`, received };
}

/** A TCP server: `talk` gets each connection once its request has begun. */
export async function serveRaw(talk: (socket: net.Socket, count: number) => void) {
  let count = 0;
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => talk(socket, ++count));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onCleanUp(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as net.AddressInfo;
  return { url: `http://127.0.0.1:${port}`, count: () => count };
}

/** Waits until `condition` holds. */
export async function until(condition: () => unknown, what: string, limitMs = 5000) {
  for (const end = performance.now() + limitMs; !(await condition()); ) {
    if (performance.now() > end) throw new Error(`gave up waiting: ${what}`);
    await Bun.sleep(5);
  }
}

/** Never answers. */
export const never = () => new Promise<Response>(() => {});

/** Makes every request time out after `ms`: the tools' own limits are long. */
export function shortenTimeouts(ms: number) {
  const original = AbortSignal.timeout;
  const asked: number[] = [];
  AbortSignal.timeout = (limit) => {
    asked.push(limit);
    return original.call(AbortSignal, ms);
  };
  onCleanUp(() => (AbortSignal.timeout = original));
  return asked;
}
