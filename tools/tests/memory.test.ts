// memory: the texts of Anthropic's `memory_20250818` tool, and that nothing leaves memory/.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  chmodSync, existsSync, linkSync, lstatSync, mkdirSync, readFileSync, readdirSync, realpathSync, rmSync, statSync,
  symlinkSync, writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { cleanUp, errorOf, run, temporaryFolder } from './harness.ts';

let outside = '';
let checkout = '';
afterEach(cleanUp);
beforeEach(async () => {
  outside = await temporaryFolder();
  checkout = join(outside, 'checkout');
  mkdirSync(checkout);
});

const memory = (args: Record<string, unknown>, signal?: AbortSignal): Promise<string> =>
  run('memory', args, { directory: checkout, signal });
const create = (path: string, file_text = 'one\ntwo\nthree\n') => memory({ command: 'create', path, file_text });
const view = (path: string, view_range?: unknown) => memory({ command: 'view', path, view_range });
const replace = (old_str: unknown, new_str: unknown, path = '/memories/a.md') =>
  memory({ command: 'str_replace', path, old_str, new_str });
const insert = (insert_line: unknown, insert_text: unknown, path = '/memories/a.md') =>
  memory({ command: 'insert', path, insert_line, insert_text });
const onDisk = (name: string) => join(checkout, 'memory', name);
const content = (name = 'a.md') => readFileSync(onDisk(name), 'utf8');
/** Every path below a folder. */
const everything = (folder: string) => (readdirSync(folder, { recursive: true }) as string[]).sort();

describe('view', () => {
  test('lists a folder two levels deep with sizes, without hidden items and node_modules', async () => {
    await create('/memories/notes.md', 'x'.repeat(5632));
    await create('/memories/team/ana/likes.md', 'tea');
    await create('/memories/team/b.md', '');
    for (const name of ['.git/config', 'node_modules/x/y.md', 'team/.hidden']) {
      mkdirSync(dirname(onDisk(name)), { recursive: true });
      writeFileSync(onDisk(name), 'hidden');
    }
    expect(await view('/memories')).toBe([
      "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:",
      '5.5K\t/memories',
      '5.5K\t/memories/notes.md',
      '3B\t/memories/team/',
      '3B\t/memories/team/ana/',
      '0B\t/memories/team/b.md',
    ].join('\n'));
    expect(await view('/memories/team/')).toContain('3B\t/memories/team/ana/likes.md');
  });

  test('of a memory that is not there yet is an empty list and makes nothing', async () => {
    expect(await view('/memories')).toEndWith('node_modules:\n0B\t/memories');
    expect(readdirSync(checkout)).toEqual([]);
  });

  test('shows a file with line numbers, six wide', async () => {
    await create('/memories/a.md', 'one\n\tÜmläut 😀\r\n\nlast');
    expect(await view('/memories/a.md')).toBe(
      "Here's the content of /memories/a.md with line numbers:\n     1\tone\n     2\t\tÜmläut 😀\r\n     3\t\n     4\tlast");
    await create('/memories/empty.md', '');
    expect(await view('/memories/empty.md')).toBe("Here's the content of /memories/empty.md with line numbers:\n");
    expect(await view('/memories/empty.md', [1, -1])).toEndWith('line numbers:\n');
  });

  test.each([
    [[2, 3], '     2\tl2\n     3\tl3'], [[4, -1], '     4\tl4\n     5\tl5'], [[5, 5], '     5\tl5'], [[4, 99], '     4\tl4\n     5\tl5'],
    [['2', '2'], '     2\tl2'], ['[2, 2]', '     2\tl2'], [null, '     1\tl1\n     2\tl2\n     3\tl3\n     4\tl4\n     5\tl5'],
  ])('view_range %j shows those lines', async (range, expected) => {
    await create('/memories/a.md', 'l1\nl2\nl3\nl4\nl5\n');
    expect(await view('/memories/a.md', range)).toBe(`Here's the content of /memories/a.md with line numbers:\n${expected}`);
  });

  test.each([[[0, 2]], [[3, 2]], [[6, 7]], [[-1, 2]], [[1]], [[1, 2, 3]], [[1.5, 2]], [['a', 'b']], ['all'], [7], [[1, -2]], [[]]])(
    'view_range %j is refused with the range that is possible', async (range) => {
      await create('/memories/a.md', 'l1\nl2\nl3\nl4\nl5\n');
      expect(await view('/memories/a.md', range)).toBe(
        `Error: Invalid \`view_range\` parameter: ${JSON.stringify(range)}. It should be two line numbers ` +
        'within [1, 5], the first not after the last; -1 as last means the end');
    });

  test('of nothing says so', async () => {
    expect(await view('/memories/absent.md')).toBe('The path /memories/absent.md does not exist. Please provide a valid path.');
    await create('/memories/a.md');
    expect(await view('/memories/a.md/b')).toBe('The path /memories/a.md/b does not exist. Please provide a valid path.');
  });

  test('of more than 999,999 lines is refused', async () => {
    await create('/memories/long.md', '\n'.repeat(1_000_000));
    expect(await view('/memories/long.md')).toBe('File /memories/long.md exceeds maximum line limit of 999,999 lines.');
  });
});

