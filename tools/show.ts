// The `show` tool: presents a file, a link or a piece of content to the person who follows the session.
//
// It checks what is to be shown and describes it; the view draws it from the call's arguments. It
// reads no file's content and asks no server. Views and skills read the arguments and the output:
// keep both.

import { realpath, stat } from 'node:fs/promises';
import { extname, isAbsolute, relative, resolve, sep } from 'node:path';

interface ToolContext {
  /** The checkout. */
  directory: string;
  /** Fires when the user stops the turn. */
  signal: AbortSignal;
}

type Arguments = Record<string, unknown>;

/** One thing to show. */
interface Entry {
  type: string;
  title?: string;
  description?: string;
  /** Relative to the checkout. */
  path?: string;
  /** In bytes, with `path`. */
  size?: number;
  url?: string;
  /** Left out over 1,000 characters: the model wrote it in the same call. */
  content?: string;
  content_length?: number;
  variant?: string;
  aspect_ratio?: string;
  theme?: string;
  language?: string;
  metadata?: Record<string, unknown>;
}

type Source = 'path' | 'url' | 'content';

/** What each type can be shown from. */
const TYPES: Record<string, Source[]> = {
  file: ['path', 'url'],
  image: ['path', 'url'],
  url: ['url'],
  text: ['content', 'path'],
  error: ['content', 'path'],
  video: ['path', 'url'],
  audio: ['path', 'url'],
  code: ['content', 'path'],
  markdown: ['content', 'path', 'url'],
  pdf: ['path', 'url'],
  html: ['path', 'content', 'url'],
  csv: ['path', 'content', 'url'],
  xlsx: ['path', 'url'],
  docx: ['path', 'url'],
  pptx: ['path', 'url'],
};

/** File name extensions by the type that they mean. */
const EXTENSIONS: Record<string, string> = {
  image: 'png jpg jpeg gif webp avif svg bmp ico',
  video: 'mp4 m4v webm mov mkv ogv',
  audio: 'mp3 wav ogg oga m4a aac flac opus',
  markdown: 'md markdown mdx',
  text: 'txt log',
  code: 'ts tsx js jsx mjs cjs py rs go java kt c h cc cpp hpp cs rb php swift sh sql css json yml yaml toml xml',
  pdf: 'pdf',
  html: 'html htm',
  csv: 'csv tsv',
  xlsx: 'xlsx',
  docx: 'docx',
  pptx: 'pptx',
};

/** A view of these needs that very format; the others can show any file as text. */
const EXACT_TYPES = ['image', 'video', 'audio', 'pdf', 'xlsx', 'docx', 'pptx'];

const VARIANTS = ['compact', 'full', 'gallery', 'detail'];
const THEMES = ['default', 'success', 'warning', 'info', 'danger'];
const LONGEST_CONTENT = 1000;

const entryProperties = {
  type: {
    type: 'string',
    enum: Object.keys(TYPES),
    description: 'What it is. Left out, it is taken from the file name.',
  },
  title: { type: 'string', description: 'Short heading.' },
  description: { type: 'string', description: 'One or two sentences below the heading.' },
  path: {
    type: 'string',
    description: 'An existing file in the checkout, relative to its root or absolute. E.g. reports/q3.pdf.',
  },
  url: { type: 'string', description: 'A web address beginning with https:// or http://.' },
  content: {
    type: 'string',
    description: 'The content itself. Only for text, error, code, markdown, html and csv.',
  },
};

