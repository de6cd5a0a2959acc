import { expect, test } from 'vitest';
import { sayNotFinal } from '../../../src/daemon/upkeep/settled-states.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { aStatePolicy } from '../../support/a-purchase.ts';
import { testDatabase } from '../../support/database.ts';
import { aLog } from '../notifier/parts.ts';

test('settled purchases in a state that is not final any more are counted, with how to watch them again', async () => {
  const { sql, drop } = await testDatabase();
  await syncSites(sql, ['se']);
  await sql`
    insert into purchase_watch.purchases (purchase_id, site, status, state, state_since, ended_at, next_poll_at)
    select 'p' || n, 'se', 'settled', case when n < 3 then 2 when n < 6 then 8 else 77 end, now(), now(), null from generate_series(1, 7) n`;
  const states = new Map(DEFAULT_POLL_POLICY.states).set(8, aStatePolicy());
  const { log, logged } = aLog();
  await sayNotFinal(sql, { ...DEFAULT_POLL_POLICY, states }, log);
  await drop();
  expect(logged.map(({ event, state, purchases, advice }) => [event, state, purchases, advice])).toEqual([
    ['states.not_final', expect.any(String), 3, expect.stringMatching(/watch --settled [A-Z]/)],
    ['states.not_final', expect.stringContaining('77'), 2, expect.stringMatching(/watch --settled 77"? \(--dry-run/)],
  ]);
});
