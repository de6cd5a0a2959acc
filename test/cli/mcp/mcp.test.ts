/** Which daemon the command asks, and with which key. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { decimal } from '../../../src/domain/values/exact-json.ts';
import { runCommand } from '../run.ts';

let daemon: Server;
let asked: { readonly url: string | undefined; readonly key: string | undefined }[];
let answer: object;
beforeEach(async () => {
  asked = [];
  answer = {};
  daemon = createServer(({ url, headers }, response) => {
    asked.push({ url, key: headers.authorization });
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answer));
  });
  await new Promise<void>((listening) => daemon.listen(0, '127.0.0.1', listening));
});
afterEach(() => daemon.close());

const port = () => (daemon.address() as AddressInfo).port;
const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'trends', arguments: { site: 'se & no' } } };
const ask = async (argv: readonly string[], env: NodeJS.ProcessEnv) => {
  const { exitCode, stdout, stderr } = await runCommand(['mcp', ...argv], env, { stdin: `${JSON.stringify(CALL)}\n` });
  expect([exitCode, stderr]).toEqual([0, '']);
  return JSON.parse(stdout).result;
};

const READ = 'key-that-only-reads-0123456789';
const ALL = 'key-that-may-do-everything-0123456789';

test.each([
  [{ API_READ_KEY: READ, API_KEY: ALL }, `Bearer ${READ}`],
  [{ API_KEY: `${ALL}, an-older-key-0123456789` }, `Bearer ${ALL}`],
  [{}, undefined],
])('with %j the key %s is sent to HOST and PORT', async (env, key) => {
  await ask([], { ...env, HOST: '127.0.0.1', PORT: String(port()), DATA_DIR: '/nowhere' });
  expect(asked).toEqual([{ url: '/v1/trends?site=se+%26+no', key }]);
});

test('--url goes before HOST and PORT, and may have a path', async () => {
  await ask(['--url', `http://localhost:${port()}/watch/`], { PORT: '1', API_READ_KEY: READ });
  expect(asked).toEqual([{ url: '/watch/v1/trends?site=se+%26+no', key: `Bearer ${READ}` }]);
});

test('an answer that lacks a field is not taken for one, and the field is named', async () => {
  answer = { at: '2026-11-20T09:19:59.000Z', range: '7d' };
  const result = await ask(['--url', `http://127.0.0.1:${port()}`], { API_READ_KEY: READ });
  expect(result.isError).toBe(true);
  expect(result.content[0].text).toMatch(/another version.* total: /);
});

test('an amount keeps its digits', async () => {
  const ends = { customers: 1, paid: 1, paidByAnother: 0, notPaid: 0, open: 0, share: null };
  const compared = { ...ends, change: 'too_few', before: ends };
  const span = { from: 'a', to: 'b' };
  const [at, range, sentence] = ['a', '7d', 's'];
  const rest = { ways: [], waiting: [], receivers: [], cells: [] };
  const money = [{ currency: 'SEK', customers: 1, paid: decimal('12345678901234567890.10'), notPaid: 0, open: 0 }];
  answer = { at, range, site: null, zone: 'UTC', ...span, against: span, sentence, total: compared, ...rest, money };
  const { structuredContent } = await ask(['--url', `http://127.0.0.1:${port()}`], { API_READ_KEY: READ });
  expect(structuredContent.money).toEqual([
    { currency: 'SEK', customers: 1, paid: '12345678901234567890.10', notPaid: '0', open: '0' },
  ]);
});
