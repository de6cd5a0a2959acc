import { expect, test } from 'vitest';
import { createPart } from '../../../src/daemon/shards/part.ts';
import { aLog } from '../notifier/parts.ts';

const naming = (...sites: string[]) => ({ sites: Object.fromEntries(sites.map((site) => [site, []])), subscribers: {} });

test('a replica that names less than another one takes no shard, and says so once, until it takes part again', () => {
  const { log, logged } = aLog();
  const part = createPart({ log, replica: 'me', named: naming('se') });
  const beside = (...sites: string[]) =>
    part([{ id: 'other', insertedAt: 1, named: naming(...sites) }] as never, { insertedAt: 2, databaseNow: 0 } as never);
  expect(beside('se')).toMatchObject({ isOutdone: false, parties: 2 });
  expect(logged).toEqual([]);
  expect(beside('se', 'no').isOutdone).toBe(true);
  const said = {
    event: 'replica.outdone',
    detail: expect.stringContaining('another daemon'),
    advice: expect.stringContaining('same settings'),
  };
  expect(logged).toMatchObject([said]);
  expect([beside('se', 'no').includes(3), logged.length]).toEqual([false, 1]);
  expect(beside('se').isOutdone).toBe(false);
  expect(beside('se').isOutdone).toBe(false);
  expect(logged.map(({ event }) => event)).toEqual(['replica.outdone', 'replica.takes_part']);
});
