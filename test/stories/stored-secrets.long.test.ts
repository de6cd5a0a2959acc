import { mkdtempSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { secretsOf } from '../../src/actions/subscribers/secrets.ts';
import { createResealing } from '../../src/daemon/upkeep/resealing.ts';
import { realClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { keptKey } from '../../src/runtime/secrets/kept-key.ts';
import { createSecrets } from '../../src/runtime/secrets/secrets.ts';
import { request } from '../api/api.ts';
import { runCommand } from '../cli/run.ts';
import { startReceiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const KEY = 'an encryption key of many characters';

let t: TestApp | undefined;
afterEach(async () => {
  await t?.stop();
  t = undefined;
});

/** Every row of every table, as text; what is binary stands there in hexadecimal. */
async function wholeDatabase({ app: { sql } }: TestApp): Promise<string> {
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`;
  const texts = await Promise.all(tables.map(({ name }) => sql.unsafe(`select t::text as row from ${name} t`)));
  return texts.flatMap((rows) => rows.map(({ row }) => String(row))).join('\n');
}

test('secrets and the paths of addresses reach neither the database in the clear nor the log, whatever becomes of them', async () => {
  t = await startTestApp({ realClock: true, env: { SECRETS_KEY: KEY, LOG_LEVEL: 'trace' } });
  await t.app.start();
  const call = (method: string, path: string, json?: unknown) =>
    request(t!.app.url() + path, method, { json, headers: { 'idempotency-key': `${method} ${path}` } });
  const receiver = await startReceiver();
  const url = `${receiver.origin}/a-path-that-is-secret?token=a-token-that-is-secret`;
  const added = await call('POST', '/v1/subscribers', {
    name: 'books',
    url,
    headers: { Authorization: 'Bearer a-header-that-is-secret' },
    asymmetric: true,
  });
  expect(added.status).toBe(201);
  receiver.respond(
    { status: 302, headers: { location: '/a-path-that-is-secret/' } },
    { reset: 'answer' },
    { status: 500, body: `${added.body.secret} at ${url} with a-header-that-is-secret` },
  );
  for (let attempt = 0; attempt < 4; attempt++) await request(`${t.app.url()}/v1/subscribers/books/test?wait=10s`, 'POST');
  const rotated = await call('POST', '/v1/subscribers/books/rotate-secret');
  const refused = await request(`${t.app.url()}/v1/subscribers`, 'POST', {
    json: { name: 'b', url, secret: 'whsec_a-secret-that-is-none' },
  });
  expect([rotated.status, refused.status]).toEqual([200, 400]);
  expect(receiver.received.length).toBeGreaterThanOrEqual(4);
  await receiver.stop();

  const places = { database: await wholeDatabase(t), log: t.log.join('') };
  expect(places.database).toContain('subscriber.test');
  expect(places.log).toContain('delivery.delivered');
  const secrets = [
    'a-path-that-is-secret',
    'a-token-that-is-secret',
    'a-header-that-is-secret',
    'whsk_',
    'a-secret-that-is-none',
    KEY,
    ...[added, rotated].map(({ body }) => body.secret.slice('whsec_'.length)),
  ];
  const forms = secrets.flatMap((secret) => [
    secret,
    Buffer.from(secret).toString('hex'),
    Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  ]);
  const leaks = forms.flatMap((form) =>
    Object.entries(places)
      .filter(([, text]) => text.includes(form))
      .map(([place]) => `${place}: ${form}`),
  );
  expect(leaks).toEqual([]);
});

test('with another key the daemon lives, says whom it cannot tell, and what waits is sent when the key is right again', async () => {
  t = await startTestApp({ env: { SECRETS_KEY: KEY } });
  const { addSubscriber } = await import('../../src/actions/subscribers/subscribers.ts');
  const receiver = await startReceiver();
  const nothing = { types: null, sites: null, states: null, description: null };
  await addSubscriber(
    { sql: t.app.sql, secrets: createSecrets('another key of many many characters') },
    { name: 'books', url: receiver.url, ...nothing },
  );
  const purchase = await t.watch({ script: [{ state: 'New' }] });
  t.clock.advance('1m');
  await t.app.pollOnce();
  await t.app.deliverOnce();
  await t.app.deliverOnce();
  expect(t.changesOf(purchase)).toEqual(['New']);
  expect(receiver.received).toEqual([]);
  const said = t.log.filter((line) => line.includes('subscriber.unreachable'));
  expect(said).toHaveLength(1);
  expect(said[0]).toMatch(/"subscriber":"books".*SECRETS_KEY/);
  const [waiting] = await t.app.sql`
    select d.status from purchase_watch_internal.deliveries d join purchase_watch_internal.subscribers s on s.id = d.subscriber and s.name = 'books'`;
  expect(waiting).toEqual({ status: 'pending' });
  const health = async () => {
    const { subscriberCondition } = await import('../../src/postgres/subscribers/symptoms.ts');
    const [{ healthBody }, { findSubscriber }] = await Promise.all([
      import('../../src/actions/subscribers/body.ts'),
      import('../../src/postgres/subscribers/subscribers.ts'),
    ]);
    const row = (await findSubscriber(t!.app.sql, 'books'))!;
    return { ...healthBody(row), untried: (await subscriberCondition(t!.app.sql, { name: 'books', since: 0 }))!.untried };
  };
  expect(await health()).toMatchObject({
    ...{ status: 'unreached', ourFailures: 0, untried: true },
    ourError: 'Its address cannot be read: SECRETS_KEY is not the key that encrypted it.',
  });
  // Whoever resumes it hears that this does not help, and finds it as it is, since when it was.
  const { ourFailingSince } = await health();
  const { resumeSubscriber } = await import('../../src/actions/subscribers/outlook.ts');
  expect((await resumeSubscriber(t.app.sql, 'books')).held).toMatch(
    /^a daemon sends nothing to books \(Its address cannot be read.*\); give every daemon the settings .* restart them$/,
  );
  await t.app.deliverOnce();
  expect(await health()).toMatchObject({ status: 'unreached', ourFailingSince });
  // What a daemon that is gone said of it is not true any more.
  await t.app
    .sql`update purchase_watch_internal.subscriber_health set our_failures = 7, our_error = 'No route.', our_replica = 'rep_gone'`;
  expect(await health()).toMatchObject({ ourFailures: 7, untried: false });
  await t.app.deliverOnce();
  expect(await health()).toMatchObject({
    ourFailures: 0,
    untried: true,
    ourError: expect.stringContaining('SECRETS_KEY'),
    ourFailingSince,
  });
  await t.app.sql`
    update purchase_watch_internal.subscribers set url = ${createSecrets(KEY).seal(receiver.url, 'subscriber books url')},
      keys = ${createSecrets(KEY).seal(JSON.stringify([{ key: `whsec_${'A'.repeat(32)}`, until: null }]), 'subscriber books keys')}, address_hash = 'new'
    where name = 'books'`;
  await t.app.deliverOnce();
  expect(receiver.received).toHaveLength(1);
  expect(await health()).toMatchObject({ status: 'ok', ourError: null, untried: false });
  await receiver.stop();
});

test('people hear after a quarter of an hour that an address cannot be read, and what to set', async () => {
  t = await startTestApp({ env: { SECRETS_KEY: KEY } });
  const { addSubscriber } = await import('../../src/actions/subscribers/subscribers.ts');
  const nothing = { types: null, sites: null, states: null, description: null };
  await addSubscriber(
    { sql: t.app.sql, secrets: createSecrets('another key of many many characters') },
    { name: 'books', url: 'https://a.example/1', ...nothing },
  );
  await t.watch({ script: [{ state: 'New' }] });
  const MINUTE = 60_000;
  await t.live(14 * MINUTE);
  expect(JSON.stringify(t.slack.received)).not.toContain('books');
  await t.live(3 * MINUTE);
  const said = JSON.stringify(t.slack.received);
  expect(said).toContain('We cannot reach books');
  expect(said).toContain('Give every daemon the settings that it was added under, `SECRETS_KEY` above all');
});

test('that a subscriber is not tried is said by who lives, and taken back as no more than that', async () => {
  t = await startTestApp({ env: { SECRETS_KEY: KEY } });
  const { sql } = t.app;
  const { eraseUnreached, saveUnreached, saveUntried } = await import('../../src/postgres/deliveries/subscriber-health.ts');
  const [{ id }] = await sql<[{ id: number }]>`select id from purchase_watch_internal.subscribers where name = 'default'`;
  await sql`
    insert into purchase_watch_internal.replicas (id, process, expires_at)
    values ('rep_lives', 'a', now() + interval '1 hour'), ('rep_good', 'b', now() + interval '1 hour'), ('rep_late', 'c', now() - interval '1 second')`;
  const known = async () =>
    (
      await sql`select our_failures as failures, our_error as error, our_replica as replica from purchase_watch_internal.subscriber_health`
    )[0];
  const untried = (replica: string) => saveUntried(sql, id, { since: Date.now(), error: 'Its address cannot be read.', replica });
  await untried('rep_late');
  expect(await known()).toBeUndefined();
  await untried('rep_lives');
  expect(await known()).toEqual({ failures: 0, error: 'Its address cannot be read.', replica: 'rep_lives' });
  expect(await eraseUnreached(sql, id, 'rep_good', { untried: true })).toBe(false);
  await saveUnreached(sql, id, { failures: 4, since: Date.now(), error: 'No route.', replica: 'rep_good' });
  await untried('rep_lives');
  expect(await known()).toEqual({ failures: 4, error: 'No route.', replica: 'rep_good' });
  expect(await eraseUnreached(sql, id, 'rep_good', { untried: true })).toBe(false);
  expect(await eraseUnreached(sql, id, 'rep_good')).toBe(true);
  expect(await known()).toBeUndefined();
});

test('under another key nothing of what is stored is changed', async () => {
  t = await startTestApp({ env: { SECRETS_KEY: KEY } });
  const { addSubscriber, changeSubscriber, rotateSecret } = await import('../../src/actions/subscribers/subscribers.ts');
  const nothing = { types: null, sites: null, states: null, description: null };
  await addSubscriber({ sql: t.app.sql, secrets: createSecrets(KEY) }, { name: 'books', url: 'https://a.example/1', ...nothing });
  const before = await t.app.sql`select * from purchase_watch_internal.subscribers where name = 'books'`;
  const wrong = { sql: t.app.sql, secrets: createSecrets('another key of many many characters') };
  const refused = expect.objectContaining({ reason: 'secrets_key_wrong' });
  await expect(changeSubscriber(wrong, 'books', { url: 'https://a.example/2' })).rejects.toEqual(refused);
  await expect(rotateSecret(wrong, 'books', { overlap: 0, now: Date.now() })).rejects.toEqual(refused);
  // Nor is one added that the daemons could not read, as long as any tells what their key is.
  const more = { name: 'more', url: 'https://a.example/3', ...nothing };
  await expect(addSubscriber(wrong, more)).rejects.toEqual(refused);
  await expect(addSubscriber(wrong, more)).rejects.toThrow('"books"');
  expect(await t.app.sql`select * from purchase_watch_internal.subscribers where name = 'books'`).toEqual(before);
});

test('more secrets than receivers like to look at are refused, and none that was promised to sign stops', async () => {
  t = await startTestApp({ env: { SECRETS_KEY: KEY } });
  const { addSubscriber, rotateSecret } = await import('../../src/actions/subscribers/subscribers.ts');
  const means = { sql: t.app.sql, secrets: createSecrets(KEY) };
  const nothing = { types: null, sites: null, states: null, description: null };
  await addSubscriber(means, { name: 'books', url: 'https://a.example/1', ...nothing });
  const rotate = (overlap: number) => rotateSecret(means, 'books', { overlap, now: Date.now() });
  for (let turn = 0; turn < 4; turn++) await rotate(3_600_000);
  await expect(rotate(3_600_000)).rejects.toMatchObject({ reason: 'too_many_secrets' });
  await expect(rotate(3_600_000)).rejects.toThrow(/^5 secrets of "books" sign already, one of them until .*overlap of 0s$/);
  // Whoever lost one must not wait.
  expect(await rotate(0)).toMatchObject({ oldKeysUntil: null });
});

test('a key of our own is made once, whoever asks first, and only its owner may read it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-test-'));
  const data = join(folder, 'data');
  const key = keptKey(data);
  expect(Buffer.from(key, 'base64')).toHaveLength(32);
  expect(keptKey(data)).toBe(key);
  expect(readFileSync(join(data, 'secrets-key'), 'utf8')).toBe(`${key}\n`);
  expect(statSync(join(data, 'secrets-key')).mode & 0o777).toBe(0o600);
});

test('what is sealed opens in its own place with its own key, and only unchanged', () => {
  const secrets = createSecrets(KEY);
  const sealed = secrets.seal('https://a.example/å', 'here');
  expect(secrets.open(sealed, 'here')).toBe('https://a.example/å');
  expect(secrets.seal('https://a.example/å', 'here')).not.toEqual(sealed);
  expect(secrets.open(sealed, 'there')).toBeNull();
  expect(createSecrets('another key of many many characters').open(sealed, 'here')).toBeNull();
  for (const place of [0, 5, 20, sealed.length - 1]) {
    const changed = Buffer.from(sealed);
    changed[place]! ^= 1;
    expect(secrets.open(changed, 'here')).toBeNull();
  }
  expect(secrets.open(Buffer.alloc(3), 'here')).toBeNull();
});

test('SECRETS_KEY is replaced while daemons run: nothing is unreadable for any of them, and in the end nothing needs the old key', async () => {
  const NEW = 'the key that replaces it, of many characters, too';
  const replaced = { SECRETS_KEY: NEW, SECRETS_KEY_PREVIOUS: KEY };
  t = await startTestApp({ env: { SECRETS_KEY: KEY }, realClock: true });
  const { app: old, database, settings } = t;
  await old.start();
  const { createApp } = await import('../../src/app.ts');
  const { addSubscriber } = await import('../../src/actions/subscribers/subscribers.ts');
  const { keyUse } = await import('../../src/actions/subscribers/key-change.ts');
  const { findSubscriber } = await import('../../src/postgres/subscribers/subscribers.ts');
  const { openStored } = await import('../../src/channels/outgoing/sealed.ts');
  const nothing = { types: ['purchase.stuck'], sites: null, states: null, description: null };
  const [underOld, underNew, both] = [createSecrets(KEY), createSecrets(NEW), createSecrets(NEW, [KEY])];
  // More than one batch.
  for (let n = 0; n < 60; n++)
    await addSubscriber(
      { sql: old.sql, secrets: underOld },
      { name: `s-${n}`, url: `https://a.example/${n}`, headers: { 'X-N': `n-${n}` }, ...nothing },
    );
  const uses = async () => ({ old: (await keyUse(old.sql, underOld)).current, new: (await keyUse(old.sql, underNew)).current });
  const doctor = async (env: Record<string, string>): Promise<string[]> => {
    const base = {
      DATABASE_URL: database.url,
      CHECKOUT_BASE_URL: t!.simulator.url,
      CHECKOUT_CLIENT_ID: 'a',
      CHECKOUT_CLIENT_SECRET: 'b',
      PORT: '0',
    };
    const { stdout } = await runCommand(['doctor', '--json', '--no-send'], { ...base, ...env });
    const { findings } = JSON.parse(stdout) as { findings: { about: string; verdict: string; found: string }[] };
    return findings.filter(({ about }) => about === 'secrets').map(({ verdict, found }) => `${verdict}: ${found}`);
  };
  expect(await doctor({ SECRETS_KEY: KEY })).toEqual([]);
  expect(await doctor({ SECRETS_KEY: NEW })).toEqual(['warning: one daemon has another SECRETS_KEY than this command']);

  // The rolling change: one daemon has the new key, the other does not.
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) } as unknown as NodeJS.WritableStream;
  const changed = { ...settings, secretsKey: NEW, secretsKeyPrevious: KEY };
  const next = await createApp(changed, { log: createLogger({ level: 'debug', destination }) });
  try {
    await next.start();
    // Whichever of them has the lease.
    const log = createLogger({ level: 'debug', destination });
    expect(
      await createResealing({ sql: old.sql, clock: { ...realClock(), monotonic: () => 0 }, log, secrets: both }).step(),
    ).toBeNull();
    expect(lines.join('')).toMatch(/"replicas":\["rep_\w+"\][^\n]*"secrets.waiting"/);
    expect(await uses()).toEqual({ old: 60, new: 0 });
    expect(await doctor(replaced)).toEqual([
      expect.stringMatching(/^warning: SECRETS_KEY is new, and one daemon has not got it yet; until all have/),
    ]);
    // What is stored through the new one meanwhile, the old one can read; a repeated request gets its answer from either.
    const add = (url: string | null, name: string) =>
      request(`${url}/v1/subscribers`, 'POST', {
        json: { name, url: `https://b.example/${name}` },
        headers: { 'idempotency-key': name },
      });
    const first = [await add(next.url(), 'through-new'), await add(old.url(), 'through-old')];
    const again = [await add(old.url(), 'through-new'), await add(next.url(), 'through-old')];
    expect([...first, ...again].map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(again.map(({ body }) => body)).toEqual(first.map(({ body }) => body));
    const rotated = await request(`${next.url()}/v1/subscribers/s-1/rotate-secret`, 'POST');
    const moved = await request(`${next.url()}/v1/subscribers/s-2`, 'PATCH', { json: { url: 'https://a.example/moved' } });
    expect([rotated.status, moved.status, await uses()]).toEqual([200, 200, { old: 62, new: 0 }]);
    // A daemon of an earlier version does not say what it knows.
    await old.sql`update purchase_watch_internal.replicas set secrets_keys = null where secrets_keys = ${[...underOld.keyIds]}::text[]`;
    await add(next.url(), 'beside-an-earlier-version');
    expect(await uses()).toEqual({ old: 63, new: 0 });

    await old.stop();
    await expect.poll(() => lines.join('')).toContain('secrets.previous_unused');
    const { sql } = next;
    expect(lines.join('')).toMatch(/"subscribers":63[^\n]*"secrets.resealed"/);
    expect(await keyUse(sql, both)).toEqual({ current: 63, previous: 0, unreadable: 0 });
    expect(openStored(underNew, (await findSubscriber(sql, 's-7'))!)).toMatchObject({
      url: 'https://a.example/7',
      options: { headers: { 'X-N': 'n-7' } },
    });
    expect(openStored(underNew, (await findSubscriber(sql, 's-1'))!)!.keys[0]!.key).toBe(rotated.body.secret);
    expect(openStored(underOld, (await findSubscriber(sql, 's-7'))!)).toBeNull();
    expect(await doctor(replaced)).toEqual([
      expect.stringMatching(/^ok: no subscriber is stored under SECRETS_KEY_PREVIOUS any more: take it away/),
    ]);
    expect(await doctor({ SECRETS_KEY: NEW })).toEqual([]);
    // Whoever still has only the old one is told, and changes nothing.
    expect(
      (
        await runCommand(['subscribers', 'change', 's-3', '--url', 'https://d.example'], {
          DATABASE_URL: database.url,
          SECRETS_KEY: KEY,
        })
      ).stderr,
    ).toContain('was encrypted with another SECRETS_KEY');
  } finally {
    await next.stop();
  }
});

