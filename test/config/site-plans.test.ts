/** Plans and limits of single sites. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describeSettings } from '../../src/config/describe.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import { policyOf, policyOfSite } from '../../src/domain/polling/poll-plan.ts';
import { stateValue } from '../../src/domain/purchases/states.ts';
import { createStayLimits } from '../../src/postgres/stays/limits.ts';

const SITE = 'baseUrl: https://checkout.example, clientId: a, clientSecret: b';
function load(...lines: string[]) {
  const path = join(mkdtempSync(join(tmpdir(), 'purchase-watch-test-')), 'config.yaml');
  writeFileSync(path, lines.join('\n'));
  return loadSettings({ PURCHASE_WATCH_CONFIG: path });
}
const CARDS = stateValue('WaitingForCardPayments')!;

test('a site has its own plan, merged over that of all sites, and its own limit', () => {
  const settings = load(
    'states: { WaitingForCardPayments: { stuckAfter: 9m, poll: { most: 40s } } }',
    `sites: { one: { ${SITE}, states: { WaitingForCardPayments: { stuckAfter: 3m }, default: { stuckAfter: never } } }, two: { ${SITE} } }`,
  );
  const limits = createStayLimits({ sql: null as never, clock: { now: () => 0 }, policy: settings.policy });
  const planOf = (site: string, state: number) => policyOf(policyOfSite(settings.policy, site), state);
  expect([planOf('one', CARDS).stuckAfter, planOf('one', CARDS).poll.most]).toEqual([180_000, 40_000]);
  expect([planOf('two', CARDS).stuckAfter, planOf('one', 4711).stuckAfter]).toEqual([540_000, null]);
  expect([limits.limitOf('one', CARDS).ms, limits.limitOf('two', CARDS).ms]).toEqual([180_000, 540_000]);
  expect(policyOf(limits.policyFor('one'), CARDS).stuckAfter).toBe(180_000);
  const shown = describeSettings(settings).find(({ name }) => name === 'sites.one.states.WaitingForCardPayments');
  expect(shown?.text).toMatch(/to 40s.* stuck after 3m/);
});

test('what is wrong with a plan of a site names the site, and which states are final is the same everywhere', () => {
  expect(() => load(`sites: { one: { ${SITE}, states: { New: { poll: { first: 9m, most: 1s } } } } }`)).toThrow(
    /sites\.one\.states\.New\.poll: first \(9m\) is longer than most \(1s\)/,
  );
  expect(() => load(`sites: { one: { ${SITE}, states: { Completed: { final: false } } } }`)).toThrow(
    /sites\.one\.states\.Completed/,
  );
  expect(() => load(`sites: { one: { ${SITE}, states: { Completed: { stuckAfter: 5m } } } }`)).toThrow(
    /has no meaning in a final state/,
  );
});
