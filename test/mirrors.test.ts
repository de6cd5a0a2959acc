/** Each file of domain and daemon that decides something has its test at the same path, so that nobody searches for it. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');

/** Files that decide nothing: types, tables of words, schemas, and what joins parts that have tests. */
const DECIDE_NOTHING = [
  ...['daemon/deps', 'daemon/notifier/subscribers/subscriber', 'daemon/poller/sites/polled-site'],
  ...['domain/deciding/invoice-seen', 'domain/explain/facts', 'domain/explain/step', 'domain/incidents/symptom'],
  ...['domain/polling/site-calls'],
];

/** Files whose decisions a test elsewhere holds, because it is about several files or needs the whole product. The list may only get shorter. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  'api/incidents/aftermath': ['daemon/upkeep/aftermaths'],
  'api/reference/openapi': ['domain/events/documents'],
  'daemon/notifier/sending/sender': ['daemon/notifier/notifier', 'daemon/notifier/sending/attempts'],
  'daemon/poller/window/purchase-loader': ['daemon/poller/window/nudged', 'daemon/poller/window/patrol'],
  'daemon/shards/ownership': ['daemon/shards/other-replicas'],
  'domain/deciding/repair': ['daemon/poller/repair'],
  'domain/events/contract': [
    ...[
      'domain/events/digest-data',
      'domain/events/paid-twice-data',
      'domain/events/people-event-types',
      'domain/events/system-event-types',
    ],
  ],
  'domain/explain/deliveries': ['domain/explain/held'],
  'postgres/purchases/erase': ['daemon/shards/erasures'],
  'postgres/upkeep/retention': ['daemon/upkeep/sweep'],
  'stories/lost-with-the-judge.long': ['daemon/notifier/sending/direct-post'],
  'stories/notifications': ['daemon/shards/listening'],
  'stories/one-sided.long': ['daemon/poller/sites/site-outside'],
  'stories/stored-secrets.long': ['daemon/upkeep/resealing'],
  'stories/stuck': ['daemon/judge/people'],
  'stories/waiting-requests': ['daemon/notifier/sending/under-way'],
};

const isThere = (path: string): boolean => existsSync(join(ROOT, path));

test('each file of domain and daemon has its mirror, or a place in these lists', () => {
  const files = ['domain', 'daemon'].flatMap((room) =>
    readdirSync(join(ROOT, 'src', room), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => `${room}/${file.slice(0, -'.ts'.length)}`),
  );
  expect(files.length).toBeGreaterThan(100);
  const without = files.filter((file) => !isThere(`test/${file}.test.ts`));
  const listed = [...DECIDE_NOTHING, ...Object.values(ELSEWHERE).flat()];
  expect(
    without.filter((file) => !listed.includes(file)),
    'write test/<the same path>.test.ts',
  ).toEqual([]);
  expect(
    listed.filter((file) => isThere(`test/${file}.test.ts`) || !files.includes(file)),
    'take these off the lists',
  ).toEqual([]);
  expect(Object.keys(ELSEWHERE).filter((path) => !isThere(`test/${path}.test.ts`))).toEqual([]);
});
