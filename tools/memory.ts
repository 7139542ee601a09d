// The `memory` tool: notes that outlive a session, as text files in the checkout's folder memory/.
//
// Commands and texts are those of Anthropic's `memory_20250818` tool, which models know. A refused
// command is a returned text that says why; only an abort or a fault of this file is thrown.
// Paths: `/memories/notes.md` is `memory/notes.md` in the checkout; the latter form, a plain
// `notes.md` and the absolute path of that folder mean the same. Answers repeat the form that came.

import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import * as fs from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const MAX_BYTES = 1024 * 1024;
const MAX_LINES = 999_999;
const MAX_NAME_BYTES = 255;

interface ToolContext {
  /** The checkout. */
  directory: string;
  /** Fires when the user stops the turn. */
  signal: AbortSignal;
}

type Arguments = Record<string, unknown>;

/** The command cannot be done: its message is the answer. */
class Refused extends Error {}

/** A place under memory/: as the model wrote it, and where it really is. */
interface Place {
  shown: string;
  root: string;
  /** Names below the root; none for the root itself. */
  names: string[];
  path: string;
}

export default {
  description:
    'Keep notes between sessions as text files. View /memories before you start a task; record what ' +
    'a later session needs to know: decisions, preferences, progress. Paths look like ' +
    '/memories/notes.md: /memories is the folder memory/ of the checkout, so commit it to keep it. ' +
    'Names may not begin with "." or "~"; symbolic links are not followed; a file is UTF-8 text of at most 1 MiB.',
  parameters: {
    type: 'object',
    properties: {
      command: {
        type: 'string',
        enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'],
        description:
          'view: list a folder or show a file with line numbers. create: a new file. str_replace: replace ' +
          'a text that occurs exactly once. insert: add text after a line. delete: a file or a folder with ' +
          'all it holds. rename: rename or move; never overwrites.',
      },
      path: { type: 'string', description: 'Every command but rename: the file or folder, e.g. /memories/notes.md.' },
      view_range: {
        type: 'array',
        items: { type: 'integer' },
        description: 'view: first and last line to show, from 1; -1 as last means the end. E.g. [1, 20].',
      },
      file_text: { type: 'string', description: "create: the file's content." },
      old_str: { type: 'string', description: 'str_replace: the text to replace, exactly as in the file.' },
      new_str: { type: 'string', description: 'str_replace: the new text. Left out: the old text is removed.' },
      insert_line: { type: 'integer', description: 'insert: the line to insert after; 0 is the top of the file.' },
      insert_text: { type: 'string', description: 'insert: the text to insert.' },
      old_path: { type: 'string', description: 'rename: the present path.' },
      new_path: { type: 'string', description: 'rename: the new path.' },
    },
    required: ['command'],
  },

  async execute(args: Arguments, context: ToolContext): Promise<string> {
    context.signal.throwIfAborted();
    const name = String(args.command ?? '');
    try {
      const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
      if (command) return await command(args, context);
      const known = Object.keys(COMMANDS).join(', ');
      throw new Refused(`Error: Unknown command \`${name}\`. Use one of ${known}`);
    } catch (error) {
      context.signal.throwIfAborted();
      if (error instanceof Refused) return error.message;
      const code = codeOf(error);
      if (!code) throw error;
      // The code alone: the system's message shows paths in a form that the model does not use.
      return `Error: The command ${name} failed: ${SYSTEM_ERRORS[code] ?? code}.`;
    }
  },
};

const SYSTEM_ERRORS: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENAMETOOLONG: 'the path is too long',
};

// ── Commands ────────────────────────────────────────────────────────────────────────────────────

