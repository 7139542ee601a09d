// Turns whatever a tool returns or throws into text: JSON indented by two spaces, errors with their causes.
//
// `JSON.stringify` alone loses values silently (`Map`, `Set`, `Error` become `{}`) or throws (`bigint`, cycles,
// throwing getters). Here each becomes readable text, and the rest of the value is kept.

import { uncurry } from "./channel.ts";

const stringify = JSON.stringify;
const rawJSON = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;
const isArray = Array.isArray;
const isFinite = Number.isFinite;
const keysOf = Object.keys;
const prototypeOf = Object.getPrototypeOf;
const objectPrototype = Object.prototype;
const isWellFormed = uncurry(String.prototype.isWellFormed);
const toWellFormed = uncurry(String.prototype.toWellFormed);
const toText = String;
const decodeStrict = new TextDecoder("utf-8", { fatal: true });
const decode = uncurry(TextDecoder.prototype.decode);
const base64 = uncurry((Buffer.prototype as unknown as { base64Slice(start: number, end: number): string }).base64Slice);
const bufferFrom = Buffer.from as (data: ArrayBufferLike, offset: number, length: number) => Buffer;
const MAX_DEPTH = 200;

/** The tool's output for a returned value. Throws a plain sentence for what cannot be output. */
export function outputText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined) return "";
  if (typeof value === "bigint" || typeof value === "symbol") return toText(value);
  if (typeof value === "function") throw new Refused(`execute returned a function (${value.name || "anonymous"}): return text or a JSON value`);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (value instanceof Error) return errorText(value);
  const bytes = bytesOf(value);
  if (bytes) return bytesText(bytes);
  if (isSimple(value, 0)) return stringify(value, null, 2);
  if (typeof value === "object" && value !== null) refuseStreams(value);
  return stringify(plain(value, []), null, 2) ?? "";
}

/** Whether `JSON.stringify` alone writes the value without loss: most results are such, and it is much faster. */
function isSimple(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case "string":
      return isWellFormed(value);
    case "number":
      return isFinite(value);
    case "boolean":
      return true;
    case "object":
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (depth > 32) return false; // perhaps a cycle
  if (isArray(value)) {
    for (let index = 0; index < value.length; index++) if (!isSimple(value[index], depth + 1)) return false;
    return true;
  }
  if (prototypeOf(value) !== objectPrototype) return false;
  try {
    for (const key in value) {
      if (!isWellFormed(key) || key === "toJSON" || !isSimple((value as Record<string, unknown>)[key], depth + 1)) return false;
    }
    return true;
  } catch {
    return false; // a getter that throws
  }
}

/** A reason that is already a sentence for the caller. */
export class Refused extends Error {}

function refuseStreams(value: object) {
  if (value instanceof Response || value instanceof Request)
    throw new Refused(`execute returned a ${value.constructor.name}: return \`await response.text()\` or \`await response.json()\``);
  if (value instanceof ReadableStream) throw new Refused("execute returned a ReadableStream: read it and return its text");
  if (value instanceof Blob) throw new Refused("execute returned a Blob: return `await blob.text()`");
  const iterator = value as { next?: unknown; [Symbol.asyncIterator]?: unknown; [Symbol.iterator]?: unknown };
  if (typeof iterator.next === "function" && (iterator[Symbol.asyncIterator] || iterator[Symbol.iterator]))
    throw new Refused("execute returned a generator: collect its values and return them as one value");
}

function bytesOf(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array && (prototypeOf(value) === Buffer.prototype || prototypeOf(value) === Uint8Array.prototype)) return value;
  if (value instanceof ArrayBuffer || (typeof SharedArrayBuffer !== "undefined" && value instanceof SharedArrayBuffer)) return new Uint8Array(value);
  return undefined;
}

function bytesText(bytes: Uint8Array): string {
  try {
    return decode(decodeStrict, bytes as never) as string;
  } catch {
    const buffer = bufferFrom(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return `data:application/octet-stream;base64,${base64(buffer, 0, buffer.length)}`;
  }
}

/** A copy of `value` that `JSON.stringify` writes without loss and without throwing. */
function plain(value: unknown, above: object[]): unknown {
  switch (typeof value) {
    case "string":
      return wellFormed(value);
    case "bigint":
      return rawJSON(toText(value));
    case "number":
      return isFinite(value) ? value : toText(value);
    case "symbol":
      return toText(value);
    case "function":
      return `[function ${value.name || "anonymous"}]`;
    case "object":
      return value === null ? null : plainObject(value, above);
    default:
      return value;
  }
}

/** Half a character of UTF-16 cannot be UTF-8; `JSON.stringify` would escape it and the reader refuse it. */
function wellFormed(text: string): string {
  return isWellFormed(text) ? text : (toWellFormed(text) as string);
}

function plainObject(value: object, above: object[]): unknown {
  for (let index = 0; index < above.length; index++) if (above[index] === value) return "[circular]";
  if (above.length >= MAX_DEPTH) return "[nested too deeply]";
  above[above.length] = value;
  try {
    return members(value, above);
  } finally {
    above.length -= 1;
  }
}

function members(value: object, above: object[]): unknown {
  const prototype = prototypeOf(value);
  if (isArray(value)) {
    const list: unknown[] = [];
    for (let index = 0; index < value.length; index++) list[index] = member(value, index as never, above) ?? null;
    return list;
  }
  if (prototype !== objectPrototype && prototype !== null) {
    const special = specialObject(value, above);
    if (special) return special.value;
  }
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") {
    try {
      return plain((value as { toJSON(): unknown }).toJSON(), above);
    } catch (error) {
      return `[unreadable: ${errorText(error)}]`;
    }
  }
  return ownMembers(value, above);
}

