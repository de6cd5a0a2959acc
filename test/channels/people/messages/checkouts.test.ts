import { expect, test } from 'vitest';
import { exampleEvents } from '../../../../src/channels/people/examples.ts';
import { type SlackMessage, slackFolded, slackMessage } from '../../../../src/channels/slack/message.ts';
import { messageProblem } from '../../../support/slack-stand-in.ts';

const card = { value: 6, name: 'WaitingForCardPayments' };
const at = (minute: number): string => `2026-11-20T09:${String(minute).padStart(2, '0')}:00.000Z`;
const checkout = (number: number, since = 0): object => ({
  ...{ site: 'se', state: card, purchaseId: `p-${number}`, reference: null, orderReference: `ORD-${number}` },
  ...{ price: '1249.50', currency: 'SEK', since: at(since), stuckSince: at(since + 15), limitMs: 900_000 },
});
const over = (number: number, differs: object = {}): object => ({
  ...{ ...checkout(number), outcome: 'got_on', to: { value: 2, name: 'Completed' }, overAt: at(40) },
  ...differs,
});
const reason = { site: 'se', state: card, mode: 'auto', counted: 14, perDay: 5, isLast: false, count: 1, lastWellAt: null };
const cause = {
  cause: 'rerender',
  why: '1 customer is stuck waiting for the card provider, for which the specification names this reason.',
};
const body = (data: { stuck?: object[]; over?: object[]; [key: string]: unknown }, minute = 16): string =>
  JSON.stringify({
    ...{ id: 'evt_1', type: 'incident.checkouts', timestamp: at(minute) },
    data: {
      ...{ kind: 'checkouts', severity: 'warning', stuckCount: data.stuck?.length ?? 0, overCount: data.over?.length ?? 0 },
      ...{ stuck: [], over: [], reasons: [reason], causes: [cause] },
      ...data,
    },
  });
const message = (data: Parameters<typeof body>[0]): SlackMessage => {
  const made = slackMessage(body(data), { consoleUrl: null });
  expect(messageProblem(made)).toBeNull();
  return made;
};
const headline = ({ text }: SlackMessage): string => text.split('\n')[0]!;

test('one stuck checkout: which, whose order, how much, for how long, why it may be and what to do', () => {
  const made = message({ stuck: [checkout(1)] });
  expect(headline(made)).toBe('🟠 se: 1 checkout stuck waiting for the card provider for 16 min, 1 249.50 SEK');
  for (const part of ['Purchase: `p-1`', 'Order: `ORD-1`', 'Money: 1 249.50 SEK', 'Stuck after: 15 min', 'Severity: warning'])
    expect(made.text).toContain(part);
  expect(made.text).toContain('*Likely cause: The page cannot render itself again*');
  expect(made.text).toContain('*What to do*');
  expect(made.text).toContain('The customer may have left on purpose. No customer is known who got on here.');
  expect(made.text).toContain('Each stuck checkout here alerts, because only 14 stays are counted (100 are needed).');
  expect(made.text).toContain('`purchase-watch why p-1`');
});

test("the merchant's own reference is shown, and the service's too where it differs", () => {
  const order = (named: object): string => message({ stuck: [{ ...checkout(1), ...named }] }).text;
  expect(order({ reference: 'WEB-7', orderReference: 'WEB-7' })).toContain('Order: `WEB-7`\n');
  expect(order({ reference: 'WEB-7', orderReference: null })).toContain('Order: `WEB-7`\n');
  expect(order({ reference: 'WEB-7', orderReference: '1001' })).toContain('Order: `WEB-7` (at the service `1001`)');
});

test('what is not known is said so', () => {
  const made = message({ stuck: [{ ...checkout(1), orderReference: null, price: null }] });
  expect(headline(made)).toBe('🟠 se: 1 checkout stuck waiting for the card provider for 16 min');
  expect(made.text).toContain('Order: not known\nMoney: not known');
});

test('several are named in a line each, with those that are over', () => {
  const made = message({ stuck: [checkout(1), checkout(2, 5)], over: [over(3)] });
  expect(headline(made)).toBe('🟠 se: 2 checkouts stuck waiting for the card provider, the oldest for 16 min');
  expect(made.text).toContain(
    '• `p-1`, order `ORD-1`, 1 249.50 SEK, for 16 min\n• `p-2`, order `ORD-2`, 1 249.50 SEK, for 11 min',
  );
  expect(made.text).toContain('*No longer stuck*\n• ✅ `p-3`, order `ORD-3`, 1 249.50 SEK: got on (completed) after 40 min');
});

test.each([
  [{}, '✅ se: the stuck checkout got on (completed) after 40 min, 1 249.50 SEK'],
  [
    { outcome: 'left', to: { value: 5, name: 'SessionTimedOut' } },
    '⚪ se: the stuck checkout left (timed out) after 40 min, 1 249.50 SEK',
  ],
  [
    { outcome: 'paid', to: null },
    '✅ se: the stuck checkout is over: its order was paid by another purchase after 40 min, 1 249.50 SEK',
  ],
])('the end: %j', (differs, expected) => expect(headline(message({ over: [over(1, differs)] }))).toBe(expected));

