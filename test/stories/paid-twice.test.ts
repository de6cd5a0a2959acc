/** One order paid twice: what systems and people get, once, and where it is no news. */
import { afterEach, expect, test } from 'vitest';
import { rehearsedPaidTwiceBody } from '../../src/actions/rehearse/message.ts';
import { rehearse } from '../../src/actions/rehearse/rehearse.ts';
import { eventDraft } from '../../src/channels/people/messages/message.ts';
import { channelRules } from '../../src/config/channels.ts';
import { COMPLETED } from '../../src/domain/deciding/invoice.ts';
import { policyOf } from '../../src/domain/polling/poll-plan.ts';
import { onDatabase } from '../cli/command.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
afterEach(() => t.stop());

const MINUTE = 60_000;
const PAID = [{ state: 'New' }, { state: 'Completed', after: '5s' }];

/** `order`: the service's name of it, that of the merchant left out. */
const pay = (reference: string | null, { price = '499.00', order }: { price?: string; order?: string } = {}): Promise<string> => {
  const spec = { script: PAID, price, currency: 'SEK' };
  return t.watch(order === undefined ? spec : { ...spec, reference: order }, reference === null ? {} : { reference });
};
const texts = (): string[] => t.slack.received.map(({ text }) => text);
interface Payment {
  readonly purchaseId: string;
  readonly price: number;
  readonly currency: string;
  readonly completedAt: string;
}
const events = (): { id: string; data: { site: string; payments: Payment[] } }[] =>
  t.receiver.received.map(({ body }) => JSON.parse(body)).filter(({ type }) => type === 'order.paid_twice');
const idsOf = (at: number): string[] => events()[at]!.data.payments.map(({ purchaseId }) => purchaseId);
const rows = () => t.app.sql`select announced_at is null as waits from purchase_watch_internal.order_payments`;

const counts = async () => [...(await t.app.sql`select paid, repeated from purchase_watch_internal.order_counts`)];

test('two replicas that judge at the same moments announce an order once, and count each payment once', async () => {
  t = await startTestApp();
  const [first, second] = [await pay('ORD-1'), await pay('ORD-1')];
  await expect
    .poll(
      async () => {
        await t.live(1_000, 1_000);
        return (await rows()).length;
      },
      { interval: 1 },
    )
    .toBe(2);
  const another = await t.another();
  await t.liveInSteps(2 * MINUTE, { step: 5_000, passes: ['judgeOnce'], by: [t.app, another, t.app] });
  await t.live(MINUTE);
  expect(events().map((_, at) => idsOf(at))).toEqual([[first, second]]);
  expect(texts()).toHaveLength(1);
  expect(await counts()).toEqual([{ paid: 2, repeated: 1 }]);
});

test('the second payment of an order: one event, one alert with both ids and amounts, and what to do', async () => {
  t = await startTestApp();
  const first = await pay('ORD-7');
  await t.live(2 * MINUTE);
  const other = await pay('ORD-8');
  const second = await pay('ORD-7', { price: '499.50' });
  await t.live(10 * MINUTE);
  expect(idsOf(0)).toEqual([first, second]);
  expect(events()[0]!.data.payments).toEqual([
    expect.objectContaining({ price: 499, currency: 'SEK', reference: 'ORD-7' }),
    expect.objectContaining({ price: 499.5, currency: 'SEK', reference: 'ORD-7' }),
  ]);
  expect(t.receiver.received.map(({ body }) => body).find((body) => body.includes('order.paid_twice'))).toContain(
    '"price":499.00',
  );
  const [text] = texts();
  expect(text!.split('\n')[0]).toBe('🟠 default: an order was paid twice: 499.00 SEK and 499.50 SEK');
  for (const part of [
    first,
    second,
    'Order: `ORD-7`',
    'refund one of them',
    'starts a new checkout',
    `purchase-watch why ${second}`,
  ])
    expect(text).toContain(part);
  expect(text).not.toContain(other);
  expect(t.slack.received[0]!.problem).toBeNull();
  for (const [id, twin, amount] of [
    [first, second, '499.50 SEK'],
    [second, first, '499.00 SEK'],
  ] as const) {
    const { stdout } = await onDatabase(t.database, ['why', id]);
    const said = stdout.replace(/\s+/g, ' ');
    expect(said).toContain(`Its order was paid twice, also by ${twin} (${amount}, completed`);
    expect(said).toContain('refund one of them');
    expect(said).toContain('announced that its order was paid twice');
  }
  // The poll that showed the change is repeated, the daemon starts again, and another one looks, too: nothing is said twice.
  for (const id of [first, second]) {
    await t.app.sql`insert into purchase_watch_internal.order_payments (purchase, paid_at)
      select id, now() from purchase_watch.purchases where purchase_id = ${id} on conflict do nothing`;
  }
  const another = await t.another();
  await t.live(5 * MINUTE);
  await Promise.all([another.judgeOnce(), t.app.judgeOnce()]);
  await t.live(MINUTE);
  expect([events().length, texts().length]).toEqual([1, 1]);
});

test('an order by the name that the service has for it; a third payment brings one more event, which names all', async () => {
  t = await startTestApp();
  const [first, second] = [await pay(null, { order: 'W-1' }), await pay(null, { order: 'W-1' })];
  await t.live(5 * MINUTE);
  expect(idsOf(0)).toEqual([first, second]);
  const third = await pay(null, { order: 'W-1' });
  await t.live(5 * MINUTE);
  expect(idsOf(1)).toEqual([first, second, third]);
  expect([events().length, texts().length]).toEqual([2, 2]);
  expect(texts()[1]!.split('\n')[0]).toBe('🟠 default: an order was paid 3 times: 499.00 SEK');
});

