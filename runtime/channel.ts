// The worker's channel to the daemon: length-prefixed frames on descriptor 3, results written in batches.
//
// Descriptors 1 and 2 belong to the tool: whatever it prints is its log and never meets this channel.
// Everything used here is captured before a tool's module runs, so a tool that replaces `JSON`, a prototype
// or `queueMicrotask` hurts itself, not the channel.

const HEADER = 4; // u32 little-endian: length of what follows
const REPLY_HEADER = HEADER + 1 + 4; // then kind (u8) and id (u32 little-endian)
const BATCH_BYTES = 256 * 1024;

/** Kinds of frames that the worker sends; the same numbers stand in `frames.rs`. */
export const Kind = { ok: 1, error: 2, loaded: 3, loadFailed: 4, pong: 5, log: 6, retire: 7 } as const;
export type Kind = (typeof Kind)[keyof typeof Kind];

type Uncurried<F> = F extends (...args: infer A) => infer R ? (self: unknown, ...args: A) => R : never;
/** A method that keeps working when its prototype is changed: `uncurry(f)(self, …args)`. */
export const uncurry = <F extends (...args: never[]) => unknown>(method: F): Uncurried<F> =>
  Function.prototype.call.bind(method as never) as Uncurried<F>;

const parse = JSON.parse;
const enqueueMicrotask = queueMicrotask;
const exit = process.exit;
const allocate = Buffer.allocUnsafeSlow;
const encode = uncurry(TextEncoder.prototype.encode);
const encoder = new TextEncoder();
const writeUtf8 = uncurry((Buffer.prototype as unknown as { utf8Write(text: string, offset: number, length: number): number }).utf8Write);
const readUtf8 = uncurry((Buffer.prototype as unknown as { utf8Slice(start: number, end: number): string }).utf8Slice);
const subarray = uncurry(Uint8Array.prototype.subarray);
const set = uncurry(Uint8Array.prototype.set);
const hasLongNumber = uncurry(RegExp.prototype.test);
const LONG_NUMBER = /[0-9]{16}/;

let socket: { write(data: Uint8Array): number } | undefined;
let batch = allocate(BATCH_BYTES);
let used = 0;
let flushQueued = false;
/** What the socket did not take yet, oldest first; sent when it drains. */
let backlog: Uint8Array[] = [];

/** JSON text to a value. Integers that a double cannot hold arrive as `bigint`, digit for digit. */
function parseExact(text: string): unknown {
  if (!hasLongNumber(LONG_NUMBER, text)) return parse(text);
  return (parse as (text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown) => unknown)(
    text,
    (_key, value, context) => {
      if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
      const source = context.source ?? "";
      return /^-?[0-9]+$/.test(source) ? BigInt(source) : value;
    },
  );
}

function put32(buffer: Uint8Array, offset: number, value: number) {
  buffer[offset] = value;
  buffer[offset + 1] = value >>> 8;
  buffer[offset + 2] = value >>> 16;
  buffer[offset + 3] = value >>> 24;
}

function header(buffer: Uint8Array, offset: number, kind: Kind, id: number, bytes: number) {
  put32(buffer, offset, bytes + 5);
  buffer[offset + HEADER] = kind;
  put32(buffer, offset + HEADER + 1, id);
}

/** Sends one frame; frames of the same turn of the event loop leave in one write. */
export function send(kind: Kind, id: number, text: string) {
  // A UTF-16 unit needs at most three bytes, so this bound says whether the text fits without counting.
  const most = text.length * 3 + REPLY_HEADER;
  if (most > BATCH_BYTES) {
    flush();
    const body = encode(encoder, text);
    const frame = allocate(REPLY_HEADER + body.length);
    header(frame, 0, kind, id, body.length);
    set(frame, body, REPLY_HEADER);
    write(frame);
    return;
  }
  if (used + most > BATCH_BYTES) flush();
  const bytes = text === "" ? 0 : writeUtf8(batch, text, used + REPLY_HEADER, text.length * 3);
  header(batch, used, kind, id, bytes);
  used += REPLY_HEADER + bytes;
  if (!flushQueued) {
    flushQueued = true;
    enqueueMicrotask(flush);
  }
}

/** Writes what is waiting now. */
export function flush() {
  flushQueued = false;
  if (used === 0) return;
  const length = used;
  used = 0;
  if (write(subarray(batch, 0, length) as Uint8Array)) return;
  batch = allocate(BATCH_BYTES); // the old one is in the backlog now
}

/** Whether the whole buffer was taken by the socket; if not, its rest waits in the backlog. */
function write(data: Uint8Array): boolean {
  if (backlog.length === 0 && socket) {
    const written = socket.write(data);
    if (written >= data.length) return true;
    data = subarray(data, written < 0 ? 0 : written) as Uint8Array;
  }
  backlog[backlog.length] = data;
  return false;
}

function drain() {
  while (backlog.length > 0) {
    const first = backlog[0]!;
    const written = socket!.write(first);
    if (written < first.length) {
      backlog[0] = subarray(first, written < 0 ? 0 : written) as Uint8Array;
      return;
    }
    for (let index = 1; index < backlog.length; index++) backlog[index - 1] = backlog[index]!;
    backlog.length -= 1;
  }
}

/** Collects chunks of any size into frames. */
class Reader {
  private held: Uint8Array = allocate(64 * 1024);
  private start = 0;
  private end = 0;

  constructor(private readonly receive: (message: never) => void) {}

  push(chunk: Uint8Array) {
    // The common case: nothing held, whole frames in the chunk.
    if (this.start === this.end) {
      const rest = this.frames(chunk, 0, chunk.length);
      if (rest < chunk.length) this.hold(subarray(chunk, rest) as Uint8Array);
      return;
    }
    this.hold(chunk);
    this.start = this.frames(this.held, this.start, this.end);
  }

  private frames(bytes: Uint8Array, offset: number, end: number): number {
    while (end - offset >= HEADER) {
      const length = (bytes[offset]! | (bytes[offset + 1]! << 8) | (bytes[offset + 2]! << 16) | (bytes[offset + 3]! << 24)) >>> 0;
      if (end - offset - HEADER < length) break;
      const text = readUtf8(bytes, offset + HEADER, offset + HEADER + length);
      offset += HEADER + length;
      this.receive(parseExact(text) as never);
    }
    return offset;
  }

  private hold(chunk: Uint8Array) {
    const kept = this.end - this.start;
    if (kept + chunk.length > this.held.length || this.start > 0) {
      const room = kept + chunk.length > this.held.length ? allocate(Math.max(this.held.length * 2, kept + chunk.length)) : this.held;
      set(room, subarray(this.held, this.start, this.end) as Uint8Array, 0);
      this.held = room;
      this.start = 0;
      this.end = kept;
    }
    set(this.held, chunk, this.end);
    this.end += chunk.length;
  }
}

/** Opens the channel. `receive` gets every message in order; the process ends with the channel. */
export async function open(receive: (message: never) => void) {
  const reader = new Reader(receive);
  socket = (await Bun.connect({
    fd: 3,
    socket: {
      data: (_socket: unknown, chunk: Uint8Array) => reader.push(chunk),
      drain,
      close: () => exit(0),
      error: () => exit(0),
    },
  } as never)) as never;
  drain();
  process.on("exit", flush);
}
