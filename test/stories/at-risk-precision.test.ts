/** How many of the purchases that are announced as at risk are lost: weeks of the simulator's customers, decided as the daemon does. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DEFAULT_POLL_POLICY } from '../../src/domain/polling/poll-plan.ts';
import { DAY, HOUR, MINUTE, simulateShop } from '../support/simulated-shop.ts';

const PAGE = join(import.meta.dirname, '../../docs/webhooks.md');
const policy = { ...DEFAULT_POLL_POLICY, atRisk: { before: 5 * MINUTE, minimumAmount: {} } };
const shop = { seed: 1, days: 7, perHour: { se: 40, fi: 20, dk: 5 }, policy };
/** The page of card payments breaks at noon, for an hour. */
const brokenAtNoon = [0, 1, 2, 3, 4, 5, 6].flatMap((day) => [
  [day * DAY + 12 * HOUR, (control) => control.breakPage({ site: 'se', states: ['WaitingForCardPayments'] })] as const,
  [day * DAY + 13 * HOUR, (control) => control.fixPage({ site: 'se' })] as const,
]) satisfies Parameters<typeof simulateShop>[0]['happenings'];

test('at least six of ten are lost, also where a page breaks for an hour each day, as the docs say', { timeout: 120_000 }, () => {
  const calm = simulateShop(shop).announced;
  const broken = simulateShop({ ...shop, happenings: brokenAtNoon }).announced;
  for (const { told, lost } of [calm, broken]) {
    expect(told).toBeGreaterThan(100);
    expect(lost / told).toBeGreaterThanOrEqual(0.6);
  }
  const docs = readFileSync(PAGE, 'utf8');
  for (const { told, lost, paid } of [calm, broken]) {
    expect(docs).toContain(`| ${told} | ${lost} | ${paid} | ${Math.round((lost / told) * 100)} % |`);
  }
});

test('without the setting nobody is announced', () => {
  expect(simulateShop({ ...shop, days: 1, policy: DEFAULT_POLL_POLICY }).announced.told).toBe(0);
});
