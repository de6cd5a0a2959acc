import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { createBoard } from '../../../src/demo/browser/board.ts';
import { SILENT } from '../../../src/demo/browser/facts.ts';
import { openFront } from '../../../src/demo/browser/front.ts';
import { createProgress } from '../../../src/demo/cast/progress.ts';

const PROBLEM = '{"code":"starting"}';
const starting = createServer((_, response) => {
  response.writeHead(503, { 'content-type': 'application/problem+json' }).end(PROBLEM);
});
await new Promise<void>((done) => starting.listen(0, '127.0.0.1', done));
const board = createBoard({
  switches: new Map(),
  readFacts: async () => SILENT,
  since: () => ({ arrivals: [], posts: [] }),
  onPerson: () => undefined,
});
const front = await openFront({
  port: 0,
  daemonUrl: () => `http://127.0.0.1:${(starting.address() as AddressInfo).port}`,
  board,
  side: () => ({ posts: [], progress: createProgress(), facts: SILENT, isShopOpen: true, verdict: null }),
  isStory: () => false,
});
afterAll(async () => {
  board.close();
  await front.close();
  starting.close();
});

test('while the daemon starts, a browser gets a page with the switches, and a program the problem', async () => {
  const page = await fetch(front.url, { headers: { accept: 'text/html' } });
  expect([page.status, page.headers.get('content-type')]).toEqual([503, expect.stringMatching(/^text\/html/)]);
  expect(await page.text()).toContain('What each switch does');
  expect(await (await fetch(`${front.url}/v1/purchases`)).text()).toBe(PROBLEM);
});