test('a payment that the merchant cancels before the alert alerts nobody, and neither does an order paid once', async () => {
  t = await startTestApp({
    change: ({ policy }) => {
      const states = new Map(policy.states);
      states.set(COMPLETED, { ...policyOf(policy, COMPLETED), recheck: [10_000] });
      Object.assign(policy, { states });
    },
  });
  await pay('ORD-1');
  await t.live(2 * MINUTE);
  const second = await pay('ORD-1');
  await expect
    .poll(
      async () => {
        await t.live(1_000, 1_000);
        return t.changesOf(second);
      },
      { interval: 1 },
    )
    .toContain('Completed');
  t.simulator.control.setState(second, 'Cancelled');
  await t.live(5 * MINUTE);
  expect(t.changesOf(second).at(-1)).toBe('Cancelled');
  expect([events(), texts(), [...(await rows())]]).toEqual([[], [], []]);
  expect(await counts()).toEqual([{ paid: 1, repeated: 0 }]);
});

test('a site that reuses references by design is quiet, and says so; a rehearsal finds the same', async () => {
  t = await startTestApp();
  const from = t.clock.now();
  for (let order = 0; order < 48; order++) await pay(`A-${order}`);
  await t.live(3 * MINUTE);
  const first = await pay('A-1');
  await t.live(3 * MINUTE);
  expect([events().length, texts().length]).toEqual([1, 1]);
  // 49 and 1 repeat; with one more, two of 50 repeat.
  const second = await pay('A-2');
  await t.live(3 * MINUTE);
  expect([events().length, texts().length]).toEqual([1, 1]);
  const reused = '2 of the last 50 paid purchases whose order is known were of an order that was paid before';
  const why = (await onDatabase(t.database, ['why', second])).stdout.replace(/\s+/g, ' ');
  expect(why).toContain('All is well');
  expect(why).toContain(`that is not announced, because ${reused}`);
  expect((await onDatabase(t.database, ['status'])).stdout.replace(/\s+/g, ' ')).toContain(
    `At default orders paid twice are not announced: ${reused}`,
  );
  // The purchase of the alert has no red line any more either: its order is not distinguished from the others.
  expect((await onDatabase(t.database, ['why', first])).stdout).toContain('All is well');
  const options = { from, to: t.clock.now(), policy: t.settings.policy, alerts: t.settings.slack, site: null, silences: true };
  const { paidTwice, reusing, really } = await rehearse(t.app.sql, { ...options, channels: channelRules(t.settings) });
  expect(paidTwice).toHaveLength(1);
  expect(eventDraft(rehearsedPaidTwiceBody(paidTwice[0]!), { consoleUrl: null }).headline).toBe(
    '🟠 default: an order was paid twice',
  );
  expect(reusing).toEqual([{ site: 'default', paid: 50, repeated: 2 }]);
  expect(really.messages.map(({ type }) => type)).toEqual(['incident.paid_twice']);
  const off = channelRules(t.settings).map((rule) => ({ ...rule, paidTwice: false }));
  expect((await rehearse(t.app.sql, { ...options, channels: off })).paidTwice).toEqual([]);
});

test('what was paid before the first load only teaches; a payment that is seen to come is announced', async () => {
  t = await startTestApp();
  const old = () => t.watch({ script: [{ state: 'Completed' }], price: '10.00', currency: 'SEK' }, { reference: 'OLD' });
  const before = [await old(), await old()];
  await t.live(5 * MINUTE);
  expect([events(), texts(), [...(await rows())]]).toEqual([[], [], []]);
  expect(await counts()).toEqual([{ paid: 2, repeated: 1 }]);
  const later = await pay('OLD');
  await t.live(5 * MINUTE);
  expect(idsOf(0)).toEqual([...before, later]);
  expect(texts()).toHaveLength(1);
});

test('switched off, people are not alerted, and systems get the event', async () => {
  t = await startTestApp({
    change: (settings) => {
      settings.channels = settings.channels.map((channel) => ({ ...channel, paidTwice: false }));
    },
  });
  for (const reference of ['O-1', 'O-1']) await pay(reference);
  await t.live(5 * MINUTE);
  expect([events().length, texts().length]).toEqual([1, 0]);
});

test('after forget no event and no table names the purchase, and the other payment stays', async () => {
  t = await startTestApp();
  const [first, second] = [await pay('ORD-9', { price: '123.45' }), await pay('ORD-9')];
  await t.live(5 * MINUTE);
  expect((await onDatabase(t.database, ['forget', first, '--yes', '--json'])).exitCode).toBe(0);
  const bodies = await t.app.sql<{ type: string; body: string }[]>`
    select type, body from purchase_watch_internal.events where type like '%paid_twice' order by type`;
  expect(bodies.map(({ type }) => type)).toEqual(['incident.paid_twice', 'order.paid_twice']);
  for (const { body } of bodies) {
    expect(body).not.toContain(first);
    expect(body).not.toContain('123.45');
    expect(body).toContain('(erased)');
    expect(body).toContain(second);
  }
  expect([...(await rows())]).toEqual([{ waits: false }]);
  expect((await onDatabase(t.database, ['why', second])).stdout).toContain('All is well');
});
