import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSimulator, type Simulator } from '../../../packages/simulator/src/simulator.ts';
import { createRegistrar } from '../../../src/cli/run/registrar.ts';
import { freePort } from '../../../src/demo/cast/free-port.ts';
import { KEYS, OPERATOR, READER } from '../../support/browser.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';

let daemon: TestApp;
let simulator: Simulator;
let daemonUrl: string;
let registrar: ReturnType<typeof createRegistrar>;
const lines: string[] = [];
const registrarWith = (apiKey: string | undefined, write = (line: string) => void lines.push(line)) =>
  createRegistrar({ control: simulator.control, daemonUrl, apiKey: () => apiKey, write });
const registered = async (id: string): Promise<object | undefined> => {
  const [row] = await daemon.app.sql`select site, reference from purchase_watch.purchases where purchase_id = ${id}`;
  return row;
};

beforeAll(async () => {
  const port = await freePort();
  daemonUrl = `http://127.0.0.1:${port}`;
  daemon = await startTestApp({ realClock: true, env: { ...KEYS, PORT: String(port) } });
  simulator = createSimulator({ seed: 42 });
  registrar = registrarWith(OPERATOR);
});
afterAll(async () => {
  await registrar.close();
  await daemon.stop();
});

test('what came while the daemon was away is registered when it is there, at its own site when it has no site of that name', async () => {
  const { purchaseId, reference } = simulator.control.add();
  await expect
    .poll(() => lines)
    .toEqual([
      expect.stringMatching(/ECONNREFUSED.*; start the daemon there, or correct --register\. 1 wait; the next try is in 1s\.$/),
    ]);
  await daemon.app.start();
  await expect.poll(() => registered(purchaseId)).toEqual({ site: 'default', reference });
  await expect.poll(() => lines.at(-1)).toBe(`${daemonUrl} registers again: 1 that waited are registered.`);
  // In between, the daemon may have answered that it is starting.
  const before = lines.length;
  // The daemon's lack of the site is known by now.
  const others = simulator.control.addMany(3);
  for (const other of others) await expect.poll(() => registered(other.purchaseId)).toMatchObject({ site: 'default' });
  expect(lines).toHaveLength(before);
});

test.each([
  [undefined, /set API_KEY to a key with the scope register/],
  ['wrong-key-0123456789-wrong-key-0123456789', /set API_KEY to a key with the scope register/],
  [READER, /set API_KEY to a key with the scope register/],
])('with the key %s it says which key it needs, once, and goes on', async (key, message) => {
  const said: string[] = [];
  const refused = registrarWith(key, (line) => void said.push(line));
  simulator.control.add();
  await expect.poll(() => said).toEqual([expect.stringMatching(message)]);
  expect(said[0]).not.toContain(key ?? ' key of nobody');
  await refused.close();
});

test('what the daemon cannot register is named, and keeps nothing else back', async () => {
  const before = lines.length;
  simulator.control.add({ purchaseId: ' with spaces ' });
  const { purchaseId } = simulator.control.add();
  await expect.poll(() => registered(purchaseId)).toMatchObject({ site: 'default' });
  // The registrar writes once it has the daemon's answer, which comes after the commit.
  await expect
    .poll(() => lines.slice(before))
    .toEqual([expect.stringMatching(/^not registered: {2}with spaces : purchaseId: begins or ends/)]);
});