describe('create', () => {
  test('writes the text as it is, files 0600 and folders 0700', async () => {
    expect(await create('/memories/deep/er/ünïcödé.md', 'Ünï\r\n')).toBe('File created successfully at: /memories/deep/er/ünïcödé.md');
    expect(content('deep/er/ünïcödé.md')).toBe('Ünï\r\n');
    expect(statSync(onDisk('deep/er/ünïcödé.md')).mode & 0o777).toBe(0o600);
    for (const folder of ['', 'deep', 'deep/er']) expect(statSync(onDisk(folder)).mode & 0o777).toBe(0o700);
  });

  test('leaves nothing but the file', async () => {
    await create('/memories/a.md');
    await create('/memories/b/c.md');
    expect(everything(checkout)).toEqual(['memory', 'memory/a.md', 'memory/b', 'memory/b/c.md']);
  });

  test('does not overwrite', async () => {
    await create('/memories/a.md', 'first');
    expect(await create('/memories/a.md', 'second')).toBe('Error: File /memories/a.md already exists');
    expect(content()).toBe('first');
    expect(await create('/memories', 'x')).toBe('Error: /memories is a folder: name a file in it');
    mkdirSync(onDisk('folder'));
    expect(await create('/memories/folder', 'x')).toBe('Error: File /memories/folder already exists');
    expect(await create('/memories/a.md/b.md', 'x')).toBe('Error: A part of the path /memories/a.md/b.md is a file, not a folder');
  });

  test('refuses what cannot be stored as text', async () => {
    expect(await create('/memories/a.md', 'x'.repeat(1024 * 1024 + 1))).toContain('1048577 bytes are more than the limit of 1 MiB');
    expect(await create('/memories/a.md', 'ü'.repeat(524_289))).toContain('1048578 bytes are more than the limit of 1 MiB');
    expect(await create('/memories/a.md', 'a\0b')).toContain('`file_text` holds a NUL character');
    expect(await create('/memories/a.md', '\ud83d')).toContain('lone surrogate');
    expect(await memory({ command: 'create', path: '/memories/a.md' })).toBe('Error: `file_text` is missing: give a text');
    expect(await memory({ command: 'create', path: '/memories/a.md', file_text: 7 })).toBe('Error: `file_text` is missing: give a text');
    expect(readdirSync(checkout)).toEqual([]);
    expect(await create('/memories/a.md', 'x'.repeat(1024 * 1024))).toStartWith('File created');
  });
});

