/** Every metric by name: what it means, and where its numbers come from. docs/metrics.md says the same, and a test compares. */

import { healthStatus } from '../../domain/deliveries/subscriber-state.ts';
import type { IncidentKind } from '../../domain/incidents/symptom.ts';
import { isKnownState, stateName } from '../../domain/purchases/states.ts';
import type { Health } from '../../runtime/loops/health.ts';
import { ATTEMPT_OUTCOMES, type Meters, POLL_OUTCOMES, type Spread } from '../../runtime/meters.ts';
import type { MetricFamily, Sample } from '../../runtime/metrics.ts';
import type { DatabaseNumbers } from './database-numbers.ts';

/** The rest of the daemon, as far as it is counted. */
export interface Engine {
  readonly meters: Meters;
  /** Shards that this replica owns. */
  shardsOwned(): number;
  /** Polls that were made and are not recorded yet. */
  unwritten(): number;
}

export interface MetricSources {
  readonly version: string;
  readonly health: Health;
  readonly engine: Engine;
  /** As last read; null while the database does not answer. */
  numbers(): DatabaseNumbers | null;
}

const PREFIX = 'purchase_watch_';
const SITE_INCIDENTS: readonly IncidentKind[] = ['stuck', 'unreachable'];
const SITELESS_INCIDENTS: readonly IncidentKind[] = ['stuck', 'subscriber', 'replica'];

