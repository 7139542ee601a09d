// web_search: what it asks Tavily, what it returns, and (for all three web tools) how it bears trouble.

import { afterEach, describe, expect, setSystemTime, test } from 'bun:test';
import { cleanUp, errorOf, never, onCleanUp, run, serve, serveRaw, shortenTimeouts, until } from './harness.ts';

afterEach(cleanUp);

const KEY = 'tvly-Zq+/9=secret';

/** A reply in the shape of Tavily's API. */
const tavily = (query: string, results: unknown[] = [result(1)]) => ({
  query,
  follow_up_questions: null,
  answer: `About ${query}`,
  images: [{ url: 'https://example.com/a.png', description: 'A picture' }, 'https://example.com/b.png'],
  results,
  response_time: 1.67,
  request_id: 'r-1',
});
const result = (n: number) => ({
  title: `Title ${n}`, url: `https://example.com/${n}`, content: `Snippet ${n}`, score: 0.9, raw_content: null,
});
const ok = () => serve((request) => Response.json(tavily(request.body.query)));
const own = (url: string) => ({ TAVILY_API_KEY: KEY, TAVILY_API_URL: url });
const search = (args: Record<string, unknown>, url: string, signal?: AbortSignal) =>
  run('web_search', args, { env: own(url), signal });
/** The failure of one query against a server. */
const failing = async (url: string) => {
  const output = await search({ query: 'bees' }, url);
  expect(output).toMatchObject({ query: 'bees', success: false });
  expect(JSON.stringify(output)).not.toContain(KEY);
  return output.error as string;
};