describe('str_replace', () => {
  test('replaces the only occurrence and shows where', async () => {
    await create('/memories/a.md', 'l1\nl2\nl3\nold\nl5\nl6\nl7\n');
    expect(await replace('old', 'new\nnewer')).toBe(
      'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n' +
      '     2\tl2\n     3\tl3\n     4\tnew\n     5\tnewer\n     6\tl5\n     7\tl6');
    expect(content()).toBe('l1\nl2\nl3\nnew\nnewer\nl5\nl6\nl7\n');
    expect(statSync(onDisk('a.md')).mode & 0o777).toBe(0o600);
  });

  test('takes both texts literally', async () => {
    await create('/memories/a.md', 'price (.*) $1 end');
    await replace('(.*)', "$& $1 $` $' $$ \\n");
    expect(content()).toBe("price $& $1 $` $' $$ \\n $1 end");
  });

  test('without new_str removes the text', async () => {
    await create('/memories/a.md', 'one two three');
    for (const [old, left] of [[' two', 'one three'], [' three', 'one']] as const) {
      await memory({ command: 'str_replace', path: '/memories/a.md', old_str: old, ...(left === 'one' ? { new_str: null } : {}) });
      expect(content()).toBe(left);
    }
  });

  test('refuses a text that is not there, and says that the file may have changed (MEM-03)', async () => {
    await create('/memories/a.md');
    expect(await replace('four', 'x')).toBe(
      'No replacement was performed, old_str `four` did not appear verbatim in /memories/a.md. ' +
      'If the file has changed since you read it, view it again.');
    expect(content()).toBe('one\ntwo\nthree\n');
  });

  test.each([
    ['on two lines', 'a b\nc\na b\n', 'a b', '1, 3'],
    ['twice on one line', 'x\ny y\n', 'y', '2'],
    ['overlapping', 'aaa\n', 'aa', '1'],
    ['overlapping across lines', 'a\na\na\n', 'a\na', '1, 2'],
    ['many times', 'z\n'.repeat(30), 'z', `${Array.from({ length: 20 }, (_, n) => n + 1).join(', ')}, …`],
  ])('refuses a text that is there %s, with the lines', async (_, text, old, lines) => {
    await create('/memories/a.md', text);
    expect(await replace(old, 'new')).toBe(
      `No replacement was performed. Multiple occurrences of old_str \`${old}\` in lines: ${lines}. Please ensure it is unique`);
    expect(content()).toBe(text);
  });

  test('answers at once for a text that is there a million times', async () => {
    await create('/memories/a.md', 'a'.repeat(1024 * 1024));
    expect(await replace('a', 'b')).toContain('in lines: 1, …');
  });

  test('refuses an empty or missing old_str, a folder, and nothing', async () => {
    await create('/memories/a.md');
    expect(await replace('', 'x')).toBe('Error: `old_str` is empty: give the text to replace.');
    expect(await replace(undefined, 'x')).toBe('Error: `old_str` is missing: give a text');
    for (const path of ['/memories', '/memories/absent.md']) {
      expect(await replace('x', 'y', path)).toBe(`Error: The path ${path} does not exist. Please provide a valid path.`);
    }
  });

  test('refuses a result over 1 MiB', async () => {
    await create('/memories/a.md', 'mark');
    await replace('mark', `${'x'.repeat(1024 * 1024 - 4)}mark`);
    expect(await replace('mark', 'x'.repeat(5))).toContain('1048577 bytes are more than the limit of 1 MiB');
    expect(content()).toHaveLength(1024 * 1024);
  });
});