test('several ends are one message', () => {
  const left = over(2, { outcome: 'left', to: { value: 5, name: 'SessionTimedOut' } });
  const made = message({ over: [over(1), left] });
  expect(headline(made)).toBe('✅ se: 2 stuck checkouts are over, 1 got on, 1 did not');
  expect(made.text).toContain('p-1');
  expect(made.text).toContain('left (timed out)');
});

test('the last single alert says that incidents take over', () => {
  const made = message({ stuck: [checkout(1)], reasons: [{ ...reason, counted: 112, perDay: 34.4, isLast: true }] });
  expect(made.text).toContain('From now on incidents take over here: 112 stays are counted and about 34 customers a day come');
});

test('what waited is one message: a checkout that is over by then is not called stuck', () => {
  const folded = slackFolded(
    [body({ stuck: [checkout(1), checkout(2)] }), body({ stuck: [checkout(4, 30)] }, 46), body({ over: [over(1)] }, 48)],
    {
      ...{ consoleUrl: null, since: Date.parse(at(16)), until: Date.parse(at(48)), now: Date.parse(at(50)), reason: 'capped' },
      incidents: new Map(),
    },
  );
  expect(messageProblem(folded)).toBeNull();
  expect(headline(folded)).toContain('2 checkouts stuck');
  expect(folded.text).toContain('• `p-2`');
  expect(folded.text).toContain('• `p-4`');
  expect(folded.text).not.toContain('• `p-1`');
  expect(folded.text).toContain('• ✅ `p-1`');
});

test('beside an incident that goes on, each is named all the same', () => {
  const incident = {
    ...{ incidentId: 'inc_1', kind: 'stuck', site: 'fi', state: card, severity: 'critical', count: 42, peak: 44 },
    ...{ openedAt: at(16), endedAt: null, since: at(2), parts: [], purchases: [], waiting: [] },
  };
  const opened = JSON.stringify({ id: 'evt_2', type: 'incident.opened', timestamp: at(17), data: incident });
  const folded = slackFolded([body({ stuck: [checkout(1)] }), opened], {
    ...{ consoleUrl: null, since: Date.parse(at(16)), until: Date.parse(at(17)), now: Date.parse(at(17)), reason: 'several' },
    incidents: new Map(),
  });
  expect(headline(folded)).toContain('42 customers stuck');
  expect(folded.text).toContain('*Stuck checkout*\n• `p-1`, order `ORD-1`');
});

test('ids at their longest fit into one message, and the number says how many there are', () => {
  const example = exampleEvents(Date.parse(at(16)), 'longest').find(({ type }) => type === 'incident.checkouts')!;
  const made = slackMessage(example.body, { consoleUrl: null });
  expect(messageProblem(made)).toBeNull();
  expect(headline(made)).toContain('TEST: ');
  expect(headline(made)).toContain('30 checkouts stuck');
  expect(made.text).toMatch(/and \d+ more/);
  expect(made.text).toContain('What to do');
});

test('each id links to its purchase, and the headline to the only one, where there is a console', () => {
  const consoleUrl = 'https://watch.example/ops';
  const one = slackMessage(body({ stuck: [checkout(1)] }), { consoleUrl });
  expect(messageProblem(one)).toBeNull();
  expect(JSON.stringify(one.blocks[0])).toContain('*<https://watch.example/ops/purchases/se/p-1|🟠 se: 1 checkout stuck');
  expect(one.text).toContain('Purchase: <https://watch.example/ops/purchases/se/p-1|p-1>');
  const several = slackMessage(body({ stuck: [checkout(1), checkout(2)], over: [over(3)] }), { consoleUrl });
  expect(JSON.stringify(several.blocks[0])).toContain('*<https://watch.example/ops/purchases|🟠');
  expect(several.text).toContain('• <https://watch.example/ops/purchases/se/p-2|p-2>, order');
  expect(several.text).toContain('✅ <https://watch.example/ops/purchases/se/p-3|p-3>, order');
});

test('links go before names do where there are many checkouts', () => {
  const example = exampleEvents(Date.parse(at(16)), 'longest').find(({ type }) => type === 'incident.checkouts')!;
  const [plain, linked] = [null, 'https://watch.example/ops'].map((consoleUrl) => slackMessage(example.body, { consoleUrl }));
  const andMore = /and \d+ more: /.exec(plain!.text)![0];
  expect(messageProblem(linked!)).toBeNull();
  expect(linked!.text).toContain(andMore);
});

test('a body of another shape is announced by its type', () => {
  const odd = JSON.stringify({ id: 'evt_1', type: 'incident.checkouts', timestamp: at(1), data: { stuck: [{ site: 3 }] } });
  expect(headline(slackMessage(odd, { consoleUrl: null }))).toBe('purchase-watch: incident.checkouts');
});
