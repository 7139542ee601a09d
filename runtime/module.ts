// Imports a tool's module and checks that its default export is a tool.

import { errorText, stackOf } from "./text.ts";

export type Execute = (args: unknown, context: unknown) => unknown;
export type Tool = { description: string; parameters: object; execute: Execute };

const stringify = JSON.stringify;
const EXPECTED = "write `export default { description, parameters, execute(args, context) { … } }`";

/** Why a module is no tool; the message is the reason that the user reads. */
export class LoadError extends Error {}

/** Imports `path` and returns its tool; throws a `LoadError` whose message says what to change. */
export async function loadTool(path: string): Promise<Tool> {
  let module: Record<string, unknown>;
  try {
    module = await import(path);
  } catch (error) {
    throw new LoadError(importFailure(error, path));
  }
  return check(module);
}

function importFailure(error: unknown, path: string): string {
  const text = errorText(error);
  const where = placeOf(error, path);
  const package_ = /^Cannot find package '([^']+)'/.exec(text)?.[1];
  const advice = package_ ? `. Nothing is installed for a tool: add ${package_} to a node_modules folder beside the module or above it` : "";
  return `error at import: ${text}${where}${advice}`;
}

/** ` (at file:line:column)` of an import error, when it is known and not in the text already. */
function placeOf(error: unknown, path: string): string {
  const position = (error as { position?: { file?: string; line?: number; column?: number } | null })?.position;
  if (position?.file && position.line) return ` (at ${position.file}:${position.line}:${position.column ?? 1})`;
  const parts = (error as { errors?: unknown[] })?.errors;
  if (Array.isArray(parts) && parts.length > 0) return placeOf(parts[0], path);
  const frame = stackOf(error).split("\n").find((line) => line.includes(path));
  const place = frame && /(?:\(|at )([^()]*:\d+:\d+)\)?$/.exec(frame.trim())?.[1];
  return place ? ` (at ${place})` : "";
}

function check(module: Record<string, unknown>): Tool {
  if (!("default" in module)) {
    const names = Object.keys(module);
    const found = names.length > 0 ? ` (found named export${names.length > 1 ? "s" : ""} ${names.map((name) => `\`${name}\``).join(", ")})` : "";
    throw new LoadError(`no default export${found}: ${EXPECTED}`);
  }
  const tool = module.default as Partial<Tool> | null | undefined;
  if (typeof tool !== "object" || tool === null || Array.isArray(tool) || tool instanceof Promise)
    throw new LoadError(`the default export is ${nameOf(tool)}, not an object: ${EXPECTED}`);
  if (typeof tool.description !== "string" || tool.description.trim() === "")
    throw new LoadError(`\`description\` must be a non-empty string; found ${nameOf(tool.description)}: say what the tool does and returns`);
  const parameters = checkParameters(tool.parameters);
  if (typeof tool.execute !== "function")
    throw new LoadError(`\`execute\` must be a function; found ${nameOf(tool.execute)}: write \`async execute(args, context) { … }\``);
  return { description: tool.description, parameters, execute: (tool.execute as Execute).bind(tool) };
}

function checkParameters(parameters: unknown): object {
  const example = "`{ type: 'object', properties: { … }, required: [ … ] }`";
  if (typeof parameters !== "object" || parameters === null || Array.isArray(parameters))
    throw new LoadError(`\`parameters\` must be an object schema; found ${nameOf(parameters)}: write ${example}`);
  const odd = notPlain(parameters, "parameters", []);
  if (odd) throw new LoadError(odd);
  const schema = parameters as { type?: unknown; properties?: unknown; required?: unknown };
  if (schema.type !== "object")
    throw new LoadError(`\`parameters\` is not an object schema: \`type\` must be 'object'; found ${nameOf(schema.type)}: write ${example}`);
  if ("properties" in schema && (typeof schema.properties !== "object" || schema.properties === null || Array.isArray(schema.properties)))
    throw new LoadError(`\`parameters.properties\` must be an object; found ${nameOf(schema.properties)}: write ${example}`);
  if ("required" in schema && !(Array.isArray(schema.required) && schema.required.every((name) => typeof name === "string")))
    throw new LoadError(`\`parameters.required\` must be a list of names; found ${nameOf(schema.required)}`);
  return parameters;
}

/** Says where a schema holds something that JSON would lose, such as a validator's own object. */
function notPlain(value: unknown, path: string, above: unknown[]): string | undefined {
  if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint" || value instanceof Date)
    return `\`${path}\` must be JSON Schema; found ${nameOf(value)}`;
  if (typeof value !== "object" || value === null) return undefined;
  if (above.includes(value)) return `\`${path}\` refers to itself: JSON Schema cannot hold a cycle, use \`$ref\``;
  const prototype = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) {
    return `\`${path}\` must be JSON Schema; got an instance of ${prototype?.constructor?.name ?? "a class"}, convert it first (zod 4: \`z.toJSONSchema(schema)\`)`;
  }
  for (const key of Object.keys(value)) {
    const found = notPlain((value as Record<string, unknown>)[key], `${path}.${key}`, [...above, value]);
    if (found) return found;
  }
  // zod 4 adds hidden `~standard` members to what toJSONSchema returns; they are not enumerable and not schema.
  return undefined;
}

function nameOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (value instanceof Promise) return "a promise";
  if (typeof value === "string") return value === "" ? "an empty string" : `the string ${stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)}`;
  if (typeof value === "function") return "a function";
  if (typeof value === "object") return value.constructor && value.constructor !== Object ? `an instance of ${value.constructor.name}` : "an object";
  return `the ${typeof value} ${String(value)}`;
}