describe('insert', () => {
  test.each([
    ['one\ntwo\n', 0, 'new\n', 'new\none\ntwo\n'],
    ['one\ntwo\n', 1, 'new', 'one\nnew\ntwo\n'],
    ['one\ntwo\n', 2, 'new\n', 'one\ntwo\nnew\n'],
    ['one\ntwo\n', '2', 'new', 'one\ntwo\nnew\n'],
    ['one\ntwo', 2, 'new', 'one\ntwo\nnew'],
    ['one\ntwo', 2, 'new\n', 'one\ntwo\nnew\n'],
    ['one\ntwo', 1, 'new\n', 'one\nnew\ntwo'],
    ['one\n', 1, 'a\n\nb\n', 'one\na\n\nb\n'],
    ['', 0, 'new\n', 'new\n'],
    ['', 0, 'new', 'new'],
    ['one\n', 1, '$& $1', 'one\n$& $1\n'],
  ])('into %j after line %p', async (text, line, inserted, expected) => {
    await create('/memories/a.md', text);
    expect(await insert(line, inserted)).toBe('The file /memories/a.md has been edited.');
    expect(content()).toBe(expected);
  });

  test.each([[-1], [4], [1.5], ['x'], [undefined], [null], [1e9]])('refuses line %p with the range', async (line) => {
    await create('/memories/a.md');
    expect(await insert(line, 'x')).toBe(
      `Error: Invalid \`insert_line\` parameter: ${line}. It should be within the range of lines of the file: [0, 3]`);
    expect(content()).toBe('one\ntwo\nthree\n');
  });

  test('refuses a folder, nothing, and a missing text', async () => {
    expect(await insert(0, 'x', '/memories/absent.md')).toBe('Error: The path /memories/absent.md does not exist');
    expect(readdirSync(checkout)).toEqual([]);
    await create('/memories/b/a.md');
    expect(await insert(0, 'x', '/memories/b')).toBe('Error: The path /memories/b does not exist');
    expect(await insert(0, undefined, '/memories/b/a.md')).toBe('Error: `insert_text` is missing: give a text');
  });
});

describe('delete', () => {
  const remove = (path: unknown) => memory({ command: 'delete', path });

  test('removes a file, or a folder with all it holds', async () => {
    await create('/memories/a.md');
    await create('/memories/b/c/d.md');
    expect(await remove('/memories/a.md')).toBe('Successfully deleted /memories/a.md');
    expect(await remove('/memories/b/')).toBe('Successfully deleted /memories/b');
    expect(everything(onDisk(''))).toEqual([]);
  });

  test.each([['/memories'], ['/memories/'], ['memory'], ['memory//']])('refuses the root: %p', async (path) => {
    await create('/memories/a.md');
    expect(await remove(path)).toBe(`Error: ${path.replace(/\/+$/, '')} itself cannot be deleted`);
    expect(content()).toBe('one\ntwo\nthree\n');
  });

  test('of nothing says so', async () => {
    expect(await remove('/memories/absent.md')).toBe('Error: The path /memories/absent.md does not exist');
  });
});

describe('rename', () => {
  const move = (old_path: unknown, new_path: unknown) => memory({ command: 'rename', old_path, new_path });

  test('moves a file or a folder, making folders on the way', async () => {
    await create('/memories/a.md');
    expect(await move('/memories/a.md', '/memories/x/y/b.md')).toBe('Successfully renamed /memories/a.md to /memories/x/y/b.md');
    expect(await move('/memories/x', 'z')).toBe('Successfully renamed /memories/x to z');
    expect(everything(onDisk(''))).toEqual(['z', 'z/y', 'z/y/b.md']);
    expect(statSync(onDisk('z/y')).mode & 0o777).toBe(0o700);
  });

  test('never overwrites a file or a folder, even an empty one', async () => {
    await create('/memories/a.md', 'a');
    await create('/memories/b.md', 'b');
    mkdirSync(onDisk('empty'));
    await create('/memories/full/c.md', 'c');
    for (const [from, to] of [['a.md', 'b.md'], ['a.md', 'empty'], ['full', 'empty'], ['a.md', 'a.md']]) {
      expect(await move(`/memories/${from}`, `/memories/${to}`)).toBe(`Error: The destination /memories/${to} already exists`);
    }
    expect([content('a.md'), content('b.md'), content('full/c.md')]).toEqual(['a', 'b', 'c']);
  });

  test('refuses the root, nothing, and a folder into itself', async () => {
    await create('/memories/b/a.md');
    expect(await move('/memories', '/memories/x')).toBe('Error: /memories itself cannot be renamed');
    expect(await move('/memories/b/a.md', '/memories')).toBe('Error: The destination /memories already exists');
    expect(await move('/memories/absent', '/memories/x')).toBe('Error: The path /memories/absent does not exist');
    expect(await move('/memories/b', '/memories/b/c')).toBe('Error: /memories/b cannot be moved into itself');
    expect(await move(undefined, '/memories/x')).toContain('`old_path` is missing');
    expect(await move('/memories/b', null)).toContain('`new_path` is missing');
    expect(everything(onDisk(''))).toEqual(['b', 'b/a.md']);
  });
});

