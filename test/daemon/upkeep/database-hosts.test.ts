import { expect, test } from 'vitest';
import { createHostWatch } from '../../../src/daemon/upkeep/database-hosts.ts';
import { aLog } from '../notifier/parts.ts';

const server = (name: string, timeline: number) => ({ host: { name, port: 5432 }, system: '7', timeline, startedAt: 0 });

function watching() {
  const seen = { primary: server('a', 1), rivals: [] as ReturnType<typeof server>[] };
  const clock = { at: 0 };
  const { log, logged } = aLog();
  const hosts = { look: async () => seen };
  const watch = createHostWatch({ hosts: hosts as never, clock: { monotonic: () => clock.at } as never, log });
  return { seen, clock, watch, events: () => logged.map(({ event }) => event) };
}

test('a second primary is trouble once it was seen twice, from when it was seen first, until it is gone', async () => {
  const { seen, clock, watch } = watching();
  expect([await watch.tick(), watch.troubles()]).toEqual([30_000, []]);
  seen.rivals = [server('b', 2)];
  clock.at = 1_000;
  expect([await watch.tick(), watch.troubles()]).toEqual([5_000, []]);
  clock.at = 6_000;
  await watch.tick();
  expect(watch.troubles()).toEqual([
    { reason: 'two_primaries', for: 5_000, error: expect.stringMatching(/a:5432 \(timeline 1\).*b:5432/) },
  ]);
  seen.rivals = [];
  await watch.tick();
  expect(watch.troubles()).toEqual([]);
});

test('another host is logged, the first one is not', async () => {
  const { seen, watch, events } = watching();
  await watch.tick();
  await watch.tick();
  expect(events()).toEqual([]);
  seen.primary = server('b', 2);
  await watch.tick();
  await watch.tick();
  expect(events()).toEqual(['database.host_changed']);
});