export default {
  description:
    'Show the user something: a file you made, an image, a link, a document, a table, a message. ' +
    'Give what to show in `path`, `url` or `content`; for several things side by side, `items`. ' +
    'The user sees the thing itself: do not repeat it in your answer.',
  parameters: {
    type: 'object',
    properties: {
      action: { type: 'string', enum: ['show'], description: 'Always "show".' },
      ...entryProperties,
      variant: { type: 'string', enum: VARIANTS, description: 'How much room it takes.' },
      aspect_ratio: {
        type: 'string',
        description: 'Width to height of an image or video, e.g. 16:9 or 1:1; auto by default.',
      },
      theme: { type: 'string', enum: THEMES, description: 'Colour of a message.' },
      language: { type: 'string', description: 'Programming language of code, e.g. python.' },
      metadata: {
        type: 'string',
        description: 'JSON text of an object with further facts to show, e.g. {"rows": 120}.',
      },
      items: {
        type: 'string',
        description:
          'For several things at once (a carousel): JSON text of an array of objects with the same keys ' +
          'as here. E.g. [{"type":"image","path":"a.png","title":"Before"},{"type":"image","path":"b.png"}].',
      },
    },
  },

  async execute(args: Arguments, context: ToolContext) {
    context.signal.throwIfAborted();
    const action = choice(args, 'action', ['show']) ?? 'show';
    if (!isMissing(args.items)) return showItems(action, args.items, context);
    const entry = await entryOf(args, context);
    return { success: true, action, entry, message: `Showing ${labelOf(entry)}.` };
  },
};

/** Several things. What cannot be shown becomes a warning, unless that is all there is. */
async function showItems(action: string, value: unknown, context: ToolContext) {
  const list = typeof value === 'string' ? parseJson('items', value) : value;
  if (!Array.isArray(list) || list.length === 0) {
    throw new Error('`items` must be the JSON text of an array with at least one object.');
  }
  const items: Entry[] = [];
  const warnings: string[] = [];
  for (const [index, item] of list.entries()) {
    try {
      if (!isRecord(item)) throw new Error('not an object.');
      items.push(await entryOf(item, context));
    } catch (error) {
      context.signal.throwIfAborted();
      warnings.push(`items[${index}]: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (items.length === 0) throw new Error(['Nothing in `items` can be shown:', ...warnings].join('\n- '));
  const left = warnings.length > 0 ? `, ${warnings.length} left out: see warnings` : '';
  return {
    success: true,
    action,
    items,
    ...(warnings.length > 0 ? { warnings } : {}),
    message: `Showing ${items.length} item${items.length === 1 ? '' : 's'}${left}.`,
  };
}

/** Checks one thing to show. Errors say which argument is wrong and what it may be. */
async function entryOf(args: Arguments, context: ToolContext): Promise<Entry> {
  context.signal.throwIfAborted();
  const path = textOf(args, 'path');
  const url = textOf(args, 'url');
  const content = textOf(args, 'content');
  const type = choice(args, 'type', Object.keys(TYPES)) ?? typeFrom(args, path, url, content);
  const sources = TYPES[type] ?? [];
  const given: Record<Source, string | undefined> = { path, url, content };
  if (!sources.some((source) => given[source] !== undefined)) {
    const wanted = sources.map((source) => `\`${source}\``).join(' or ');
    throw new Error(`type "${type}" needs ${wanted}.`);
  }

  const file = path === undefined ? undefined : await fileAt(path, type, context);
  if (url !== undefined) checkUrl(url);
  const short = content !== undefined && content.length <= LONGEST_CONTENT;
  const entry: Entry = {
    type,
    title: textOf(args, 'title'),
    description: textOf(args, 'description'),
    path: file?.path,
    size: file?.size,
    url,
    content: short ? content : undefined,
    content_length: short ? undefined : content?.length,
    variant: choice(args, 'variant', VARIANTS),
    aspect_ratio: aspectRatio(textOf(args, 'aspect_ratio')),
    theme: choice(args, 'theme', THEMES),
    language: textOf(args, 'language'),
    metadata: metadataOf(args.metadata),
  };
  for (const key of Object.keys(entry) as (keyof Entry)[]) if (entry[key] === undefined) delete entry[key];
  return entry;
}

/** The type that a model left out. */
function typeFrom(args: Arguments, path?: string, url?: string, content?: string): string {
  if (path !== undefined) return typeOfName(path) ?? 'file';
  if (url !== undefined) {
    const type = URL.canParse(url) ? typeOfName(new URL(url).pathname) : undefined;
    return type !== undefined && TYPES[type]?.includes('url') ? type : 'url';
  }
  if (content !== undefined) return isMissing(args.language) ? 'text' : 'code';
  throw new Error('Nothing to show: give `path`, `url` or `content`, or `items` for several things.');
}

function typeOfName(name: string): string | undefined {
  const extension = extname(name).slice(1).toLowerCase();
  return Object.keys(EXTENSIONS).find((type) => EXTENSIONS[type]?.split(' ').includes(extension));
}

/** A file of the checkout: its path from there, and its size. */
async function fileAt(path: string, type: string, { directory }: ToolContext) {
  if (path.includes('\0')) throw new Error('`path` holds a NUL character.');
  const shown = JSON.stringify(path);
  const checkout = await realpath(directory);
  const inside = (place: string, root: string) => place === root || place.startsWith(root + sep);
  const place = resolve(directory, path);
  const leadsOut = new Error(`${shown} is outside of the checkout. Copy the file into it to show it.`);
  if (!inside(place, resolve(directory)) && !inside(place, checkout)) throw leadsOut;

  const real = await realpath(place).catch(() => undefined);
  if (real === undefined) {
    const from = isAbsolute(path) ? '' : ' (paths are relative to the checkout)';
    throw new Error(`${shown} does not exist${from}.`);
  }
  if (!inside(real, checkout)) throw leadsOut;
  const info = await stat(real);
  if (info.isDirectory()) throw new Error(`${shown} is a folder, not a file.`);
  if (!info.isFile()) throw new Error(`${shown} is not a regular file.`);

  const actual = typeOfName(real);
  if (EXACT_TYPES.includes(type) && actual !== undefined && actual !== type) {
    throw new Error(`${shown} is not of type "${type}": its name says "${actual}".`);
  }
  const root = inside(place, resolve(directory)) ? resolve(directory) : checkout;
  return { path: relative(root, place).split(sep).join('/'), size: info.size };
}

function checkUrl(url: string): void {
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) return;
  throw new Error(`\`url\` must be an address that begins with https:// or http://, not ${JSON.stringify(url)}.`);
}

