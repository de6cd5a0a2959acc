import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { problemFrom } from '../../../src/api/http/problems.ts';
import { connect } from '../../../src/postgres/connection/database.ts';
import { breakOthers, redial } from '../../../src/postgres/connection/watched-socket.ts';
import { testDatabase } from '../../support/database.ts';
import { startWire, type Wire } from '../../support/wire.ts';

let wire: Wire;
beforeAll(async () => {
  const database = await testDatabase();
  wire = await startWire(database.url);
  return async () => {
    await wire.stop();
    await database.drop();
  };
});

/** The code that a caller is answered whose query fails while `spoil` does its work. */
async function answeredAfter(spoil: () => unknown): Promise<string> {
  const sql = connect(wire.url, { max: 1, answerWithin: 1_000 });
  onTestFinished(() => sql.end({ timeout: 0 }));
  await sql`select 1`;
  const failure = sql`select pg_sleep(30)`.then(() => null, problemFrom);
  await spoil();
  return (await failure)?.code ?? 'answered';
}

test('a caller whose query is on a connection that the daemon breaks is answered that the database cannot be reached now', async () => {
  const elsewhere = { name: '192.0.2.1', port: 5432 };
  expect(await answeredAfter(() => redial(wire.url))).toBe('unavailable');
  const reason = Object.assign(new Error('another host is the primary now'), { code: 'OTHER_PRIMARY' });
  expect(await answeredAfter(() => breakOthers(wire.url, elsewhere, reason))).toBe('unavailable');
  expect(await answeredAfter(() => wire.spoil({ kind: 'black hole' }))).toBe('unavailable');
});
