/** `listen --forward` that leads back: refused where it can be seen, and ended where it cannot. */
import { networkInterfaces } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { createAttemptSigner } from '../../../src/channels/outgoing/signature.ts';
import { leadsBack } from '../../../src/cli/listen/target.ts';
import { listenForPosts, type PostListener, type Receive } from '../../../src/receiver/posts.ts';
import { createReceiver } from '../../../src/receiver/receiver.ts';
import { runCommand } from '../run.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OWN = Object.values(networkInterfaces()).flatMap((each) => each ?? [])[0]!.address;

async function listening(receive: Receive = () => ({ status: 200, body: '' })): Promise<PostListener> {
  const server = await listenForPosts(receive);
  onTestFinished(() => server.close());
  return server;
}

test.each([
  ['http://127.0.0.1:9321/', '127.0.0.1'],
  ['http://localhost:9321/hooks', '127.0.0.1'],
  ['http://LOCALHOST.:9321/', '127.0.0.1'],
  ['http://0:9321/', '127.0.0.1'],
  ['http://127.1:9321/', 'localhost'],
  ['http://[::1]:9321/', '::1'],
  ['http://[::ffff:127.0.0.1]:9321/', '127.0.0.1'],
  ['http://127.0.0.1:9321/', '0.0.0.0'],
  [`http://${OWN.includes(':') ? `[${OWN}]` : OWN}:9321/`, '::'],
  ['http://192.0.2.7:9321/', '192.0.2.7'],
])('%s leads back to what listens on %s', (target, host) => {
  expect(leadsBack(target, { host, port: 9_321 })).toBe(true);
});

test.each([
  ['http://127.0.0.1:3000/', '127.0.0.1'],
  ['http://192.0.2.7:9321/', '127.0.0.1'],
  ['http://192.0.2.7:9321/', '0.0.0.0'],
  ['http://127.0.0.1:9321/', '192.0.2.7'],
  ['https://localhost/', '127.0.0.1'],
])('%s does not lead back to what listens on %s', (target, host) => {
  expect(leadsBack(target, { host, port: 9_321 })).toBe(false);
});

test.each([[80, 'http://localhost/'] as const, [443, 'https://localhost/'] as const])(
  'port %i need not be written',
  (port, target) => {
    expect(leadsBack(target, { host: '127.0.0.1', port })).toBe(true);
  },
);

test('the command refuses to pass on to itself', async () => {
  const free = await listening();
  await free.close();
  const { exitCode, stderr } = await runCommand(['listen', '--port', String(free.port), '--forward', `localhost:${free.port}`]);
  expect([exitCode, stderr]).toEqual([
    2,
    expect.stringMatching(/--forward: http:\/\/localhost:\d+\/ is where this listens itself/),
  ]);
});

test('listeners that pass on to each other end with 508, and each is asked as often as it has to be', async () => {
  const seen: [string, number][] = [];
  const receivers: Receive[] = [];
  const [a, b] = [await listening((posted) => receivers[0]!(posted)), await listening((posted) => receivers[1]!(posted))];
  const passing = (name: string, forwardTo: string): Receive =>
    createReceiver({
      keys: { secrets: [SECRET], publicKeys: [] },
      status: 200,
      delay: 0,
      fail: 0,
      forwardTo,
      onEvent: ({ status }) => seen.push([name, status]),
      onRefused: () => undefined,
    });
  receivers.push(passing('a', b.origin), passing('b', a.origin));
  const text = '{"id":"evt_1","type":"purchase.stuck","timestamp":"2026-11-20T09:15:02.123Z","data":{}}';
  const { id, timestamp, signature } = createAttemptSigner([{ key: SECRET, until: null }])('evt_1', Date.now(), text);
  const answer = await fetch(a.origin, {
    method: 'POST',
    body: text,
    headers: { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature },
  });
  expect([answer.status, await answer.text()]).toEqual([508, expect.stringContaining('came back')]);
  // The innermost is answered first.
  expect(seen).toEqual([
    ['a', 508],
    ['b', 508],
    ['a', 508],
  ]);
});