/** All families. What they hold of the work done is this replica's alone; what the database knows is everybody's. */
export function metricFamilies({ version, health, engine, numbers }: MetricSources): MetricFamily[] {
  const { meters } = engine;
  const family = (
    type: MetricFamily['type'],
    name: string,
    labels: readonly string[],
    help: string,
    read: () => readonly Sample[],
  ): MetricFamily => ({ name: PREFIX + name, type, help, labels, read });
  const one = (value: () => number | Spread) => () => [{ value: value() }];
  const bySite = (read: (meter: ReturnType<Meters['site']>) => number | Spread) => () =>
    [...meters.sites()].map(([site, meter]) => ({ labels: { site }, value: read(meter) }));
  const known = (read: (numbers: DatabaseNumbers) => readonly Sample[]) => () => {
    const now = numbers();
    return now === null ? [] : read(now);
  };

  return [
    family('gauge', 'build_info', ['version'], 'Always 1; the label says which version runs.', () => [
      { labels: { version }, value: 1 },
    ]),
    family('gauge', 'loop_healthy', ['loop'], 'Whether a loop of the daemon did its work when it last tried.', () =>
      health.loops().map(({ name, ok }) => ({ labels: { loop: name }, value: ok ? 1 : 0 })),
    ),
    family('gauge', 'shards_owned', [], 'Shards, of 64, whose purchases this replica polls and tells.', one(engine.shardsOwned)),
    family('counter', 'polls_total', ['site', 'outcome'], 'Polls made, by what they showed.', () =>
      [...meters.sites()].flatMap(([site, { polls }]) =>
        POLL_OUTCOMES.map((outcome) => ({ labels: { site, outcome }, value: polls[outcome] })),
      ),
    ),
    family(
      'histogram',
      'poll_duration_seconds',
      ['site'],
      'From asking the service to its answer.',
      bySite(({ took }) => took),
    ),
    family(
      'gauge',
      'polls_in_flight',
      ['site'],
      'Polls that wait for their answer.',
      bySite(({ inFlight }) => inFlight),
    ),
    family(
      'counter',
      'state_changes_total',
      ['site'],
      'Changes of state that were recorded.',
      bySite(({ changes }) => changes),
    ),
    family(
      'counter',
      'purchases_repaired_total',
      ['site'],
      'Purchases whose stored state disagreed with their last announced transition and was set back to it.',
      bySite(({ repairs }) => repairs),
    ),
    family('gauge', 'polls_unrecorded', [], 'Polls that were made and wait to be recorded.', one(engine.unwritten)),
    family(
      'histogram',
      'recording_duration_seconds',
      [],
      'A statement that records polls, with its wait for a database connection.',
      one(() => meters.recording.took),
    ),
    family(
      'histogram',
      'recording_batch_polls',
      [],
      'Polls recorded by one statement.',
      one(() => meters.recording.polls),
    ),
    family('counter', 'events_total', ['type'], 'Events of purchases and incidents that were committed.', () =>
      [...meters.events()].map(([type, value]) => ({ labels: { type }, value })),
    ),
    family(
      'counter',
      'delivery_attempts_total',
      ['subscriber', 'outcome'],
      'Attempts to deliver an event, by how they ended.',
      () =>
        [...meters.subscribers()].flatMap(([subscriber, { attempts }]) =>
          ATTEMPT_OUTCOMES.map((outcome) => ({ labels: { subscriber, outcome }, value: attempts[outcome] })),
        ),
    ),
    family('histogram', 'event_to_receipt_seconds', ['subscriber'], 'From the making of an event to its receipt.', () =>
      [...meters.subscribers()].map(([subscriber, { latency }]) => ({ labels: { subscriber }, value: latency })),
    ),
    family('gauge', 'database_up', [], 'Whether the database answers; while it does not, what it would say is missing.', () => [
      { value: numbers() === null ? 0 : 1 },
    ]),
    family(
      'gauge',
      'notification_queue_used_ratio',
      [],
      "How full the database's queue of notifications is; at 1 nothing can be recorded.",
      known(({ notificationQueue }) => [{ value: notificationQueue }]),
    ),
    family(
      'gauge',
      'purchases',
      ['site', 'status', 'state', 'stuck'],
      'Registered purchases. An unlisted state is its number; one that was not seen yet is none.',
      known(({ totals }) =>
        totals.map(({ site, status, state, stuck, count }) => ({
          labels: { site, status, state: stateLabel(state), stuck: String(stuck) },
          value: count,
        })),
      ),
    ),
    family(
      'gauge',
      'polls_due',
      ['site'],
      'Purchases whose next poll is due. Counted to about ten thousand.',
      known(({ lags }) => lags.map(({ site, due }) => ({ labels: { site }, value: due }))),
    ),
    family(
      'gauge',
      'poll_lag_seconds',
      ['site'],
      'How long the oldest due poll has been waiting.',
      known(({ lags }) => lags.map(({ site, oldest }) => ({ labels: { site }, value: oldest / 1_000 }))),
    ),
    family(
      'gauge',
      'site_up',
      ['site'],
      'Whether purchases of the site can be read.',
      known(({ sites }) =>
        sites.map(({ name, failingSince }) => ({ labels: { site: name }, value: failingSince === null ? 1 : 0 })),
      ),
    ),
    family(
      'gauge',
      'site_last_read_seconds',
      ['site'],
      "How long ago an answer last showed a purchase's status; none before the first. A site where nothing is due reads nothing, too.",
      known(({ at, sites }) =>
        sites.flatMap(({ name, lastReadAt }) =>
          lastReadAt === null ? [] : [{ labels: { site: name }, value: Math.max(at - lastReadAt, 0) / 1_000 }],
        ),
      ),
    ),
    family(
      'gauge',
      'incidents_open',
      ['site', 'kind'],
      'Incidents that have not ended and that no other one tells of. Those of several sites, of subscribers and of replicas are of no site.',
      known(({ sites, incidents }) => [
        ...sites.flatMap(({ name: site }) =>
          SITE_INCIDENTS.map((kind) => ({
            labels: { site, kind },
            value: incidents.find((row) => row.site === site && row.kind === kind)?.count ?? 0,
          })),
        ),
        ...SITELESS_INCIDENTS.map((kind) => ({
          labels: { site: '', kind },
          value: incidents.find((row) => row.site === null && row.kind === kind)?.count ?? 0,
        })),
      ]),
    ),
    family(
      'gauge',
      'subscriber_up',
      ['subscriber'],
      'Whether the subscriber is told; 0 when it is switched off.',
      known(({ subscribers }) =>
        subscribers.map(({ name, status }) => ({ labels: { subscriber: name }, value: status === 'off' ? 0 : 1 })),
      ),
    ),
    family(
      'gauge',
      'subscriber_paused',
      ['subscriber'],
      'Whether the subscriber is left alone because it failed; 0 when it is told, and when it is switched off.',
      known(({ subscribers }) =>
        subscribers.map(({ name, ...each }) => ({
          labels: { subscriber: name },
          value: healthStatus(each) === 'paused' ? 1 : 0,
        })),
      ),
    ),
    family(
      'gauge',
      'subscriber_failures',
      ['subscriber'],
      "Failures in a row that were the subscriber's own, of one that is paused; 0 when it is well.",
      known(({ subscribers }) =>
        subscribers.map(({ name, health }) => ({ labels: { subscriber: name }, value: health?.failures ?? 0 })),
      ),
    ),
    family(
      'gauge',
      'subscriber_unreached',
      ['subscriber'],
      'Whether nothing gets through to the subscriber for a reason of ours: name server, proxy, network or a wrong SECRETS_KEY.',
      known(({ subscribers }) =>
        subscribers.map(({ name, unreached }) => ({ labels: { subscriber: name }, value: unreached === null ? 0 : 1 })),
      ),
    ),
    family(
      'gauge',
      'channel_up',
      ['channel'],
      'Whether a channel for people takes messages; 0 when it is switched off, and when it has taken none for a quarter of an hour.',
      known(({ subscribers, hearing }) =>
        subscribers.flatMap(({ name, kind }) =>
          kind === 'slack' ? [{ labels: { channel: name }, value: hearing.includes(name) ? 1 : 0 }] : [],
        ),
      ),
    ),
    family(
      'gauge',
      'heartbeat_timestamp_seconds',
      [],
      "When the dead man's switch was called last, in seconds since 1970; missing while it never was.",
      known(({ heartbeatAt }) => (heartbeatAt === null ? [] : [{ value: heartbeatAt / 1_000 }])),
    ),
    family(
      'gauge',
      'deliveries_waiting',
      ['subscriber', 'status'],
      'Deliveries that are not settled, retries included. Counted to ten thousand.',
      known(({ subscribers }) =>
        subscribers.flatMap(({ name, pending, inFlight, parked }) =>
          Object.entries({ pending, in_flight: inFlight, parked }).map(([status, value]) => ({
            labels: { subscriber: name, status },
            value,
          })),
        ),
      ),
    ),
    family(
      'gauge',
      'delivery_lag_seconds',
      ['subscriber'],
      'How long the delivery that waits longest for its next attempt has been due, parked or not. A failed attempt makes it due later.',
      known(({ subscribers, at }) =>
        subscribers.map(({ name, dueSince }) => ({
          labels: { subscriber: name },
          value: dueSince === null ? 0 : Math.max(at - dueSince, 0) / 1_000,
        })),
      ),
    ),
    family(
      'gauge',
      'replicas',
      [],
      'Daemons that are alive.',
      known(({ replicas }) => [{ value: replicas }]),
    ),
  ];
}

/** States that nobody knows are told by their number: there are few, for each is a number of the service's own. */
function stateLabel(state: number | null): string {
  if (state === null) return 'none';
  return isKnownState(state) ? stateName(state) : String(state);
}
