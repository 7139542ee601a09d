// image_search: what it asks Serper and what it returns.

import { afterEach, describe, expect, test } from 'bun:test';
import { cleanUp, errorOf, never, run, serve, until } from './harness.ts';

afterEach(cleanUp);

const KEY = 'serper-0123456789';
/** One image in the shape of Serper's API. */
const image = (n: number) => ({
  title: `Bee ${n}`, imageUrl: `https://example.com/${n}.jpg`, imageWidth: 640, imageHeight: 480,
  thumbnailUrl: `https://example.com/t${n}.jpg`, thumbnailWidth: 100, thumbnailHeight: 75,
  source: 'Example', domain: 'example.com', link: `https://example.com/page/${n}`, position: n,
});
const ok = (count = 2) => serve((request) => Response.json({
  searchParameters: { q: request.body.q, type: 'images', num: request.body.num },
  images: Array.from({ length: count }, (_, n) => image(n + 1)),
}));
const search = (args: Record<string, unknown>, url: string, signal?: AbortSignal) =>
  run('image_search', args, { env: { SERPER_API_KEY: KEY, SERPER_API_URL: url }, signal });

describe('the request', () => {
  test('with its own key goes to Serper in the shape of its API', async () => {
    const server = ok();
    await search({ query: 'bees', num_results: '30' }, server.url);
    const [request] = server.received;
    expect(request).toMatchObject({ method: 'POST', path: '/images', body: { q: 'bees', num: 30 } });
    expect(request!.headers['x-api-key']).toBe(KEY);
    expect(request!.headers).not.toHaveProperty('authorization');
  });

  test('with BEEUNI_API_URL goes to the router with the session token', async () => {
    const server = ok();
    const env = { BEEUNI_API_URL: server.url, BEEUNI_TOKEN: 'session-token', SERPER_API_KEY: KEY };
    await run('image_search', { query: 'bees' }, { env });
    const [request] = server.received;
    expect(request).toMatchObject({ path: '/v1/router/serper/images', body: { q: 'bees', num: 12 } });
    expect(request!.headers.authorization).toBe('Bearer session-token');
    expect(request!.headers).not.toHaveProperty('x-api-key');
  });

  test('needs a key, and says how to set it', async () => {
    const error = await errorOf(run('image_search', { query: 'bees' }));
    expect(error.message).toContain('SERPER_API_KEY is not set for this agent.');
    expect(error.message).toContain('`beeuni secrets set SERPER_API_KEY=-`');
  });

  test('needs a query', async () => {
    expect((await errorOf(search({}, 'http://127.0.0.1:1'))).message).toContain('image_search needs `query`');
  });
});

