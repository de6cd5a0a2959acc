/** One judgement of incidents that are given: which come back, which parts they have, which silence holds and who is alerted. */
import { describe, expect, test } from 'vitest';
import type { ChannelRule } from '../../../src/domain/incidents/audience.ts';
import { type Alarm, newDetection } from '../../../src/domain/incidents/detection.ts';
import { type Incident, openIncident, REOPENS_WITHIN, type Silence } from '../../../src/domain/incidents/incident.ts';
import { judge, type Situation, weigh } from '../../../src/domain/incidents/judgement.ts';
import type { Symptom } from '../../../src/domain/incidents/symptom.ts';
import type { SiteStay } from '../../../src/domain/stays/stay.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const T = Date.UTC(2026, 10, 20, 9, 15);
const ALL: ChannelRule = { name: '@all', sites: null, severity: 'warning' };
const FI: ChannelRule = { name: '@fi', sites: ['fi'], severity: 'warning' };

const symptom = (site: string | null, state: number | null, differs: Partial<Symptom> = {}): Symptom => ({
  ...{ kind: 'stuck', site, state, subscriber: null, severity: 0, count: 4, since: T - HOUR },
  ...differs,
});
const incident = (id: string, site: string | null, state: number | null, differs: Partial<Incident> = {}): Incident => ({
  ...openIncident(id, symptom(site, state), T - HOUR),
  ...{ announcedAt: T - HOUR, ...differs },
});
const over = (differs: Partial<Incident> = {}) => ({ endedAt: T - 10 * MINUTE, count: 0, ...differs });
function judged(differs: Partial<Situation>) {
  let made = 0;
  return judge({
    ...{ now: T, detections: [], overdue: [], symptoms: [], incidents: [], silences: [], channels: [ALL] },
    policy: { groupWait: 30_000, quietFor: 10 * MINUTE, groupInterval: 5 * MINUTE, repeatInterval: 4 * HOUR },
    alertedChannels: () => [],
    newId: () => `new-${++made}`,
    ...differs,
  });
}
/** The incidents that are open after a judgement, as `id < parent`. */
const openAfter = (differs: Partial<Situation>): string[] => {
  const { verdicts } = judged(differs);
  const after = new Map((differs.incidents ?? []).map((each) => [each.id, each]));
  for (const { incident: each } of verdicts) after.set(each.id, each);
  return [...after.values()]
    .filter(({ endedAt }) => endedAt === null)
    .map(({ id, parent }) => (parent === null ? id : `${id} < ${parent}`))
    .sort();
};

describe('an incident that was over comes back', () => {
  test('where the same is wrong within half an hour, the one that ended last', () => {
    const [old, late] = [incident('old', 'se', 6, over({ endedAt: T - REOPENS_WITHIN })), incident('late', 'se', 6, over())];
    for (const incidents of [
      [old, late],
      [late, old],
    ])
      expect(openAfter({ incidents, symptoms: [symptom('se', 6)] })).toEqual(['late']);
    expect(openAfter({ incidents: [old], symptoms: [symptom('se', 6)] })).toEqual(['old']);
    const older = { ...old, endedAt: T - REOPENS_WITHIN - 1 };
    expect(openAfter({ incidents: [older], symptoms: [symptom('se', 6)] })).toEqual(['new-1']);
    expect(openAfter({ incidents: [late], symptoms: [symptom('fi', 6)] })).toEqual(['new-1']);
  });
  test('unless it is not of stuck customers', () => {
    const incidents = [incident('down', 'se', null, over({ kind: 'unreachable' }))];
    expect(openAfter({ incidents, symptoms: [symptom('se', null, { kind: 'unreachable' })] })).toEqual(['new-1']);
  });
  test('with the alarm of now', () => {
    const alarm = { at: 1 } as unknown as Incident['alarm'];
    const before = { at: 0 } as unknown as Incident['alarm'];
    const of = (now: Incident['alarm']) =>
      judged({ incidents: [incident('a', 'se', 6, over({ alarm: before }))], symptoms: [symptom('se', 6, { alarm: now })] })
        .verdicts[0]!.incident.alarm;
    expect([of(alarm), of(null)]).toEqual([alarm, before]);
  });

  const parent = incident('p', 'se', null, over());
  const [four, six] = [4, 6].map((state) => incident(`se-${state}`, 'se', state, over({ parent: 'p' }))) as [Incident, Incident];
  const both = [symptom('se', 4), symptom('se', 6)];
  test('with its parent, where several of its parts do', () => {
    expect(openAfter({ incidents: [parent, four, six], symptoms: both })).toEqual(['p', 'se-4 < p', 'se-6 < p']);
    expect(openAfter({ incidents: [parent, four, six], symptoms: [both[0]!] })).toEqual(['se-4']);
  });
  test('without it, where the parent ended long ago or another one speaks', () => {
    const at = (endedAt: number) => openAfter({ incidents: [{ ...parent, endedAt }, four, six], symptoms: both });
    expect(at(T - REOPENS_WITHIN)).toEqual(['p', 'se-4 < p', 'se-6 < p']);
    expect(at(T - REOPENS_WITHIN - 1)).toEqual(['new-1', 'se-4 < new-1', 'se-6 < new-1']);
    const beside = (other: Incident) => openAfter({ incidents: [parent, four, six, other], symptoms: both });
    // Nothing is wrong with the other one any more, so it speaks for nobody new.
    expect(beside(incident('q', 'se', null))).not.toContain('p');
    expect(beside(incident('q', 'no', null))).toContain('p');
    expect(beside(incident('q', 'se', 2))).toContain('p');
    expect(beside(incident('q', 'se', null, { kind: 'unreachable' }))).toContain('p');
  });

  const several = incident('g', null, null, over());
  const below = [{ ...parent, parent: 'g' }, four, six, incident('fi-6', 'fi', 6, over({ parent: 'g' }))];
  test('with that of several sites, where several sites do', () => {
    const symptoms = [...both, symptom('fi', 6)];
    expect(openAfter({ incidents: [several, ...below], symptoms })).toEqual(['fi-6 < g', 'g', 'p < g', 'se-4 < p', 'se-6 < p']);
    const { verdicts } = judged({ incidents: [several, ...below], symptoms });
    const parts = verdicts.find(({ incident: { id } }) => id === 'g')!.parts.map(({ id }) => id);
    expect(parts.toSorted()).toEqual(['fi-6', 'se-4', 'se-6']);
    expect(openAfter({ incidents: [several, ...below], symptoms: symptoms.slice(1) })).toEqual(['fi-6 < g', 'g', 'se-6 < g']);
    expect(openAfter({ incidents: [several, ...below], symptoms: both })).toEqual(['p', 'se-4 < p', 'se-6 < p']);
  });
});

