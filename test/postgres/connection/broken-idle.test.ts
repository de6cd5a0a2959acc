import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import type { Socket } from 'node:net';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../../src/postgres/connection/database.ts';
import { startEmbedded } from '../../../src/postgres/embedded/embedded.ts';
import { makeAuthority } from '../../support/certificates.ts';
import { testDatabase } from '../../support/database.ts';
import { withPort } from '../../support/embedded-port.ts';
import { startWire, type Wire } from '../../support/wire.ts';

/** Moments between the failure of a connection and its end, each given as what runs `begin` then. */
const MOMENTS: Record<string, (begin: () => void) => void> = {
  'before the driver hears of it': (begin) => begin(),
  'before anything else that waits': (begin) => process.nextTick(begin),
  'after the promises that are settled': (begin) => void Promise.resolve().then(begin),
  'in the next turn of the event loop': (begin) => void setImmediate(begin),
  'two turns later': (begin) => void setImmediate(() => setImmediate(begin)),
  // One of them comes between the last bytes that are thrown away and the end.
  'in each of the next turns': (begin) => {
    let left = 50;
    const next = (): void => {
      begin();
      left -= 1;
      if (left > 0) setImmediate(next);
    };
    setImmediate(next);
  },
};

const cleanUp: (() => unknown)[] = [];
/** A line to a server with TLS, and its address there. */
async function encryptedLine(): Promise<[Wire, string]> {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-tls-'));
  chmodSync(folder, 0o755);
  cleanUp.push(() => rmSync(folder, { recursive: true }));
  const dataDir = join(folder, 'data');
  const port = await withPort(dataDir);
  const settings = { fsync: 'off', shared_buffers: '16MB', ...port.settings };
  await (await startEmbedded({ dataDir, settings })).stop();
  const { uid, gid } = statSync(join(dataDir, 'postgres/data'));
  const { certificate, key } = makeAuthority().issue('db.example');
  const files = { ssl_cert_file: certificate, ssl_key_file: key };
  const paths = Object.entries(files).map(([name, content]) => {
    const path = join(folder, name);
    writeFileSync(path, content, { mode: 0o600 });
    chownSync(path, uid, gid);
    return [name, path];
  });
  const server = await startEmbedded({ dataDir, settings: { ...settings, ssl: 'on', ...Object.fromEntries(paths) } });
  cleanUp.push(() => server.stop());
  const wire = await startWire(port.url());
  cleanUp.push(() => wire.stop());
  return [wire, wire.url.replace('sslmode=disable', 'sslmode=require')];
}
async function plainLine(): Promise<[Wire, string]> {
  const database = await testDatabase();
  cleanUp.push(() => database.drop());
  const wire = await startWire(database.url);
  cleanUp.push(() => wire.stop());
  return [wire, wire.url];
}

/** The sockets that are dialled from now on, by one of Node's functions. */
function dialled(by: typeof net | typeof tls): Socket[] {
  const sockets: Socket[] = [];
  const { connect: original } = by;
  const noted = (...values: unknown[]): Socket => {
    const socket = Reflect.apply(original, by, values) as Socket;
    sockets.push(socket);
    return socket;
  };
  Object.assign(by, { connect: noted });
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(by, { connect: original });
    syncBuiltinESMExports();
  });
  return sockets;
}

describe.each([
  ['a plain', net, plainLine],
  ['an encrypted', tls, encryptedLine],
] as const)('%s connection', (name, by, lay) => {
  let wire: Wire;
  let url: string;
  beforeAll(async () => {
    [wire, url] = await lay();
  });
  afterAll(async () => {
    for (const step of cleanUp.splice(0).reverse()) await step();
  });

  test.each(Object.entries(MOMENTS))(
    'that was idle has failed: a query that begins %s is answered or refused, and so is the next one',
    async (_, at) => {
      const sockets = dialled(by);
      const sql = connect(url, { max: 1, steadyPlans: true, answerWithin: 60_000 });
      onTestFinished(() => sql.end({ timeout: 0 }));
      const encryption = sql<[{ ssl: boolean }]>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`;
      expect(await encryption).toEqual([{ ssl: name === 'an encrypted' }]);
      const outcome = new Promise<string>((resolve) => {
        sockets[0]!.prependOnceListener('error', () => {
          at(() => {
            sql`select 2 as two`.then(
              () => resolve('answered'),
              () => resolve('refused'),
            );
          });
        });
      });
      wire.reset();
      expect(await outcome).toMatch(/^(answered|refused)$/);
      const began = performance.now();
      await expect.poll(() => sql`select 3 as three`.catch(() => [])).toEqual([{ three: 3 }]);
      // Not only when the connection that is dialled next counts as failed, after ten seconds.
      expect(performance.now() - began).toBeLessThan(8_000);
    },
  );

  test('on which the server is silent while a query waits is broken off, and the next one works', async () => {
    const sql = connect(url, { max: 1, answerWithin: 2_000 });
    onTestFinished(() => sql.end({ timeout: 0 }));
    await expect.poll(() => sql`select 1 as one`.catch(() => [])).toEqual([{ one: 1 }]);
    await wire.spoil({ kind: 'black hole' });
    await expect(sql`select 2`).rejects.toThrow(/the database has not answered for 2 s/);
    await wire.spoil(null);
    await expect.poll(() => sql`select 3 as three`.catch(() => [])).toEqual([{ three: 3 }]);
  });
});
