/** One contract for each event: what is published of it is what is made, and what is read. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { exampleEvents } from '../../../src/channels/people/examples.ts';
import { eventBody, purchaseDraftOf } from '../../../src/domain/events/make-event.ts';
import { PEOPLE_EVENTS, readPeopleEvent } from '../../../src/domain/events/people-event-types.ts';
import { readSystemEvent, SYSTEM_EVENTS } from '../../../src/domain/events/system-event-types.ts';
import { parseExact } from '../../../src/domain/values/exact-json.ts';
import { contractFiles } from '../../../tools/contract.ts';
import { aPurchase } from '../../support/a-purchase.ts';
import { eventFault } from '../../support/event-contract.ts';

const ROOT = join(import.meta.dirname, '../../..');
const NOW = Date.UTC(2026, 10, 20, 9, 15, 2, 123);
const EXAMPLE = /^\{ "id": "evt_[\s\S]*?^ {4}.*\}$/m;

test.each([...(await contractFiles())])('%s is as the schemas are', (path, text) => {
  expect(readFileSync(join(ROOT, path), 'utf8'), 'write it again: npm run contract').toBe(text);
});

test('each type has its schema, and names itself', () => {
  for (const [type, schema] of Object.entries({ ...SYSTEM_EVENTS, ...PEOPLE_EVENTS })) expect(schema.shape.type.value).toBe(type);
});

test("the webhook page's example is an event, to its schema and to the JSON Schema", () => {
  const [example = ''] = EXAMPLE.exec(readFileSync(join(ROOT, 'docs/webhooks.md'), 'utf8')) ?? [];
  expect(eventFault(example)).toBeNull();
  expect(SYSTEM_EVENTS['purchase.state_changed'].safeParse(parseExact(example)).error).toBeUndefined();
});

test('an event that lacks a field, or has one of another type, is refused by the JSON Schema', () => {
  const draft = purchaseDraftOf(
    'purchase.unreadable',
    { purchase: aPurchase(), sequence: 1, at: NOW, state: null },
    {
      state: null,
      tries: 5,
      reason: 'http_404',
      codes: ['E4'],
      lastError: 'The service does not know this Purchase ID (HTTP 404).',
    },
  );
  const attached = { reference: null, metadata: null, price: null, currency: null, orderReference: null };
  const body = (more: object) => eventBody('evt_1', { ...draft, data: { ...draft.data, ...attached, ...more } });
  expect(eventFault(body({}))).toBeNull();
  expect(eventFault(body({ addedLater: 1 }))).toBeNull();
  expect(eventFault(body({ tries: 'five' }))).toContain('/data/tries must be integer');
  expect(eventFault(body({ price: undefined }))).toContain("must have required property 'price'");
});

test('an event for systems is read by its type, and none where type or data are not known', () => {
  const data = { site: 'se', state: { value: 99, name: 'Unknown(99)' }, purchaseId: 'p-1' };
  expect(readSystemEvent('site.unknown_state', data)).toEqual({ type: 'site.unknown_state', data });
  expect(readSystemEvent('site.reachable', data)).toBeNull();
  expect(readSystemEvent('of tomorrow', data)).toBeNull();
});

describe('an event for people', () => {
  const [opened, ended, checkouts] = exampleEvents(NOW, 'longest').map(({ body }) => body) as [string, string, string];
  const changed = (body: string, data: object): string => {
    const event = JSON.parse(body);
    return JSON.stringify({ ...event, data: { ...event.data, ...data } });
  };

  test('is read with times as instants and amounts as text', () => {
    const data = readPeopleEvent(opened)?.data;
    expect(data).toMatchObject({ kind: 'stuck', since: NOW - 25 * 60_000, endedAt: null });
    expect(readPeopleEvent(ended)?.data).toMatchObject({ kind: 'stuck', endedAt: NOW, movedOn: 180 });
    expect(readPeopleEvent(checkouts)?.data).toMatchObject({ kind: 'checkouts', stuckCount: 30 });
  });

  test('of another version is read as far as it is known: the rest is null, and entries that are not known are left out', () => {
    const odd = changed(opened, {
      severity: 'apocalyptic',
      alarm: 7,
      parts: [{ site: 'se', state: { value: 99 } }, 'x'],
      new: {},
    });
    const data = readPeopleEvent(odd)?.data;
    expect(data).toMatchObject({
      severity: null,
      alarm: null,
      parts: [{ site: 'se', state: { value: 99, name: 'Unknown(99)' }, count: 0, peak: 0, ended: false }],
    });
    expect(data).not.toHaveProperty('new');
  });

  test('that lacks what came with later versions is read as the quieter of what it may mean', () => {
    const since = '2026-11-20T09:00:00.000Z';
    const read = (type: string, data: object) => readPeopleEvent(JSON.stringify({ type, timestamp: since, data }));
    const stuck = { kind: 'stuck', since, count: 3, causes: [{ cause: 'deploy' }] };
    expect(read('incident.opened', stuck)).toMatchObject({
      id: '',
      data: { incidentId: '', atLeast: false, causes: [{ cause: 'deploy', why: null, likely: true }] },
    });
    expect(read('incident.opened', { kind: 'subscriber', since, subscriber: 'shop' })?.data).toMatchObject({ untried: false });
    expect(read('incident.first_look', { site: 'se', count: 3 })?.data).toMatchObject({ kind: 'first_look' });
    expect(read('incident.paid_twice', { site: 'se' })?.data).toMatchObject({ kind: 'paid_twice', severity: 'warning' });
    const place = { site: 'se', state: { value: 6 } };
    expect(read('incident.checkouts', { stuck: [{ ...place, purchaseId: 'p', since }], reasons: [place] })?.data).toMatchObject({
      ...{ kind: 'checkouts', severity: 'warning', stuck: [{ foundLate: false }], reasons: [{ mode: 'auto', isLast: false }] },
    });
    const sites = [{ site: 'se', incidents: [{ openedAt: since }] }];
    expect(read('incident.digest', { sites, subscribers: [{ subscriber: 'shop' }] })?.data).toMatchObject({
      kind: 'digest',
      sites: [{ incidents: [{ incidentId: '', kind: 'stuck' }] }],
      subscribers: [{ off: false }],
    });
  });

  test('without what no message can do without is not read', () => {
    expect(readPeopleEvent(changed(opened, { since: 'yesterday' }))).toBeNull();
    expect(readPeopleEvent(changed(opened, { kind: 'of tomorrow' }))).toBeNull();
    expect(readPeopleEvent('{"type":')).toBeNull();
    expect(readPeopleEvent('7')).toBeNull();
  });
});
