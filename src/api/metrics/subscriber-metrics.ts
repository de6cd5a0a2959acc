/** Metrics of subscribers, of channels for people and of deliveries, which the database counts for all replicas. */

import type { DatabaseNumbers } from '../../actions/overview/database-numbers.ts';
import { healthStatus } from '../../domain/deliveries/subscriber-state.ts';
import type { Metrics } from './metric.ts';

export const SUBSCRIBER_METRICS: Metrics<DatabaseNumbers> = {
  subscriber_up: {
    labels: ['subscriber'],
    help: 'Whether the subscriber gets events; 0 when it is switched off.',
    read: ({ subscribers }) =>
      subscribers.map(({ name, status }) => ({ labels: { subscriber: name }, value: status === 'off' ? 0 : 1 })),
  },
  subscriber_paused: {
    labels: ['subscriber'],
    help: 'Whether the subscriber is paused because it failed; 0 also when it is switched off.',
    read: ({ subscribers }) =>
      subscribers.map(({ name, ...each }) => ({
        labels: { subscriber: name },
        value: healthStatus(each) === 'paused' ? 1 : 0,
      })),
  },
  subscriber_failures: {
    labels: ['subscriber'],
    help: "The subscriber's own failures in a row while it is paused; 0 when it is well.",
    read: ({ subscribers }) =>
      subscribers.map(({ name, health }) => ({ labels: { subscriber: name }, value: health?.failures ?? 0 })),
  },
  subscriber_unreached: {
    labels: ['subscriber'],
    help: 'Whether nothing gets through to the subscriber for a reason on this side: name server, proxy, network or a wrong SECRETS_KEY.',
    read: ({ subscribers }) =>
      subscribers.map(({ name, unreached }) => ({ labels: { subscriber: name }, value: unreached === null ? 0 : 1 })),
  },
  channel_up: {
    labels: ['channel'],
    help: 'Whether a channel for people takes messages; 0 when it is switched off or has taken none for a quarter of an hour.',
    read: ({ subscribers, hearing }) =>
      subscribers.flatMap(({ name, audience }) =>
        audience === 'people' ? [{ labels: { channel: name }, value: hearing.includes(name) ? 1 : 0 }] : [],
      ),
  },
  dead_mans_switch_timestamp_seconds: {
    help: "When the dead man's switch was called last, in seconds since 1970; missing while it never was.",
    read: ({ deadMansSwitchAt }) => (deadMansSwitchAt === null ? [] : [{ value: deadMansSwitchAt / 1_000 }]),
  },
  deliveries_waiting: {
    labels: ['subscriber', 'status'],
    help: 'Deliveries that are not settled, retries included. Counted to ten thousand.',
    read: ({ subscribers }) =>
      subscribers.flatMap(({ name, pending, inFlight, parked }) =>
        Object.entries({ pending, in_flight: inFlight, parked }).map(([status, value]) => ({
          labels: { subscriber: name, status },
          value,
        })),
      ),
  },
  delivery_lag_seconds: {
    labels: ['subscriber'],
    help: 'How long the delivery that waits longest for its next attempt has been due, parked or not.',
    read: ({ subscribers, at }) =>
      subscribers.map(({ name, dueSince }) => ({
        labels: { subscriber: name },
        value: dueSince === null ? 0 : Math.max(at - dueSince, 0) / 1_000,
      })),
  },
};