describe('the parts of a parent', () => {
  const parent = incident('p', 'se', null);
  const six = incident('se-6', 'se', 6, { parent: 'p' });
  const ended = incident('se-4', 'se', 4, over({ parent: 'p', endedAt: T - HOUR }));
  const parts = (incidents: readonly Incident[], symptoms: readonly Symptom[]) =>
    judged({ incidents, symptoms })
      .verdicts.find(({ incident: { id } }) => id === 'p')!
      .parts.map(({ id }) => id);
  test('are also those that are over, until they are there again', () => {
    const others = [incident('fi-4', 'fi', 4, over({ parent: 'q' })), incident('se-2', 'se', 2, over())];
    expect(parts([parent, six, ended, ...others], [symptom('se', 6, { count: 5 })])).toEqual(['se-6', 'se-4']);
    expect(parts([parent, six, { ...ended, endedAt: T - 1 }], [symptom('se', 6), symptom('se', 4)])).toEqual(['se-6', 'se-4']);
    const again = incident('again', 'se', 4, { parent: 'p' });
    expect(parts([parent, six, ended, again], [symptom('se', 6), symptom('se', 4)])).toEqual(['se-6', 'again']);
    const elsewhere = incident('no-4', 'no', 4);
    expect(parts([parent, six, ended, elsewhere], [symptom('se', 6), symptom('no', 4, { count: 0 })])).toEqual(['se-6', 'se-4']);
  });
  test('make its count, and no others do', () => {
    const { verdicts } = judged({ incidents: [parent, six], symptoms: [symptom('se', 6, { count: 5 }), symptom('fi', 6)] });
    const found = verdicts.find(({ incident: { id } }) => id === 'p')!;
    expect(found.incident.count).toBe(5);
    // They are shown as this judgement leaves them.
    expect(found.parts.map(({ count, peak }) => [count, peak])).toEqual([[5, 5]]);
  });
});

