import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../../src/postgres/connection/database.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { type PostgresWire, startPostgresWire } from '../../support/postgres-wire.ts';

let database: TestDatabase;
let wire: PostgresWire;
beforeAll(async () => {
  database = await testDatabase();
  wire = await startPostgresWire(database.url);
});
afterAll(async () => {
  await wire.stop();
  await database.drop();
});

/** Moments between the failure of a connection and its end, each given as what runs `begin` then. */
const MOMENTS: Record<string, (begin: () => void) => void> = {
  'before the driver hears of it': (begin) => begin(),
  'before anything else that waits': (begin) => process.nextTick(begin),
  'after the promises that are settled': (begin) => void Promise.resolve().then(begin),
  'in the next turn of the event loop': (begin) => void setImmediate(begin),
  'two turns later': (begin) => void setImmediate(() => setImmediate(begin)),
};

test.each(Object.entries(MOMENTS))(
  'a query that begins when its idle connection has failed, %s, is answered or refused, and so is the next one',
  async (_, at) => {
    const sql = connect(wire.url, { max: 1, steadyPlans: true, answerWithin: 60_000 });
    onTestFinished(() => sql.end({ timeout: 0 }));
    const sockets: Socket[] = [];
    const note = (message: unknown): void => void sockets.push((message as { socket: Socket }).socket);
    subscribe('net.client.socket', note);
    expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
    unsubscribe('net.client.socket', note);
    const idle = sockets.find(({ remotePort }) => String(remotePort) === new URL(wire.url).port)!;
    const outcome = new Promise<string>((resolve) => {
      idle.prependOnceListener('error', () => {
        at(() => {
          sql`select 2 as two`.then(
            () => resolve('answered'),
            () => resolve('refused'),
          );
        });
      });
    });
    wire.breakNew(0);
    expect(await outcome).toMatch(/^(answered|refused)$/);
    await expect.poll(() => sql`select 3 as three`.catch(() => [])).toEqual([{ three: 3 }]);
  },
);
