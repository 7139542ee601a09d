// Types for the author of a Beeuni tool. Nothing here exists at run time: a module runs the same
// without this file.
//
// TypeScript:
//
//   import type { Tool } from '../.beeuni/beeuni.d.ts';
//
//   export default {
//     description: 'Look up an order by id. Returns its status and carrier.',
//     parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
//     async execute(args, context) {
//       return `Order ${args.id} is on its way.`;
//     },
//   } satisfies Tool<{ id: string }>;
//
// JavaScript: put this line before `export default {`.
//
//   /** @type {import('../.beeuni/beeuni.d.ts').Tool<{ id: string }>} */

/**
 * A tool: a function that the model calls during a turn. A module's default export.
 *
 * `Args` is what the model sends, as `parameters` describes it. Arguments are not checked against
 * `parameters`: what `execute` receives is what the model sent. Mark as optional whatever is not
 * in `required`, and check what matters.
 */
export interface Tool<Args = Record<string, unknown>> {
  /**
   * What the tool does, what it returns and when to use it: the model reads this to decide whether
   * to call it. Must not be empty.
   */
  description: string;

  /** JSON Schema of the arguments. The model receives it as it is. */
  parameters: ObjectSchema | GeneratedSchema;

  /**
   * Does the work. May be async.
   *
   * A string that it returns is the output. Any other JSON value is sent as JSON, indented by two
   * spaces. `undefined` is an empty output. A thrown error is the tool's error: the model reads its
   * message, so say what went wrong and what to do instead.
   *
   * Output over 50 KB or 2,000 lines is saved whole to a file; the model receives the head and the
   * file's path.
   */
  execute(args: Args, context: ToolContext): unknown;
}

/** What a call knows about its session. */
export interface ToolContext {
  /** The session's id. */
  sessionId: string;

  /** The name of the agent that calls. */
  agent: string;

  /** Absolute path of the checkout: `/workspace` in a sandbox. */
  directory: string;

  /**
   * The sandbox's environment and the secrets that this agent receives, as they are now. Read
   * secrets here and inside `execute`: `process.env` holds none, and a value kept from an earlier
   * call misses a change. Set one with `beeuni secrets set NAME=-` and list it under
   * `agents.<name>.secrets` in beeuni.yaml.
   */
  env: Record<string, string | undefined>;

  /**
   * Fires when the user stops the turn. Hand it on (`fetch(url, { signal: context.signal })`) or
   * listen to it: a call that has not ended 5 seconds later is cut.
   */
  signal: ToolSignal;
}

/**
 * The platform's `AbortSignal` where its type is known (Bun's or Node's types, or TypeScript's
 * `dom` library), else the part of it that a tool needs.
 */
export type ToolSignal = typeof globalThis extends { AbortSignal: { prototype: infer Signal } }
  ? Signal
  : MinimalAbortSignal;

/** The part of `AbortSignal` that a tool needs. */
export interface MinimalAbortSignal {
  /** Whether the call has been stopped. */
  readonly aborted: boolean;
  /** Why, once it has. */
  readonly reason: unknown;
  /** Throws `reason` if the call has been stopped. */
  throwIfAborted(): void;
  /** Calls `listener` when the call is stopped. */
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
  /** Takes `listener` back. */
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** The schema of a tool's arguments: always an object. */
export interface ObjectSchema extends JsonSchema {
  /** A model sends the arguments of a tool as one object. */
  type: 'object';
}

/** A schema that a library made, such as `z.toJSONSchema(z.object({ … }))` of zod. */
export interface GeneratedSchema {
  /** The mark of the Standard Schema convention, which such schemas carry. */
  readonly '~standard': unknown;
}

/**
 * JSON Schema: the keywords that all providers understand, with completion. Any other keyword may be
 * used too; `beeuni tools check` says which ones a provider refuses or ignores.
 */
export interface JsonSchema {
  /** The kind of value. */
  type?: SchemaType | readonly SchemaType[];
  /** What the value means: the model reads it. Give units, format, an example. */
  description?: string;
  /** The values that are allowed. */
  enum?: readonly unknown[];
  /** `object`: its keys. */
  properties?: Readonly<Record<string, JsonSchema>>;
  /** `object`: the keys that must be there. */
  required?: readonly string[];
  /** `object`: whether, or how, other keys are allowed. */
  additionalProperties?: boolean | JsonSchema;
  /** `array`: its elements. */
  items?: JsonSchema;
  /** `array`: fewest elements. */
  minItems?: number;
  /** `array`: most elements. */
  maxItems?: number;
  /** `number`, `integer`: smallest value. */
  minimum?: number;
  /** `number`, `integer`: largest value. */
  maximum?: number;
  /** `string`: fewest characters. */
  minLength?: number;
  /** `string`: most characters. */
  maxLength?: number;
  /** `string`: a regular expression. */
  pattern?: string;
  /** `string`: such as `date-time` or `uri`. */
  format?: string;
  /** What is assumed when it is left out. */
  default?: unknown;
  /** Any other keyword. */
  [keyword: string]: unknown;
}

/** The kinds of JSON values. */
export type SchemaType = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object' | 'null';
