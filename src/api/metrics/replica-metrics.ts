/** Metrics of the work that this replica has done. */
import { seenCertificates } from '../../runtime/http/certificates.ts';
import { ATTEMPT_OUTCOMES, DATABASE_CHANGE_KINDS, POLL_OUTCOMES, type SiteMeter, type Spread } from '../../runtime/meters.ts';
import type { Metric, Metrics, Replica } from './metric.ts';

export const REPLICA_METRICS: Metrics<Replica> = {
  loop_healthy: {
    labels: ['loop'],
    help: 'Whether a loop of the daemon did its work when it last tried.',
    read: ({ health }) => health.loops().map(({ name, ok }) => ({ labels: { loop: name }, value: ok ? 1 : 0 })),
  },
  shards_owned: {
    help: 'Shards, of 64, whose purchases this replica polls, and whose events it delivers.',
    read: ({ engine }) => [{ value: engine.shardsOwned() }],
  },
  database_changes_total: {
    type: 'counter',
    labels: ['kind'],
    help: 'How often another database answered than before: went_back (writes that it had confirmed are gone) or moved.',
    read: ({ engine }) => DATABASE_CHANGE_KINDS.map((kind) => ({ labels: { kind }, value: engine.meters.databaseChanges[kind] })),
  },
  polls_total: {
    type: 'counter',
    labels: ['site', 'outcome'],
    help: 'Polls made, by what they showed.',
    read: ({ engine }) =>
      [...engine.meters.sites()].flatMap(([site, { polls }]) =>
        POLL_OUTCOMES.map((outcome) => ({ labels: { site, outcome }, value: polls[outcome] })),
      ),
  },
  poll_duration_seconds: {
    type: 'histogram',
    labels: ['site'],
    help: 'From asking the service to its answer.',
    exemplar: 'purchase_row',
    read: bySite(({ took }) => took),
  },
  polls_in_flight: {
    labels: ['site'],
    help: 'Polls that wait for their answer.',
    read: bySite(({ inFlight }) => inFlight),
  },
  state_changes_total: {
    type: 'counter',
    labels: ['site'],
    help: 'Changes of state that were recorded.',
    read: bySite(({ changes }) => changes),
  },
  purchases_repaired_total: {
    type: 'counter',
    labels: ['site'],
    help: 'Purchases whose stored state disagreed with their last announced transition and was set back to it.',
    read: bySite(({ repairs }) => repairs),
  },
  polls_row_locked_total: {
    type: 'counter',
    labels: ['site'],
    help: "Polls not recorded because another session had locked the purchase's row; they are made again.",
    read: bySite(({ locked }) => locked),
  },
  polls_unrecorded: {
    help: 'Polls that were made and wait to be recorded.',
    read: ({ engine }) => [{ value: engine.unwritten() }],
  },
  recording_duration_seconds: {
    type: 'histogram',
    help: 'A statement that records polls, with its wait for a database connection.',
    read: ({ engine }) => [{ value: engine.meters.recording.took }],
  },
  recording_batch_polls: {
    type: 'histogram',
    help: 'Polls recorded by one statement.',
    read: ({ engine }) => [{ value: engine.meters.recording.polls }],
  },
  events_total: {
    type: 'counter',
    labels: ['type'],
    help: 'Events of purchases and incidents that were committed.',
    read: ({ engine }) => [...engine.meters.events()].map(([type, value]) => ({ labels: { type }, value })),
  },
  delivery_attempts_total: {
    type: 'counter',
    labels: ['subscriber', 'outcome'],
    help: 'Attempts to deliver an event, by how they ended.',
    read: ({ engine }) =>
      [...engine.meters.subscribers()].flatMap(([subscriber, { attempts }]) =>
        ATTEMPT_OUTCOMES.map((outcome) => ({ labels: { subscriber, outcome }, value: attempts[outcome] })),
      ),
  },
  event_to_receipt_seconds: {
    type: 'histogram',
    labels: ['subscriber'],
    help: 'From the making of an event to its receipt.',
    exemplar: 'event_id',
    read: ({ engine }) =>
      [...engine.meters.subscribers()].map(([subscriber, { latency }]) => ({ labels: { subscriber }, value: latency })),
  },
  database_connections: {
    labels: ['pool', 'state'],
    help: 'Connections that the replica may have to the database, by whether they carry a query or transaction: in_use or free.',
    read: ({ engine }) =>
      engine.pools
        .filter(({ isLine }) => !isLine)
        .flatMap(({ name: pool, most, inUse }) => [
          { labels: { pool, state: 'in_use' }, value: inUse() },
          { labels: { pool, state: 'free' }, value: most - inUse() },
        ]),
  },
  database_queries_waiting: {
    labels: ['pool'],
    help: 'Queries and transactions that wait for a connection of the pool; those of the API wait as api_callers and changes_callers.',
    read: ({ engine }) => engine.pools.map(({ name: pool, waiting }) => ({ labels: { pool }, value: waiting() })),
  },
  database_wait_seconds_total: {
    type: 'counter',
    labels: ['pool'],
    help: 'For how long queries and transactions have waited for a connection; its rate is how many wait on average.',
    read: ({ engine }) => engine.pools.map(({ name: pool, waited }) => ({ labels: { pool }, value: waited() / 1_000 })),
  },
  expires_timestamp_seconds: {
    labels: ['kind', 'name'],
    help: 'When a key or a certificate that this replica knows expires, in seconds since 1970: api_key, client_certificate (the replica shows it) and server_certificate (a server showed it at the last connection).',
    read: ({ keys, engine }) =>
      expiries(keys, engine).map(({ kind, name, at }) => ({ labels: { kind, name }, value: at / 1_000 })),
  },
};

/** Keys without an end are left out. */
function expiries(keys: Replica['keys'], { certificates }: Replica['engine']) {
  return [
    ...keys.flatMap(({ name, expires }) => (expires === null ? [] : [{ kind: 'api_key', name, at: expires }])),
    ...certificates().map((each) => ({ kind: 'client_certificate', ...each })),
    ...seenCertificates().map((each) => ({ kind: 'server_certificate', ...each })),
  ];
}

/** One number for each site that was polled. */
function bySite(read: (meter: SiteMeter) => number | Spread): Metric<Replica>['read'] {
  return ({ engine }) => [...engine.meters.sites()].map(([site, meter]) => ({ labels: { site }, value: read(meter) }));
}
