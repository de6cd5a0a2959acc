/** Announces orders that were paid twice, to systems and to people: see domain/incidents/paid-twice.ts for when. */

import { COMPLETED } from '../../domain/deciding/invoice.ts';
import { draftOf } from '../../domain/events/make-event.ts';
import type { ChannelRule } from '../../domain/incidents/audience.ts';
import { audienceOfPaidTwice, NOTHING_PAID, type PaidOrder, planPayments } from '../../domain/incidents/paid-twice.ts';
import { decimal } from '../../domain/values/exact-json.ts';
import { type Instant, isoTime } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { type NewEvent, SITE_SHARD } from '../../postgres/events/events.ts';
import { MOST_READ, orderCounts, purchasesToJudge, savePayments } from '../../postgres/incidents/paid-twice.ts';
import type { StoredPayment } from '../../postgres/stays/order-payments.ts';
import { peopleChannels } from '../../postgres/subscribers/symptoms.ts';
import type { Deps } from '../deps.ts';
import type { AlertMoment, Outcome } from './first-look.ts';
import { withDeafness } from './people.ts';

type Order = PaidOrder<StoredPayment>;

/** Judges the purchases that became Completed. */
export async function announcePaidTwice(
  { sql, log, meters, policy, channels }: Pick<Deps, 'sql' | 'log' | 'meters' | 'policy' | 'channels'>,
  { now, lease }: Pick<AlertMoment, 'now' | 'lease'>,
): Promise<Outcome> {
  const purchases = await purchasesToJudge(sql);
  const known = await orderCounts(sql);
  const plan = planPayments({
    now,
    wait: policy.groupWait,
    purchases,
    countsOf: (site) => known.get(site) ?? NOTHING_PAID,
  });
  if (plan.judged.length === 0) return { written: 0, lookAgainAt: plan.lookAgainAt };
  const forPeople = plan.orders.length === 0 ? [] : await peopleEvents(sql, plan.orders, { channels, now });
  const events = [...plan.orders.map((order) => systemEvent(order, now)), ...forPeople];
  const isSaved = await savePayments(sql, {
    judged: purchases.filter(({ id }) => plan.judged.includes(id)),
    named: namedOf(plan.orders),
    counts: plan.counts,
    events,
    now,
    lease,
  });
  // Another replica judges now, or a purchase was erased meanwhile: the next look reads how it is.
  if (!isSaved) return { written: 0, lookAgainAt: null };
  for (const { draft } of events) meters.committed(draft.type);
  for (const { site, payments } of plan.orders)
    log.warn({ site, purchases: payments.map(({ purchaseId }) => purchaseId) }, 'order.paid_twice');
  return { written: events.length, lookAgainAt: purchases.length === MOST_READ ? now : plan.lookAgainAt };
}

function namedOf(orders: readonly Order[]) {
  const all = orders.flatMap(({ site, payments }) =>
    payments.map(({ id, purchaseId }) => [id, `${site}/${purchaseId}`] as const),
  );
  return [...new Map(all)].map(([id, purchase]) => ({ id, purchase }));
}

function named({ purchaseId, reference, orderReference, currency, completedAt }: StoredPayment) {
  return { purchaseId, reference, orderReference, currency, completedAt: isoTime(completedAt) };
}

function systemEvent({ site, payments }: Order, now: Instant): NewEvent {
  const shown = payments.map((payment) => ({ ...named(payment), price: payment.price === null ? null : decimal(payment.price) }));
  const draft = draftOf('order.paid_twice', { at: now, state: COMPLETED }, { site, payments: shown });
  return { draft, site, purchase: null, shard: SITE_SHARD };
}

/** One for each site whose channels want it. */
async function peopleEvents(
  sql: Sql,
  orders: readonly Order[],
  { channels, now }: { readonly channels: readonly ChannelRule[]; readonly now: Instant },
): Promise<NewEvent[]> {
  const people = await peopleChannels(sql, now);
  const rules = withDeafness(channels, people);
  return [...Map.groupBy(orders, ({ site }) => site)].flatMap(([site, some]): NewEvent[] => {
    const audience = audienceOfPaidTwice(site, rules);
    const recipients = people.filter(({ name }) => audience.includes(name)).map(({ id }) => id);
    if (recipients.length === 0) return [];
    const data = {
      kind: 'paid_twice',
      severity: 'warning',
      site,
      orderCount: some.length,
      orders: some.map(({ payments }) => ({
        payments: payments.map((payment) => ({ ...named(payment), price: payment.price })),
      })),
    } as const;
    return [{ draft: draftOf('incident.paid_twice', { at: now }, data), site, purchase: null, shard: SITE_SHARD, recipients }];
  });
}