describe('paths', () => {
  test('every form of a path means the same file, and is repeated as it came', async () => {
    await create('/memories/a.md', 'text');
    for (const path of ['/memories/a.md', 'memory/a.md', 'a.md', 'memories/a.md', join(checkout, 'memory/a.md'), '/memories//a.md']) {
      expect(await view(path)).toBe(`Here's the content of ${path} with line numbers:\n     1\ttext`);
    }
    for (const path of ['/memories', 'memory', 'memories', join(checkout, 'memory')]) {
      expect(await view(path)).toEndWith(`\n4B\t${path}\n4B\t${path}/a.md`);
    }
  });

  test('an absolute path works through a link to the checkout and through its real path', async () => {
    await create('/memories/a.md', 'text');
    const link = join(outside, 'link');
    symlinkSync(checkout, link);
    for (const path of [join(link, 'memory/a.md'), join(realpathSync(checkout), 'memory/a.md')]) {
      expect(await run('memory', { command: 'view', path }, { directory: link })).toContain('     1\ttext');
    }
  });

  const bad: [string, string][] = [
    ['../outside', '".."'], ['/memories/..', '".."'], ['/memories/a/..', '".."'], ['/memories/../x', '".."'], ['a/../../b', '".."'],
    ['memory/../x', '".."'], ['/etc/passwd', 'not under /memories'], ['..\\outside', 'begin with "."'], ['a\\b', 'backslash'],
    ['%2e%2e%2foutside', 'percent-encoding'], ['/memories/%2E%2E/x', 'percent-encoding'], ['a%252fb', 'percent-encoding'],
    ['a%5cb', 'percent-encoding'], ['a\0b', 'control character'], ['a\nb', 'control character'], ['\ud800.md', 'control character'],
    ['', 'not under /memories'], ['.', 'begin with "."'], ['/', 'not under /memories'], ['~/x', 'begin with'],
    ['/memories-evil/x', 'not under /memories'], ['/memories/.git/config', 'begin with'], ['.beeuni-lock', 'begin with'],
    ['x'.repeat(256), 'at most 255 bytes'], ['ü'.repeat(128), 'at most 255 bytes'],
  ];

  test.each(bad)('%j is refused by every command, and nothing changes (MEM-01)', async (path, why) => {
    await create('/memories/a.md');
    writeFileSync(join(outside, 'outside'), 'secret');
    writeFileSync(join(checkout, 'x'), 'secret');
    const before = everything(outside);
    const commands = [
      { command: 'view', path },
      { command: 'create', path, file_text: 'x' },
      { command: 'str_replace', path, old_str: 'secret', new_str: 'x' },
      { command: 'insert', path, insert_line: 0, insert_text: 'x' },
      { command: 'delete', path },
      { command: 'rename', old_path: path, new_path: '/memories/b.md' },
      { command: 'rename', old_path: '/memories/a.md', new_path: path },
    ];
    for (const args of commands) {
      const answer = await memory(args);
      expect(answer).toStartWith(`Error: The path ${JSON.stringify(path)} is refused: `);
      expect(answer).toContain(why);
    }
    expect(everything(outside)).toEqual(before);
    expect(readFileSync(join(outside, 'outside'), 'utf8') + readFileSync(join(checkout, 'x'), 'utf8')).toBe('secretsecret');
  });

  test('a sibling such as memory-evil does not pass as absolute path', async () => {
    mkdirSync(join(checkout, 'memory-evil'));
    writeFileSync(join(checkout, 'memory-evil/x'), 'secret');
    expect(await view(join(checkout, 'memory-evil/x'))).toContain('is refused: it is not under /memories');
    expect(await view(join(checkout, 'x'))).toContain('is refused: it is not under /memories');
    expect(await view('memory-evil/x')).toBe('The path memory-evil/x does not exist. Please provide a valid path.');
  });

  test.each([
    ['notes..md'], ['CON'], ['a..b/c'], ['...'.length + '...md'], ['100%.md'], ['%41.md'], ['with space.md'], ["quo'te\".md"],
    ['ünïcödé.md'], ['x'.repeat(255)], ['-rf'], ['memory'],
  ])('%j is a legal name', async (name) => {
    expect(await create(`/memories/${name}`, 'text')).toBe(`File created successfully at: /memories/${name}`);
    expect(await view(`/memories/${name}`)).toContain('     1\ttext');
    expect(lstatSync(onDisk(name)).isFile()).toBe(true);
  });

  test('a path or command that is missing or no text is refused', async () => {
    for (const path of [undefined, null, 7, ['a']]) expect(await memory({ command: 'view', path })).toContain('`path` is missing');
    for (const command of [undefined, null, 'undo', 'constructor', '__proto__', 7]) {
      expect(await memory({ command, path: '/memories' })).toBe(
        `Error: Unknown command \`${command ?? ''}\`. Use one of view, create, str_replace, insert, delete, rename`);
    }
  });
});