const COMMANDS: Record<string, (args: Arguments, context: ToolContext) => Promise<string>> = {
  async view(args, context) {
    const place = await locate(args, 'path', context);
    const info = await infoOf(place.path);
    if (info?.isDirectory() || (!info && place.names.length === 0)) return listing(place, context.signal);
    const missing = `The path ${place.shown} does not exist. Please provide a valid path.`;
    const lines = linesOf(await readText(place, missing));
    if (lines.length > MAX_LINES) {
      throw new Refused(`File ${place.shown} exceeds maximum line limit of 999,999 lines.`);
    }
    const [first, last] = viewRange(args.view_range, lines.length);
    return `Here's the content of ${place.shown} with line numbers:\n${numbered(lines, first, last)}`;
  },

  async create(args, context) {
    const place = await locate(args, 'path', context);
    const content = textOf(args, 'file_text');
    if (place.names.length === 0) throw new Refused(`Error: ${place.shown} is a folder: name a file in it`);
    await makeFolder(place);
    return alone(place, context, async (commit) => {
      if (await infoOf(place.path)) throw new Refused(`Error: File ${place.shown} already exists`);
      await writeText(place, content, commit);
      return `File created successfully at: ${place.shown}`;
    });
  },

  async str_replace(args, context) {
    const place = await locate(args, 'path', context);
    const before = textOf(args, 'old_str');
    const after = textOf({ new_str: args.new_str ?? '' }, 'new_str');
    if (before === '') throw new Refused('Error: `old_str` is empty: give the text to replace.');
    return alone(place, context, async (commit) => {
      const missing = `Error: The path ${place.shown} does not exist. Please provide a valid path.`;
      const content = await readText(place, missing);
      const at = onlyOccurrence(content, before, place.shown);
      const changed = content.slice(0, at) + after + content.slice(at + before.length);
      await writeText(place, changed, commit);
      const [first, last] = [lineAt(changed, at), lineAt(changed, at + after.length)];
      const snippet = numbered(linesOf(changed), first - 2, last + 2);
      const title = 'The memory file has been edited. Here is the snippet showing the change (with line numbers):';
      return `${title}\n${snippet}`;
    });
  },

  async insert(args, context) {
    const place = await locate(args, 'path', context);
    const text = textOf(args, 'insert_text');
    return alone(place, context, async (commit) => {
      const content = await readText(place, `Error: The path ${place.shown} does not exist`);
      const lines = linesOf(content);
      const line = wholeNumber(args.insert_line);
      if (line === undefined || line < 0 || line > lines.length) {
        throw new Refused(
          `Error: Invalid \`insert_line\` parameter: ${args.insert_line}. ` +
            `It should be within the range of lines of the file: [0, ${lines.length}]`,
        );
      }
      const endsLine = content.endsWith('\n') || (line === lines.length && text.endsWith('\n'));
      lines.splice(line, 0, text.replace(/\n$/, ''));
      await writeText(place, lines.join('\n') + (endsLine ? '\n' : ''), commit);
      return `The file ${place.shown} has been edited.`;
    });
  },

  async delete(args, context) {
    const place = await locate(args, 'path', context);
    if (place.names.length === 0) throw new Refused(`Error: ${place.shown} itself cannot be deleted`);
    return alone(place, context, async (commit) => {
      if (!(await infoOf(place.path))) throw new Refused(`Error: The path ${place.shown} does not exist`);
      await commit();
      await fs.rm(place.path, { recursive: true });
      await syncFolder(dirname(place.path));
      return `Successfully deleted ${place.shown}`;
    });
  },

  async rename(args, context) {
    const from = await locate(args, 'old_path', context);
    const to = await locate(args, 'new_path', context);
    if (from.names.length === 0) throw new Refused(`Error: ${from.shown} itself cannot be renamed`);
    return alone(from, context, async (commit) => {
      if (!(await infoOf(from.path))) throw new Refused(`Error: The path ${from.shown} does not exist`);
      if (await infoOf(to.path)) throw new Refused(`Error: The destination ${to.shown} already exists`);
      if (to.path.startsWith(from.path + sep)) {
        throw new Refused(`Error: ${from.shown} cannot be moved into itself`);
      }
      await makeFolder(to);
      await commit();
      await fs.rename(from.path, to.path);
      await syncFolder(dirname(to.path));
      await syncFolder(dirname(from.path));
      return `Successfully renamed ${from.shown} to ${to.shown}`;
    });
  },
};

// ── Paths ───────────────────────────────────────────────────────────────────────────────────────

