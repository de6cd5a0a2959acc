import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { clientOf, heldClock, ID, json, type Received, STATUS, startService, statusText } from './service.ts';

/** Accepts the tokens in the set and no other. */
function guarded(accepted: Set<string>, status = 401) {
  return (response: ServerResponse, { headers }: Received) =>
    accepted.has(headers.authorization!.replace('Bearer ', '')) ? json(response, statusText()) : json(response, {}, status);
}

const TOKEN = '/oauth2/token';

async function start(answers: Parameters<typeof startService>[0], timeout = 10_000) {
  const service = await startService({ [STATUS]: (response) => json(response, statusText()), ...answers });
  const clock = heldClock();
  const client = clientOf(service.baseUrl, { auth: 'oauth2', concurrency: 16, timeout }, { clock });
  const polls = (count: number) => Promise.all(Array.from({ length: count }, () => client.pollStatus(ID)));
  return { service, clock, client, polls };
}

describe('a token', () => {
  test('is fetched once for all polls that need it', async () => {
    const { service, polls } = await start({});
    for (const seen of await polls(10)) expect(seen.kind).toBe('seen');
    expect(service.tokens()).toBe(1);
  });

  test.each([
    [3600, 3600],
    ['3600', 3600],
    ['60', 60],
    [undefined, 300],
    [null, 300],
    ['', 300],
    [0, 300],
    [-5, 300],
    ['soon', 300],
    [{}, 300],
    [1e300, 86_400],
  ])('with expires_in %j is kept for %i s, less a margin', async (expires_in, seconds) => {
    const { service, clock, client } = await start({
      [TOKEN]: (response, { count }) => json(response, { access_token: `t${count}`, expires_in }),
    });
    await client.pollStatus(ID);
    clock.advance(seconds * 1000 - Math.min(30_000, seconds * 100) - 1);
    await client.pollStatus(ID);
    expect(service.tokens()).toBe(1);
    clock.advance(1);
    await client.pollStatus(ID);
    expect(service.tokens()).toBe(2);
  });

  test('is known by when it was fetched and ends, and by its last refusal; never by itself', async () => {
    let isRefused = false;
    const { client, clock } = await start({
      [TOKEN]: (response, { count }) =>
        isRefused
          ? json(response, { error: 'invalid_client' }, 401)
          : json(response, { access_token: `t${count}`, expires_in: 60 }),
    });
    expect(client.token()).toEqual({ fetchedAt: null, expiresAt: null, refusedAt: null, refusal: null });
    await client.pollStatus(ID);
    const fetchedAt = Math.round(clock.now());
    const known = { fetchedAt, expiresAt: fetchedAt + 60_000, refusedAt: null, refusal: null };
    expect(client.token()).toEqual(known);
    isRefused = true;
    clock.advance(61_000);
    await client.pollStatus(ID);
    expect(client.token()).toEqual({
      ...known,
      refusedAt: Math.round(clock.now()),
      refusal: expect.stringContaining("does not accept the site's client id and secret (HTTP 401)"),
    });
    expect(clientOf('http://127.0.0.1:9', { auth: 'basic' }).token()).toBeNull();
  });

  test('may come with an odd type and things nobody asked for', async () => {
    const { client } = await start({
      [TOKEN]: (response) => json(response, { access_token: 'a.b.c', token_type: 'JWT', id_token: 'x', scope: 7 }),
    });
    expect(await client.pollStatus(ID)).toMatchObject({ kind: 'seen' });
  });
});

test('a token and its credentials go to the site that they are for, and to no other', async () => {
  const sites = await Promise.all(
    ['se', 'fi'].map((site) =>
      startService({
        '/oauth2/token': (response) => json(response, { access_token: `token-of-${site}`, expires_in: 3600 }),
        [STATUS]: (response) => response.writeHead(302, { location: elsewhere() }).end(),
      }),
    ),
  );
  const elsewhere = () => `${sites[1]!.baseUrl}${STATUS}`;
  for (const [index, { baseUrl }] of sites.entries()) {
    const clientSecret = `secret-of-${index}`;
    await clientOf(baseUrl, { auth: 'oauth2', clientId: `shop-${index}`, clientSecret }).pollStatus(ID);
  }
  const [se, fi] = sites.map(({ received }) => JSON.stringify(received));
  expect(se).toMatch(/secret-of-0.*Bearer token-of-se/);
  expect(fi).toMatch(/secret-of-1.*Bearer token-of-fi/);
  expect(se).not.toMatch(/secret-of-1|token-of-fi/);
  expect(fi).not.toMatch(/secret-of-0|token-of-se/);
});

