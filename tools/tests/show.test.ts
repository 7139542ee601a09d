// show: what it accepts, what it refuses, and what it reports.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUp, errorOf, load, run, temporaryFolder } from './harness.ts';

let outside = '';
let checkout = '';
afterEach(cleanUp);
beforeEach(async () => {
  outside = await temporaryFolder();
  checkout = join(outside, 'checkout');
  mkdirSync(join(checkout, 'reports'), { recursive: true });
  writeFileSync(join(checkout, 'reports/q3.pdf'), '%PDF-1.7');
  writeFileSync(join(checkout, 'chart.png'), 'png');
  writeFileSync(join(checkout, 'noextension'), 'x');
  writeFileSync(join(outside, 'secret.png'), 'secret');
});
const show = (args: Record<string, unknown>) => run('show', args, { directory: checkout });
const refusal = async (args: Record<string, unknown>): Promise<string> => (await errorOf(show(args))).message;

describe('one thing', () => {
  test('a file has path and size, and the shape that is promised', async () => {
    expect(await show({ action: 'show', type: 'pdf', path: 'reports/q3.pdf', title: 'Q3', description: 'The report' })).toEqual({
      success: true,
      action: 'show',
      entry: { type: 'pdf', title: 'Q3', description: 'The report', path: 'reports/q3.pdf', size: 8 },
      message: 'Showing pdf "Q3".',
    });
  });

  test('a path is reported from the checkout, whichever way it came', async () => {
    symlinkSync(checkout, join(outside, 'link'));
    for (const path of [join(checkout, 'chart.png'), './chart.png', 'reports/../chart.png', ' chart.png ']) {
      expect((await show({ type: 'image', path })).entry.path).toBe('chart.png');
    }
    const through = await run('show', { path: join(checkout, 'chart.png') }, { directory: join(outside, 'link') });
    expect(through.entry.path).toBe('chart.png');
  });

  test('a link and contents', async () => {
    expect((await show({ type: 'url', url: 'https://example.com/?a=1,2' })).entry).toEqual({ type: 'url', url: 'https://example.com/?a=1,2' });
    expect((await show({ type: 'error', content: ' It failed\n', theme: 'danger' })).entry).toEqual(
      { type: 'error', content: ' It failed\n', theme: 'danger' });
    expect((await show({ type: 'code', content: 'x = 1', language: 'python', variant: 'compact' })).entry).toEqual(
      { type: 'code', content: 'x = 1', language: 'python', variant: 'compact' });
  });

  test('a long content is not repeated to the model', async () => {
    expect((await show({ type: 'text', content: 'x'.repeat(1000) })).entry.content).toHaveLength(1000);
    expect((await show({ type: 'text', content: 'x'.repeat(1001) })).entry).toEqual({ type: 'text', content_length: 1001 });
  });

  test.each([
    [{ path: 'chart.png' }, 'image'], [{ path: 'reports/q3.pdf' }, 'pdf'], [{ path: 'noextension' }, 'file'],
    [{ url: 'https://example.com/film.MP4?t=1' }, 'video'], [{ url: 'https://example.com/x' }, 'url'],
    [{ url: 'https://example.com/notes.txt' }, 'url'], [{ content: 'hello' }, 'text'],
    [{ content: 'x = 1', language: 'python' }, 'code'], [{ type: null, path: 'chart.png' }, 'image'],
    [{ type: '', content: 'hello', path: '', url: null }, 'text'], [{ type: ' Image ', path: 'chart.png' }, 'image'],
  ])('%j is shown as %s', async (args, type) => {
    expect((await show(args)).entry.type).toBe(type);
  });

  test('metadata comes as JSON text or as an object', async () => {
    for (const metadata of ['{"rows": 120}', { rows: 120 }]) {
      expect((await show({ content: 'x', metadata })).entry.metadata).toEqual({ rows: 120 });
    }
    expect(await refusal({ content: 'x', metadata: '[1]' })).toBe('`metadata` must be the JSON text of an object.');
    expect(await refusal({ content: 'x', metadata: '{' })).toStartWith('`metadata` is not valid JSON:');
  });

  test.each([['16:9'], ['1:1'], ['4/3'], ['2.39:1'], ['auto']])('aspect_ratio %p is fine', async (aspect_ratio) => {
    expect((await show({ path: 'chart.png', aspect_ratio })).entry.aspect_ratio).toBe(aspect_ratio);
  });

  test('every type has a way to be shown', async () => {
    const tool = await load('show');
    for (const type of tool.parameters.properties.type.enum) {
      const name = `file.${({ image: 'png', video: 'mp4', audio: 'mp3' } as Record<string, string>)[type] ?? type}`;
      writeFileSync(join(checkout, name), 'x');
      const args = type === 'url' ? { url: 'https://example.com' } : { path: name };
      expect((await show({ type, ...args })).entry.type).toBe(type);
    }
  });
});

