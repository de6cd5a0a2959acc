/** A daemon that cannot do its work says so: to orchestrators, to the dead man's switch, and to people. */
import { afterEach, expect, test } from 'vitest';
import { saveReplicaTroubles } from '../../src/store/replica-troubles.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
afterEach(() => t.stop());

const headlines = (): (string | undefined)[] => t.slack.received.map(({ text }) => text.split('\n')[0]);

/** Judges and delivers every few seconds, as a daemon does. */
async function judgeFor(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 10) {
    t.clock.advance('10s');
    await t.app.judgeOnce();
    await t.app.deliverOnce();
  }
}

test('what replicas say they cannot do is one alert for all of them, with what to do, and one when it is over', async () => {
  t = await startTestApp();
  await t.app.judgeOnce();
  const { sql } = t.app;
  const [{ id }] = await sql<[{ id: string }]>`select id from purchase_watch.replicas`;
  await sql`insert into purchase_watch.replicas (id, process, expires_at) values ('rep_other', 'elsewhere', now() + interval '1 day')`;
  const since = t.clock.now() - 60_000;
  const trouble = { reason: 'not_recording', since, error: 'could not extend file: No space left on device (53100)' } as const;
  await saveReplicaTroubles(sql, { replica: id, host: 'host-a (4711)' }, [trouble]);
  await saveReplicaTroubles(sql, { replica: 'rep_other', host: 'host-b (12)' }, [
    trouble,
    { reason: 'not_settling', since, error: null },
  ]);
  await judgeFor(60);
  expect(headlines()).toEqual([expect.stringMatching(/^🔴 purchase-watch: polls are not recorded for 1 min/)]);
  const { text } = t.slack.received[0]!;
  for (const part of [
    id,
    'host-a (4711)',
    'rep_other',
    'results of deliveries are not recorded',
    'Nothing is lost',
    'free space',
  ])
    expect(text.toLowerCase()).toContain(part.toLowerCase());

  await saveReplicaTroubles(sql, { replica: id, host: 'host-a (4711)' }, []);
  // The rows of one that is gone go with it.
  await sql`delete from purchase_watch.replicas where id = 'rep_other'`;
  expect(await sql`select from purchase_watch.replica_troubles`).toHaveLength(0);
  await judgeFor(60);
  expect(headlines()).toHaveLength(2);
  expect(headlines()[1]).toMatch(/^✅ Polls are recorded again, after \d/);
});
