// scrape_webpage: which pages it asks Firecrawl for and what it returns.

import { afterEach, describe, expect, test } from 'bun:test';
import { cleanUp, errorOf, never, run, serve, shortenTimeouts, until } from './harness.ts';

afterEach(cleanUp);

const KEY = 'fc-0123456789';
/** A page in the shape of Firecrawl's API. */
const page = (url: string, more: Record<string, unknown> = {}) => ({
  success: true,
  data: {
    markdown: `# Page ${url}`,
    metadata: { title: 'A page', description: 'About bees', language: 'en', sourceURL: url, url, statusCode: 200 },
    ...more,
  },
});
const ok = () => serve((request) => Response.json(page(request.body.url, request.body.formats.includes('html') ? { html: '<h1>Page</h1>' } : {})));
const scrape = (args: Record<string, unknown>, url: string, signal?: AbortSignal) =>
  run('scrape_webpage', args, { env: { FIRECRAWL_API_KEY: KEY, FIRECRAWL_API_URL: url }, signal });
const asked = (server: ReturnType<typeof serve>) => server.received.map((it) => it.body.url);

describe('the request', () => {
  test('with its own key goes to Firecrawl v2 in the shape of its API', async () => {
    const server = ok();
    await scrape({ urls: 'https://example.com/a' }, server.url);
    const [request] = server.received;
    expect(request).toMatchObject({ method: 'POST', path: '/v2/scrape' });
    expect(request!.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(request!.body).toEqual({ url: 'https://example.com/a', formats: ['markdown'], onlyMainContent: true, timeout: 45_000 });
  });

  test('with BEEUNI_API_URL goes to the router with the session token', async () => {
    const server = ok();
    const env = { BEEUNI_API_URL: server.url, BEEUNI_TOKEN: 'session-token', FIRECRAWL_API_KEY: KEY };
    await run('scrape_webpage', { urls: 'https://example.com/a' }, { env });
    expect(server.received[0]).toMatchObject({ path: '/v1/router/firecrawl/v2/scrape' });
    expect(server.received[0]!.headers.authorization).toBe('Bearer session-token');
  });

  test('fetches nothing itself: a page on this machine is only named to Firecrawl', async () => {
    const server = ok();
    const inner = ok();
    await scrape({ urls: `${inner.url}/secret` }, server.url);
    expect(asked(server)).toEqual([`${inner.url}/secret`]);
    expect(inner.received).toHaveLength(0);
  });

  test('needs a key, and says how to set it', async () => {
    const error = await errorOf(run('scrape_webpage', { urls: 'https://example.com' }));
    expect(error.message).toContain('FIRECRAWL_API_KEY is not set for this agent.');
    expect(error.message).toContain('`beeuni secrets set FIRECRAWL_API_KEY=-`');
  });

  test.each([[true], ['true'], ['True'], [1]])('include_html %p asks for HTML (ARGS-01)', async (include_html) => {
    const server = ok();
    const output = await scrape({ urls: 'https://example.com', include_html }, server.url);
    expect(server.received[0]!.body.formats).toEqual(['markdown', 'html']);
    expect(output.html).toBe('<h1>Page</h1>');
  });

  test.each([[false], ['false'], [null], [undefined], [0], ['']])('include_html %p does not', async (include_html) => {
    const server = ok();
    expect(await scrape({ urls: 'https://example.com', include_html }, server.url)).not.toHaveProperty('html');
    expect(server.received[0]!.body.formats).toEqual(['markdown']);
  });
});

describe('splitting', () => {
  const cases: [unknown, string[]][] = [
    ['https://a.com/?ids=1,2,3', ['https://a.com/?ids=1,2,3']],
    ['https://a.com/?ids=1,2,https://b.com/x,y', ['https://a.com/?ids=1,2', 'https://b.com/x,y']],
    ['https://a.com, https://b.com ,http://c.com', ['https://a.com', 'https://b.com', 'http://c.com']],
    ['https://a.com https://b.com\nhttps://c.com', ['https://a.com', 'https://b.com', 'https://c.com']],
    ['https://a.com/?u=https://b.com', ['https://a.com/?u=https://b.com']],
    ['https://a.com/x,', ['https://a.com/x']],
    ['example.com,example.org/a?b=1,2', ['https://example.com', 'https://example.org/a?b=1,2']],
    ['https://a.com,example.org', ['https://a.com', 'https://example.org']],
    ['https://a.com/x, example.org', ['https://a.com/x', 'https://example.org']],
    ['example.com:8080/x', ['https://example.com:8080/x']],
    ['HTTPS://A.com,HTTP://b.com', ['HTTPS://A.com', 'HTTP://b.com']],
    [['https://a.com', ' https://b.com/?x=1,2 '], ['https://a.com', 'https://b.com/?x=1,2']],
    ['["https://a.com", "https://b.com"]', ['https://a.com', 'https://b.com']],
  ];
  test.each(cases)('%p', async (urls, expected) => {
    const server = ok();
    await scrape({ urls }, server.url);
    expect(asked(server).sort()).toEqual([...expected].sort());
  });

  test.each([[undefined], [null], [''], [' , '], [[]]])('urls %p is an error that names the argument', async (urls) => {
    expect((await errorOf(scrape({ urls }, 'http://127.0.0.1:1'))).message).toContain('scrape_webpage needs `urls`');
  });
});

describe('the output', () => {
  test('of one page has the shape that views read (W3)', async () => {
    expect(await scrape({ urls: 'https://example.com/a' }, ok().url)).toEqual({
      url: 'https://example.com/a',
      success: true,
      title: 'A page',
      content: '# Page https://example.com/a',
      content_length: 28,
      metadata: {
        title: 'A page', description: 'About bees', language: 'en',
        sourceURL: 'https://example.com/a', url: 'https://example.com/a', statusCode: 200,
      },
    });
  });

  test('of several is as many entries as were asked for, in order, good ones with bad ones (WEB-03)', async () => {
    const server = serve(({ body: { url } }) => {
      if (url.endsWith('/missing')) {
        return Response.json(page(url, { markdown: '# 404', metadata: { title: 'Oops', statusCode: 404, error: 'Not Found' } }));
      }
      if (url.endsWith('/slow')) return Response.json({ success: false, code: 'SCRAPE_TIMEOUT', error: 'Timed out' }, { status: 500 });
      if (url.endsWith('/blocked')) return Response.json({ success: false, error: 'This website is not supported' }, { status: 403 });
      return Response.json(page(url));
    });
    const urls = 'https://e.com/good, https://e.com/missing, https://e.com/slow, not-a-url, https://e.com/good, https://e.com/blocked';
    const output = await scrape({ urls }, server.url);
    expect(output).toMatchObject({ total: 6, successful: 2, failed: 4 });
    expect(output.results.map((it: any) => [it.url, it.success])).toEqual([
      ['https://e.com/good', true], ['https://e.com/missing', false], ['https://e.com/slow', false],
      ['not-a-url', false], ['https://e.com/good', true], ['https://e.com/blocked', false],
    ]);
    expect(output.results[1]).toEqual({ url: 'https://e.com/missing', success: false, error: 'The page answered 404: Not Found.' });
    expect(output.results[2].error).toBe('Firecrawl answered 500: Timed out. Trying again later may help.');
    expect(output.results[3].error).toStartWith('not a web address.');
    expect(output.results[5].error).toContain('Firecrawl answered 403: This website is not supported.');
    expect(asked(server).filter((url) => url.endsWith('/good'))).toHaveLength(1);
  });

  test('one page that hangs does not keep the good ones', async () => {
    shortenTimeouts(40);
    const server = serve(({ body: { url } }) => (url.endsWith('/hangs') ? never() : Response.json(page(url))));
    const output = await scrape({ urls: 'https://e.com/hangs,https://e.com/good' }, server.url);
    expect(output.results[0].error).toBe('Firecrawl did not answer within 50 s. Trying again later may help.');
    expect(output.results[1].success).toBe(true);
  });

  test('of an empty page says that it is empty (WEB-06)', async () => {
    const server = serve(({ body: { url } }) => Response.json(page(url, { markdown: '\n' })));
    expect(await scrape({ urls: 'https://e.com' }, server.url)).toMatchObject({ success: true, content_length: 1, note: 'The page is empty.' });
  });

  test('passes a warning of the provider on', async () => {
    const server = serve(({ body: { url } }) => Response.json(page(url, { warning: 'The page was cut.' })));
    expect((await scrape({ urls: 'https://e.com' }, server.url)).note).toBe('The page was cut.');
  });
});

describe('trouble', () => {
  test('with the only page is an error, without the key', async () => {
    const server = serve(() => Response.json({ success: false, error: `Unauthorized: ${KEY}` }, { status: 401 }));
    const error = await errorOf(scrape({ urls: 'https://e.com/a' }, server.url));
    expect(error.message).toStartWith('Could not read https://e.com/a: Firecrawl answered 401: Unauthorized: [secret].');
    expect(error.message).not.toContain(KEY);
  });

  test('with every page is an error that lists each', async () => {
    const server = serve(({ body: { url } }) => Response.json(page(url, { metadata: { statusCode: url.endsWith('b') ? 503 : 404 } })));
    const error = await errorOf(scrape({ urls: 'https://e.com/a,https://e.com/b, ftp://e.com/c' }, server.url));
    expect(error.message.split('\n')).toEqual([
      'None of the pages could be read:',
      '- https://e.com/a: The page answered 404.',
      '- https://e.com/b: The page answered 503.',
      expect.stringContaining('- ftp://e.com/c: not a web address.'),
    ]);
  });

  test.each([['not-a-url'], ['ftp://e.com'], ['file:///etc/passwd'], ['javascript:alert(1)'], ['https://'], ['http://a b'], ['localhost']])(
    '%p is no web address and is not sent', async (urls) => {
      const server = ok();
      const error = await errorOf(scrape({ urls }, server.url));
      expect(error.message).toContain('not a web address');
      expect(server.received).toHaveLength(0);
    });

  test('a reply without the page is an error, never an empty page', async () => {
    const replies: [unknown, string][] = [
      [{ success: true }, 'Firecrawl answered 200 with no text `data.markdown`'],
      [{ success: true, data: { markdown: null } }, 'Firecrawl answered 200 with no text `data.markdown`'],
      [{ success: false, error: `no ${KEY} for you` }, 'Firecrawl could not read it: no [secret] for you.'],
      [{}, 'Firecrawl could not read it.'],
    ];
    for (const [reply, expected] of replies) {
      const error = await errorOf(scrape({ urls: 'https://e.com' }, serve(() => Response.json(reply)).url));
      expect(error.message).toContain(expected);
    }
    for (const body of ['<title>Captcha</title>', '{"success":', '']) {
      const error = await errorOf(scrape({ urls: 'https://e.com' }, serve(() => new Response(body)).url));
      expect(error.message).toContain('Firecrawl answered 200 with');
    }
  });

  test('429 is asked again', async () => {
    const server = serve(({ body: { url } }, count) =>
      count < 4 ? Response.json({ error: 'Rate limit' }, { status: 429, headers: { 'retry-after': '0' } }) : Response.json(page(url)));
    expect((await scrape({ urls: 'https://e.com' }, server.url)).success).toBe(true);
    expect(server.received).toHaveLength(4);
  });

  test('stops at once when the turn is stopped (RUN-02)', async () => {
    const server = serve(never);
    const controller = new AbortController();
    const call = errorOf(scrape({ urls: 'https://e.com/a,https://e.com/b' }, server.url, controller.signal));
    await until(() => server.received.length === 2, 'the requests have come');
    const stopped = performance.now();
    controller.abort();
    expect((await call).name).toBe('AbortError');
    expect(performance.now() - stopped).toBeLessThan(200);
  });
});
