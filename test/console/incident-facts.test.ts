/** What the page of an incident says of messages to people. */
import { expect, test } from 'vitest';
import type { IncidentDetailsBody } from '../../src/api/incidents/fields.ts';
import type { Ask } from '../../src/console/frame/page-route.ts';
import { sent } from '../../src/console/pages/incidents/facts.ts';

const NOW = Date.UTC(2026, 10, 20, 9, 15);
const nextReminderAt = new Date(NOW + 600_000).toISOString();
const incident = {
  ...{ kind: 'stuck', severity: 'warning', endedAt: null, parent: null, silencedUntil: null, owner: null },
  ...{ nextReminderAt, saidAt: new Date(NOW).toISOString(), said: [] },
} as unknown as IncidentDetailsBody;
const shown = (hasChannel: boolean): string => String(sent(incident, { base: '', now: NOW } as unknown as Ask, hasChannel));

test('a reminder is promised where a channel is set, and nowhere else', () => {
  expect(shown(true)).toContain('A reminder');
  expect(shown(false)).not.toContain('A reminder');
  expect(shown(false)).toContain('Nobody is alerted: no channel for people is set.');
});
