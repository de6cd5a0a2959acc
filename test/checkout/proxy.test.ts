/** Calls to the service through a proxy, on real sockets: tunnels are kept, and a proxy that fails is named. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Authority, makeAuthority, type Pair } from '../support/certificates.ts';
import { type ConnectProxy, startConnectProxy } from '../support/connect-proxy.ts';
import { listenForTest } from '../support/not-http.ts';
import { clientOf, ID, json, STATUS, startService, statusText } from './service.ts';

let authority: Authority;
beforeAll(() => {
  authority = makeAuthority();
  setDefaultCACertificates([...getCACertificates('default'), authority.certificate]);
});

async function startProxy(pair?: Pair, login?: string): Promise<ConnectProxy> {
  const started = await startConnectProxy(pair, login);
  onTestFinished(() => started.stop());
  return started;
}

/** A client whose proxy is at the port; the name in its base address leads nowhere but through a proxy. */
const clientBy = (proxy: string, baseUrl: string, site: Parameters<typeof clientOf>[1] = {}) =>
  clientOf(baseUrl, { way: { proxy, by: 'sites.se.proxy' }, ...site });
const named = (baseUrl: string): string => baseUrl.replace('127.0.0.1', 'pay.example');

test('token and polls go through tunnels that are kept, and no call carries the login of the proxy', async () => {
  const service = await startService({ [STATUS]: (response) => json(response, statusText()) });
  const between = await startProxy(undefined, 'me:pass@word');
  const client = clientBy(`http://me:pass%40word@127.0.0.1:${between.port}`, named(service.baseUrl), { auth: 'oauth2' });
  for (let poll = 0; poll < 5; poll++) expect(await client.pollStatus(ID)).toMatchObject({ kind: 'seen', state: 6 });
  expect(service.tokens()).toBe(1);
  expect(between.asked.map(({ target }) => target)).toEqual(Array(2).fill(new URL(named(service.baseUrl)).host));
  expect(JSON.stringify(service.received)).not.toContain('proxy-authorization');
  expect(JSON.stringify(between.asked)).not.toMatch(/hush-hush|grant_type|Bearer/);
});

test('with https inside and before the proxy, each with its own certificate', async () => {
  const { certificate: cert, key } = authority.issue('pay.example');
  const server = createServer({ cert, key }, (_, response) => json(response, statusText()));
  await listenForTest(server);
  const between = await startProxy(authority.issue('localhost'));
  const { port } = server.address() as AddressInfo;
  const poll = (host: string) => clientBy(`https://localhost:${between.port}`, `https://${host}:${port}`).pollStatus(ID);
  expect(await poll('pay.example')).toMatchObject({ kind: 'seen' });
  expect(await poll('other.example')).toMatchObject({ kind: 'unreachable', reason: 'tls' });
});

test.each([
  [407, 'proxy_failed', 'made no connection: it answered 407, so it wants credentials or other ones. Mend the proxy'],
  [502, 'proxy_failed', 'made no connection: it answered 502. Mend the proxy'],
  [403, 'proxy_refused', 'refuses this address: it answered 403. Have the proxy allow'],
  ['reset', 'proxy_failed', 'made no connection: it cannot be reached (ECONNRESET). Mend the proxy'],
] as const)('a proxy that answers %s is named, with the setting and without its password', async (how, reason, words) => {
  const service = await startService();
  const between = await startProxy();
  between.answer(how);
  const address = `127.0.0.1:${between.port}`;
  const answer = await clientBy(`http://me:hush@${address}`, named(service.baseUrl)).pollStatus(ID);
  const detail = expect.stringContaining(`The proxy ${address} (sites.se.proxy) ${words}`);
  expect(answer).toMatchObject({ kind: 'unreachable', reason, detail, httpStatus: null });
  expect(JSON.stringify(answer)).not.toMatch(/me:|hush/);
  expect(service.received).toEqual([]);
});

test('a proxy that is away, and one that hangs, are named before the time of the call is over', async () => {
  const silent = await startProxy();
  silent.answer('silence');
  const poll = (port: number) =>
    clientBy(`http://127.0.0.1:${port}`, 'https://pay.example', { auth: 'oauth2', timeout: 1_000 }).pollStatus(ID);
  const away = { reason: 'token_proxy_failed', detail: expect.stringContaining('it cannot be reached (ECONNREFUSED)') };
  expect(await poll(1)).toMatchObject({ kind: 'unreachable', ...away });
  const late = { reason: 'token_proxy_failed', detail: expect.stringContaining('it did not answer in time') };
  expect(await poll(silent.port)).toMatchObject({ kind: 'unreachable', ...late });
});

test('a proxy that fails costs one call, and the next one gets a tunnel again', async () => {
  const service = await startService({ [STATUS]: (response) => json(response, statusText()) });
  const between = await startProxy();
  const client = clientBy(`http://127.0.0.1:${between.port}`, named(service.baseUrl), { concurrency: 1 });
  between.answer(503);
  expect(await client.pollStatus(ID)).toMatchObject({ reason: 'proxy_failed' });
  between.answer('tunnel');
  expect(await client.pollStatus(ID)).toMatchObject({ kind: 'seen' });
});