function aspectRatio(value: string | undefined): string | undefined {
  const ratio = /^(auto|[1-9]\d{0,4}(\.\d+)?\s*[:/x]\s*[1-9]\d{0,4}(\.\d+)?)$/;
  if (value === undefined || ratio.test(value)) return value;
  throw new Error(`\`aspect_ratio\` must be auto or a ratio such as 16:9, not ${JSON.stringify(value)}.`);
}

function metadataOf(value: unknown): Record<string, unknown> | undefined {
  if (isMissing(value)) return undefined;
  const metadata = typeof value === 'string' ? parseJson('metadata', value) : value;
  if (!isRecord(metadata)) throw new Error('`metadata` must be the JSON text of an object.');
  return metadata;
}

/** One of the allowed words, in any case; undefined when it was left out. */
function choice(args: Arguments, name: string, allowed: string[]): string | undefined {
  const value = textOf(args, name)?.toLowerCase();
  if (value === undefined || allowed.includes(value)) return value;
  throw new Error(`\`${name}\` must be one of ${allowed.join(', ')}, not ${JSON.stringify(args[name])}.`);
}

/** A text argument; undefined when it was left out. */
function textOf(args: Arguments, name: string): string | undefined {
  const value = args[name];
  if (isMissing(value)) return undefined;
  if (typeof value !== 'string') throw new Error(`\`${name}\` must be a text.`);
  return name === 'content' ? value : value.trim();
}

/** Models send null or an empty text for what they mean to leave out. */
function isMissing(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
}

function parseJson(name: string, value: string): unknown {
  try {
    return JSON.parse(value);
  } catch (error) {
    throw new Error(`\`${name}\` is not valid JSON: ${error instanceof Error ? error.message : error}.`);
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function labelOf(entry: Entry): string {
  const name = entry.title ?? entry.path ?? entry.url;
  return name === undefined ? entry.type : `${entry.type} "${name}"`;
}