describe('symbolic links', () => {
  beforeEach(() => {
    mkdirSync(onDisk(''));
    mkdirSync(join(outside, 'target'));
    writeFileSync(join(outside, 'target/secret.md'), 'secret');
  });
  /** Every command through `path`: each is refused because of a link, and the target stays whole. */
  const refusesAll = async (path: string, file: string) => {
    writeFileSync(onDisk('plain.md'), 'plain');
    const commands = [
      { command: 'view', path: file },
      { command: 'view', path },
      { command: 'create', path: file, file_text: 'x' },
      { command: 'create', path: `${path}/new.md`, file_text: 'x' },
      { command: 'create', path: `${path}/new/new.md`, file_text: 'x' },
      { command: 'str_replace', path: file, old_str: 'secret', new_str: 'x' },
      { command: 'insert', path: file, insert_line: 0, insert_text: 'x' },
      { command: 'delete', path: file },
      { command: 'delete', path },
      { command: 'rename', old_path: file, new_path: '/memories/b.md' },
      { command: 'rename', old_path: '/memories/plain.md', new_path: `${path}/b.md` },
    ];
    for (const args of commands) expect(await memory(args)).toContain('symbolic link');
    expect(everything(join(outside, 'target'))).toEqual(['secret.md']);
    expect(readFileSync(join(outside, 'target/secret.md'), 'utf8')).toBe('secret');
  };

  test('to a folder outside is not followed by any command', async () => {
    symlinkSync(join(outside, 'target'), onDisk('link'));
    await refusesAll('/memories/link', '/memories/link/secret.md');
  });

  test('to a file outside is not followed by any command', async () => {
    symlinkSync(join(outside, 'target/secret.md'), onDisk('link'));
    await refusesAll('/memories/link', '/memories/link');
  });

  test('that is relative, nested, or broken is not followed', async () => {
    mkdirSync(onDisk('deep'));
    symlinkSync('../../../target', onDisk('deep/link'));
    await refusesAll('/memories/deep/link', '/memories/deep/link/secret.md');
    symlinkSync(join(outside, 'target/new.md'), onDisk('broken'));
    expect(await create('/memories/broken', 'x')).toContain('symbolic link');
    expect(existsSync(join(outside, 'target/new.md'))).toBe(false);
  });

  test('in a folder that is listed is not entered, and deleting the folder keeps its target', async () => {
    mkdirSync(onDisk('b'));
    symlinkSync(join(outside, 'target'), onDisk('b/link'));
    expect(await view('/memories')).not.toContain('secret.md');
    expect(await memory({ command: 'delete', path: '/memories/b' })).toBe('Successfully deleted /memories/b');
    expect(readFileSync(join(outside, 'target/secret.md'), 'utf8')).toBe('secret');
  });

  test('in place of memory/ is refused when it leads out, is broken, or is the checkout', async () => {
    for (const target of [join(outside, 'target'), '../target', join(outside, 'nowhere'), '.', checkout]) {
      rmSync(onDisk(''), { recursive: true, force: true });
      rmSync(join(checkout, 'memory'), { force: true });
      symlinkSync(target, join(checkout, 'memory'));
      for (const args of [{ command: 'view', path: '/memories' }, { command: 'view', path: '/memories/secret.md' },
        { command: 'create', path: '/memories/x.md', file_text: 'x' }]) {
        expect(await memory(args)).toBe('Error: memory/ in the checkout is a file, or a symbolic link that leads out of the checkout');
      }
    }
    expect(everything(join(outside, 'target'))).toEqual(['secret.md']);
  });

  test('in place of memory/ works when it stays in the checkout', async () => {
    rmSync(onDisk(''), { recursive: true });
    mkdirSync(join(checkout, 'docs/memory'), { recursive: true });
    symlinkSync('docs/memory', join(checkout, 'memory'));
    await create('/memories/a.md', 'text');
    expect(readFileSync(join(checkout, 'docs/memory/a.md'), 'utf8')).toBe('text');
  });

  test('a hard link to a file outside is not written through', async () => {
    linkSync(join(outside, 'target/secret.md'), onDisk('a.md'));
    await replace('secret', 'changed');
    expect(content()).toBe('changed');
    expect(readFileSync(join(outside, 'target/secret.md'), 'utf8')).toBe('secret');
  });
});

