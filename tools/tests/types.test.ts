// beeuni.d.ts: types only. A module that uses it runs the same without it.

import { afterEach, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUp, temporaryFolder } from './harness.ts';

afterEach(cleanUp);

const declarations = readFileSync(join(import.meta.dir, '../../runtime/beeuni.d.ts'), 'utf8');

test('the declarations hold no code and import nothing', () => {
  const transpiler = new Bun.Transpiler({ loader: 'ts' });
  expect(transpiler.transformSync(declarations).replace(/export\s*\{\s*\};?/, '').trim()).toBe('');
  expect(transpiler.scan(declarations).imports).toEqual([]);
  expect(declarations).not.toContain('/// <reference');
});

test('every exported name and every member has a comment for hover help', () => {
  const lines = declarations.split('\n');
  lines.forEach((line, index) => {
    const declares = /^export |^  (readonly )?['\w~[\]: ]+\??[:(]/.test(line);
    if (declares) expect([line, lines[index - 1]]).toEqual([line, expect.stringMatching(/\*\/$/)]);
  });
});

const body = `{
  description: 'Look up an order by id.',
  parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
  async execute(args, context) { return args.id + ' for ' + context.agent; },
}`;

test.each([
  ['lookup.ts', `import type { Tool } from '../.beeuni/beeuni.d.ts';\nexport default ${body} satisfies Tool<{ id: string }>;`],
  ['lookup.js', `/** @type {import('../.beeuni/beeuni.d.ts').Tool<{ id: string }>} */\nexport default ${body};`],
])('%s runs where the declarations are absent', async (name, text) => {
  const project = await temporaryFolder();
  mkdirSync(join(project, 'tools'));
  writeFileSync(join(project, 'tools', name), text);
  const { default: tool } = await import(join(project, 'tools', name));
  expect(await tool.execute({ id: '7' }, { agent: 'beeuni' })).toBe('7 for beeuni');
});
