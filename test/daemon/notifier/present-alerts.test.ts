/** How open incidents are repeated to channels that show what is wrong at present; that Alertmanager shows them is tested in channels/alertmanager. */
import { expect, test } from 'vitest';
import type { SendResult } from '../../../src/channels/outgoing/channel.ts';
import { createPresentAlerts } from '../../../src/daemon/notifier/present-alerts.ts';
import type { PresentAlert } from '../../../src/postgres/incidents/present.ts';
import { aLog, NOW } from './parts.ts';

const DELIVERED: SendResult = { kind: 'delivered', tookMs: 9, excerpt: '', httpStatus: 200 };
const REFUSED: SendResult = {
  ...{ kind: 'failed', tookMs: 9, excerpt: '', httpStatus: 503, retryAfter: null, fault: 'receiver' },
  ...{ reason: 'http_503', detail: 'It answers 503.' },
};
const alertOf = (id: string, differs: Partial<PresentAlert> = {}): PresentAlert => ({
  ...{ id, type: 'incident.opened', body: `{"${id}":1}`, isOver: false, delivery: 5, isDelivered: true },
  ...differs,
});

/** Two channels, which take what is sent or not, and their alerts. */
function channels(alerts: Record<string, PresentAlert[]>) {
  const { log, logged } = aLog();
  const sent: unknown[][] = [];
  const retried: unknown[] = [];
  const asked: unknown[][] = [];
  const closed: string[] = [];
  const state = {
    result: { '@pager': DELIVERED, '@other': DELIVERED } as Record<string, SendResult>,
    signal: null as AbortSignal | null,
  };
  const sql = Object.assign(
    (strings: readonly string[], ...values: unknown[]) => {
      const text = strings.join('');
      if (text.includes('is_delivered')) {
        asked.push(values);
        return Promise.resolve(alerts[values[0] as string] ?? []);
      }
      if (text.includes('old as materialized')) retried.push(values[0]);
      return Promise.resolve([]);
    },
    { unsafe: () => '' },
  );
  const named = (name: string) => ({
    definition: { name },
    open: () => ({
      channel: {
        send: async (event: unknown, { attempt, now, signal }: { attempt: number; now: number; signal: AbortSignal }) => {
          sent.push([name, event, attempt, now]);
          state.signal = signal;
          return state.result[name]!;
        },
        close: async () => void closed.push(name),
      },
    }),
  });
  const present = createPresentAlerts({
    ...{ sql: sql as never, log, clock: { now: () => NOW } as never },
    channels: ['@pager', '@other'].map(named) as never,
  });
  return { present, state, sent, retried, asked, closed, logged };
}

test('each minute every alert is sent to its channel again, and ends of the last hour as ends', async () => {
  const { present, sent, asked, retried, logged } = channels({
    '@pager': [alertOf('evt_1'), alertOf('evt_2', { type: 'incident.grown', isOver: true })],
    '@other': [alertOf('evt_3')],
  });
  expect(await present.tick()).toBe(60_000);
  expect(sent).toEqual([
    ['@pager', { id: 'evt_1', type: 'incident.opened', body: '{"evt_1":1}' }, 1, NOW],
    ['@pager', { id: 'evt_2', type: 'incident.ended', body: '{"evt_2":1}' }, 1, NOW],
    ['@other', { id: 'evt_3', type: 'incident.opened', body: '{"evt_3":1}' }, 1, NOW],
  ]);
  expect(asked.map(([name, since]) => [name, since])).toEqual([
    ['@pager', 3_600_000],
    ['@other', 3_600_000],
  ]);
  expect([retried, logged]).toEqual([[], []]);
});

test('a channel that does not take an alert gets no other one now, is delivered to soon, and is logged once until it takes one', async () => {
  const { present, state, sent, retried, logged } = channels({
    '@pager': [alertOf('evt_1'), alertOf('evt_2')],
    '@other': [alertOf('evt_3')],
  });
  state.result['@pager'] = REFUSED;
  await present.tick();
  expect([sent.map(([name]) => name), retried]).toEqual([['@pager', '@other'], [5]]);
  await present.tick();
  expect(logged).toMatchObject([{ level: 'warn', event: 'alert.not_repeated', subscriber: '@pager', detail: 'It answers 503.' }]);
  state.result['@pager'] = DELIVERED;
  await present.tick();
  state.result['@pager'] = REFUSED;
  await present.tick();
  expect(logged).toHaveLength(2);
});

test.each([
  ['that is still to be delivered', { isDelivered: false }],
  ['that is over', { isOver: true }],
])('an alert %s is not delivered again', async (_, differs) => {
  const { present, state, retried } = channels({ '@pager': [alertOf('evt_1', differs)] });
  state.result['@pager'] = REFUSED;
  await present.tick();
  expect(retried).toEqual([]);
});

test('a daemon that stops breaks off what is under way, and says nothing of it', async () => {
  const { present, state, sent, closed, logged, retried } = channels({ '@pager': [alertOf('evt_1'), alertOf('evt_2')] });
  state.result['@pager'] = REFUSED;
  const ticking = present.tick();
  await present.close();
  await ticking;
  expect([closed, state.signal?.aborted]).toEqual([['@pager', '@other'], true]);
  expect([sent.length, logged, retried]).toEqual([1, [], []]);
});
