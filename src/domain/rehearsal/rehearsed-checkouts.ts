/** Alerts about single stuck checkouts, as a rehearsal goes through them. Deterministic, without I/O. */

import { type ChannelRule, modeOf } from '../incidents/audience.ts';
import type { AlertPolicy, Incident, Silence } from '../incidents/incident.ts';
import { isLeaf } from '../incidents/incident-tree.ts';
import {
  type CheckoutAlert,
  isShareKnown,
  MOST_AT_FIRST_LOOK,
  planCheckouts,
  type StuckCheckout,
} from '../incidents/stuck-checkouts.ts';
import type { RecordedStay } from '../stays/recorded-stay.ts';
import { placeKey } from '../stays/stay.ts';
import type { CountedUsual } from '../stays/usual.ts';
import type { Instant } from '../values/time.ts';

/** A checkout that would have been named. */
export interface RehearsedCheckout extends StuckCheckout {
  readonly stay: RecordedStay;
  /** The state that came after; null while there is none. */
  readonly toState: number | null;
}

/** A message that would have been sent. */
export interface RehearsedCheckouts extends CheckoutAlert<RehearsedCheckout> {
  readonly at: Instant;
}

export type CheckoutRehearsal = ReturnType<typeof createCheckoutRehearsal>;

type KnownOf = (site: string, state: number) => CountedUsual;

/** Marks the checkouts of a site that was found with many stuck ones at the first look: they are no news one by one. */
function withBacklog(checkouts: readonly RehearsedCheckout[]): RehearsedCheckout[] {
  const atFirst = Map.groupBy(
    checkouts.filter(({ stay, overAt }) => stay.firstSight && overAt === null),
    ({ site }) => site,
  );
  const hasBacklog = (site: string): boolean => (atFirst.get(site)?.length ?? 0) > MOST_AT_FIRST_LOOK;
  return checkouts.map((each) => ({ ...each, isBacklog: each.stay.firstSight && hasBacklog(each.site) }));
}

/** Takes what happens to stays, and answers at each look of the judge which messages would have been sent. */
export function createCheckoutRehearsal({
  channels,
  silences,
  alerts,
}: {
  readonly channels: readonly ChannelRule[];
  readonly silences: readonly Silence[];
  readonly alerts: AlertPolicy;
}) {
  const isWanted = channels.some((channel) => modeOf(channel) !== 'incidents');
  const open = new Map<number, RehearsedCheckout>();
  /** Places whose last alert was a single one that said nothing of incidents. */
  const single = new Set<string>();

  const noteAlert = ({ channels: alerted, stuck, over, reasons }: CheckoutAlert<RehearsedCheckout>, known: KnownOf): void => {
    for (const each of stuck) open.set(each.id, { ...open.get(each.id)!, alerted });
    for (const { id } of over) open.delete(id);
    for (const { site, state, mode, isLast } of reasons) {
      if (isLast || isShareKnown(known(site, state))) single.delete(placeKey({ site, state }));
      else if (mode === 'auto') single.add(placeKey({ site, state }));
    }
  };

  return {
    /** A stay became stuck; `place` distinguishes it from all others. */
    stuck: (place: number, stay: RecordedStay, at: Instant): void => {
      if (!isWanted) return;
      const { site, state } = stay;
      const nothing = { isBacklog: false, alerted: null, overAt: null, toState: null };
      open.set(place, { id: place, site, state, stuckAt: at, stay, ...nothing });
    },
    over: (place: number, at: Instant, toState: number | null): void => {
      const known = open.get(place);
      if (known !== undefined) open.set(place, { ...known, overAt: at, toState });
    },
    /** Incidents of which an alert said that they began. */
    takenOver: (incidents: readonly Incident[], known: KnownOf): void => {
      for (const { site, state } of incidents.filter(isLeaf))
        if (isShareKnown(known(site!, state!))) single.delete(placeKey({ site: site!, state: state! }));
    },
    /** One look of the judge: the messages that would have been sent, and when to look again. */
    look: (now: Instant, incidents: readonly Incident[], known: KnownOf) => {
      const checkouts = withBacklog([...open.values()]);
      const places = new Set(
        incidents.flatMap((each) =>
          each.endedAt === null && isLeaf(each) ? [placeKey({ site: each.site!, state: each.state! })] : [],
        ),
      );
      const hasIncident = (site: string, state: number): boolean => places.has(placeKey({ site, state }));
      const isSingle = (site: string, state: number): boolean => single.has(placeKey({ site, state }));
      const plan = planCheckouts({ now, checkouts, channels, silences, policy: alerts, known, hasIncident, isSingle });
      for (const { id } of plan.dropped) open.delete(id);
      for (const alert of plan.alerts) noteAlert(alert, known);
      const messages = plan.alerts.map((alert): RehearsedCheckouts => ({ at: now, ...alert }));
      return { messages, lookAgainAt: plan.lookAgainAt };
    },
  };
}
