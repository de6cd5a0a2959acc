import { expect, test } from 'vitest';
import { type Alarm, newDetection } from '../../../src/domain/incidents/detection.ts';
import { type Incident, openIncident, REOPENS_WITHIN } from '../../../src/domain/incidents/incident.ts';
import { judgeOnce, type Memory, NOTHING_KNOWN, openOf } from '../../../src/domain/rehearsal/judge-look.ts';

const MINUTE = 60_000;
const NOW = Date.UTC(2026, 10, 20, 12);
const POLICY = { groupWait: 0, quietFor: 10 * MINUTE, groupInterval: 5 * MINUTE, repeatInterval: 240 * MINUTE };
const SYMPTOM = {
  kind: 'unreachable',
  site: 'se',
  state: null,
  subscriber: null,
  severity: 0,
  count: 1,
  since: NOW - MINUTE,
} as const;
const SLACK = { name: '@slack', sites: null, severity: 'warning', isDeaf: false } as const;
const lookAt = (memory: Memory, now: number, symptoms: readonly (typeof SYMPTOM)[] = []) =>
  judgeOnce(memory, { now, detections: [], overdue: [], symptoms, policy: POLICY, silences: [], channels: [SLACK] });

test('what was judged is known at the next look: an incident goes on, and who was alerted of it', () => {
  const first = lookAt(NOTHING_KNOWN, NOW, [SYMPTOM]);
  expect(openOf(first.memory)).toMatchObject([{ id: 'rehearsed-1', kind: 'unreachable', site: 'se' }]);
  const later = lookAt(first.memory, NOW + 2 * MINUTE, [SYMPTOM]);
  expect(openOf(later.memory).map(({ id }) => id)).toEqual(['rehearsed-1']);
  const alerted = [first, later].flatMap(({ judgement }) =>
    judgement.verdicts.flatMap(({ messages }) => messages.map(({ stage }) => stage)),
  );
  expect(alerted).toEqual(['opened']);
  expect(later.memory.alertedChannels.get('rehearsed-1')).toEqual(new Set(['@slack']));
  expect(lookAt(later.memory, NOW + 3 * MINUTE, [SYMPTOM, { ...SYMPTOM, site: 'no' } as never]).memory.made).toBe(2);
});

test('a look at an alarm is remembered, and other places stay as they were', () => {
  const alarm: Alarm = {
    ...{ at: NOW - MINUTE, rule: 'share', since: NOW - MINUTE, entrants: 4, overdue: 4 },
    ...{ usualShare: 0.03, perDay: 300, falseAlarmEvery: 5_000 },
  };
  const detections = [{ ...newDetection('se', 6), alarm }, newDetection('se', 4)];
  const situation = { now: NOW, detections, overdue: [], symptoms: [], policy: POLICY, silences: [], channels: [SLACK] };
  const { memory } = judgeOnce(NOTHING_KNOWN, situation);
  expect(memory.detections).toEqual([{ ...detections[0], noneOverdueSince: NOW }, detections[1]]);
});

test('an incident that ended is known for as long as it may open again, and with its parent', () => {
  const ended = (id: string, differs: Partial<Incident>): Incident => ({
    ...openIncident(id, { ...SYMPTOM, kind: 'stuck', state: 6 }, NOW),
    ...{ endedAt: NOW - REOPENS_WITHIN, ...differs },
  });
  const incidents = [
    ended('gone', {}),
    ended('may return', { endedAt: NOW - REOPENS_WITHIN + 1 }),
    ended('of another kind', { kind: 'unreachable', endedAt: NOW - 1 }),
    ended('part', { parent: 'parent' }),
    ended('parent', { endedAt: null, kind: 'unreachable' }),
  ];
  const { memory } = lookAt({ ...NOTHING_KNOWN, incidents }, NOW);
  expect(memory.incidents.map(({ id }) => id)).toEqual(['may return', 'part', 'parent']);
  expect(openOf({ ...NOTHING_KNOWN, incidents }).map(({ id }) => id)).toEqual(['parent']);
});