describe('a token that is not accepted any more', () => {
  test.each([401, 403])('(%i) is renewed once for all, and the polls succeed', async (status) => {
    const accepted = new Set(['t1']);
    const { service, polls } = await start({ [STATUS]: guarded(accepted, status) });
    await polls(1);
    accepted.clear();
    accepted.add('t2');
    for (const seen of await polls(10)) expect(seen.kind).toBe('seen');
    expect(service.tokens()).toBe(2);
  });

  test('is not renewed again by a late rejection of the old one', async () => {
    let rejectLate: (() => void) | undefined;
    const { service, client } = await start({
      [STATUS]: (response, { headers, count }) => {
        const late = () => json(response, {}, 401);
        if (count === 1) rejectLate = late;
        else if (headers.authorization === 'Bearer t1') late();
        else json(response, statusText());
      },
    });
    const slow = client.pollStatus(ID);
    await expect.poll(() => rejectLate).toBeDefined();
    expect(await client.pollStatus(ID)).toMatchObject({ kind: 'seen' });
    rejectLate!();
    expect(await slow).toMatchObject({ kind: 'seen' });
    expect(service.tokens()).toBe(2);
  });

  test('is refused when the new one is rejected too, and renewing rests then', async () => {
    const accepted = new Set<string>();
    const { service, clock, client, polls } = await start({ [STATUS]: guarded(accepted) });
    for (const seen of await polls(10)) expect(seen).toMatchObject({ kind: 'refused', reason: 'http_401', httpStatus: 401 });
    expect(service.tokens()).toBe(2);
    await polls(5);
    expect(service.tokens()).toBe(2);
    clock.advance(10_000);
    accepted.add('t3');
    expect(await client.pollStatus(ID)).toMatchObject({ kind: 'seen' });
    expect(service.tokens()).toBe(3);
  });
});

describe('the token endpoint', () => {
  test.each([
    [400, 'refused', 'token_http_400'],
    [401, 'refused', 'token_http_401'],
    [403, 'refused', 'token_http_403'],
    [404, 'unreachable', 'token_http_404'],
    [302, 'unreachable', 'token_redirected'],
    [429, 'throttled', 'token_http_429'],
    [503, 'unreachable', 'token_http_503'],
  ])('answering HTTP %i', async (status, kind, reason) => {
    const { client, service } = await start({
      [TOKEN]: (response) => response.writeHead(status, { location: '/elsewhere' }).end('{"error":"invalid_client"}'),
    });
    expect(await client.pollStatus(ID)).toMatchObject({ kind, reason, httpStatus: status });
    expect(service.received).toHaveLength(1);
  });

  test.each([
    ['{}', 'token_unusable'],
    ['[]', 'token_unusable'],
    ['null', 'token_unusable'],
    ['{"access_token":7}', 'token_unusable'],
    ['{"access_token":"two\\r\\nlines"}', 'token_unusable'],
    [`{"access_token":"${'t'.repeat(16_385)}"}`, 'token_unusable'],
    [`{"access_token":"${'t'.repeat(300_000)}"}`, 'token_too_large'],
    ['{"access_token"', 'token_unusable'],
    ['<html>', 'token_html'],
  ])('answering (case %#)', async (body, reason) => {
    const { client } = await start({ [TOKEN]: (response) => response.end(body) });
    expect(await client.pollStatus(ID)).toMatchObject({ kind: 'unreachable', reason });
  });

  test('that hangs is given up in time', async () => {
    const { client } = await start({ [TOKEN]: () => undefined }, 60);
    expect(await client.pollStatus(ID)).toMatchObject({ kind: 'unreachable', reason: 'token_timeout' });
  });

  test('that hangs at a renewal does not hold the poll beyond its own deadline', async () => {
    const { client } = await start(
      {
        [TOKEN]: (response, { count }) => (count === 1 ? json(response, { access_token: 't1' }) : undefined),
        [STATUS]: (response) => setTimeout(() => json(response, {}, 401), 500),
      },
      1_500,
    );
    // Held until the renewal is given up, half a second later, it would be a `token_timeout`.
    expect(await client.pollStatus(ID)).toMatchObject({ kind: 'unreachable', reason: 'timeout' });
  });

  test('that fails is asked once by ten polls, and again after a second', async () => {
    let up = false;
    const { service, clock, client, polls } = await start({
      [TOKEN]: (response) => (up ? json(response, { access_token: 'good' }) : json(response, {}, 503)),
    });
    for (const seen of await polls(10)) expect(seen).toMatchObject({ kind: 'unreachable', reason: 'token_http_503' });
    await polls(10);
    expect(service.tokens()).toBe(1);
    up = true;
    clock.advance(1_000);
    expect(await client.pollStatus(ID)).toMatchObject({ kind: 'seen' });
    expect(service.tokens()).toBe(2);
  });

  test('that fails shortly before a token expires: the old one serves until it does', async () => {
    const { service, clock, client, polls } = await start({
      [TOKEN]: (response, { count }) =>
        count === 1 ? json(response, { access_token: 't1', expires_in: 300 }) : json(response, {}, 503),
    });
    await client.pollStatus(ID);
    clock.advance(280_000);
    for (const seen of await polls(5)) expect(seen.kind).toBe('seen');
    expect(service.tokens()).toBe(2);
    clock.advance(20_000);
    expect(await client.pollStatus(ID)).toMatchObject({ kind: 'unreachable', reason: 'token_http_503' });
  });

  test('that fails after a rejection: the rejected token is not tried again', async () => {
    const { service, client } = await start({
      [TOKEN]: (response, { count }) => (count === 1 ? json(response, { access_token: 't1' }) : json(response, {}, 503)),
      [STATUS]: guarded(new Set()),
    });
    expect(await client.pollStatus(ID)).toMatchObject({ kind: 'unreachable', reason: 'token_http_503' });
    expect(service.callsOf(STATUS)).toHaveLength(1);
  });

  test('that asks to wait is left alone for so long', async () => {
    const { service, clock, client } = await start({
      [TOKEN]: (response) => response.writeHead(429, { 'retry-after': '20' }).end(),
    });
    expect(await client.pollStatus(ID)).toMatchObject({ kind: 'throttled', retryAfter: 20_000 });
    clock.advance(19_999);
    await client.pollStatus(ID);
    expect(service.tokens()).toBe(1);
  });
});