describe('the request', () => {
  test('with its own key goes to Tavily in the shape of its API', async () => {
    const server = ok();
    await search({ query: ' bees ', num_results: 7, topic: 'news', search_depth: 'advanced' }, server.url);
    expect(server.received).toHaveLength(1);
    const [request] = server.received;
    expect(request).toMatchObject({ method: 'POST', path: '/search' });
    expect(request!.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(request!.headers['content-type']).toBe('application/json');
    expect(request!.body).toEqual({
      query: 'bees', max_results: 7, topic: 'news', search_depth: 'advanced',
      include_answer: true, include_images: true, include_image_descriptions: true,
    });
  });

  test('with BEEUNI_API_URL goes to the router with the session token, never with the own key', async () => {
    const server = ok();
    const env = { BEEUNI_API_URL: `${server.url}/`, BEEUNI_TOKEN: 'session-token', ...own('http://127.0.0.1:1') };
    expect(await run('web_search', { query: 'bees' }, { env })).toMatchObject({ success: true });
    const [request] = server.received;
    expect(request).toMatchObject({ method: 'POST', path: '/v1/router/tavily/search', body: { query: 'bees' } });
    expect(request!.headers.authorization).toBe('Bearer session-token');
    expect(JSON.stringify(request)).not.toContain(KEY);
  });

  test('goes to the real Tavily when no address is set', async () => {
    const original = globalThis.fetch;
    onCleanUp(() => (globalThis.fetch = original));
    let asked = '';
    globalThis.fetch = (async (url: string) => {
      asked = url;
      return Response.json(tavily('bees'));
    }) as unknown as typeof fetch;
    await run('web_search', { query: 'bees' }, { env: { TAVILY_API_KEY: KEY } });
    expect(asked).toBe('https://api.tavily.com/search');
  });

  test('does not follow a redirect: it would carry the key elsewhere', async () => {
    const other = ok();
    const server = serve(() => Response.redirect(`${other.url}/search`, 307));
    expect(await failing(server.url)).toContain('Tavily answered 307');
    expect(other.received).toHaveLength(0);
  });

  test('a key with a line break at its end, as from `echo`, works', async () => {
    const server = ok();
    await run('web_search', { query: 'bees' }, { env: { ...own(server.url), TAVILY_API_KEY: `${KEY}\n` } });
    expect(server.received[0]!.headers.authorization).toBe(`Bearer ${KEY}`);
  });
});

describe('the settings', () => {
  test('a missing key is named with the command that sets it and the grant (WEB-05, SEC-03)', async () => {
    const error = await errorOf(run('web_search', { query: 'bees' }, { agent: 'researcher' }));
    expect(error.message).toContain('TAVILY_API_KEY is not set for this agent.');
    expect(error.message).toContain('`beeuni secrets set TAVILY_API_KEY=-`');
    expect(error.message).toContain('agents.researcher.secrets');
  });

  test('a missing session token is named', async () => {
    const env = { BEEUNI_API_URL: 'http://127.0.0.1:1', TAVILY_API_KEY: KEY };
    const error = await errorOf(run('web_search', { query: 'bees' }, { env }));
    expect(error.message).toContain('BEEUNI_TOKEN is not set');
  });

  test('the key comes from context.env of this call, not from process.env (SEC-04)', async () => {
    const server = ok();
    process.env.TAVILY_API_KEY = 'from-the-process';
    onCleanUp(() => delete process.env.TAVILY_API_KEY);
    const missing = await errorOf(run('web_search', { query: 'bees' }, { env: { TAVILY_API_URL: server.url } }));
    expect(missing.message).toContain('TAVILY_API_KEY is not set');
    for (const key of ['first', 'second']) {
      await run('web_search', { query: 'bees' }, { env: { ...own(server.url), TAVILY_API_KEY: key } });
    }
    expect(server.received.map((it) => it.headers.authorization)).toEqual(['Bearer first', 'Bearer second']);
  });

  test('an unusable key or address is an error that does not show it', async () => {
    const odd = await errorOf(run('web_search', { query: 'bees' }, { env: { TAVILY_API_KEY: 'ab cd\nef' } }));
    expect(odd.message).toMatch(/^TAVILY_API_KEY holds a space, a line break/);
    expect(odd.message).not.toContain('cd');
    const env = { TAVILY_API_KEY: KEY, TAVILY_API_URL: 'ftp://user:pw@example.com' };
    const address = await errorOf(run('web_search', { query: 'bees' }, { env }));
    expect(address.message).toBe('TAVILY_API_URL is not an address that begins with https:// or http://.');
  });
});

describe('the output', () => {
  test('of one query has the shape that views read (W3)', async () => {
    const server = serve(() => Response.json(tavily('bees', [{ ...result(1), published_date: 'Mon, 03 Mar 2025' }, result(2)])));
    expect(await search({ query: 'bees' }, server.url)).toEqual({
      query: 'bees',
      success: true,
      answer: 'About bees',
      results: [
        { title: 'Title 1', url: 'https://example.com/1', snippet: 'Snippet 1', score: 0.9, published_date: 'Mon, 03 Mar 2025' },
        { title: 'Title 2', url: 'https://example.com/2', snippet: 'Snippet 2', score: 0.9, published_date: null },
      ],
      images: [
        { url: 'https://example.com/a.png', description: 'A picture' },
        { url: 'https://example.com/b.png', description: null },
      ],
      response_time_ms: 1670,
    });
  });

  test('of an empty list is success with no results (WEB-05)', async () => {
    const server = serve(() => Response.json({ query: 'bees', results: [] }));
    const output = await search({ query: 'bees' }, server.url);
    expect(output).toMatchObject({ query: 'bees', success: true, answer: null, results: [], images: [] });
    expect(output.response_time_ms).toBeNumber();
  });

  test('never holds more results than asked for', async () => {
    const server = serve(() => Response.json(tavily('bees', [1, 2, 3, 4].map(result))));
    expect((await search({ query: 'bees', num_results: 3 }, server.url)).results).toHaveLength(3);
  });

  test('of several queries is a batch: each as asked, duplicates asked once (WEB-03)', async () => {
    const long = 'x'.repeat(500);
    const server = serve((request) =>
      request.body.query.length > 400
        ? Response.json({ detail: { error: 'Query is too long. Max query length is 400 characters.' } }, { status: 400 })
        : Response.json(tavily(request.body.query)));
    const output = await search({ query: `a ||| |||b|||a|||${long}` }, server.url);
    expect(output).toMatchObject({ batch_mode: true, total_queries: 4 });
    expect(output.results.map((it: any) => [it.query, it.success])).toEqual([['a', true], ['b', true], ['a', true], [long, false]]);
    expect(output.results[3].error).toContain('Tavily answered 400: Query is too long.');
    expect(output.results[3].error).toContain('Trying again with the same input does not help.');
    expect(server.received.map((it) => it.body.query).sort()).toEqual(['a', 'b', long]);
  });

  test('runs at most 5 queries at a time, and 5 at a time', async () => {
    let running = 0;
    let most = 0;
    const server = serve(async (request) => {
      most = Math.max(most, ++running);
      await Bun.sleep(20);
      running--;
      return Response.json(tavily(request.body.query));
    });
    const output = await search({ query: Array.from({ length: 12 }, (_, n) => `q${n}`).join('|||') }, server.url);
    expect(output.results.map((it: any) => it.query)).toEqual(Array.from({ length: 12 }, (_, n) => `q${n}`));
    expect(most).toBe(5);
  });

  test('passes a warning of the router on (a weaker source is never silent)', async () => {
    const server = serve(() => Response.json({ ...tavily('bees'), warning: 'Answered by SearXNG.' }));
    expect((await search({ query: 'bees' }, server.url)).note).toBe('Answered by SearXNG.');
  });
});

describe('arguments as models send them (ARGS-01, ARGS-03, WEB-06)', () => {
  const cases: [unknown, number, boolean][] = [
    [undefined, 5, false], [null, 5, false], ['', 5, false], ['10', 10, false], [' 3 ', 3, false], [20, 20, false],
    [0, 1, true], [-5, 1, true], [1e9, 20, true], [2.5, 2, true], ['2.5', 2, true], ['many', 5, true], [NaN, 5, true],
    [{}, 5, true], [true, 5, true],
  ];
  test.each(cases)('num_results %p asks for %d', async (sent, asked, changed) => {
    const server = ok();
    const output = await search({ query: 'bees', num_results: sent }, server.url);
    expect(server.received[0]!.body.max_results).toBe(asked);
    if (changed) expect(output.note).toBe(`num_results must be a whole number from 1 to 20: used ${asked}.`);
    else expect(output).not.toHaveProperty('note');
  });

  test('an unknown topic or depth falls back and says so; null is left out', async () => {
    const server = ok();
    const output = await search({ query: 'bees|||ants', topic: 'sports', search_depth: null }, server.url);
    expect(server.received[0]!.body).toMatchObject({ topic: 'general', search_depth: 'basic' });
    expect(output.note).toBe('topic must be one of general, news, finance: used general.');
    await search({ query: 'bees', topic: ' Finance ' }, server.url);
    expect(server.received[2]!.body.topic).toBe('finance');
  });

  test('a list, or the JSON text of one, is several queries', async () => {
    const server = ok();
    for (const query of [['a', '', 'b'], '["a", "b"]']) {
      expect((await search({ query }, server.url)).results.map((it: any) => it.query)).toEqual(['a', 'b']);
    }
    expect(await search({ query: '["unfinished' }, server.url)).toMatchObject({ query: '["unfinished', success: true });
  });

  test.each([[undefined], [null], [''], [' ||| '], [[]]])('query %p is an error that names the argument', async (query) => {
    expect((await errorOf(search({ query }, 'http://127.0.0.1:1'))).message).toContain('web_search needs `query`');
  });
});

describe('trouble at the provider (WEB-05)', () => {
  test('401 names the variable and the remedy, is not repeated, and shows no key that is echoed', async () => {
    const server = serve(() => Response.json(
      { detail: { error: `Unauthorized: bad key ${KEY} (${encodeURIComponent(KEY)})` } }, { status: 401 }));
    const error = await failing(server.url);
    expect(error).toStartWith('Tavily answered 401: Unauthorized: bad key [secret] ([secret]).');
    expect(error).toContain('Trying again does not help: TAVILY_API_KEY was refused.');
    expect(error).toContain('`beeuni secrets set TAVILY_API_KEY=-`');
    expect(error).not.toContain(encodeURIComponent(KEY));
    expect(server.received).toHaveLength(1);
  });

  test('an echoed key is hidden even where the text is cut', async () => {
    const server = serve(() => new Response('x'.repeat(590) + KEY, { status: 400 }));
    expect(await failing(server.url)).not.toContain(KEY.slice(0, 6));
  });

  test('a refused session token says that the session may be over', async () => {
    const server = serve(() => Response.json({ error: { code: 'UNAUTHORIZED', message: 'unknown token abcdefgh' } }, { status: 401 }));
    const env = { BEEUNI_API_URL: server.url, BEEUNI_TOKEN: 'abcdefgh' };
    const { error } = await run('web_search', { query: 'bees' }, { env });
    expect(error).toStartWith("Beeuni's router (tavily/search) answered 401: unknown token [secret].");
    expect(error).toContain('BEEUNI_TOKEN was refused.');
    expect(error).toContain('`beeuni sessions new`');
  });

  test('429 is asked again after Retry-After, for the whole batch', async () => {
    let limited = true;
    const server = serve((request) => {
      if (limited) {
        limited = false;
        return new Response('slow down', { status: 429, headers: { 'retry-after': '1' } });
      }
      return Response.json(tavily(request.body.query));
    });
    const started = performance.now();
    const output = await search({ query: 'a|||b|||c|||d|||e|||f|||g' }, server.url);
    expect(output.results.every((it: any) => it.success)).toBe(true);
    expect(performance.now() - started).toBeGreaterThan(950);
    // Five were under way when the limit came; the rest waited for its end.
    const late = server.received.filter((it) => it.at - started > 950);
    expect(late.length).toBeGreaterThanOrEqual(3);
  });

  test('429 is asked again at most 3 times', async () => {
    const server = serve(() => new Response('', { status: 429, headers: { 'retry-after': '0' } }));
    expect(await failing(server.url)).toBe('Tavily answered 429. Try again in 0 s.');
    expect(server.received).toHaveLength(4);
  });

  test('Retry-After may be a date', async () => {
    const date = new Date(Date.now() - 60_000).toUTCString();
    const server = serve((_, count) =>
      count === 1 ? new Response('', { status: 429, headers: { 'retry-after': date } }) : Response.json(tavily('bees')));
    expect(await search({ query: 'bees' }, server.url)).toMatchObject({ success: true });
    const far = serve(() => new Response('', { status: 503, headers: { 'retry-after': new Date(Date.now() + 120_000).toUTCString() } }));
    expect(await failing(far.url)).toMatch(/^Tavily answered 503\. Try again in 1(19|20) s\.$/);
    expect(far.received).toHaveLength(1);
  });

  test('a Retry-After that would make the call hang is told, not waited for', async () => {
    const server = serve(() => Response.json({ message: 'Too many requests' }, { status: 429, headers: { 'retry-after': '3600' } }));
    expect(await failing(server.url)).toBe('Tavily answered 429: Too many requests. Try again in 3600 s.');
    expect(server.received).toHaveLength(1);
  });

  test('without Retry-After the pauses grow', async () => {
    const server = serve(() => new Response('', { status: 502 }));
    expect(await failing(server.url)).toBe('Tavily answered 502. Trying again later may help.');
    const gaps = server.received.slice(1).map((it, n) => it.at - server.received[n]!.at);
    expect(gaps).toHaveLength(3);
    expect(gaps[0]).toBeGreaterThan(240);
    expect(gaps[1]).toBeGreaterThan(490);
    expect(gaps[2]).toBeGreaterThan(990);
  });

  test('500 is not asked again, and later may help', async () => {
    const server = serve(() => Response.json({ detail: { error: 'Internal Server Error' } }, { status: 500 }));
    expect(await failing(server.url)).toBe('Tavily answered 500: Internal Server Error. Trying again later may help.');
    expect(server.received).toHaveLength(1);
  });

  test('a timeout is asked again at most 3 times', async () => {
    const limits = shortenTimeouts(30);
    const server = serve(never);
    expect(await failing(server.url)).toBe('Tavily did not answer within 30 s. Trying again later may help.');
    expect(server.received).toHaveLength(4);
    expect(limits).toEqual([30_000, 30_000, 30_000, 30_000]);
  });

  test('a call that takes too long in all stops asking', async () => {
    onCleanUp(() => setSystemTime());
    const server = serve((request, count) => {
      if (count === 5) setSystemTime(Date.now() + 241_000);
      return Response.json(tavily(request.body.query));
    });
    const { results } = await search({ query: 'a|||b|||c|||d|||e|||f|||g|||h|||i|||j|||k|||l' }, server.url);
    expect(results).toHaveLength(12);
    expect(results.slice(0, 5).every((it: any) => it.success)).toBe(true);
    expect(results[11]).toEqual({
      query: 'l', success: false, error: 'Tavily was not asked: the call took over 240 s. Ask for less in one call.',
    });
  });

  test('a connection that is cut is asked again', async () => {
    const cut = await serveRaw((socket, count) => {
      if (count === 1) return socket.destroy();
      const body = JSON.stringify(tavily('bees'));
      if (count === 2) return socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 20)}`);
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`);
    });
    expect(await search({ query: 'bees' }, cut.url)).toMatchObject({ success: true, answer: 'About bees' });
    expect(cut.count()).toBe(3);
  });

  test('a server that is not there is said to be unreachable', async () => {
    const { url } = await serveRaw(() => {});
    await cleanUp();
    expect(await failing(url)).toMatch(/^Tavily could not be reached \(.*Refused.*\)\. Trying again later may help\.$/i);
  });

  test.each([
    ['invalid JSON', () => new Response('{"results": ['), 'answered 200 with no JSON object but {"results": ['],
    ['a captcha page', () => new Response('<!doctype html><title>Just a\n moment...</title>'), 'answered 200 with no JSON object but a web page, "Just a moment..."'],
    ['202 with an empty body', () => new Response('', { status: 202 }), 'answered 202 with an empty body'],
    ['204', () => new Response(null, { status: 204 }), 'answered 204 with an empty body'],
    ['a bare list', () => Response.json([]), 'answered 200 with no JSON object but []'],
    ['an object without results', () => Response.json({ ok: true }), 'answered 200 with no list `results`'],
    ['a list of something else', () => Response.json({ results: ['x', 7] }), 'answered 200 with no list `results`'],
    ['results that are no list', () => Response.json({ results: null }), 'answered 200 with no list `results`'],
    ['an error page', () => new Response('<html><body>x', { status: 403 }), 'answered 403: a web page, "".'],
  ])('%s is an error, never "no results"', async (_, answer, expected) => {
    expect(await failing(serve(answer as () => Response).url)).toStartWith(`Tavily ${expected}`);
  });

  test('an endless reply is cut at 10 MiB', async () => {
    let sent = 0;
    const chunk = new Uint8Array(1024 * 1024).fill(32);
    const server = serve(() => new Response(new ReadableStream({
      async pull(controller) {
        sent++;
        controller.enqueue(chunk);
        await Bun.sleep(1);
      },
    })));
    expect(await failing(server.url)).toBe('Tavily answered 200 with more than 10 MiB. Trying again later may help.');
    await Bun.sleep(50);
    expect(sent).toBeLessThan(60);
  });

  test('a failure in a batch leaves the others alone', async () => {
    const server = serve((request) =>
      request.body.query === 'bad' ? new Response('no', { status: 400 }) : Response.json(tavily(request.body.query)));
    const { results } = await search({ query: 'a|||bad|||b' }, server.url);
    expect(results.map((it: any) => it.success)).toEqual([true, false, true]);
  });
});

