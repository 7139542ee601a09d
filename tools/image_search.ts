// The `image_search` tool: asks Serper, through Beeuni's router or with the project's own key.
//
// With BEEUNI_API_URL requests go to the control plane's router with the session's BEEUNI_TOKEN.
// Without it they go to Serper with SERPER_API_KEY; SERPER_API_URL names another server that
// speaks Serper's API. Views and skills read the output: keep its shape.

import { setTimeout as delay } from 'node:timers/promises';

const SERPER: Provider = {
  name: 'Serper',
  route: 'serper/images',
  address: 'https://google.serper.dev',
  path: '/images',
  addressVariable: 'SERPER_API_URL',
  keyVariable: 'SERPER_API_KEY',
  authorize: (key) => ({ 'x-api-key': key }),
  timeoutMs: 30_000,
};

interface Arguments {
  query?: unknown;
  num_results?: unknown;
}

/** What one query found; `error` when it failed. */
interface Found {
  query: string;
  total: number;
  images: { url: string; title: string; source: string; width: number | null; height: number | null }[];
  error?: string;
}

export default {
  description:
    'Search the web for images. For each query: image URLs with title, size in pixels and the page ' +
    'they are from. Ask several queries in one call by separating them with "|||".',
  parameters: {
    type: 'object',
    properties: {
      query: {
        type: 'string',
        description: 'What the images should show. Several: "first query ||| second query".',
      },
      num_results: {
        type: 'integer',
        minimum: 1,
        maximum: 100,
        description: 'Images per query, 1 to 100. Default 12.',
      },
    },
    required: ['query'],
  },

  async execute(args: Arguments, context: ToolContext) {
    context.signal.throwIfAborted();
    const queries = listOf(args.query);
    if (queries.length === 0) throw new Error('image_search needs `query`, what the images should show.');
    const notes: string[] = [];
    const num = wholeNumber('num_results', args.num_results, 12, 1, 100, notes);
    const upstream = connect(SERPER, context);
    const results = await eachOnce(queries, (query) => search(upstream, query, num, notes));

    const [first] = results;
    if (results.every((result) => result.error)) throw new Error(failureOf(results));
    const note = notes.length > 0 ? { note: notes.join(' ') } : {};
    if (results.length > 1) return { batch_mode: true, results, ...note };
    if (first?.total === 0) return [`No images found for "${first.query}".`, ...notes].join(' ');
    return { ...first, ...note };
  },
};

/** One query: its images, or why there are none. */
async function search(upstream: Upstream, query: string, num: number, notes: string[]): Promise<Found> {
  try {
    const reply = await ask(upstream, { q: query, num });
    const list = recordsOf(reply.images);
    if (!list) throw malformed(upstream, 'no list `images`');
    noteWarning(reply, notes);
    const images = list.slice(0, num).map((image) => ({
      url: text(image.imageUrl) ?? '',
      title: text(image.title) ?? '',
      // The page to credit; the site's name when there is no address.
      source: text(image.link) ?? text(image.source) ?? text(image.domain) ?? '',
      width: typeof image.imageWidth === 'number' ? image.imageWidth : null,
      height: typeof image.imageHeight === 'number' ? image.imageHeight : null,
    }));
    const usable = images.filter((image) => image.url);
    return { query, total: usable.length, images: usable };
  } catch (error) {
    return { query, total: 0, images: [], error: reasonOf(upstream, error) };
  }
}

/** The error of a call in which no query worked: each reason, named by its query. */
function failureOf(results: Found[]): string {
  if (results.length === 1) return `Image search failed: ${results[0]?.error}`;
  return ['No image search worked:', ...results.map((it) => `- "${it.query}": ${it.error}`)].join('\n');
}

/** The queries of a call: text split at `|||`, or a list as some models send it. Empty ones go. */
function listOf(value: unknown): string[] {
  const list = Array.isArray(value) ? value : jsonList(value) ?? String(value ?? '').split('|||');
  return list.map((entry) => String(entry ?? '').trim()).filter((entry) => entry !== '');
}