describe('files that are no text', () => {
  const commands = (path: string) => [
    { command: 'view', path },
    { command: 'str_replace', path, old_str: 'x', new_str: 'y' },
    { command: 'insert', path, insert_line: 0, insert_text: 'y' },
  ];
  test.each([
    ['over 1 MiB', Buffer.alloc(1024 * 1024 + 1, 'x'), '1048577 bytes are more than the limit of 1 MiB'],
    ['with a NUL byte', Buffer.from('x\0y'), 'holds NUL bytes'],
    ['not in UTF-8', Buffer.from([0x78, 0xff, 0xfe]), 'is not UTF-8 text'],
  ])('%s: refused with a text, and left as they are', async (_, bytes, why) => {
    await create('/memories/b.md');
    writeFileSync(onDisk('a.md'), bytes);
    for (const args of commands('/memories/a.md')) expect(await memory(args)).toContain(why);
    expect(readFileSync(onDisk('a.md')).equals(bytes)).toBe(true);
  });

  test('a byte order mark survives an edit', async () => {
    await create('/memories/a.md', '\ufeffone\n');
    await insert(1, 'two');
    expect(readFileSync(onDisk('a.md')).toString('hex')).toStartWith('efbbbf');
  });

  test('a pipe does not make it hang', async () => {
    mkdirSync(onDisk(''));
    expect(Bun.spawnSync(['mkfifo', onDisk('pipe')]).exitCode).toBe(0);
    for (const args of commands('/memories/pipe')) expect(await memory(args)).toBe('Error: /memories/pipe is not a regular file');
  });

  test('memory/ itself may be a file: refused', async () => {
    writeFileSync(join(checkout, 'memory'), 'x');
    expect(await create('/memories/a.md')).toContain('memory/ in the checkout is a file');
    expect(await view('/memories')).toContain('memory/ in the checkout is a file');
  });
});

test.skipIf(process.getuid?.() === 0)('a folder without permission is a returned text', async () => {
  await create('/memories/a.md');
  chmodSync(onDisk(''), 0o500);
  try {
    expect(await create('/memories/b.md')).toBe('Error: The command create failed: permission denied.');
  } finally {
    chmodSync(onDisk(''), 0o700);
  }
});

test('a path that is too long in all is a returned text without a path of the system', async () => {
  const answer = await create(`/memories/${'folder/'.repeat(700)}a.md`);
  expect(answer).toBe('Error: The command create failed: the path is too long.');
});

test('a stopped call changes nothing (RUN-02)', async () => {
  await create('/memories/a.md', 'text');
  for (const args of [{ command: 'create', path: '/memories/b.md', file_text: 'x' }, { command: 'delete', path: '/memories/a.md' }]) {
    expect((await errorOf(memory(args, AbortSignal.abort()))).name).toBe('AbortError');
  }
  expect(everything(onDisk(''))).toEqual(['a.md']);
});