test('a key kept beside the embedded database is replaced by SECRETS_KEY, and several previous keys open', () => {
  const dataDir = join(mkdtempSync(join(tmpdir(), 'purchase-watch-test-')), 'data');
  const kept = secretsOf({ secretsKey: null, secretsKeyPrevious: null, databaseUrl: null, dataDir })!;
  const sealed = kept.seal('text', 'here');
  const [b, c] = ['b'.repeat(32), 'c, with a comma and many more characters'];
  const next = secretsOf({ secretsKey: KEY, secretsKeyPrevious: null, databaseUrl: null, dataDir })!;
  expect([next.open(sealed, 'here'), next.isCurrent(sealed, 'here')]).toEqual(['text', false]);
  expect(next.isCurrent(next.seal('text', 'here'), 'here')).toBe(true);
  const withPrevious = (secretsKeyPrevious: string) =>
    secretsOf({ secretsKey: KEY, secretsKeyPrevious, databaseUrl: 'postgres://x', dataDir })!;
  for (const [key, previous] of [
    [b, b],
    [b, `${KEY}x,${b}`],
    [c, c],
  ] as const)
    expect(withPrevious(previous).open(createSecrets(key).seal('text', 'here'), 'here')).toBe('text');
  expect(withPrevious(b).fingerprints('text')).toEqual([
    createSecrets(KEY).fingerprint('text'),
    createSecrets(b).fingerprint('text'),
  ]);
});
