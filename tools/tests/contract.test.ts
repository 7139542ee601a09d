// What the five tools promise as modules: the contract, the schema, and that eject can copy them (E1).

import { afterEach, describe, expect, test } from 'bun:test';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { cleanUp, load, serve, temporaryFolder, TOOLS, toolPath, type ToolName } from './harness.ts';

afterEach(cleanUp);

const source = (name: ToolName) => readFileSync(toolPath(name), 'utf8');

/** The arguments, as the specification names them. */
const ARGUMENTS: Record<ToolName, string[]> = {
  web_search: ['query', 'num_results', 'topic', 'search_depth'],
  image_search: ['query', 'num_results'],
  scrape_webpage: ['urls', 'include_html'],
  memory: ['command', 'path', 'view_range', 'file_text', 'old_str', 'new_str', 'insert_line', 'insert_text', 'old_path', 'new_path'],
  show: ['action', 'type', 'title', 'description', 'path', 'url', 'content', 'variant', 'aspect_ratio', 'theme', 'language', 'metadata', 'items'],
};

describe.each([...TOOLS])('%s', (name) => {
  test('follows the module contract (M1, M2, M3)', async () => {
    const tool = await load(name);
    expect(Object.keys(tool).sort()).toEqual(['description', 'execute', 'parameters']);
    expect(tool.description.trim()).toBe(tool.description);
    expect(tool.description.length).toBeWithin(40, 800);
    expect(tool.parameters.type).toBe('object');
    expect(tool.execute).toBeFunction();
  });

  test('has the arguments of the specification, each with a description', async () => {
    const { properties, required = [] } = (await load(name)).parameters;
    expect(Object.keys(properties).sort()).toEqual([...ARGUMENTS[name]].sort());
    for (const argument of Object.values<any>(properties)) expect(argument.description.length).toBeGreaterThan(8);
    for (const argument of required) expect(properties).toHaveProperty(argument);
  });

  // OpenAI refuses a top-level anyOf and arrays without items; Gemini refuses objects without
  // properties, enums that are no strings, and keywords that it does not know.
  test('has a schema that OpenAI, Anthropic and Gemini accept (SCH)', async () => {
    const known = ['type', 'description', 'properties', 'required', 'items', 'enum', 'minimum', 'maximum'];
    const check = (schema: any) => {
      for (const keyword of Object.keys(schema)) expect(known).toContain(keyword);
      expect(['object', 'array', 'string', 'integer', 'number', 'boolean']).toContain(schema.type);
      if (schema.type === 'array') check(schema.items);
      if (schema.type === 'object') {
        expect(Object.keys(schema.properties).length).toBeGreaterThan(0);
        Object.values(schema.properties).forEach(check);
      }
      if ('enum' in schema) {
        expect(schema.type).toBe('string');
        expect(schema.enum.every((value: unknown) => typeof value === 'string' && value !== '')).toBe(true);
      }
      if ('required' in schema) expect(schema.required.length).toBeGreaterThan(0);
    };
    const { parameters } = await load(name);
    check(parameters);
    expect(JSON.parse(JSON.stringify(parameters))).toEqual(parameters);
  });

  test('imports only node:* and reads no environment but context.env (E1)', () => {
    const { imports } = new Bun.Transpiler({ loader: 'ts' }).scan(source(name));
    for (const { path } of imports) expect(path).toStartWith('node:');
    for (const word of ['process.env', 'Bun.', 'require(', 'import(', 'child_process', 'eval(']) expect(source(name)).not.toContain(word);
  });

  test('opens with a sentence on what it owns', () => {
    expect(source(name)).toStartWith(`// The \`${name}\` tool: `);
  });

  test('runs as it is when copied into a project (E1)', async () => {
    const project = await temporaryFolder();
    mkdirSync(join(project, 'tools'));
    const copy = join(project, 'tools', basename(toolPath(name)));
    copyFileSync(toolPath(name), copy);
    const server = serve(({ path }) => Response.json(
      path.endsWith('images') ? { images: [{ imageUrl: 'https://example.com/a.png' }] }
        : path.endsWith('scrape') ? { success: true, data: { markdown: '# Page' } } : { results: [] }));
    const args = {
      web_search: { query: 'bees' }, image_search: { query: 'bees' }, scrape_webpage: { urls: 'https://example.com' },
      memory: { command: 'view', path: '/memories' }, show: { type: 'text', content: 'hello' },
    }[name];
    const script = `
      const { default: tool } = await import(${JSON.stringify(copy)});
      const output = await tool.execute(${JSON.stringify(args)}, {
        sessionId: 's', agent: 'beeuni', directory: ${JSON.stringify(project)}, signal: new AbortController().signal,
        env: { BEEUNI_API_URL: ${JSON.stringify(server.url)}, BEEUNI_TOKEN: 'token' },
      });
      console.log(typeof output === 'string' ? output : JSON.stringify(output));`;
    const child = Bun.spawn([process.execPath, '--no-install', '--no-env-file', '--config=/dev/null', '-e', script], {
      cwd: project, env: {}, stdout: 'pipe', stderr: 'pipe',
    });
    const [output, trouble, code] = await Promise.all([
      new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited,
    ]);
    expect({ trouble, code }).toEqual({ trouble: '', code: 0 });
    expect(output).toMatch({
      web_search: /"success":true/, image_search: /"total":1/, scrape_webpage: /"content":"# Page"/,
      memory: /^Here're the files/, show: /"success":true/,
    }[name]);
  });
});

// No shared file: eject copies one. What the three have in common is kept the same by this test.
test('the web tools ask a provider with the same lines', () => {
  const shared = (['web_search', 'image_search', 'scrape_webpage'] as const).map((name) => {
    const text = source(name);
    return text.slice(text.indexOf('// ── Asking a provider'));
  });
  expect(shared[0]!.length).toBeGreaterThan(5000);
  expect(shared[1]).toBe(shared[0]!);
  expect(shared[2]).toBe(shared[0]!);
});

test('the search tools read a query and a number with the same lines', () => {
  const [web, image] = (['web_search', 'image_search'] as const).map((name) => {
    const text = source(name);
    return text.slice(text.indexOf('/** The queries of a call'), text.indexOf('// ── Asking a provider'));
  });
  expect(web!.length).toBeGreaterThan(500);
  expect(image).toBe(web!);
});
