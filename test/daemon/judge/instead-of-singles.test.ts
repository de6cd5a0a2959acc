import { expect, test } from 'vitest';
import { insteadOfSingles, replacesSingles } from '../../../src/daemon/judge/instead-of-singles.ts';
import type { ChannelRule } from '../../../src/domain/incidents/audience.ts';
import { openIncident } from '../../../src/domain/incidents/incident.ts';
import type { IncidentVerdict } from '../../../src/domain/incidents/judgement.ts';
import { type CountedUsual, NOTHING_KNOWN } from '../../../src/domain/stays/usual.ts';

const T = Date.UTC(2026, 10, 20, 9, 15);
const CARD = 6;
const busy: CountedUsual = { share: 0.03, perDay: 400, counted: 5_600 };
const sparse: CountedUsual = { share: null, perDay: 3, counted: 40 };

const incidentAt = (site: string | null) =>
  openIncident(`inc_${site}`, { kind: 'stuck', site, state: CARD, subscriber: null, severity: 0, count: 4, since: T }, T);
const verdict = (alert: IncidentVerdict['alert'] = 'opened', parts: string[] = []): IncidentVerdict => ({
  incident: incidentAt(parts.length === 0 ? 'se' : null),
  announce: null,
  alert,
  reason: '',
  lookAgainAt: null,
  parts: parts.map(incidentAt),
  messages: [{ stage: 'opened', channels: ['@slack'] }],
});
const rule = (name: string, stuck?: ChannelRule['stuck']): ChannelRule => ({
  name,
  sites: null,
  severity: 'warning',
  ...(stuck === undefined ? {} : { stuck }),
});

test('single alerts are replaced at the start of an incident, where a channel gets it that chooses by itself', () => {
  expect(replacesSingles(verdict('opened'), [rule('@slack')])).toBe(true);
  expect(replacesSingles(verdict('reopened'), [rule('@slack', 'auto')])).toBe(true);
  expect(replacesSingles(verdict('grew'), [rule('@slack')])).toBe(false);
  expect(replacesSingles(verdict('opened'), [rule('@slack', 'each'), rule('@other')])).toBe(false);
  expect(replacesSingles(verdict('opened'), [rule('@slack', 'incidents')])).toBe(false);
  const [opened] = verdict().messages;
  const twice = { ...verdict(), messages: [opened!, { ...opened!, channels: ['@ops'] }] };
  expect(replacesSingles(twice, [rule('@slack', 'each'), rule('@ops')])).toBe(true);
});

test('where too little is known single alerts rest until the incident is over, with the numbers of the first such place', () => {
  const usualOf = (site: string): CountedUsual => (site === 'fi' ? sparse : busy);
  const rest = insteadOfSingles(verdict('opened', ['se', 'fi']), [{ site: 'fi', state: CARD, id: 7 }], usualOf);
  expect(rest).toEqual({ singles: { until: 'over', counted: 40, perDay: 3 }, takenOver: [] });
});

test('where enough is known by now incidents take over, of each place whose last single alert did not say so', () => {
  const singles = [
    { site: 'fi', state: CARD, id: 7 },
    { site: 'se', state: CARD, id: 9 },
  ];
  const taken = insteadOfSingles(verdict('opened', ['se', 'fi']), singles, (site) => (site === 'fi' ? sparse : busy));
  expect(taken).toEqual({ singles: { until: null, counted: 5_600, perDay: 400 }, takenOver: [9] });
});

test('nothing changes where incidents have long taken over, or nobody was to get single alerts', () => {
  const nothing = { singles: null, takenOver: [] };
  expect(insteadOfSingles(verdict(), [], () => busy)).toEqual(nothing);
  // Of several places together nothing is known, which counts for none of them.
  const ofPlaces = (site: string | null) => (site === null ? sparse : busy);
  expect(insteadOfSingles(verdict('opened', ['se', 'fi']), [], ofPlaces)).toEqual(nothing);
  expect(insteadOfSingles(verdict(), null, () => NOTHING_KNOWN)).toEqual(nothing);
});