describe('a silence', () => {
  const parent = incident('p', 'se', null, { announcedAt: null });
  const parts = [4, 6].map((state) => incident(`se-${state}`, 'se', state, { parent: 'p' }));
  const silence = (state: number | null, hours: number, site: string | null = null): Silence => ({
    ...{ kind: null, site, state, subscriber: null, startsAt: T - HOUR, endsAt: T + hours * HOUR },
  });
  const until = (silences: readonly Silence[], incidents = parts) => {
    const symptoms = incidents.filter(({ quietSince }) => quietSince === null).map(({ site, state }) => symptom(site, state));
    const { reason, lookAgainAt } = judged({ incidents: [parent, ...incidents], symptoms, silences }).verdicts.find(
      ({ incident: { id } }) => id === 'p',
    )!;
    return reason === 'silenced' ? lookAgainAt : reason;
  };
  test('of all parts is one of their parent, until the first of them ends', () => {
    expect(until([])).toBe('first');
    expect(until([silence(4, 1)])).toBe('first');
    expect(until([silence(4, 2), silence(6, 1)])).toBe(T + HOUR);
    expect(until([silence(null, 3, 'se'), silence(4, 4)])).toBe(T + 3 * HOUR);
    expect(until([silence(4, 2)], [parts[0]!, { ...parts[1]!, quietSince: T - MINUTE }])).toBe(T + 2 * HOUR);
  });
  test('of an incident without parts is its own', () => {
    const one = { incidents: [incident('a', 'se', 6, { announcedAt: null })], symptoms: [symptom('se', 6)] };
    expect(judged({ ...one, silences: [silence(6, 1)] }).verdicts[0]).toMatchObject({
      reason: 'silenced',
      lookAgainAt: T + HOUR,
    });
    expect(judged({ ...one, silences: [silence(4, 1)] }).verdicts[0]).toMatchObject({ reason: 'first' });
  });
});

describe('who is alerted', () => {
  const messages = (of: Incident, wrong: readonly Symptom[], differs: Partial<Situation> = {}) =>
    judged({ incidents: [of], symptoms: wrong, ...differs }).verdicts.find(({ incident: { id } }) => id === of.id)!.messages;
  const wrong = [symptom('fi', null, { kind: 'unreachable' })];
  const down = incident('a', 'fi', null, { kind: 'unreachable' });

  test('goes by the site, and where there is none, every channel for all sites', () => {
    const channels = [ALL, FI];
    const of = (site: string) =>
      messages(incident('a', site, null, { kind: 'unreachable' }), [symptom(site, null, { kind: 'unreachable' })], { channels });
    expect([of('fi'), of('se')]).toEqual([
      [{ stage: 'opened', channels: ['@all', '@fi'] }],
      [{ stage: 'opened', channels: ['@all'] }],
    ]);
    const trouble = { kind: 'subscriber', subscriber: 'shop' } as const;
    const subscriber = incident('s', null, null, trouble);
    expect(messages(subscriber, [symptom(null, null, trouble)], { channels: [FI] })).toEqual([
      { stage: 'opened', channels: ['@fi'] },
    ]);
  });
  test.each<[string, Partial<Incident>, readonly Symptom[], string]>([
    ['has grown', { alertedAt: T - HOUR, alertedCount: 1, alertedSeverity: 0 }, wrong, 'opened'],
    ['goes on', { alertedAt: T - 5 * HOUR, alertedCount: 4, alertedSeverity: 0 }, wrong, 'opened'],
    ['is back', { alertedAt: T - HOUR, alertedCount: 4, reopenedAt: T - MINUTE }, wrong, 'reopened'],
    ['is over', { alertedAt: T - HOUR, alertedCount: 4, quietSince: T - HOUR }, [], 'ended'],
  ])('where no channel that was alerted is left, of one that %s', (_, differs, symptoms, stage) => {
    expect(messages({ ...down, ...differs }, symptoms)).toEqual([{ stage, channels: ['@all'] }]);
  });
  test.each<[string, Partial<Incident>, readonly Symptom[], string, string[]]>([
    ['has grown', { alertedAt: T - HOUR, alertedCount: 1, alertedSeverity: 0 }, wrong, 'grew', ['@all']],
    ['is back', { alertedAt: T - HOUR, alertedCount: 4, reopenedAt: T - MINUTE }, wrong, 'reopened', ['@all']],
    ['goes on', { alertedAt: T - 5 * HOUR, alertedCount: 4, alertedSeverity: 0 }, wrong, 'reminder', []],
    ['is over', { alertedAt: T - HOUR, alertedCount: 4, quietSince: T - HOUR }, [], 'ended', []],
  ])('a channel that was not alerted is, of one that %s, when that is news', (_, differs, symptoms, stage, fresh) => {
    const found = messages({ ...down, ...differs }, symptoms, { channels: [ALL, FI], alertedChannels: () => ['@fi'] });
    expect(found).toEqual([{ stage, channels: ['@fi'] }, ...(fresh.length > 0 ? [{ stage: 'opened', channels: fresh }] : [])]);
  });
  test('of several sites: also the channels that were alerted of any part, or of a parent between', () => {
    const incidents = [
      ...[incident('p', 'se', null, { parent: 'g' }), incident('se-4', 'se', 4, { parent: 'p' })],
      ...[incident('se-6', 'se', 6, { parent: 'p' }), incident('no-6', 'no', 6, { parent: 'g' }), incident('g', null, null)],
    ];
    const symptoms = [symptom('se', 4), symptom('se', 6), symptom('no', 6)];
    const alerted = (id: string) =>
      judged({ incidents, symptoms, channels: [ALL, FI], alertedChannels: (each) => (each === id ? ['@fi'] : []) }).verdicts.find(
        ({ incident: each }) => each.id === 'g',
      )!.messages;
    for (const id of ['g', 'p', 'se-4', 'no-6']) expect(alerted(id)).toEqual([{ stage: 'opened', channels: ['@all', '@fi'] }]);
    expect(alerted('another')).toEqual([{ stage: 'opened', channels: ['@all'] }]);
  });
});

