/** Questions to a real process, asked by the official client, whose answers must be what the simulator knows. */
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { quickStart } from '../../support/daemon.ts';
import { startStuckShop } from '../../support/stuck-shop.ts';
import type { TestApp } from '../../support/test-app.ts';

const KEYS = { API_KEY: 'key-that-may-do-everything-0123456789', API_READ_KEY: 'key-that-only-reads-0123456789' };
const PAID = 6;
const CANCELLED = 3;
const PERSON = 'Kim Andersson';
const NOTE = 'called the customer Eva back';

let t: TestApp;
let stuck: string;
const ended: string[] = [];

beforeAll(async () => {
  ({ t, stuck } = await startStuckShop(KEYS));
  const { sql } = t.database;
  for (let each = 0; each < PAID + CANCELLED; each++) {
    const end = { state: each < PAID ? 'Completed' : 'Cancelled', afterPolls: 1 };
    const spec = { script: [{ state: 'New' }, end], price: '20.25', currency: 'SEK' };
    ended.push(await t.watch(spec, { reference: `ORD-EVA-${each}`, metadata: '{"mail": "eva@example.com"}' }));
  }
  const counted = () => sql`select from purchase_watch_internal.outcomes where purchase in
    (select id from purchase_watch.purchases where purchase_id = any(${ended}::text[]))`;
  await vi.waitFor(async () => expect(await counted()).toHaveLength(PAID + CANCELLED), { timeout: 120_000, interval: 200 });
  // Trends leave the present hour out.
  for (const table of ['outcome_hours', 'waited_hours'])
    await sql`update ${sql(`purchase_watch_internal.${table}`)} set hour = hour - interval '1 hour'`;
  const care = { by: PERSON, note: NOTE };
  await call('POST', `/v1/incidents/${stuck}/acknowledge`, care);
}, 240_000);
afterAll(() => t.stop());

const call = async (method: string, path: string, body: object): Promise<void> => {
  const headers = { authorization: `Bearer ${KEYS.API_KEY}`, 'content-type': 'application/json' };
  const answer = await fetch(`${t.app.url()}${path}`, { method, headers, body: JSON.stringify(body) });
  expect(answer.ok, await answer.text()).toBe(true);
};

/** The purchases that wait for the card provider at the simulator. */
const waiting = () => t.simulator.control.list({ state: 'WaitingForCardPayments' });

// biome-ignore lint/suspicious/noExplicitAny: each question knows the answer that it looks into.
type Answer = any;
interface Question {
  readonly asks: string;
  readonly tool: string;
  readonly given?: () => Record<string, unknown>;
  /** The part of the answer that says it. */
  readonly read: (answer: Answer) => unknown;
  /** What the simulator, or who changed something, knows. */
  readonly truth: () => unknown;
}