describe('stopping (RUN-02)', () => {
  const stoppedWithin = async (start: (signal: AbortSignal) => Promise<unknown>, ready: () => unknown) => {
    const controller = new AbortController();
    const call = errorOf(start(controller.signal));
    await until(ready, 'the call is under way');
    const stopped = performance.now();
    controller.abort();
    const error = await call;
    expect(performance.now() - stopped).toBeLessThan(200);
    expect(error.name).toBe('AbortError');
  };

  test('while the provider is thinking', async () => {
    const server = serve(never);
    await stoppedWithin((signal) => search({ query: 'a|||b' }, server.url, signal), () => server.received.length === 2);
  });

  test('while the reply is coming in', async () => {
    let started = false;
    const server = await serveRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{"results"');
      started = true;
    });
    await stoppedWithin((signal) => search({ query: 'a' }, server.url, signal), () => started);
  });

  test('while waiting to ask again', async () => {
    const server = serve(() => new Response('', { status: 429, headers: { 'retry-after': '20' } }));
    await stoppedWithin((signal) => search({ query: 'a|||b|||c' }, server.url, signal), () => server.received.length === 3);
    await Bun.sleep(20);
    expect(server.received).toHaveLength(3);
  });

  test('before it began: nothing is asked', async () => {
    const server = ok();
    const error = await errorOf(search({ query: 'a' }, server.url, AbortSignal.abort(new Error('stopped by the user'))));
    expect(error.message).toBe('stopped by the user');
    expect(server.received).toHaveLength(0);
  });
});
