import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Agent, request } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { createNamespaces } from '../../packages/simulator/src/namespaces.ts';
import { settle } from '../../packages/simulator/src/options.ts';
import { startCaller } from './caller.ts';

const INVENTED = 20_000;
const MEGABYTE = 1024 * 1024;
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapUsed(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test('20 000 names that are invented over HTTP do not grow memory, and one that is in use goes on being answered', async () => {
  const { simulator } = await startCaller();
  const dispatcher = new Agent({ connections: 64 });
  onTestFinished(() => dispatcher.destroy());
  const call = async (name: string): Promise<number> => {
    const answer = await request(`${simulator.url}/ns/${name}/control/counters`, { dispatcher });
    await answer.body.dump();
    return answer.statusCode;
  };
  const callAll = async (from: number, to: number): Promise<number[]> => {
    const statuses: number[] = [];
    for (let at = from; at < to; at += 500) {
      const names = Array.from({ length: 500 }, (_, more) => `invented-${at + more}`);
      statuses.push(...(await Promise.all(names.map(call))));
      expect(await call('in-use')).toBe(200);
    }
    return statuses;
  };
  const kept = await request(`${simulator.url}/ns/in-use/control/negotiate`, {
    method: 'POST',
    dispatcher,
    headers: { 'content-type': 'application/json' },
    body: '{"purchaseId": "kept"}',
  });
  await kept.body.dump();
  // The client and the compiler have what they need after these.
  await callAll(500, 5_000);
  const before = heapUsed();
  // Names that were not called for a minute make room meanwhile.
  expect(await callAll(5_000, INVENTED)).toContain(503);
  expect(heapUsed() - before).toBeLessThan(10 * MEGABYTE);
  expect(simulator.namespace('in-use').control.get('kept')).not.toBeNull();
});

test('the memory of 20 000 namespaces that were used for a moment each is freed', () => {
  let elapsed = 0;
  const namespaces = createNamespaces({ options: settle({}), url: () => '', listener: null, elapsed: () => elapsed });
  const use = (name: string): void => {
    namespaces.find(`/ns/${name}`)!.namespace('10.0.0.1').control.addMany(5);
  };
  const empty = heapUsed();
  let full = 0;
  for (let at = 0; at < INVENTED; at++) {
    use(`invented-${at}`);
    elapsed += 121;
    if (at === 5_000) full = heapUsed();
  }
  expect(heapUsed() - full).toBeLessThan(10 * MEGABYTE);
  elapsed += 3_600_000;
  namespaces.arrive();
  expect(namespaces.list()).toHaveLength(1);
  expect(heapUsed() - empty).toBeLessThan(10 * MEGABYTE);
});
