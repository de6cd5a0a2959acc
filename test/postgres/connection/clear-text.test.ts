import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeConnectionError } from '../../../src/postgres/address/database-url.ts';
import { connect, openSession } from '../../../src/postgres/connection/database.ts';
import { startEmbedded } from '../../../src/postgres/embedded/embedded.ts';
import { freePorts } from '../../support/broker-process.ts';
import { makeAuthority } from '../../support/certificates.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { withPort } from '../../support/embedded-port.ts';
import { startWire, type Tap, type Wire } from '../../support/wire.ts';

const PASSWORD = 'cleartext-s3cret';
let cleanUp: (() => unknown)[];
beforeEach(() => {
  cleanUp = [];
});
afterEach(async () => {
  for (const step of cleanUp.reverse()) await step();
});

async function failureOf(url: string): Promise<string> {
  const sql = connect(url, { max: 1 });
  const error = await sql`select 1`.then(
    () => null,
    (cause: unknown) => cause,
  );
  await sql.end({ timeout: 0 });
  return error === null ? 'connected' : describeConnectionError(url, error);
}

test('a real server that asks for the password in clear text gets it over TLS, and never without', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-clear-text-'));
  chmodSync(folder, 0o755);
  cleanUp.push(() => rmSync(folder, { recursive: true }));
  const dataDir = join(folder, 'data');
  const port = await withPort(dataDir);
  const settings = { fsync: 'off', shared_buffers: '16MB', ...port.settings };
  await (await startEmbedded({ dataDir, settings })).stop();
  const { certificate, key } = makeAuthority().issue('db.example');
  const put = (name: string, content: string): string => {
    const path = join(folder, name);
    writeFileSync(path, content, { mode: 0o600 });
    const { uid, gid } = statSync(join(dataDir, 'postgres/data'));
    chownSync(path, uid, gid);
    return path;
  };
  const hba_file = put(
    'hba',
    'local all all scram-sha-256\nhost all clear 127.0.0.1/32 password\nhost all all 127.0.0.1/32 scram-sha-256\n',
  );
  const tls = { ssl: 'on', ssl_cert_file: put('cert.pem', certificate), ssl_key_file: put('key.pem', key) };
  const server = await startEmbedded({ dataDir, settings: { ...settings, ...tls, hba_file } });
  cleanUp.push(() => server.stop());
  const sql = connect(server.superuserUrl, { max: 1 });
  await sql.unsafe(`create role clear login password '${PASSWORD}'`);
  await sql.end();
  const urlWith = (search: string) => `postgres://clear:${PASSWORD}@${new URL(port.url()).host}/postgres?sslmode=${search}`;
  expect(await failureOf(urlWith('require'))).toBe('connected');
  // The server speaks TLS, so that also this line is encrypted.
  expect(await failureOf(urlWith('prefer'))).toBe('connected');
  const refused = await failureOf(urlWith('disable'));
  expect(refused).toMatch(/as user clear: the server asks for the password in clear text .* was not sent: let sslmode/);
  expect(refused).not.toContain(PASSWORD);
});

describe('an attacker on the line who asks for the password in clear text', () => {
  const ASKS = Buffer.from([...Buffer.from('R'), 0, 0, 0, 8, 0, 0, 0, 3]);
  const READY = Buffer.from([...Buffer.from('Z'), 0, 0, 0, 5, ...Buffer.from('I')]);
  let database: TestDatabase;
  let sent: Buffer[];
  beforeEach(async () => {
    database = await testDatabase({ empty: true });
    cleanUp.push(() => database.drop());
    sent = [];
  });

  /** Denies TLS, hears everything, and puts the request in the place of the first message or after the login. */
  function attacker({ after, inPieces }: { after: 'greeting' | 'login'; inPieces: boolean }): () => Tap {
    return () => {
      let isFirst = true;
      let isDone = false;
      return {
        up: (chunk, line) => {
          sent.push(chunk);
          const asksForTls = isFirst && chunk.length === 8;
          isFirst = false;
          if (asksForTls) line.answer('N');
          return asksForTls ? Buffer.alloc(0) : chunk;
        },
        down: (chunk, line) => {
          const at = after === 'greeting' ? 0 : chunk.indexOf(READY);
          if (isDone || at < 0) return chunk;
          isDone = true;
          const lie = Buffer.concat([chunk.subarray(0, after === 'greeting' ? 0 : at + READY.length), ASKS]);
          if (!inPieces) return lie;
          // A byte at a time, as far as the kernel keeps them apart.
          void (async () => {
            for (const byte of lie) {
              line.answer(String.fromCharCode(byte));
              await new Promise((resolve) => setTimeout(resolve, 2));
            }
          })();
          return Buffer.alloc(0);
        },
      };
    };
  }
  const lay = async (options: Parameters<typeof attacker>[0]): Promise<Wire> => {
    const target = new URL(database.url);
    // A user whom the server knows: it closes the line to others, often before the attacker has sent the last byte.
    target.username ||= 'purchase_watch';
    target.password = PASSWORD;
    const wire = await startWire(target.href, attacker(options));
    cleanUp.push(() => wire.stop());
    return wire;
  };
  const urlOf = (wire: Wire, sslmode: string) => `${wire.url.split('?')[0]}?sslmode=${sslmode}`;

  test.each(['prefer', 'disable'])('gets nothing, with sslmode=%s, whole or in pieces', async (sslmode) => {
    for (const inPieces of [false, true]) {
      const wire = await lay({ after: 'greeting', inPieces });
      expect(await failureOf(urlOf(wire, sslmode))).toMatch(/asks for the password in clear text/);
    }
    expect(Buffer.concat(sent).toString('latin1')).toContain(new URL(database.url).username || 'purchase_watch');
    expect(Buffer.concat(sent).toString('latin1')).not.toContain(PASSWORD);
  });

  test('gets nothing from a listener, from the search among several hosts, or after the login', async () => {
    const wire = await lay({ after: 'greeting', inPieces: false });
    const session = openSession(urlOf(wire, 'prefer'), 'test');
    await expect(session.sql`select 1`).rejects.toThrow(/in clear text/);
    await session.sql.end({ timeout: 0 });
    const [closed] = (await freePorts(1)) as [number];
    const { host } = new URL(wire.url);
    const several = urlOf(wire, 'prefer').replace(host, `${host},127.0.0.1:${closed}`);
    expect(await failureOf(several)).toMatch(/no host takes writes: .*in clear text/);

    // Here the attacker lets the real login pass.
    const later = await startWire(database.url, attacker({ after: 'login', inPieces: false }));
    cleanUp.push(() => later.stop());
    const sql = connect(urlOf(later, 'prefer'), { max: 1 });
    await expect(
      (async () => {
        for (;;) await sql`select 1`;
      })(),
    ).rejects.toThrow(/in clear text|CONNECTION/);
    await sql.end({ timeout: 0 });
    const password = decodeURIComponent(new URL(database.url).password);
    for (const secret of [PASSWORD, password].filter((each) => each !== ''))
      expect(Buffer.concat(sent).toString('latin1')).not.toContain(secret);
  });
});