function ownMembers(value: object, above: object[], skip?: string): Record<string, unknown> {
  const copy: Record<string, unknown> = Object.create(null);
  const keys = keysOf(value);
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index]!;
    if (key === skip) continue;
    const item = member(value, key as never, above);
    if (item !== undefined) copy[wellFormed(key)] = item;
  }
  return copy;
}

function member(value: object, key: never, above: object[]): unknown {
  let item: unknown;
  try {
    item = value[key];
  } catch (error) {
    return `[unreadable: ${errorText(error)}]`;
  }
  return plain(item, above);
}

/** Objects whose content is not in their own properties. */
function specialObject(value: object, above: object[]): { value: unknown } | undefined {
  if (value instanceof Date) return { value: Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString() };
  if (value instanceof Map) return { value: mapMembers(value, above) };
  if (value instanceof Set) {
    const list: unknown[] = [];
    for (const item of value) list[list.length] = plain(item, above) ?? null;
    return { value: list };
  }
  if (value instanceof Error) return { value: { name: value.name, message: errorText(value), ...ownMembers(value, above, "message") } };
  const bytes = bytesOf(value);
  if (bytes) return { value: bytesText(bytes) };
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    const list: unknown[] = [];
    const items = value as unknown as { length: number; [index: number]: unknown };
    for (let index = 0; index < items.length; index++) list[index] = plain(items[index], above);
    return { value: list };
  }
  if (value instanceof RegExp) return { value: toText(value) };
  if (value instanceof Promise) return { value: "[promise: await it before returning]" };
  if (value instanceof Headers || value instanceof URLSearchParams || value instanceof FormData)
    return { value: plain(Object.fromEntries(value as never), above) };
  if (value instanceof Response || value instanceof Request || value instanceof Blob) return { value: `[${value.constructor.name}: read it before returning]` };
  if (value instanceof Number || value instanceof String || value instanceof Boolean || value instanceof BigInt) return { value: plain(value.valueOf(), above) };
  return undefined;
}

function mapMembers(map: Map<unknown, unknown>, above: object[]): unknown {
  let named = true;
  for (const key of map.keys()) if (typeof key === "object" && key !== null) named = false;
  if (!named) {
    const list: unknown[] = [];
    for (const [key, item] of map) list[list.length] = [plain(key, above) ?? null, plain(item, above) ?? null];
    return list;
  }
  const copy: Record<string, unknown> = Object.create(null);
  for (const [key, item] of map) copy[toText(key)] = plain(item, above);
  return copy;
}

/** The text of a thrown value: its message, then the parts of an `AggregateError` and the chain of causes. */
export function errorText(error: unknown, depth = 0): string {
  try {
    return describe(error, depth);
  } catch {
    return "the tool threw a value that cannot be read";
  }
}

function describe(error: unknown, depth: number): string {
  if (typeof error === "string") return error === "" ? "the tool threw an empty text" : error;
  if (error === null || error === undefined) return `the tool threw ${error}`;
  if (typeof error !== "object") return toText(error);
  if (!isErrorLike(error)) return stringify(plain(error, []), null, 2) ?? "the tool threw a value without text";
  let message: unknown;
  try {
    message = error.message;
  } catch {
    message = "the tool threw an error whose message cannot be read";
  }
  let text = typeof message === "string" && message !== "" ? message : `${error.name || "Error"} (no message)`;
  if (depth >= 8) return text;
  if (isArray(error.errors)) for (const part of error.errors) text += `\n- ${errorText(part, depth + 1)}`;
  if (error.cause !== undefined) text += `\ncaused by: ${errorText(error.cause, depth + 1)}`;
  return text;
}

type ErrorLike = { name?: string; message?: unknown; stack?: string; errors?: unknown; cause?: unknown };

function isErrorLike(value: object): value is ErrorLike {
  // Bun's own ResolveMessage and BuildMessage are no instances of Error but look like one.
  return value instanceof Error || ("message" in value && "name" in value && "level" in value);
}

/** The stack of an error for the tool's log, without the worker's own frames; empty when it has none. */
export function stackOf(error: unknown): string {
  try {
    const stack = (error as ErrorLike | undefined)?.stack;
    if (typeof stack !== "string") return "";
    return stack.split("\n").filter((line) => !line.includes(import.meta.dir)).join("\n");
  } catch {
    return "";
  }
}
