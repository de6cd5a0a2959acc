import { expect, test } from 'vitest';
import {
  endSession,
  isUnpolled,
  MOST_UNPOLLED,
  unnamedSiteText,
  unpolledAdvice,
  unpolledText,
} from '../../../src/domain/polling/unpolled.ts';

const SITE = { name: 'se', unpolled: 3, renamedTo: null, lockedBy: null };
const MOVING = { ...SITE, renamedTo: 'sweden' };
const LOCKED = { ...MOVING, lockedBy: 77 };

test('a site that no daemon names, and one whose purchases move to its new name, are told apart', () => {
  expect(unpolledText(SITE)).toBe('3 purchases of site se are not polled: no running daemon has the site in its settings');
  expect(unpolledText({ ...MOVING, unpolled: 1 })).toBe(
    '1 purchase of site se is not polled yet: it moves to site sweden, which names se in "formerly"',
  );
  expect(unpolledText(LOCKED)).toMatch(
    /^3 purchases .*: they move .*, and session 77 of the database has locked rows that are to move$/,
  );
  expect(unpolledText({ ...SITE, unpolled: MOST_UNPOLLED })).toMatch(/^at least 1 000 purchases of site se are not polled: /);
  expect([unnamedSiteText(SITE), unnamedSiteText(LOCKED)]).toEqual([
    expect.stringMatching(/^no running daemon has site se/),
    expect.stringMatching(/until they have moved to site sweden, .*session 77/),
  ]);
});

test('the advice is to name the site, to wait, or to end the session that has locked rows', () => {
  expect(unpolledAdvice(SITE)).toContain('formerly: [se]');
  expect(unpolledAdvice(SITE)).toContain('unwatch --site se');
  expect(unpolledAdvice(MOVING)).toMatch(/^a daemon moves them by itself/);
  expect(unpolledAdvice(LOCKED)).toBe(endSession(77));
  expect(endSession(77)).toContain('pg_terminate_backend(77)');
  expect(endSession(null)).toContain('xact_start');
});

test('only the two reasons of such a site are such', () => {
  expect(['not_configured', 'not_moved', 'refused', null].map(isUnpolled)).toEqual([true, true, false, false]);
});
