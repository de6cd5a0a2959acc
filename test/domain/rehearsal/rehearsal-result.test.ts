import { expect, test } from 'vitest';
import { type Incident, openIncident } from '../../../src/domain/incidents/incident.ts';
import {
  countBefore,
  newRehearsalCounts,
  noteMessage,
  type RehearsalCounts,
  type RehearsedMessage,
  resultOf,
} from '../../../src/domain/rehearsal/rehearsal-result.ts';
import type { StuckLimit } from '../../../src/domain/stays/dwell.ts';

const FROM = 1_000;
const SYMPTOM = { kind: 'stuck', site: 'se', state: 6, subscriber: null, severity: 0, count: 1, since: 0 } as const;
const incident = (id: string, openedAt: number, differs: Partial<Incident> = {}): Incident => ({
  ...openIncident(id, SYMPTOM, openedAt),
  ...differs,
});
const message = (differs: Partial<RehearsedMessage> = {}): RehearsedMessage => ({
  ...{ at: FROM, stage: 'opened', channels: ['@slack'], parts: [], limit: null },
  incident: incident('a', FROM),
  ...differs,
});
function countsOf(seen: readonly Incident[], messages: readonly RehearsedMessage[] = []): RehearsalCounts {
  const counts = newRehearsalCounts(FROM);
  for (const each of seen) counts.seen.set(each.id, each);
  for (const each of messages) noteMessage(counts, each);
  return counts;
}
const result = (counts: RehearsalCounts, incidents: readonly Incident[] = []) =>
  resultOf(counts, { stays: 7, incidents, limits: [], atRisk: null });

test('the incidents of before are those that were open at the first look of the time and spoke for themselves', () => {
  const before = [
    incident('speaks', 10),
    incident('over', 10, { endedAt: 20 }),
    incident('part', 10, { parent: 'speaks' }),
    incident('part that is over', 10, { endedAt: 20, parent: 'speaks' }),
  ];
  const counts = newRehearsalCounts(FROM);
  countBefore(counts, FROM - 1, []);
  expect(counts.openBefore).toBeNull();
  countBefore(counts, FROM, before);
  countBefore(counts, FROM + 1, [...before, incident('later', FROM + 1)]);
  expect(counts.openBefore).toBe(1);
  expect([...counts.seen.keys()]).toEqual(['speaks']);
  expect(result(counts, before)).toMatchObject({ openBefore: 1, openAfter: 1, opened: 0 });
  expect(result(newRehearsalCounts(FROM), before)).toMatchObject({ openBefore: 1, openAfter: 1 });
});

test('a message of before the time is not reported, but was one; one for no channel was none', () => {
  const early = message({ at: FROM - 1, incident: incident('b', FROM) });
  const counts = countsOf([], [message(), early, message({ channels: [], incident: incident('c', FROM) })]);
  expect(counts.messages.map(({ incident: { id } }) => id)).toEqual(['a']);
  expect([...counts.alerted]).toEqual(['a', 'b']);
});

test('incidents without a parent are reported in the order in which they opened, with the first alert that they began', () => {
  const [a, b, c] = [incident('a', FROM + 2), incident('b', FROM + 1), incident('c', FROM)];
  const counts = countsOf(
    [a, b, c, incident('part', FROM, { parent: 'a' })],
    [
      message({ incident: b, stage: 'grew', at: FROM + 3 }),
      message({ incident: b, stage: 'reopened', at: FROM + 4 }),
      message({ incident: a, stage: 'opened', at: FROM + 5 }),
      message({ incident: a, stage: 'opened', at: FROM + 6 }),
    ],
  );
  expect(result(counts).incidents).toEqual([
    { incident: c, alertedAt: null },
    { incident: b, alertedAt: FROM + 4 },
    { incident: a, alertedAt: FROM + 5 },
  ]);
});

test('of those that opened in the time, the ones that were over without an alert are unsaid', () => {
  const over = { endedAt: FROM + 9 };
  const said = incident('said', FROM, over);
  const all = [said, incident('unsaid', FROM, over), incident('open', FROM), incident('before', FROM - 1, over)];
  expect(result(countsOf(all, [message({ incident: said })]))).toMatchObject({ opened: 3, unsaid: 1, stays: 7 });
});

test('limits are sorted by site and state', () => {
  const limit: StuckLimit = { ms: 1, source: 'configured', dwell: null };
  const place = (site: string, state: number) => ({ site, state, limit });
  const sorted = [place('no', 4), place('no', 6), place('se', 4), place('se', 6)];
  const orders = [sorted, sorted.toReversed(), [2, 0, 3, 1].map((at) => sorted[at]!)];
  for (const limits of orders)
    expect(resultOf(newRehearsalCounts(FROM), { stays: 0, incidents: [], limits, atRisk: null }).limits).toEqual(sorted);
});
