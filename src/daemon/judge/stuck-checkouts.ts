/** Alerts people of single stuck checkouts, where `slack.stuck` asks for it: see domain/incidents/stuck-checkouts.ts for when. */

import { draftOf } from '../../domain/events/make-event.ts';
import type { IncidentEventData } from '../../domain/events/people-event-types.ts';
import { type RankedCause, rankCauses } from '../../domain/incidents/causes.ts';
import {
  type CheckoutAlert,
  checkoutOutcome,
  MOST_AT_FIRST_LOOK,
  planCheckouts,
  type StuckCheckout,
} from '../../domain/incidents/stuck-checkouts.ts';
import { namedState } from '../../domain/purchases/states.ts';
import { NOTHING_KNOWN } from '../../domain/stays/usual.ts';
import { type Instant, isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import { type NewEvent, SITE_SHARD } from '../../postgres/events/events.ts';
import { openIncidents } from '../../postgres/incidents/incidents.ts';
import { silencesAt } from '../../postgres/incidents/silences.ts';
import {
  checkoutsToAlert,
  type StoredCheckout,
  saveCheckouts,
  singlePlaces,
  sitesWithBacklog,
  unreadableAlertedAt,
} from '../../postgres/incidents/stuck-alerts.ts';
import { causeEvidence } from '../../postgres/stays/evidence.ts';
import { RECENT, type UsualReader } from '../../postgres/stays/usual.ts';
import { peopleChannels } from '../../postgres/subscribers/symptoms.ts';
import type { Deps } from '../deps.ts';
import type { AlertMoment, Outcome } from './first-look.ts';
import { type PeopleChannels, withDeafness } from './people.ts';

interface CheckoutAlertsOptions
  extends Pick<Deps, 'sql' | 'log' | 'meters' | 'policy' | 'sessionLength' | 'limits' | 'channels'> {
  readonly usual: UsualReader;
}

/** Checkouts that one event names; the rest is counted. */
const MOST_NAMED = 50;
/** A few customers speak for the likeliest cause at most. */
const MOST_CAUSES = 1;
/** Why an alert of a purchase that cannot be read goes out: there is nothing to learn first. */
const ALONE = { mode: 'each', counted: 0, perDay: null, isLast: false } as const;
const ADVICE = 'no channel for people takes messages, so only the log says this; see: purchase-watch subscribers';

type Checkout = StuckCheckout & { readonly stored: StoredCheckout };
type Alert = CheckoutAlert<Checkout>;

/** Makes what alerts people of single stuck checkouts. */
export function createCheckoutAlerts(options: CheckoutAlertsOptions) {
  const { sql, log, meters } = options;
  const plansOf = createPlans(options);

  const eventOf = async (alert: Alert, recipients: readonly number[], now: Instant): Promise<NewEvent> => {
    const sites = new Set([...alert.stuck, ...alert.over].map(({ site }) => site));
    const [only = ''] = sites;
    const data = await dataOf(alert, options);
    const draft = draftOf('incident.checkouts', { at: now }, data);
    return { site: sites.size === 1 ? only : '', purchase: null, shard: SITE_SHARD, recipients, draft };
  };

  const report = (alerts: readonly Alert[], people: PeopleChannels): void => {
    for (const { channels: alerted, stuck, over } of alerts) {
      const purchases = stuck.slice(0, MOST_NAMED).map(({ stored }) => stored.purchaseId);
      const about = { stuck: stuck.length, over: over.length, channels: alerted, purchases };
      const word = stuck.some(({ stored }) => stored.unreadable !== null) ? 'checkouts.unreadable' : 'checkouts.stuck';
      if (stuck.length === 0) log.info(about, 'checkouts.over');
      else if (people.some(({ name, isDeaf }) => !isDeaf && alerted.includes(name))) log.warn(about, word);
      else log.error({ ...about, advice: ADVICE }, word);
    }
  };

  return {
    alert: async ({ now, lease }: Pick<AlertMoment, 'now' | 'lease'>): Promise<Outcome> => {
      const stored = await checkoutsToAlert(sql);
      if (stored.length === 0) return { written: 0, lookAgainAt: null };
      const people = await peopleChannels(sql, now);
      const { alerts, dropped, lookAgainAt } = await plansOf(stored, now, people);
      if (alerts.length === 0 && dropped.length === 0) return { written: 0, lookAgainAt };
      const events: NewEvent[] = [];
      const stuck: { id: number; alerted: number[]; reason: Alert['reasons'][number] }[] = [];
      for (const alert of alerts) {
        const recipients = people.filter(({ name }) => alert.channels.includes(name)).map(({ id }) => id);
        if (recipients.length > 0) events.push(await eventOf(alert, recipients, now));
        for (const { id, site, state } of alert.stuck) {
          const reason = alert.reasons.find((each) => each.site === site && each.state === state) ?? { site, state, ...ALONE };
          stuck.push({ id, alerted: recipients, reason });
        }
      }
      const over = alerts.flatMap((alert) => alert.over.map(({ id }) => id));
      const results = { read: stored, stuck, over, dropped: dropped.map(({ id }) => id), events };
      // Another replica judges now, or an earlier statement has written it: the next look reads how it is.
      if (!(await saveCheckouts(sql, { ...results, now, lease }))) return { written: 0, lookAgainAt: null };
      for (const { draft } of events) meters.committed(draft.type);
      report(alerts, people);
      return { written: events.length, lookAgainAt };
    },
  };
}

/** The checkouts to alert people of: decided apart for those that are stuck, and for purchases that cannot be read. */
function createPlans({ sql, policy, channels, usual }: CheckoutAlertsOptions) {
  /** How a checkout stands: by its row, but for what is learned of the others. */
  const checkoutOf = (stored: StoredCheckout, people: PeopleChannels): Checkout => {
    const { id, site, state, stuckAt, overAt } = stored;
    const alerted = stored.alerted && people.filter((channel) => stored.alerted!.includes(channel.id)).map(({ name }) => name);
    return { id, site, state, stuckAt, isBacklog: false, alerted, overAt, stored };
  };

  /** The facts that every plan rests on. */
  const standing = async (now: Instant, people: PeopleChannels) => ({
    now,
    silences: await silencesAt(sql, now),
    channels: withDeafness(channels, people),
    policy,
  });

  const planStuck = async (stored: readonly StoredCheckout[], now: Instant, people: PeopleChannels) => {
    await usual.refresh(now, RECENT);
    const fresh = stored.filter(({ alerted }) => alerted === null);
    const firstSeen = [...new Set(fresh.filter(({ firstSight }) => firstSight).map(({ site }) => site))];
    const backlogs = firstSeen.length === 0 ? [] : await sitesWithBacklog(sql, firstSeen, MOST_AT_FIRST_LOOK);
    const [facts, incidents, single] = await Promise.all([
      standing(now, people),
      openIncidents(sql, now),
      singlePlaces(sql, fresh),
    ]);
    const places = new Set(
      incidents.flatMap(({ kind, site, state, endedAt }) => (kind === 'stuck' && endedAt === null ? [`${site} ${state}`] : [])),
    );
    const checkouts = stored.map((each): Checkout => {
      const checkout = checkoutOf(each, people);
      // The customer of a paid order does not wait for the checkout.
      const overAt = each.overAt ?? (each.alerted === null && each.isPaid ? now : null);
      return { ...checkout, overAt, isBacklog: each.firstSight && backlogs.includes(each.site) };
    });
    return planCheckouts({
      ...facts,
      checkouts,
      known: usual.of,
      hasIncident: (site, state) => places.has(`${site} ${state}`),
      isSingle: (site, state) => single.some((place) => place.site === site && place.state === state),
    });
  };

  /** Nothing is learned of purchases that cannot be read, and further ones of the next minutes go together. */
  const planUnreadable = async (stored: readonly StoredCheckout[], now: Instant, people: PeopleChannels) => {
    const [facts, last] = await Promise.all([standing(now, people), unreadableAlertedAt(sql)]);
    const isBusy = last !== null && now - last < policy.groupInterval;
    const { alerts, ...plan } = planCheckouts({
      ...facts,
      checkouts: stored.map((each) => checkoutOf(each, people)),
      policy: { ...policy, groupWait: isBusy ? policy.groupInterval : policy.groupWait },
      known: () => NOTHING_KNOWN,
      hasIncident: () => false,
      isSingle: () => false,
    });
    return { ...plan, alerts: alerts.map((alert) => ({ ...alert, reasons: [] })) };
  };

  return async (stored: readonly StoredCheckout[], now: Instant, people: PeopleChannels) => {
    const stuck = stored.filter((each) => each.unreadable === null);
    const unreadable = stored.filter((each) => each.unreadable !== null);
    const plans = [
      ...(stuck.length === 0 ? [] : [await planStuck(stuck, now, people)]),
      ...(unreadable.length === 0 ? [] : [await planUnreadable(unreadable, now, people)]),
    ];
    const looks = plans.flatMap(({ lookAgainAt }) => lookAgainAt ?? []);
    return {
      alerts: plans.flatMap(({ alerts }) => alerts),
      dropped: plans.flatMap(({ dropped }) => dropped),
      lookAgainAt: looks.length === 0 ? null : Math.min(...looks),
    };
  };
}

/** The data of the event. */
async function dataOf(
  { stuck, over, reasons }: Alert,
  { sql, limits, sessionLength }: Pick<CheckoutAlertsOptions, 'sql' | 'limits' | 'sessionLength'>,
): Promise<IncidentEventData<'incident.checkouts'>> {
  const parts = reasons.map(({ site, state }) => ({
    site,
    state,
    count: stuck.filter((each) => each.site === site && each.state === state).length,
  }));
  const since = Math.min(...stuck.map(({ stored }) => stored.since));
  const evidence = parts.length === 0 ? null : await causeEvidence(sql, { parts, since });
  const nothingLeft = { leftSince: { well: 0, timedOut: 0, other: 0 }, timedOutAfter: [], sessionLength };
  const causes: readonly RankedCause[] = evidence === null ? [] : rankCauses({ ...evidence, ...nothingLeft });
  return {
    kind: 'checkouts',
    severity: 'warning',
    stuckCount: stuck.length,
    overCount: over.length,
    stuck: stuck.slice(0, MOST_NAMED).map(({ stored }) => ({
      ...named(stored),
      stuckSince: isoTime(stored.stuckAt),
      limitMs: stored.unreadable === null ? limits.limitOf(stored.site, stored.state).ms : null,
      unreadable: stored.unreadable === null ? null : { reason: stored.unreadable, lastError: stored.lastError },
      foundLate: stored.firstSight,
    })),
    over: over.slice(0, MOST_NAMED).map(({ stored }) => ({
      ...named(stored),
      outcome: checkoutOutcome(stored),
      to: stored.toState === null ? null : namedState(stored.toState),
      overAt: isoTimeOrNull(stored.overAt),
    })),
    reasons: reasons.map((reason, index) => ({
      ...reason,
      state: namedState(reason.state),
      count: parts[index]!.count,
      lastWellAt: isoTimeOrNull(evidence?.parts[index]?.lastWellAt ?? null),
    })),
    causes: causes.slice(0, MOST_CAUSES),
  };
}

/** The fields that name a checkout: ids, order and money, and nothing else of a person. */
function named({ site, state, purchaseId, reference, orderReference, price, currency, since }: StoredCheckout) {
  return { site, state: namedState(state), purchaseId, reference, orderReference, price, currency, since: isoTime(since) };
}