/** A list that came as the text of a JSON array: `["a","b"]`. */
function jsonList(value: unknown): unknown[] | undefined {
  if (typeof value !== 'string' || !/^\s*\[\s*"/.test(value)) return undefined;
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

/** The objects of a list; undefined when it is no list, or one of something else: not "no results". */
function recordsOf(list: unknown): Record<string, unknown>[] | undefined {
  if (!Array.isArray(list)) return undefined;
  const records = list.filter(isRecord);
  return records.length > 0 || list.length === 0 ? records : undefined;
}

/** The router says in `warning` when it had to use another source than the usual one. */
function noteWarning(reply: Record<string, unknown>, notes: string[]): void {
  const warning = text(reply.warning);
  if (warning && !notes.includes(warning)) notes.push(warning);
}

/** A whole number from a number or numeric text, brought into range; `notes` says when it changed. */
function wholeNumber(
  name: string, value: unknown, fallback: number, min: number, max: number, notes: string[],
): number {
  if (value === undefined || value === null || value === '') return fallback;
  const sent = typeof value === 'string' ? Number(value.trim() || NaN) : value;
  const usable = typeof sent === 'number' && !Number.isNaN(sent);
  const used = usable ? Math.min(max, Math.max(min, Math.trunc(sent))) : fallback;
  if (used !== sent) notes.push(`${name} must be a whole number from ${min} to ${max}: used ${used}.`);
  return used;
}

// ── Asking a provider: the same lines in web_search, image_search and scrape_webpage ────────────
//
// A 408, 429, 502, 503 or 504, a timeout and a cut connection are tried again, at most 3 times,
// after Retry-After or else a growing pause. A 500 is not: providers send it for a request or page
// that fails each time. A call ends within 4 minutes; what is not done by then is an error.

const MAX_RETRIES = 3;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
const CALL_LIMIT_MS = 240_000;
const MAX_REPLY_BYTES = 10 * 1024 * 1024;
const PARALLEL_REQUESTS = 5;

interface ToolContext {
  /** The calling agent's name. */
  agent: string;
  /** The sandbox's environment with the secrets that this agent receives. */
  env: Record<string, string | undefined>;
  /** Fires when the user stops the turn. */
  signal: AbortSignal;
}

interface Provider {
  name: string;
  /** Path behind the router's `/v1/router/`. */
  route: string;
  /** The provider's own address and path, and the variable that replaces the address. */
  address: string;
  path: string;
  addressVariable: string;
  keyVariable: string;
  authorize(key: string): Record<string, string>;
  timeoutMs: number;
}

/** Where the requests of one call go. */
interface Upstream {
  name: string;
  url: string;
  headers: Record<string, string>;
  secret: string;
  /** What to do when the secret is refused. */
  remedy: string;
  timeoutMs: number;
  signal: AbortSignal;
  deadline: number;
  /** A rate limit holds for the whole call: no request starts before this time. */
  pausedUntil: number;
}

interface Failure {
  status?: number;
  /** Whether asking again later makes sense. */
  retryable: boolean;
  /** Whether this call asks again by itself, and the pause that the provider wants before. */
  again?: boolean;
  waitMs?: number;
  /** What the reader can do, when there is more to say than whether to try again. */
  hint?: string;
}

/** The provider, or the way to it, failed. */
class ProviderError extends Error {
  override name = 'ProviderError';
  provider: string;
  failure: Failure;

  constructor(upstream: Upstream, problem: string, failure: Failure) {
    const hint = failure.retryable
      ? 'Trying again later may help.'
      : 'Trying again with the same input does not help.';
    super(`${upstream.name} ${problem.replace(/\.$/, '')}. ${failure.hint ?? hint}`);
    this.provider = upstream.name;
    this.failure = failure;
  }
}

/** Finds the address and the key. Errors name the variable that is missing and how to set it. */
function connect(provider: Provider, { env, signal, agent }: ToolContext): Upstream {
  const router = env.BEEUNI_API_URL?.trim();
  const variable = router ? 'BEEUNI_TOKEN' : provider.keyVariable;
  const remedy = router
    ? 'BEEUNI_TOKEN belongs to the session: start a new one with `beeuni sessions new`.'
    : `Set it with \`beeuni secrets set ${variable}=-\` and list ${variable} under ` +
      `agents.${agent || '<agent>'}.secrets in beeuni.yaml.`;
  const secret = env[variable]?.trim();
  if (!secret) throw new Error(`${variable} is not set for this agent. ${remedy}`);
  if (!/^[\x21-\x7e]+$/.test(secret)) {
    throw new Error(`${variable} holds a space, a line break or a non-ASCII character. ${remedy}`);
  }
  const base = router || env[provider.addressVariable]?.trim() || provider.address;
  if (!/^https?:/i.test(base) || !URL.canParse(base)) {
    const source = router ? 'BEEUNI_API_URL' : provider.addressVariable;
    throw new Error(`${source} is not an address that begins with https:// or http://.`);
  }
  return {
    name: router ? `Beeuni's router (${provider.route})` : provider.name,
    url: base.replace(/\/+$/, '') + (router ? `/v1/router/${provider.route}` : provider.path),
    headers: router ? { authorization: `Bearer ${secret}` } : provider.authorize(secret),
    secret,
    remedy: `${variable} was refused. ${remedy}`,
    timeoutMs: provider.timeoutMs,
    signal,
    deadline: Date.now() + CALL_LIMIT_MS,
    pausedUntil: 0,
  };
}

/** Posts `body` and returns the reply's JSON object. Throws a ProviderError, or the abort's reason. */
async function ask(upstream: Upstream, body: unknown): Promise<Record<string, unknown>> {
  for (let attempt = 0; ; attempt++) {
    await pause(upstream.pausedUntil - Date.now(), upstream.signal);
    try {
      return await askOnce(upstream, body);
    } catch (thrown) {
      upstream.signal.throwIfAborted();
      const error = thrown instanceof ProviderError ? thrown : unreachable(upstream, thrown);
      const { again, status, waitMs } = error.failure;
      const wait = waitMs ?? FIRST_PAUSE_MS * 2 ** attempt * (1 + Math.random() / 4);
      const inTime = wait <= LONGEST_PAUSE_MS && Date.now() + wait < upstream.deadline;
      if (!again || !inTime || attempt === MAX_RETRIES) throw error;
      if (status === 429) upstream.pausedUntil = Math.max(upstream.pausedUntil, Date.now() + wait);
      await pause(wait, upstream.signal);
    }
  }
}

async function askOnce(upstream: Upstream, body: unknown): Promise<Record<string, unknown>> {
  const timeLeft = upstream.deadline - Date.now();
  if (timeLeft <= 0) {
    const problem = `was not asked: the call took over ${CALL_LIMIT_MS / 1000} s`;
    throw new ProviderError(upstream, problem, { retryable: true, hint: 'Ask for less in one call.' });
  }
  const timeout = AbortSignal.timeout(Math.min(upstream.timeoutMs, timeLeft));
  const response = await fetch(upstream.url, {
    method: 'POST',
    headers: { ...upstream.headers, 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
    redirect: 'manual', // following one would carry the key to an address that nobody chose
    signal: AbortSignal.any([upstream.signal, timeout]),
  });
  const reply = await readText(upstream, response);
  if (!response.ok) throw refused(upstream, response, reply);
  try {
    const json: unknown = JSON.parse(reply);
    if (isRecord(json)) return json;
  } catch {
    // Not JSON: the error below says what it is.
  }
  const what = detailOf(upstream, reply);
  throw malformed(upstream, what ? `no JSON object but ${what}` : 'an empty body', response.status);
}

/** The body as text. Stops at 10 MiB: an endless reply must not fill the memory. */
async function readText(upstream: Upstream, response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_REPLY_BYTES) throw malformed(upstream, 'more than 10 MiB', response.status);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** A reply whose status says that it is none. */
function refused(upstream: Upstream, { status, headers }: Response, reply: string): ProviderError {
  const detail = detailOf(upstream, reply);
  const again = [408, 429, 502, 503, 504].includes(status);
  const waitMs = retryAfter(headers.get('retry-after'));
  let hint: string | undefined;
  if (status === 401 || status === 403) hint = `Trying again does not help: ${upstream.remedy}`;
  if (again && waitMs !== undefined) hint = `Try again in ${Math.ceil(waitMs / 1000)} s.`;
  const failure = { status, again, retryable: again || status >= 500, waitMs, hint };
  return new ProviderError(upstream, `answered ${status}${detail && `: ${detail}`}`, failure);
}

/** A reply that claims success and is not what the provider's API promises. Never "no results". */
function malformed(upstream: Upstream, what: string, status = 200): ProviderError {
  return new ProviderError(upstream, `answered ${status} with ${what}`, { retryable: true, status });
}

/** No reply: a timeout, no connection, or one that was cut. */
function unreachable(upstream: Upstream, thrown: unknown): ProviderError {
  const error = thrown as { name?: string; code?: unknown; message?: string } | undefined;
  const problem = error?.name === 'TimeoutError'
    ? `did not answer within ${upstream.timeoutMs / 1000} s`
    : `could not be reached (${clean(upstream, String(error?.code ?? error?.message ?? error))})`;
  return new ProviderError(upstream, problem, { retryable: true, again: true });
}

/** What a reply says when it is not the expected one: an error's message, a page's title, its text. */
function detailOf(upstream: Upstream, reply: string): string {
  if (/^\s*</.test(reply)) {
    return `a web page, "${clean(upstream, /<title[^>]*>([^<]*)/i.exec(reply)?.[1] ?? '')}"`;
  }
  try {
    const { error, detail, message } = JSON.parse(reply);
    const said = [error?.message, error, detail?.error, detail, message].find((part) => text(part));
    return clean(upstream, said ?? reply);
  } catch {
    return clean(upstream, reply);
  }
}

/** One short line without the key: a provider may echo what it was sent. */
function clean(upstream: Upstream, message: string): string {
  const line = message
    .replaceAll(upstream.secret, '[secret]')
    .replaceAll(encodeURIComponent(upstream.secret), '[secret]')
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > 600 ? `${line.slice(0, 600)}…` : line;
}

/** Retry-After in milliseconds: seconds, or an HTTP date. */
function retryAfter(header: string | null): number | undefined {
  if (!header) return undefined;
  if (/^\d+(\.\d+)?$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** Waits, or throws the abort's reason at once. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (ms > 0) await delay(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
}

/** Runs `work` once for each different item, 5 at a time; results in the order of `items`. */
async function eachOnce<T>(items: string[], work: (item: string) => Promise<T>): Promise<T[]> {
  const results = new Map<string, T>();
  const waiting = [...new Set(items)];
  const lane = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      results.set(item, await work(item));
    }
  };
  await Promise.all(Array.from({ length: PARALLEL_REQUESTS }, lane));
  return items.map((item) => results.get(item) as T);
}

/** Why one item of a batch failed. An abort or a fault of this file ends the call: it is thrown. */
function reasonOf(upstream: Upstream, error: unknown): string {
  upstream.signal.throwIfAborted();
  if (error instanceof ProviderError) return error.message;
  throw error;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A non-empty string, or nothing. */
function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
