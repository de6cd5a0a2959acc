/** What the page of an incident says of messages to people, of who acts, and of what it may be. */
import { expect, test } from 'vitest';
import type { IncidentDetailsBody } from '../../src/api/incidents/fields.ts';
import type { Ask } from '../../src/console/frame/page-route.ts';
import { type CareParts, firstActs } from '../../src/console/pages/incidents/care.ts';
import { causes, numbers, sent } from '../../src/console/pages/incidents/facts.ts';
import { moneySentence } from '../../src/console/pages/incidents/money.ts';

const NOW = Date.UTC(2026, 10, 20, 9, 15);
const at = new Date(NOW - 600_000).toISOString();
const nextReminderAt = new Date(NOW + 600_000).toISOString();
const incident = {
  ...{ id: 'inc_1', kind: 'stuck', severity: 'warning', endedAt: null, parent: null, silencedUntil: null, owner: null },
  ...{
    acknowledged: null,
    answer: null,
    causes: [],
    earlier: null,
    wrong: [],
    todo: [],
    meanwhile: [],
    limit: null,
    alarm: null,
  },
  ...{
    site: 'se',
    state: { value: 6, name: 'WaitingForCardPayments' },
    subscriber: null,
    count: 3,
    peak: 4,
    since: at,
    openedAt: at,
  },
  ...{ reopenedAt: null, quietSince: null, endsAt: null, nextReminderAt, alertedAt: at, said: [] },
} as unknown as IncidentDetailsBody;
const ask = { base: '', now: NOW, mayOperate: true, caller: { key: 'API_KEY', scopes: ['operate'] } } as unknown as Ask;
const shown = (hasChannel: boolean): string => String(sent(incident, ask, hasChannel));

test('a reminder is promised where a channel is set, and nowhere else', () => {
  expect(shown(true)).toContain('A reminder');
  expect(shown(false)).not.toContain('A reminder');
  expect(shown(false)).toContain('Nobody is alerted: no channel for people is set.');
});

test('a person acknowledges under the name of the session, else of the key, and says it where neither is known', () => {
  const form = (caller: object): string =>
    String(
      firstActs({ ask: { ...ask, caller: { scopes: [], ...caller } }, incident, refused: null } as unknown as CareParts, null),
    );
  expect(form({ key: 'API_KEY', name: 'Kim' })).toContain('<input type="hidden" name="by" value="Kim">');
  expect(form({ key: 'API_KEY' })).toContain('<input type="hidden" name="by" value="API_KEY">');
  expect(form({ key: null })).toMatch(/<label>Who<input name="by" value=""[^>]* required/);
});

test('the numbers say where the fault is, and after which mark it began', () => {
  const slice = {
    ...{ method: '5', country: 'S<E', currency: null, since: at },
    ...{ inside: { came: 15, stuck: 14 }, elsewhere: { came: 40, stuck: 1 } },
  };
  const mark = { at: new Date(NOW - 840_000).toISOString(), text: 'deploy <4.2>' };
  const customers = { places: [], counted: 0, slice, mark } as unknown as Parameters<typeof numbers>[1];
  const page = String(numbers(incident, customers, ask));
  expect(page).toContain('<bdi>only payment method 5, only S&lt;E</bdi>');
  expect(page).toContain('14 of 15 customers got stuck, elsewhere 1 of 40');
  expect(page).toContain('<bdi>4 min after deploy &lt;4.2&gt;</bdi>');
  expect(String(numbers(incident, null, ask))).not.toContain('Narrowed');
});

test('the remedy stands before the reason; without a named cause the page says what its message says', async () => {
  const named = {
    cause: 'deploy',
    title: 'A deploy broke the page',
    why: 'None got on since.',
    likely: true,
    remedy: 'Take it back.',
  };
  const page = String(await causes({ ...incident, causes: [named] }, ask));
  expect(page.indexOf('Take it back.')).toBeGreaterThan(0);
  expect(page.indexOf('Take it back.')).toBeLessThan(page.indexOf('None got on since.'));
  expect(page).toContain('/docs/alerts.html#a-deploy-broke-the-page');
  const unnamed = String(await causes({ ...incident, wrong: ['The page may be broken.'], todo: ['Set `auth` again.'] }, ask));
  expect(unnamed).toMatch(/What to do.*Set <code>auth<\/code> again\..*What it may be.*The page may be broken\./s);
});

test('numbers have the limit, what got on after all, and what was left at the end', async () => {
  const limit = { ms: 900_000, usualMs: 41_000, p95Ms: 150_000, purchases: 412 };
  const open = String(await numbers({ ...incident, limit }, null, ask));
  expect(open.replaceAll('\u00a0', ' ')).toContain('15 min<small>usual 41 s, 95 % under 2 min 30 s, from 412 purchases</small>');
  const customers = { counted: 0, places: [{ movedOn: 2 }, { movedOn: 5 }] } as never;
  const over = String(await numbers({ ...incident, endedAt: new Date(NOW).toISOString() }, customers, ask));
  expect(over).toMatch(/Got on after all<\/dt><dd>7<.*/s);
  expect(over).toContain('3 still stuck at the end, who may have left');
});

test('a sum says "at least" only where more wait than were counted', () => {
  const waiting = [{ amount: '8620.80', currency: 'SEK' }];
  const sum = (atLeast: boolean): string =>
    moneySentence({ waiting, unpriced: 0, counted: 9, atLeast }).replaceAll('\u00a0', ' ');
  expect([sum(false), sum(true)]).toEqual(['8 620.80 SEK waits.', 'At least 8 620.80 SEK waits.']);
});