describe('the output', () => {
  test('of one query has the shape that views read (W3)', async () => {
    expect(await search({ query: 'bees' }, ok(1).url)).toEqual({
      query: 'bees',
      total: 1,
      images: [{
        url: 'https://example.com/1.jpg', title: 'Bee 1', source: 'https://example.com/page/1', width: 640, height: 480,
      }],
    });
  });

  test('survives images with parts missing, and leaves out those without an address', async () => {
    const server = serve(() => Response.json({ images: [{ imageUrl: 'https://example.com/x.png', domain: 'example.com' }, { title: 'no address' }, null] }));
    expect(await search({ query: 'bees' }, server.url)).toEqual({
      query: 'bees',
      total: 1,
      images: [{ url: 'https://example.com/x.png', title: '', source: 'example.com', width: null, height: null }],
    });
  });

  test('of an empty list is a sentence', async () => {
    expect(await search({ query: 'bees' }, ok(0).url)).toBe('No images found for "bees".');
    expect(await search({ query: 'bees', num_results: 1000 }, ok(0).url)).toBe(
      'No images found for "bees". num_results must be a whole number from 1 to 100: used 100.');
  });

  test('of several queries is a batch, as many entries as queries, duplicates asked once (WEB-03)', async () => {
    const server = serve((request) =>
      request.body.q === 'bad' ? Response.json({ message: 'Bad query' }, { status: 400 })
        : Response.json({ images: request.body.q === 'none' ? [] : [image(1)] }));
    const output = await search({ query: 'a|||none|||bad|||a' }, server.url);
    expect(output.batch_mode).toBe(true);
    expect(output.results).toEqual([
      { query: 'a', total: 1, images: [expect.objectContaining({ url: 'https://example.com/1.jpg' })] },
      { query: 'none', total: 0, images: [] },
      { query: 'bad', total: 0, images: [], error: 'Serper answered 400: Bad query. Trying again with the same input does not help.' },
      { query: 'a', total: 1, images: [expect.objectContaining({ url: 'https://example.com/1.jpg' })] },
    ]);
    expect(server.received).toHaveLength(3);
  });

  test('never holds more images than asked for, and says when the number was changed (WEB-06)', async () => {
    const server = ok(100);
    const cases = [[undefined, 12], [null, 12], ['5', 5], [0, 1], [-5, 1], [1e9, 100], [2.5, 2]] as const;
    for (const [sent, used] of cases) {
      const output = await search({ query: 'bees', num_results: sent }, server.url);
      expect([sent, output.total, output.images.length]).toEqual([sent, used, used]);
      expect('note' in output).toBe(![undefined, null, '5'].includes(sent as never));
    }
  });

  test('passes a warning of the router on', async () => {
    const server = serve(() => Response.json({ images: [image(1)], warning: 'Answered by SearXNG.' }));
    expect((await search({ query: 'a|||b' }, server.url)).note).toBe('Answered by SearXNG.');
  });
});

describe('trouble', () => {
  test('of the only query is an error with provider, status and advice, without the key', async () => {
    const server = serve(() => Response.json({ message: `Unauthorized: ${KEY}`, statusCode: 403 }, { status: 403 }));
    const error = await errorOf(search({ query: 'bees' }, server.url));
    expect(error.message).toStartWith('Image search failed: Serper answered 403: Unauthorized: [secret]. Trying again does not help');
    expect(error.message).toContain('SERPER_API_KEY was refused');
    expect(server.received).toHaveLength(1);
  });

  test('of every query is an error that lists each', async () => {
    const server = serve(() => new Response('{', { status: 200 }));
    const error = await errorOf(search({ query: 'a|||b' }, server.url));
    expect(error.message.split('\n')).toEqual([
      'No image search worked:',
      '- "a": Serper answered 200 with no JSON object but {. Trying again later may help.',
      '- "b": Serper answered 200 with no JSON object but {. Trying again later may help.',
    ]);
  });

  test('a captcha page or a reply without images is no "no images found" (WEB-05)', async () => {
    for (const answer of ['<html><title>Are you human?</title>', '{"images": null}', '{"images": ["x"]}', '']) {
      const error = await errorOf(search({ query: 'bees' }, serve(() => new Response(answer)).url));
      expect(error.message).toStartWith('Image search failed: Serper answered 200 with');
    }
  });

  test('429 is asked again', async () => {
    const server = serve((_, count) =>
      count < 3 ? new Response('', { status: 429, headers: { 'retry-after': '0' } }) : Response.json({ images: [image(1)] }));
    expect(await search({ query: 'bees' }, server.url)).toMatchObject({ total: 1 });
    expect(server.received).toHaveLength(3);
  });

  test('stops at once when the turn is stopped (RUN-02)', async () => {
    const server = serve(never);
    const controller = new AbortController();
    const call = errorOf(search({ query: 'bees' }, server.url, controller.signal));
    await until(() => server.received.length === 1, 'the request has come');
    const stopped = performance.now();
    controller.abort();
    expect((await call).name).toBe('AbortError');
    expect(performance.now() - stopped).toBeLessThan(200);
    expect((await errorOf(search({ query: 'bees' }, server.url, controller.signal))).name).toBe('AbortError');
    expect(server.received).toHaveLength(1);
  });
});
