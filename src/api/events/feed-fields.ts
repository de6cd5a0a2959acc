/** Parameters of the feed, and its cursor. */
import { placeOfCursor } from '../../actions/events/follow-feed.ts';
import { suggestion } from '../../config/kinds/nearest.ts';
import { EVENT_TYPES, type EventType } from '../../domain/events/system-event-types.ts';
import { parameter } from '../http/fields.ts';
import type { After } from './begin-feed.ts';

const LONGEST_NAME = 80;

function readAfter(value: string): { is: After } | { problem: string } {
  if (value === 'latest') return { is: 'latest' };
  if (/^evt_[0-9A-Za-z]{1,60}$/.test(value)) return { is: { event: value } };
  const place = placeOfCursor(value);
  return place === null ? { problem: 'must be a nextCursor of the feed, the id of an event, or latest' } : { is: { place } };
}

export const afterParameter = parameter(readAfter).openapi({
  type: 'string',
  description:
    'Where to go on: `nextCursor` of the page before, the id of an event, or `latest` for what comes from now on. Without it, from the oldest event that is kept.',
  example: 'latest',
});

/** As a browser sends it when it connects again; empty when it has none. */
export const lastEventIdHeader = parameter<After | null>((value) => (value === '' ? { is: null } : readAfter(value))).openapi({
  type: 'string',
  description: 'The `id` that came last, or the id of an event. It wins over `after`.',
});

export const typesParameter = parameter<readonly EventType[]>((value) => {
  const names = [...new Set(value.split(',').map((name) => name.trim()))];
  const unknown = names.filter((name) => !isType(name));
  if (unknown.length === 0) return { is: names.filter(isType) };
  const name = unknown[0]!.slice(0, LONGEST_NAME);
  const what =
    name === '' ? 'holds an empty name' : `${JSON.stringify(name)} is not an event type${suggestion(name, EVENT_TYPES)}`;
  return { problem: `${what}; separate with commas what you want of ${EVENT_TYPES.join(', ')}` };
}).openapi({
  type: 'string',
  description: `Only these types, separated by commas; all without it. There are ${EVENT_TYPES.map((type) => `\`${type}\``).join(', ')}.`,
  example: 'purchase.state_changed,purchase.stuck',
});

function isType(name: string): name is EventType {
  return (EVENT_TYPES as readonly string[]).includes(name);
}
