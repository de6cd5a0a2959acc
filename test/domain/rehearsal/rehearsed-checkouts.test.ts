import { expect, test } from 'vitest';
import type { ChannelRule } from '../../../src/domain/incidents/audience.ts';
import { type Incident, openIncident } from '../../../src/domain/incidents/incident.ts';
import { MOST_AT_FIRST_LOOK } from '../../../src/domain/incidents/stuck-checkouts.ts';
import { createCheckoutRehearsal } from '../../../src/domain/rehearsal/rehearsed-checkouts.ts';
import type { RecordedStay } from '../../../src/domain/stays/recorded-stay.ts';

const MINUTE = 60_000;
const NOW = Date.UTC(2026, 10, 20, 9);
const ALERTS = { groupWait: 30_000, quietFor: 10 * MINUTE, groupInterval: 5 * MINUTE, repeatInterval: 240 * MINUTE };
const AUTO: ChannelRule = { name: '@auto', sites: null, severity: 'warning' };
const EACH: ChannelRule = { ...AUTO, name: '@each', stuck: 'each' };
const INCIDENTS: ChannelRule = { ...AUTO, name: '@incidents', stuck: 'incidents' };
const LITTLE = () => ({ share: null, perDay: 5, counted: 14 });
const ENOUGH = (site: string) => {
  expect(site).not.toBeNull();
  return { share: 0.03, perDay: 34, counted: 112 };
};
const SYMPTOM = { kind: 'stuck', site: 'se', state: 6, subscriber: null, severity: 0, count: 4, since: NOW } as const;
const INCIDENT: Incident = openIncident('inc_1', SYMPTOM, NOW);

const stay = (differs: Partial<RecordedStay> = {}): RecordedStay => ({
  ...{ site: 'se', state: 6, customer: 'a', enteredAt: NOW, seenAt: NOW, leftAt: null, toState: null },
  ...{ unwatchedAt: null, paidAt: null, firstSight: false },
  ...differs,
});
/** A rehearsal whose looks answer the channels of each message, with how many are named as stuck and as over. */
function rehearse(channels: readonly ChannelRule[] = [AUTO]) {
  const rehearsal = createCheckoutRehearsal({ channels, silences: [], alerts: ALERTS });
  let place = 0;
  const stuck = (differs: Partial<RecordedStay> = {}, count = 1): void => {
    for (let each = 0; each < count; each += 1) rehearsal.stuck(place++, stay(differs), NOW);
  };
  const look = (known: typeof LITTLE | typeof ENOUGH, incidents: readonly Incident[] = []) =>
    rehearsal.look(NOW + 10 * MINUTE, incidents, known as typeof ENOUGH).messages;
  const named = (...args: Parameters<typeof look>) =>
    look(...args).map(({ channels: told, stuck: some, over }) => [told.join(), some.length, over.length]);
  return { ...rehearsal, stuck, look, named };
}

test('more than twenty stuck ones of the first load are a backlog, which is not named one by one; others of the site are', () => {
  const shop = rehearse();
  shop.stuck({ firstSight: true }, MOST_AT_FIRST_LOOK + 1);
  shop.stuck({ site: 'no', firstSight: true });
  shop.stuck({}, 2);
  expect(shop.named(LITTLE)).toEqual([['@auto', 3, 0]]);
  expect(shop.named(LITTLE)).toEqual([]);
});

test('twenty are none, whoever else waits at the site and whoever of them is over', () => {
  const shop = rehearse();
  shop.stuck({ firstSight: true }, MOST_AT_FIRST_LOOK + 1);
  shop.over(0, NOW + MINUTE, 2);
  shop.stuck({}, 1);
  shop.stuck({ site: 'no', firstSight: true });
  shop.over(MOST_AT_FIRST_LOOK + 2, NOW + MINUTE, 2);
  expect(shop.named(LITTLE)).toEqual([['@auto', MOST_AT_FIRST_LOOK + 1, 0]]);
});

test('the end of one that people were alerted of is told once, with the state that came after', () => {
  const shop = rehearse([AUTO, INCIDENTS]);
  shop.stuck();
  expect(shop.named(LITTLE)).toEqual([['@auto', 1, 0]]);
  shop.over(0, NOW + MINUTE, 5);
  shop.over(7, NOW + MINUTE, 5);
  expect(shop.look(LITTLE)[0]!.over).toMatchObject([{ id: 0, toState: 5, overAt: NOW + MINUTE }]);
  expect(shop.named(LITTLE)).toEqual([]);
});

test('once enough is known of a place, one more is named, which says that incidents alert from then on', () => {
  const shop = rehearse();
  shop.stuck();
  expect(shop.look(LITTLE)[0]!.reasons).toMatchObject([{ mode: 'auto', isLast: false }]);
  shop.stuck();
  expect(shop.look(ENOUGH)[0]!.reasons).toMatchObject([{ mode: 'auto', isLast: true }]);
  shop.stuck();
  expect(shop.look(ENOUGH)).toEqual([]);
  // What was left to incidents is not named later.
  expect(shop.look(LITTLE)).toEqual([]);
});

test('or none, where an incident said so; while too little is known, an incident says nothing of it', () => {
  const parent = openIncident('inc_2', { ...SYMPTOM, site: null, state: null }, NOW);
  for (const [known, expected] of [
    [ENOUGH, []],
    [LITTLE, [['@auto', 1, 0]]],
  ] as const) {
    const shop = rehearse();
    shop.stuck();
    shop.look(LITTLE);
    shop.takenOver([parent, INCIDENT], known as typeof ENOUGH);
    shop.stuck();
    expect(shop.named(ENOUGH)).toEqual(expected);
  }
});

test('an open incident of the place alerts instead; one that is over, or of another place, does not', () => {
  const named = (incident: Incident) => {
    const shop = rehearse();
    shop.stuck();
    return shop.named(LITTLE, [incident]);
  };
  expect(named(INCIDENT)).toEqual([]);
  for (const differs of [{ endedAt: NOW }, { state: 4 }, { site: 'no' }])
    expect(named({ ...INCIDENT, ...differs })).toEqual([['@auto', 1, 0]]);
});

test('a message for channels that want each, while an incident is open, tells no other channel that incidents alert', () => {
  const shop = rehearse([AUTO, EACH]);
  shop.stuck();
  expect(shop.named(LITTLE, [INCIDENT])).toEqual([['@each', 1, 0]]);
  shop.stuck();
  expect(shop.named(ENOUGH)).toEqual([['@each', 1, 0]]);
  const other = rehearse([AUTO, EACH]);
  other.stuck();
  expect(other.named(LITTLE)).toEqual([['@auto,@each', 1, 0]]);
  other.stuck();
  expect(other.named(ENOUGH, [INCIDENT])).toEqual([['@each', 1, 0]]);
  other.stuck();
  expect(other.named(ENOUGH)).toEqual([['@each', 1, 0]]);
});