describe('what is refused, and why', () => {
  test.each([
    [{}, 'Nothing to show: give `path`, `url` or `content`, or `items` for several things.'],
    [{ title: 'Only a title' }, 'Nothing to show'],
    [{ type: 'picture', path: 'chart.png' }, '`type` must be one of file, image, url, text, error, video, audio, code, markdown, pdf, html, csv, xlsx, docx, pptx, not "picture".'],
    [{ action: 'hide', path: 'chart.png' }, '`action` must be one of show, not "hide".'],
    [{ type: 'image', content: 'x' }, 'type "image" needs `path` or `url`.'],
    [{ type: 'url', path: 'chart.png' }, 'type "url" needs `url`.'],
    [{ type: 'text' }, 'type "text" needs `content` or `path`.'],
    [{ path: 'absent.png' }, '"absent.png" does not exist (paths are relative to the checkout).'],
    [{ type: 'code', content: 'x', path: 'absent.ts' }, '"absent.ts" does not exist'],
    [{ path: 'reports' }, '"reports" is a folder, not a file.'],
    [{ path: '.' }, '"." is a folder, not a file.'],
    [{ type: 'image', path: 'reports/q3.pdf' }, '"reports/q3.pdf" is not of type "image": its name says "pdf".'],
    [{ type: 'xlsx', path: 'chart.png' }, 'its name says "image".'],
    [{ path: '../secret.png' }, '"../secret.png" is outside of the checkout.'],
    [{ path: '/etc/passwd' }, '"/etc/passwd" is outside of the checkout.'],
    [{ path: 'a\0b' }, '`path` holds a NUL character.'],
    [{ path: 7 }, '`path` must be a text.'],
    [{ url: 'ftp://example.com/x' }, '`url` must be an address that begins with https:// or http://, not "ftp://example.com/x".'],
    [{ url: 'javascript:alert(1)' }, '`url` must be an address'],
    [{ url: 'https://' }, '`url` must be an address'],
    [{ url: 'example.com' }, '`url` must be an address'],
    [{ content: 'x', theme: 'purple' }, '`theme` must be one of default, success, warning, info, danger, not "purple".'],
    [{ content: 'x', variant: 'huge' }, '`variant` must be one of compact, full, gallery, detail, not "huge".'],
    [{ path: 'chart.png', aspect_ratio: 'wide' }, '`aspect_ratio` must be auto or a ratio such as 16:9, not "wide".'],
    [{ path: 'chart.png', aspect_ratio: '0:1' }, '`aspect_ratio` must be'],
  ])('%j', async (args, expected) => {
    expect(await refusal(args)).toContain(expected);
  });

  test('a sibling of the checkout, and a symbolic link that leads out', async () => {
    mkdirSync(`${checkout}-evil`);
    writeFileSync(`${checkout}-evil/x.png`, 'x');
    symlinkSync(join(outside, 'secret.png'), join(checkout, 'link.png'));
    symlinkSync(outside, join(checkout, 'folder'));
    symlinkSync('chart.png', join(checkout, 'inner.png'));
    symlinkSync('nowhere.png', join(checkout, 'broken.png'));
    expect(await refusal({ path: `${checkout}-evil/x.png` })).toContain('is outside of the checkout');
    expect(await refusal({ path: 'link.png' })).toContain('is outside of the checkout');
    expect(await refusal({ path: 'folder/secret.png' })).toContain('is outside of the checkout');
    expect(await refusal({ path: 'broken.png' })).toContain('does not exist');
    expect((await show({ path: 'inner.png' })).entry.path).toBe('inner.png');
  });

  test('a pipe', async () => {
    Bun.spawnSync(['mkfifo', join(checkout, 'pipe')]);
    expect(await refusal({ path: 'pipe' })).toBe('"pipe" is not a regular file.');
  });

  test('a call that was stopped (RUN-02)', async () => {
    const call = run('show', { path: 'chart.png' }, { directory: checkout, signal: AbortSignal.abort() });
    expect((await errorOf(call)).name).toBe('AbortError');
  });
});

describe('several things', () => {
  test('come as JSON text, or as a list', async () => {
    const items = [{ path: 'chart.png', title: 'Chart' }, { type: 'url', url: 'https://example.com' }];
    for (const value of [JSON.stringify(items), items]) {
      expect(await show({ action: 'show', items: value, title: 'Both' })).toEqual({
        success: true,
        action: 'show',
        items: [{ type: 'image', title: 'Chart', path: 'chart.png', size: 3 }, { type: 'url', url: 'https://example.com' }],
        message: 'Showing 2 items.',
      });
    }
  });

  test('of which some are bad: those are warnings', async () => {
    const output = await show({ items: JSON.stringify([{ path: 'absent.png' }, { path: 'chart.png' }, 'x', { type: 'pic', content: 'x' }]) });
    expect(output.items).toEqual([{ type: 'image', path: 'chart.png', size: 3 }]);
    expect(output.warnings).toEqual([
      'items[0]: "absent.png" does not exist (paths are relative to the checkout).',
      'items[2]: not an object.',
      expect.stringContaining('items[3]: `type` must be one of'),
    ]);
    expect(output.message).toBe('Showing 1 item, 3 left out: see warnings.');
  });

  test('of which all are bad are an error that lists each', async () => {
    expect((await refusal({ items: '[{"path": "a.png"}, {}]' })).split('\n')).toEqual([
      'Nothing in `items` can be shown:',
      '- items[0]: "a.png" does not exist (paths are relative to the checkout).',
      '- items[1]: Nothing to show: give `path`, `url` or `content`, or `items` for several things.',
    ]);
  });

  test.each([['not json', '`items` is not valid JSON:'], ['{"path": "a.png"}', '`items` must be'], ['[]', '`items` must be'], [7, '`items` must be'], [{}, '`items` must be']])(
    'items %p is refused', async (items, expected) => {
      expect(await refusal({ items })).toContain(expected);
    });

  test('an empty `items` counts as left out', async () => {
    for (const items of ['', null]) expect((await show({ path: 'chart.png', items })).entry.type).toBe('image');
  });
});
