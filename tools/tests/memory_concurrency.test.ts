// memory with several writers at once, and with writers that are killed (MEM-03).

import { afterEach, beforeEach, expect, test } from 'bun:test';
import {
  existsSync, mkdirSync, readFileSync, readdirSync, readlinkSync, rmSync, utimesSync, writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { cleanUp, errorOf, onCleanUp, run, temporaryFolder, toolPath, until } from './harness.ts';

let checkout = '';
afterEach(cleanUp);
beforeEach(async () => {
  checkout = await temporaryFolder();
  await memory({ command: 'create', path: '/memories/log.md', file_text: 'start\n' });
});

const memory = (args: Record<string, unknown>, signal?: AbortSignal): Promise<string> =>
  run('memory', args, { directory: checkout, signal });
const onDisk = (name: string) => join(checkout, 'memory', name);
const log = () => readFileSync(onDisk('log.md'), 'utf8');

/** Another process that runs `body`, with `memory(args)` at hand. */
function another(body: string) {
  const script = `
    const { default: tool } = await import(${JSON.stringify(toolPath('memory'))});
    const context = { directory: ${JSON.stringify(checkout)}, signal: new AbortController().signal };
    const memory = (args) => tool.execute(args, context);
    ${body}`;
  const child = Bun.spawn([process.execPath, '--no-install', '--no-env-file', '--config=/dev/null', '-e', script], {
    stdout: 'pipe', stderr: 'inherit',
  });
  onCleanUp(() => child.kill('SIGKILL'));
  return child;
}

test('100 parallel inserts from two processes all land', async () => {
  const insertAll = (name: string) => `
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) =>
      memory({ command: 'insert', path: '/memories/log.md', insert_line: 1, insert_text: '${name} ' + n })));
    const wrong = answers.filter((answer) => answer !== 'The file /memories/log.md has been edited.');
    if (wrong.length > 0) { console.error(wrong[0]); process.exit(1); }`;
  const children = [another(insertAll('a')), another(insertAll('b'))];
  expect(await Promise.all(children.map((child) => child.exited))).toEqual([0, 0]);
  const lines = log().trimEnd().split('\n');
  expect(lines[0]).toBe('start');
  const expected = ['a', 'b'].flatMap((name) => Array.from({ length: 50 }, (_, n) => `${name} ${n}`));
  expect(lines.slice(1).sort()).toEqual(expected.sort());
  expect(readdirSync(onDisk(''))).toEqual(['log.md']);
}, 30_000);

test('of two replacements of the same text one is refused', async () => {
  const answers = await Promise.all(['x', 'y'].map((new_str) =>
    memory({ command: 'str_replace', path: '/memories/log.md', old_str: 'start', new_str })));
  expect(answers.filter((answer) => answer.startsWith('The memory file has been edited.'))).toHaveLength(1);
  expect(answers.filter((answer) => answer.includes('has changed since you read it'))).toHaveLength(1);
});

test('of two creations of one file one is refused', async () => {
  const answers = await Promise.all(['x', 'y'].map((file_text) => memory({ command: 'create', path: '/memories/new.md', file_text })));
  expect(answers.sort()).toEqual(['Error: File /memories/new.md already exists', 'File created successfully at: /memories/new.md']);
});

test('a reader sees whole versions while others write, and no lock or temporary file', async () => {
  const half = 200_000;
  const versions = ['a', 'b'].map((letter) => `${letter.repeat(half)}\n`);
  await memory({ command: 'create', path: '/memories/big.md', file_text: versions[0] });
  let writing = true;
  const writer = (async () => {
    for (let n = 0; n < 20; n++) {
      const [from, to] = n % 2 === 0 ? versions : [...versions].reverse();
      await memory({ command: 'str_replace', path: '/memories/big.md', old_str: from, new_str: to });
    }
    writing = false;
  })();
  let reads = 0;
  for (; writing; reads++) {
    const text = readFileSync(onDisk('big.md'), 'utf8');
    expect(versions.includes(text)).toBe(true);
    expect(await memory({ command: 'view', path: '/memories' })).not.toContain('.beeuni');
  }
  await writer;
  expect(reads).toBeGreaterThan(10);
});

test('kill -9 in a burst leaves a whole file, and the next writer goes on at once', async () => {
  for (let round = 0; round < 5; round++) {
    const child = another(`
      for (let n = 0; ; n++) {
        await memory({ command: 'insert', path: '/memories/log.md', insert_line: 1, insert_text: 'x'.repeat(20000) + ' ' + n });
        if (n === 2) console.log('under way');
        if (n % 5 === 4) await memory({ command: 'str_replace', path: '/memories/log.md', old_str: (await Bun.file(${JSON.stringify(onDisk('log.md'))}).text()), new_str: 'start\\n' });
      }`);
    await child.stdout.getReader().read();
    await Bun.sleep(round * 3);
    child.kill('SIGKILL');
    await child.exited;
    const text = log();
    expect(text).toStartWith('start\n');
    expect(text).toEndWith('\n');
    for (const line of text.trimEnd().split('\n').slice(1)) expect(line).toMatch(/^x{20000} \d+$/);

    const started = performance.now();
    expect(await memory({ command: 'insert', path: '/memories/log.md', insert_line: 1, insert_text: 'after' })).toBe(
      'The file /memories/log.md has been edited.');
    expect(performance.now() - started).toBeLessThan(1000);
    expect(readdirSync(onDisk(''))).toEqual(['log.md']);
    await memory({ command: 'delete', path: '/memories/log.md' });
    await memory({ command: 'create', path: '/memories/log.md', file_text: 'start\n' });
  }
}, 30_000);

/** Puts a lock there as a writer would, and returns its file. */
function lockOf(owner: string): string {
  mkdirSync(onDisk('.beeuni-lock'));
  writeFileSync(onDisk(`.beeuni-lock/${owner}`), '');
  return onDisk(`.beeuni-lock/${owner}`);
}
const change = (signal?: AbortSignal) => memory({ command: 'insert', path: '/memories/log.md', insert_line: 1, insert_text: 'x' }, signal);

test('the lock of a process of another sandbox is respected, and taken over after a minute', async () => {
  const file = lockOf('1.elsewhere.0');
  const controller = new AbortController();
  const waiting = errorOf(change(controller.signal));
  await until(() => readdirSync(onDisk('')).some((name) => name.startsWith('.beeuni-lock.')), 'the writer waits');
  await Bun.sleep(100);
  expect(log()).toBe('start\n');
  const stopped = performance.now();
  controller.abort();
  expect((await waiting).name).toBe('AbortError');
  expect(performance.now() - stopped).toBeLessThan(200);
  expect(readdirSync(onDisk('')).sort()).toEqual(['.beeuni-lock', 'log.md']);

  const past = Date.now() / 1000 - 61;
  utimesSync(file, past, past);
  expect(await change()).toBe('The file /memories/log.md has been edited.');
  expect(existsSync(onDisk('.beeuni-lock'))).toBe(false);
});

test('a lock that stays is told after a bounded wait', async () => {
  lockOf('1.elsewhere.0');
  const now = Date.now;
  const began = now();
  onCleanUp(() => (Date.now = now));
  // The wait is 15 s: this clock runs 50 times as fast, and still far from the minute of a take-over.
  Date.now = () => began + (now() - began) * 50;
  expect(await change()).toBe('Error: Another session is changing the memory. Try again');
  expect(log()).toBe('start\n');
});

test('a writer whose lock was taken over gives up before it changes anything', async () => {
  const { signal } = new AbortController();
  let taken = 0;
  // Looked at right before the change: the moment to take the lock away.
  signal.throwIfAborted = () => {
    if (!existsSync(onDisk('.beeuni-lock'))) return;
    for (const owner of readdirSync(onDisk('.beeuni-lock'))) rmSync(onDisk(`.beeuni-lock/${owner}`));
    taken++;
  };
  expect(await change(signal)).toBe('Error: The change took too long and was given up. Try again');
  expect(taken).toBe(1);
  expect(log()).toBe('start\n');
  expect(readdirSync(onDisk(''))).toEqual(['log.md']);
});

test('what killed writers left behind goes with the next change; what a live one uses stays', async () => {
  mkdirSync(onDisk('.beeuni-lock.1.elsewhere.0'));
  const space = readlinkSync('/proc/self/ns/pid').replace(/[^a-z0-9]/gi, '');
  const dead = Bun.spawnSync(['true']).pid;
  mkdirSync(onDisk(`.beeuni-lock.${dead}.${space}.0`));
  mkdirSync(onDisk(`.beeuni-lock.${process.pid}.${space}.0`));
  writeFileSync(onDisk('.beeuni-new-1'), 'half a fi');
  await change();
  expect(readdirSync(onDisk('')).sort()).toEqual(
    [`.beeuni-lock.${process.pid}.${space}.0`, '.beeuni-lock.1.elsewhere.0', 'log.md'].sort());
});