describe('a judgement', () => {
  test('names what changed, and when to look again', () => {
    const symptoms = [symptom('se', 6), symptom('fi', null, { kind: 'unreachable', since: T })];
    const first = judged({ symptoms });
    expect(first.lookAgainAt).toBe(T + 30_000);
    expect(first.verdicts).toHaveLength(2);
    const again = judged({ symptoms, incidents: first.verdicts.map(({ incident: each }) => each) });
    expect(again).toEqual({ detections: [], verdicts: [], lookAgainAt: T + 30_000 });
    const lookedAfter = incident('a', 'se', 6, { alertedAt: T - MINUTE, alertedCount: 4, acknowledgedAt: T - MINUTE });
    expect(judged({ symptoms, incidents: [lookedAfter] }).lookAgainAt).toBe(T + 30_000);
    expect(judged({})).toEqual({ detections: [], verdicts: [], lookAgainAt: null });
  });
  test('looks again when an alarm ends at the latest', () => {
    const alarm: Alarm = {
      ...{ at: T - HOUR, rule: 'share', since: T - HOUR, entrants: 4, overdue: 4 },
      ...{ usualShare: 0.03, perDay: 400, falseAlarmEvery: 5_000 },
    };
    const run = { since: T - HOUR, entrants: 4, overdue: 4, customers: ['a'], overdueAfter: 15 * MINUTE };
    const broken = { ...newDetection('se', 6), alarm, run, noneOverdueSince: T - MINUTE };
    const silences = [{ kind: null, site: null, state: null, subscriber: null, startsAt: 0, endsAt: T + 9 * HOUR }];
    const found = judged({ detections: [broken, newDetection('se', 4)], silences, incidents: [incident('a', 'se', 6)] });
    expect(found.detections).toEqual([]);
    expect(found.lookAgainAt).toBeGreaterThan(T);
    expect(found.lookAgainAt).toBeLessThan(T + 2 * HOUR);
    const stuck = judged({
      detections: [broken],
      overdue: [
        { site: 'fi', state: 6, count: 9, since: 1 },
        { site: 'se', state: 6, count: 3, since: 2 },
      ],
    });
    expect(stuck.verdicts[0]!.incident).toMatchObject({ count: 3, since: 2 });
    expect(stuck.detections).toEqual([{ ...broken, noneOverdueSince: null }]);
  });
});

describe('what is weighed', () => {
  const stay = (differs: Partial<SiteStay> = {}): SiteStay => ({
    ...{ site: 'se', state: 6, outcome: 'overdue', toState: null, enteredAt: T - HOUR, at: T, shortest: HOUR, longest: HOUR },
    ...{ customer: 'a', firstSight: false, foundLate: false, ...differs },
  });
  const usual = () => ({ share: 0.03, perDay: 400 });
  test('is calm but where an incident is open or an alarm is on', () => {
    const isCalm = (open: readonly Incident[], before = newDetection('se', 6)) =>
      weigh([before], [stay()], { open, usual }).stays[0]!.calm;
    const elsewhere = [incident('a', 'se', 4), incident('b', 'fi', 6), incident('c', 'se', null), incident('d', null, 6)];
    expect(isCalm(elsewhere)).toBe(true);
    expect(isCalm([...elsewhere, incident('e', 'se', 6)])).toBe(false);
    const alarm = {
      at: T,
      rule: 'share',
      since: T,
      entrants: 4,
      overdue: 4,
      usualShare: 0.03,
      perDay: 400,
      falseAlarmEvery: 9,
    } as const;
    expect(isCalm([], { ...newDetection('se', 6), alarm })).toBe(false);
  });
  test('changes only the places of its stays, and a first look is of the first who was there and got stuck', () => {
    const stays = [
      stay(),
      stay({ firstSight: true, outcome: 'late', toState: 2, at: T + 1 }),
      ...[2, 3].map((after) => stay({ firstSight: true, at: T + after })),
      stay({ site: 'fi', firstSight: true, at: T + 4 }),
    ];
    const { changed, detections, firstLooks } = weigh([newDetection('se', 4)], stays, { open: [], usual });
    expect([changed, detections].map((all) => all.map(({ site, state }) => `${site}/${state}`))).toEqual([
      ['se/6', 'fi/6'],
      ['se/4', 'se/6', 'fi/6'],
    ]);
    expect(firstLooks).toEqual([
      { site: 'se', at: T + 2 },
      { site: 'fi', at: T + 4 },
    ]);
  });
});