/** Finds a place under memory/. Refuses whatever is, or could be, outside. */
async function locate(args: Arguments, argument: string, context: ToolContext): Promise<Place> {
  const value = args[argument];
  if (typeof value !== 'string') {
    throw new Refused(`Error: \`${argument}\` is missing: give a path such as /memories/notes.md`);
  }
  const refuse = (why: string): never => {
    const path = JSON.stringify(value);
    throw new Refused(`Error: The path ${path} is refused: ${why}. Paths look like /memories/notes.md`);
  };
  const checkout = await fs.realpath(context.directory);
  const names = namesOf(value, [context.directory, checkout]) ?? refuse('it is not under /memories');
  for (const name of names) {
    if (name === '..') refuse('".." could leave the memory');
    if (/^[.~]/.test(name)) refuse('a name may not begin with "." or "~"');
    if (/[\\\p{Cc}\p{Cs}]/u.test(name)) refuse('a name may not hold a backslash or a control character');
    if (/%(25)*(2e|2f|5c|00)/i.test(name)) refuse('percent-encoding is not decoded: write the name itself');
    if (Buffer.byteLength(name) > MAX_NAME_BYTES) refuse(`a name may have at most ${MAX_NAME_BYTES} bytes`);
  }
  const root = await realRoot(checkout);
  let path = root;
  for (const name of names) {
    path = join(path, name);
    if ((await infoOf(path))?.isSymbolicLink()) refuse('it leads through a symbolic link, which is not followed');
  }
  return { shown: value.replace(/\/+$/, ''), root, names, path };
}

/** The names below memory/ in any of the accepted forms; undefined when the path is elsewhere. */
function namesOf(path: string, checkouts: string[]): string[] | undefined {
  const absolute = checkouts.map((checkout) => join(checkout, 'memory'));
  const folders = ['/memories', ...absolute, 'memory', 'memories'];
  const folder = folders.find((known) => path === known || path.startsWith(`${known}/`));
  if (folder === undefined && /^(\/|$)/.test(path)) return undefined;
  return path.slice(folder?.length ?? 0).split('/').filter((name) => name !== '');
}

/** The real folder behind memory/: a link may stand there only if it stays within the checkout. */
async function realRoot(checkout: string): Promise<string> {
  const root = join(checkout, 'memory');
  const info = await infoOf(root);
  if (!info || info.isDirectory()) return root;
  const real = await fs.realpath(root).catch(() => '');
  if (real.startsWith(checkout + sep) && (await infoOf(real))?.isDirectory()) return real;
  throw new Refused('Error: memory/ in the checkout is a file, or a symbolic link that leads out of the checkout');
}

/** Makes the folder that a place is in, and the root, where they are missing. */
async function makeFolder(place: Place): Promise<void> {
  const folder = dirname(place.path);
  const made = await fs.mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    if (!['EEXIST', 'ENOTDIR'].includes(codeOf(error) ?? '')) throw error;
    throw new Refused(`Error: A part of the path ${place.shown} is a file, not a folder`);
  });
  if ((await fs.realpath(folder)) !== folder) {
    throw new Refused(`Error: The path ${place.shown} leads through a symbolic link, which is not followed`);
  }
  for (let path = folder; made && path.length >= made.length; path = dirname(path)) {
    await syncFolder(dirname(path));
  }
}

/** What is at `path`, links not followed; undefined when there is nothing. */
async function infoOf(path: string): Promise<Stats | undefined> {
  try {
    return await fs.lstat(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

// ── Reading and writing ─────────────────────────────────────────────────────────────────────────

/** A file's text. `missing` is the answer when it is not there, or a folder. */
async function readText(place: Place, missing: string): Promise<string> {
  // Follows no link, and does not wait for the other end of a pipe.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await fs.open(place.path, flags).catch((error: unknown) => {
    throw ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '') ? new Refused(missing) : error;
  });
  try {
    const info = await file.stat();
    if (info.isDirectory()) throw new Refused(missing);
    if (!info.isFile()) throw new Refused(`Error: ${place.shown} is not a regular file`);
    refuseOversize(place.shown, info.size);
    const bytes = await file.readFile();
    if (bytes.includes(0)) throw new Refused(`Error: File ${place.shown} holds NUL bytes: it is not text`);
    if (!isUtf8(bytes)) throw new Refused(`Error: File ${place.shown} is not UTF-8 text`);
    return bytes.toString('utf8');
  } finally {
    await file.close();
  }
}

