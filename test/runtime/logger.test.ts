import { hostname } from 'node:os';
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { createLogger, type Logger } from '../../src/runtime/logger.ts';

function sink(isTTY = false) {
  let text = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  return { destination: Object.assign(stream, { isTTY }), text: () => text };
}

/** Takes whatever a test gives: the table of events is not what these tests are about. */
interface AnyLines extends Pick<Logger, 'identify'> {
  debug(fields: object, event: string): void;
  info(fields: object, event: string): void;
  warn(fields: object, event: string): void;
  error(fields: object, event: string): void;
}

/** What a logger writes for one call. */
function logged(log: (lines: AnyLines) => void, isTTY = false): string {
  const { destination, text } = sink(isTTY);
  log(createLogger({ level: 'info', destination }));
  return text();
}

test('a line is JSON with time, level, host, event and the fields', () => {
  const line = JSON.parse(logged((log) => log.info({ purchaseId: 'p-1', from: 6, to: 2, tookMs: 12 }, 'purchase.state_changed')));
  expect(line).toEqual({
    level: 'info',
    host: hostname(),
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    purchaseId: 'p-1',
    from: 6,
    to: 2,
    tookMs: 12,
    event: 'purchase.state_changed',
  });
});

test('each line names the replica from when it has its id; a terminal, which shows one process, is told neither that nor the host', () => {
  const say = (log: AnyLines) => {
    log.info({}, 'before');
    log.identify('rep_1');
    log.info({}, 'after');
  };
  const lines = logged(say)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ replica }) => replica)).toEqual([undefined, 'rep_1']);
  expect(logged(say, true)).not.toMatch(/rep_1|replica|host/);
});

test('a replica that a reload names again stands in each line once, at the level that was set', () => {
  const { destination, text } = sink();
  const log = createLogger({ level: 'info', destination });
  log.identify('rep_1');
  log.setLevel('warn');
  log.identify('rep_2');
  log.info({ site: 'se', count: 1 } as never, 'below' as never);
  log.warn({ site: 'se', purchases: 1 }, 'queue.found_overdue');
  expect(text().match(/"replica":"\w+"/g)).toEqual(['"replica":"rep_2"']);
});

test('the types refuse what the table of events does not have', () => {
  const log = createLogger({ level: 'silent' });
  const [site, purchases] = ['se', 1];
  log.warn({ site, purchases }, 'queue.found_overdue');
  // @ts-expect-error: there is no such event.
  log.warn({ site, purchases }, 'queue.found_underdue');
  // @ts-expect-error: it is a warning.
  log.info({ site, purchases }, 'queue.found_overdue');
  // @ts-expect-error: a field is missing.
  log.warn({ site }, 'queue.found_overdue');
  // @ts-expect-error: it has no such field, wherever that comes from.
  log.warn({ ...{ site, purchases, reference: 'ORD-1' } }, 'queue.found_overdue');
});

test('what is below the level is not written', () => {
  expect(logged((log) => log.debug({}, 'poll.done'))).toBe('');
});

test('an error comes with its own fields and its causes', () => {
  const cause = Object.assign(new Error('connect refused'), { code: 'ECONNREFUSED' });
  const line = JSON.parse(logged((log) => log.error({ error: new Error('poll failed', { cause }) }, 'poller.failed')));
  expect(line.error).toMatchObject({
    name: 'Error',
    message: 'poll failed',
    cause: { code: 'ECONNREFUSED', message: 'connect refused' },
  });
  expect(line.error.stack).toContain('logger.test.ts');
});

test('a cause that is its own cause ends somewhere', () => {
  const error = new Error('round');
  error.cause = error;
  expect(() => logged((log) => log.error({ error }, 'x'))).not.toThrow();
});

const HIDDEN = 'hunter2';
test.each<[string, (log: AnyLines) => void]>([
  ['a field', (log) => log.info({ clientSecret: HIDDEN }, 'x')],
  ['a deep field', (log) => log.info({ a: { b: [{ c: { Authorization: HIDDEN } }] } }, 'x')],
  ['headers', (log) => log.info({ request: { headers: { 'x-any': HIDDEN } } }, 'x')],
  ['a key of the settings', (log) => log.info({ apiKey: HIDDEN, apiReadKey: HIDDEN, databaseUrl: HIDDEN }, 'x')],
  ['a person', (log) => log.info({ seen: { InvoicingFirstName: HIDDEN, Mail: HIDDEN, Phone: HIDDEN } }, 'x')],
  ['metadata', (log) => log.info({ metadata: { name: HIDDEN } }, 'x')],
  ['a connection string', (log) => log.error({ error: new Error(`cannot reach postgres://u:${HIDDEN}@db/x`) }, 'x')],
  [
    'a connection string in a cause',
    (log) => log.error({ error: new Error('x', { cause: new Error(`postgres://u:p/${HIDDEN}@db/x`) }) }, 'x'),
  ],
  ['a token in a text', (log) => log.warn({ detail: `got Bearer ${HIDDEN} back` }, 'x')],
  ['a signing secret in a text', (log) => log.warn({ detail: `whsec_${HIDDEN}` }, 'x')],
  ['a Slack address', (log) => log.warn({ url: `https://hooks.slack.com/services/${HIDDEN}` }, 'x')],
  ['a Teams address', (log) => log.warn({ url: `https://x.logic.azure.com/workflows/1/run?sp=run&sig=${HIDDEN}&x=1` }, 'x')],
  ['a form', (log) => log.warn({ detail: `client_secret=${HIDDEN}&grant_type=x` }, 'x')],
  ['an event', (log) => log.warn({}, `failed at https://u:${HIDDEN}@x/`)],
])('%s that holds a secret or a person is hidden', (_, log) => {
  expect(logged(log)).not.toContain(HIDDEN);
  expect(logged(log, true)).not.toContain(HIDDEN);
});

test('counts are shown, whatever they count', () => {
  expect(JSON.parse(logged((log) => log.info({ tokenRenewals: 3, hasPassword: false }, 'x')))).toMatchObject({
    tokenRenewals: 3,
    hasPassword: false,
  });
});

test('a terminal gets short lines, and stacks below them', () => {
  const text = logged(
    (log) =>
      log.warn(
        { purchaseId: 'p-1', note: 'two words', error: new Error('broken', { cause: new Error('reset') }) },
        'poll.failed',
      ),
    true,
  );
  const [line, ...stack] = text.replace(/\u001b\[\d+m/g, '').split('\n');
  expect(line).toMatch(/^\d\d:\d\d:\d\d\.\d{3} WARN {2}poll\.failed purchaseId=p-1 note="two words" error="broken: reset"$/);
  expect(stack[0]).toMatch(/^ +at /);
});

test('a terminal is not told what to do by what is logged', () => {
  expect(logged((log) => log.info({ reference: '\u001b[2J\u009b2J\n' }, 'x'), true)).toContain('"\\u001b[2J\\u009b2J\\n"');
});

test('the row that Postgres refused is not quoted', () => {
  const refused = Object.assign(new Error('violates a check'), {
    name: 'PostgresError',
    code: '23514',
    detail: 'Failing row contains (Anna Andersson)',
  });
  const text = logged((log) => log.error({ error: refused }, 'poll.unrecordable'));
  expect(text).toMatch(/"code":"23514"/);
  expect(text).not.toMatch(/Anna/);
});