const LONGER = { states: { WaitingForCardPayments: { stuckAfter: '30m' } } };
const QUESTIONS: readonly Question[] = [
  {
    asks: 'Does anything need a person?',
    tool: 'status',
    read: ({ headline }) => headline.needs.map((need: Answer) => [need.kind, need.incident]),
    truth: () => [['incident', stuck]],
  },
  {
    asks: 'How many purchases are watched?',
    tool: 'status',
    read: ({ purchases }) => purchases.watching,
    truth: () => waiting().length,
  },
  { asks: 'How many are stuck?', tool: 'status', read: ({ purchases }) => purchases.stuck, truth: () => waiting().length },
  {
    asks: 'How many were completed?',
    tool: 'status',
    read: ({ purchases }) => purchases.groups.find((group: Answer) => group.state?.name === 'Completed').count,
    truth: () => t.simulator.control.list({ state: 'Completed' }).length,
  },
  { asks: 'Does the checkout service answer?', tool: 'status', read: ({ sites }) => sites[0].answers, truth: () => true },
  {
    asks: 'Does the shop get its events?',
    tool: 'status',
    read: ({ subscribers }) => subscribers.find((each: Answer) => each.name === 'default').health.status,
    truth: () => 'ok',
  },
  { asks: 'What is wrong now?', tool: 'incidents', read: ({ data }) => data.map(({ id }: Answer) => id), truth: () => [stuck] },
  {
    asks: 'At which step are customers stuck, and how many?',
    tool: 'incidents',
    given: () => ({ kind: 'stuck', site: 'default' }),
    read: ({ data }) => data.map(({ state, count }: Answer) => [state.name, count]),
    truth: () => [['WaitingForCardPayments', waiting().length]],
  },
  {
    asks: 'Which money waits?',
    tool: 'incidents',
    read: ({ data }) => data[0].money.waiting,
    truth: () => [
      {
        amount: waiting()
          .reduce((sum, { price }) => sum + Number(price), 0)
          .toFixed(2),
        currency: 'SEK',
      },
    ],
  },
  { asks: 'What is over?', tool: 'incidents', given: () => ({ status: 'ended' }), read: ({ data }) => data, truth: () => [] },
  {
    asks: 'Is a site unreachable?',
    tool: 'incidents',
    given: () => ({ kind: 'unreachable', status: 'all' }),
    read: ({ data }) => data,
    truth: () => [],
  },
  {
    asks: 'Does anybody look after it?',
    tool: 'incident',
    given: () => ({ id: stuck }),
    read: ({ acknowledged }) => Object.keys(acknowledged),
    truth: () => ['at'],
  },
  {
    asks: 'After how long is a customer stuck there?',
    tool: 'incident',
    given: () => ({ id: stuck }),
    read: ({ limit }) => limit.ms,
    truth: () => 1_000,
  },
  {
    asks: 'Who was alerted?',
    tool: 'incident',
    given: () => ({ id: stuck }),
    read: ({ said }) => [said[0].channel, said[0].stage, said.length > 0 && t.slack.received.length > 0],
    truth: () => ['@slack', 'opened', true],
  },
  {
    asks: 'What is the matter with this customer?',
    tool: 'why',
    given: () => ({ purchaseId: waiting()[0]!.purchaseId }),
    read: ({ purchase, matters, verdict }) => [purchase.state.name, matters[0].code, verdict !== ''],
    truth: () => [waiting()[0]!.state.name, 'stuck', true],
  },
  {
    asks: 'Did this customer pay, and is all well?',
    tool: 'why',
    given: () => ({ purchaseId: ended[0]! }),
    read: ({ purchase, matters }) => [purchase.status, purchase.state.value, matters],
    truth: () => ['settled', t.simulator.control.get(ended[0]!)!.state.value, []],
  },
  {
    asks: 'Through which states did the customer go?',
    tool: 'why',
    given: () => ({ purchaseId: ended.at(-1)! }),
    read: ({ steps }) => steps.filter((each: Answer) => each.kind === 'transition').map(({ to }: Answer) => to.value),
    truth: () => t.simulator.control.get(ended.at(-1)!)!.history.map(({ state }) => state),
  },
  {
    asks: 'How many customers paid today, and may I say a share?',
    tool: 'trends',
    given: () => ({ range: '24h' }),
    read: ({ total }) => [total.customers, total.paid, total.notPaid, total.share, total.change],
    truth: () => [PAID + CANCELLED, PAID, CANCELLED, null, 'too_few'],
  },
  {
    asks: 'Which money came in, and which was lost?',
    tool: 'trends',
    given: () => ({ range: '24h', site: 'default', zone: 'Europe/Stockholm' }),
    read: ({ money }) => money.map(({ currency, paid, notPaid }: Answer) => [currency, Number(paid), Number(notPaid)]),
    truth: () => [['SEK', PAID * 20.25, CANCELLED * 20.25]],
  },
  {
    asks: 'Where were customers lost?',
    tool: 'trends',
    given: () => ({ range: '24h' }),
    read: ({ ways }) => ways.map(({ state, notPaid }: Answer) => [state.name, notPaid]),
    truth: () => [['New', CANCELLED]],
  },
  {
    asks: 'Would the alert have come under the settings of now?',
    tool: 'rehearse',
    given: () => ({ from: '1h' }),
    read: ({ rehearsed, present }) => [rehearsed.incidents, rehearsed.overdue, present],
    truth: () => [1, waiting().length, null],
  },
  {
    asks: 'And with a limit of half an hour?',
    tool: 'rehearse',
    given: () => ({ from: '1h', settings: LONGER }),
    read: ({ rehearsed, present, changed }) => [rehearsed.incidents, present.incidents, changed[0].tried],
    truth: () => [0, 1, '30m'],
  },
];

describe.each([
  ['2025-11-25', 'legacy'],
  ['2026-07-28', { pin: '2026-07-28' }],
] as const)('by revision %s', (_revision, mode) => {
  let client: Client;
  const said: string[] = [];
  beforeAll(async () => {
    const args = [join(import.meta.dirname, '../../../bin/purchase-watch.mjs'), 'mcp', '--url', t.app.url()!];
    const env = { PATH: process.env.PATH ?? '', API_READ_KEY: KEYS.API_READ_KEY, ...quickStart() };
    client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(new StdioClientTransport({ command: process.execPath, args, env }));
    // From here on the client compares each answer with the schema of its tool.
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['status', 'incidents', 'incident', 'why', 'trends', 'rehearse']);
  });
  afterAll(async () => {
    await client.close();
  });

  test.each(QUESTIONS.map((each) => [each.asks, each] as const))('%s', async (_asks, { tool: name, given, read, truth }) => {
    const answer = await client.callTool({ name, arguments: given?.() ?? {} });
    expect(answer.isError, JSON.stringify(answer.content)).toBeUndefined();
    said.push(JSON.stringify(answer));
    expect(answer.content).toEqual([{ type: 'text', text: JSON.stringify(answer.structuredContent) }]);
    expect(read(answer.structuredContent)).toEqual(truth());
  });

  test.each([
    ['why', { purchaseId: 'nobody' }, /^purchase_not_found: .*nobody/],
    ['why', { purchaseId: '..' }, /purchaseId: must be a Purchase ID/],
    ['trends', { range: '24h', zone: 'Europe/Stokholm' }, /Europe\/Stokholm/],
    ['incidents', { state: 'open' }, /state/],
    ['incident', { id: 'inc_../purchases' }, /id: must be the id of an incident/],
    ['rehearse', { from: '40d' }, /31/],
    ['rehearse', { from: '1h', settings: { states: { Waiting: {} } } }, /Waiting/],
  ])('%s of %j is refused with what to do', async (name, given, words) => {
    const answer = await client.callTool({ name, arguments: given });
    expect(answer.isError).toBe(true);
    expect(answer.content).toEqual([{ type: 'text', text: expect.stringMatching(words) }]);
  });

  test('no answer had a name, a note, a reference, metadata, personal data or a key', () => {
    expect(said).toHaveLength(QUESTIONS.length);
    const whole = said.join('\n');
    const personal = [PERSON, NOTE, 'ORD-', 'eva@', ...Object.values(KEYS), ...t.simulator.control.sensitiveValues()];
    expect(personal.length).toBeGreaterThan(50);
    expect(personal.filter((each) => whole.includes(each))).toEqual([]);
  });
});