/** Replaces a file whole or not at all, even when the machine stops: a new file takes its name. */
async function writeText(place: Place, content: string, commit: () => Promise<void>): Promise<void> {
  const bytes = Buffer.from(content);
  refuseOversize(place.shown, bytes.length);
  const folder = dirname(place.path);
  for (const name of await fs.readdir(folder)) {
    // Of a writer that was killed: nobody else writes now.
    if (name.startsWith(TEMPORARY)) await fs.rm(join(folder, name), { force: true });
  }
  const temporary = join(folder, TEMPORARY + randomUUID());
  try {
    const file = await fs.open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await commit();
    await fs.rename(temporary, place.path);
  } catch (error) {
    await fs.rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(folder);
}

/** Makes what was renamed or removed in a folder last. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await fs.open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function refuseOversize(shown: string, bytes: number): void {
  if (bytes <= MAX_BYTES) return;
  throw new Refused(`Error: ${shown}: ${bytes} bytes are more than the limit of 1 MiB (${MAX_BYTES} bytes)`);
}

function codeOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : undefined;
}

// ── One writer at a time ────────────────────────────────────────────────────────────────────────
//
// The lock is a folder that holds one file, named after its owner. It is taken by renaming a folder
// that holds that file already: that works only where there is no lock or an empty one. So the lock
// of a dead owner can be freed by removing the file of *that* name, and no two processes that do it
// at the same time can free the lock of a third.

const LOCK = '.beeuni-lock';
const TEMPORARY = '.beeuni-new-';
const LOCK_WAIT_MS = 15_000;
const LOCK_LIFE_MS = 60_000;

/** Runs `work` while no other writer changes this memory. `commit` comes right before the change. */
async function alone(
  place: Place, { signal }: ToolContext, work: (commit: () => Promise<void>) => Promise<string>,
): Promise<string> {
  // Without a root there is nothing to change: `work` finds that out.
  if (!(await infoOf(place.root))) return work(async () => {});
  const owner = `${process.pid}.${await processSpace()}.${randomUUID()}`;
  const lock = join(place.root, LOCK);
  const mine = join(place.root, `${LOCK}.${owner}`);
  await fs.mkdir(mine, { mode: 0o700 });
  try {
    await fs.writeFile(join(mine, owner), '', { mode: 0o600 });
    await takeLock(mine, lock, signal);
    await removeStale(place.root, `${LOCK}.`); // of writers that were killed while they waited
    return await work(async () => {
      signal.throwIfAborted();
      if (await infoOf(join(lock, owner))) return;
      throw new Refused('Error: The change took too long and was given up. Try again');
    });
  } finally {
    await fs.rm(mine, { recursive: true, force: true });
    await fs.rm(join(lock, owner), { force: true });
    await fs.rmdir(lock).catch(() => {}); // another writer's by now, or not there
  }
}

async function takeLock(mine: string, lock: string, signal: AbortSignal): Promise<void> {
  const until = Date.now() + LOCK_WAIT_MS;
  for (;;) {
    try {
      return await fs.rename(mine, lock);
    } catch (error) {
      if (!['ENOTEMPTY', 'EEXIST'].includes(codeOf(error) ?? '')) throw error;
    }
    await removeStale(lock, '');
    if (Date.now() > until) throw new Refused('Error: Another session is changing the memory. Try again');
    await delay(2 + Math.random() * 15, undefined, { signal });
  }
}

/** Removes what is named `prefix` and an owner that is gone. */
async function removeStale(folder: string, prefix: string): Promise<void> {
  for (const name of await fs.readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const stale = name.startsWith(prefix) && (await isStale(path, name.slice(prefix.length)));
    if (stale) await fs.rm(path, { recursive: true, force: true });
  }
}

/** Whether a lock's owner is gone: its process has ended, or it has held the lock for a minute. */
async function isStale(path: string, owner: string): Promise<boolean> {
  const [pid, space] = owner.split('.');
  try {
    if (space === (await processSpace())) process.kill(Number(pid), 0);
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return true;
  }
  const info = await infoOf(path);
  return info !== undefined && Math.abs(Date.now() - info.mtimeMs) > LOCK_LIFE_MS;
}

/** Where this process's id means something: its pid namespace, or the machine. */
async function processSpace(): Promise<string> {
  const space = await fs.readlink('/proc/self/ns/pid').catch(() => hostname());
  return space.replace(/[^a-z0-9]/gi, '');
}

// ── Text ────────────────────────────────────────────────────────────────────────────────────────

/** A folder's files and folders, two levels deep, with sizes; a folder's size is that of its files. */
async function listing(place: Place, signal: AbortSignal): Promise<string> {
  const rows: string[] = [];
  const walk = async (folder: string, shown: string, depth: number): Promise<number> => {
    let total = 0;
    const entries = await fs.readdir(folder, { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      signal.throwIfAborted();
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      const [path, name] = [join(folder, entry.name), `${shown}/${entry.name}`];
      const row = depth <= 2 ? rows.push('') - 1 : undefined;
      const size = entry.isDirectory() ? await walk(path, name, depth + 1) : ((await infoOf(path))?.size ?? 0);
      if (row !== undefined) rows[row] = `${humanSize(size)}\t${name}${entry.isDirectory() ? '/' : ''}`;
      total += size;
    }
    return total;
  };
  const total = (await infoOf(place.path)) ? await walk(place.path, place.shown, 1) : 0;
  const title =
    `Here're the files and directories up to 2 levels deep in ${place.shown}, ` +
    'excluding hidden items and node_modules:';
  return [title, `${humanSize(total)}\t${place.shown}`, ...rows].join('\n');
}

function humanSize(bytes: number): string {
  if (bytes < 1024) return `${bytes}B`;
  return bytes < MAX_BYTES ? `${(bytes / 1024).toFixed(1)}K` : `${(bytes / MAX_BYTES).toFixed(1)}M`;
}

/** The lines of a text; a final line break ends the last line and begins no other. */
function linesOf(content: string): string[] {
  const lines = content.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** Lines `first` to `last`, as far as they exist, each behind its number. */
function numbered(lines: string[], first: number, last: number): string {
  const start = Math.max(1, first);
  return lines
    .slice(start - 1, last)
    .map((line, index) => `${String(start + index).padStart(6)}\t${line}`)
    .join('\n');
}

/** The first and last line to show. A last line behind the end means the end. */
function viewRange(value: unknown, count: number): [number, number] {
  if (value === undefined || value === null) return [1, count];
  // Some models send a list as text: "[1, 20]".
  const parts: unknown[] = Array.isArray(value) ? value : String(value).replace(/[[\]]/g, '').split(',');
  const [first = 0, last = 0] = parts.map(wholeNumber);
  const end = last === -1 ? count : last;
  const inOrder = first >= 1 && first <= Math.max(1, count) && (end >= first || last === -1);
  if (parts.length === 2 && inOrder) return [first, end];
  throw new Refused(
    `Error: Invalid \`view_range\` parameter: ${JSON.stringify(value)}. It should be two line numbers ` +
      `within [1, ${count}], the first not after the last; -1 as last means the end`,
  );
}

/** Where `wanted` is in `content`. Refuses when it is not there or, even overlapping, there twice. */
function onlyOccurrence(content: string, wanted: string, shown: string): number {
  const found: number[] = [];
  let at = content.indexOf(wanted);
  for (; at !== -1 && found.length < 20; at = content.indexOf(wanted, at + 1)) found.push(at);
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;

  const quoted = wanted.length > 1000 ? `${wanted.slice(0, 1000)}…` : wanted;
  if (only === undefined) {
    throw new Refused(
      `No replacement was performed, old_str \`${quoted}\` did not appear verbatim in ${shown}. ` +
        'If the file has changed since you read it, view it again.',
    );
  }
  const lines = [...new Set(found.map((position) => lineAt(content, position)))].join(', ');
  throw new Refused(
    `No replacement was performed. Multiple occurrences of old_str \`${quoted}\` ` +
      `in lines: ${lines}${at === -1 ? '' : ', …'}. Please ensure it is unique`,
  );
}

/** The number of the line that position `at` is on. */
function lineAt(content: string, at: number): number {
  return content.slice(0, at).split('\n').length;
}

/** An argument that must be text which can be stored. */
function textOf(args: Arguments, name: string): string {
  const value = args[name];
  if (typeof value !== 'string') throw new Refused(`Error: \`${name}\` is missing: give a text`);
  if (value.includes('\0')) throw new Refused(`Error: \`${name}\` holds a NUL character, which is not text`);
  if (!value.isWellFormed()) throw new Refused(`Error: \`${name}\` holds half of a character (a lone surrogate)`);
  refuseOversize(name, Buffer.byteLength(value));
  return value;
}

/** A whole number that came as a number or as text. */
function wholeNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) ? number : undefined;
}
