import { expect, test } from 'vitest';
import { DAY, explained, NEW, NOW, texts } from './facts.ts';

test.each([
  ['settled', 'purchase-watch poll p-1 --site se'],
  ['stopped', 'purchase-watch watch p-1 --site se'],
] as const)('the command for a purchase that is %s names the site, as several may have its id', (status, hint) => {
  const { next } = explained({ purchase: { status, nextPollAt: null } });
  expect(texts(next, 'poll')[0]).toContain(`"${hint}"`);
});

test("the moment of giving up knows which time the database's clock skipped", () => {
  const skipped = [{ from: NOW - 2 * DAY, until: NOW - DAY }];
  const waiting = { state: NEW, stateSince: NOW - 31 * DAY, watchedSince: NOW - 40 * DAY, nextPollAt: NOW };
  expect(explained({ purchase: waiting, skipped }).next).toMatchObject([{ kind: 'poll' }, { kind: 'give_up', at: NOW }]);
});
