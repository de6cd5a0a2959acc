import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { digestPage } from '../../../../src/channels/people/messages/digest.ts';
import { slackMessage } from '../../../../src/channels/slack/message.ts';
import { renderForTerminal } from '../../../../src/channels/slack/terminal.ts';
import { eventBody } from '../../../../src/domain/events/make-event.ts';
import { readPeopleEvent } from '../../../../src/domain/events/people-event-types.ts';
import {
  buildDigest,
  type DigestIncident,
  type DigestSubscriber,
  type SiteFacts,
} from '../../../../src/domain/incidents/digest.ts';
import { messageProblem } from '../../../support/slack-stand-in.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = Date.UTC(2026, 10, 20, 7);
const QUIET: SiteFacts = {
  ...{
    site: 'se',
    since: NOW - 24 * HOUR,
    incidents: [],
    overdue: [],
    stays: [],
    pace: [],
    trend: { range: '24h', present: { customers: 0, paid: 0 }, before: { customers: 0, paid: 0 } },
    unreadable: 0,
    expired: 0,
  },
};
const over: DigestIncident = {
  ...{ id: 'inc_1', kind: 'stuck', states: [6], partOf: null, openedAt: NOW - 5 * HOUR, endedAt: NOW - 5 * HOUR + 42 * MINUTE },
  ...{ count: 0, peak: 31, owner: 'Kim', cause: 'deploy' },
};
const open: DigestIncident = { ...over, id: 'inc_2', endedAt: null, openedAt: NOW - 2 * HOUR, peak: 3, owner: null, cause: null };

function message(sites: readonly SiteFacts[], subscribers: readonly DigestSubscriber[] = []) {
  const data = buildDigest({ until: NOW, sites, subscribers, countedTo: 1_000 });
  return slackMessage(eventBody('evt_1', { type: 'incident.digest', sequence: null, at: NOW, state: null, data: data! }), {
    consoleUrl: null,
  });
}

describe('a digest', () => {
  const busy: SiteFacts = {
    ...QUIET,
    incidents: [over, open],
    overdue: [{ state: 6, count: 3, since: NOW - 25 * MINUTE }],
    stays: [{ state: 6, well: 400, overdue: 9, other: 12, usualShare: 0.01 }],
    pace: [{ state: 6, p95: 9 * MINUTE, purchases: 400, usualP95: 130_000, limit: 15 * MINUTE }],
    unreadable: 1,
    expired: 1_000,
  };

  test('a letter says what trends say, and leads there', () => {
    const week = (present: number[], before: number[]): SiteFacts => ({
      ...QUIET,
      trend: {
        range: '7d',
        present: { customers: present[0]!, paid: present[1]! },
        before: { customers: before[0]!, paid: before[1]! },
      },
    });
    const lineOf = (facts: SiteFacts): string =>
      message([facts])
        .text.split('\n')
        .find((line) => line.startsWith('• The last'))!;
    expect(lineOf(week([1_240, 961], [1_100, 990]))).toBe(
      '• The last 7 days: 1 240 customers, of whom 78 in 100 paid, fewer than in the 7 days before (90 in 100)',
    );
    expect(lineOf(week([1_240, 961], [1_100, 860]))).toBe(
      '• The last 7 days: 1 240 customers, of whom 78 in 100 paid; 78 in 100 in the 7 days before: chance can make the difference',
    );
    expect(lineOf(week([12, 12], [1_100, 860]))).toBe('• The last 7 days: 12 customers, too few to say more');
    expect(lineOf(week([40, 30], [3, 3]))).toBe(
      '• The last 7 days: 40 customers, of whom 75 in 100 paid; too few came in the 7 days before to compare',
    );
    const data = buildDigest({ until: NOW, sites: [week([40, 30], [3, 3])], subscribers: [], countedTo: 1_000 });
    expect(
      digestPage(
        readPeopleEvent(eventBody('evt_1', { type: 'incident.digest', sequence: null, at: NOW, state: null, data: data! }))!
          .data as never,
      ),
    ).toBe('/trends?range=7d&site=se');
  });

  test('says how it was, site by site, and raises no alarm', () => {
    const shown = renderForTerminal(
      message([busy, { ...QUIET, site: 'no' }], [{ id: 1, name: 'shop', givenUp: 3, parked: 412, off: true }]),
    ).replace(/\s*\n│\s*/g, ' ');
    expect(shown).toContain('Digest of 2 sites: 2 incidents (1 still open), 3 purchases stuck now');
    for (const line of [
      'Still open: customers stuck waiting for the card provider, 3 at the worst, from 2026-11-20 05:00 UTC, for 2 h; nobody looks after it',
      'Over: customers stuck waiting for the card provider, 31 at the worst, from 2026-11-20 02:00 UTC, for 42 min; Kim looked after it; it was: A deploy broke the page',
      'Stuck now: 3 purchases waiting for the card provider, the oldest for 25 min',
      'Full days (UTC): 421 customers waiting for the card provider, of which 9 got stuck (2 in 100; usually 1 in 100)',
      'Slow: customers waiting for the card provider needed up to 9 min (95 % of them), before that 2 min 10 s; they count as stuck after 15 min',
      '1 purchase became unreadable',
      'at least 1 000 purchases given up after a long time without a change',
      'shop: is switched off, 3 given up, 412 waiting until it takes something again',
      'Nothing to say of no',
    ])
      expect(shown).toContain(line);
    expect(shown).not.toMatch(/🔴|🟠/);
  });

  test('of one site names it, and what is part of a larger incident says so', () => {
    const { text } = message([{ ...QUIET, incidents: [{ ...open, states: [4, 6], partOf: 'inc_9' }] }]);
    expect(text.split('\n')[0]).toBe('📋 Digest of se: 1 incident (1 still open), nobody stuck now');
    expect(text).toContain('customers stuck in 2 states at once, with other sites');
    const elsewhere = message([{ ...QUIET, incidents: [{ ...open, states: [], partOf: 'inc_9' }] }]).text;
    expect(elsewhere).toContain('customers stuck, with other sites, 3 at the worst');
    expect(message([{ ...QUIET, incidents: [{ ...over, kind: 'unreachable', states: [] }] }]).text).toContain(
      'Over: no purchase was read, from',
    );
  });

  test('counts an incident of several sites once', () => {
    const here = { ...QUIET, incidents: [{ ...open, partOf: 'inc_9' }] };
    const there = { ...here, site: 'no', incidents: [{ ...open, id: 'inc_3', partOf: 'inc_9' }] };
    expect(message([here, there]).text).toMatch(/^📋 Digest of 2 sites: 1 incident \(1 still open\), /);
  });

  test('of many sites names all it cannot show', () => {
    const own = (index: number) => busy.incidents.map((each) => ({ ...each, id: `${each.id}-${index}` }));
    const sites = Array.from({ length: 60 }, (_, index) => ({ ...busy, site: `site-${index}`, incidents: own(index) }));
    const { text, blocks } = message(sites);
    expect(messageProblem({ text, blocks })).toBeNull();
    expect(text).toContain('*site-0*\n• Still open: customers stuck');
    // Those behind have their numbers at least.
    for (let shown = 1; shown < 20; shown++) expect(text).toContain(`*site-${shown}*\n`);
    expect(text).toContain('*site-19*\n• 2 incidents (1 still open), 3 purchases stuck now');
    expect(text).toContain('and 30 more');
  });

  test('of one site with more to say than there is room for has the lines that fit, those that matter most', () => {
    const incidents = Array.from({ length: 9 }, (_, index) => ({ ...open, id: `inc_${index}`, owner: 'K'.repeat(200) }));
    const overdue = Array.from({ length: 9 }, (_, state) => ({ state, count: 2, since: NOW - HOUR }));
    const ended = incidents.map((each) => ({ ...each, id: `${each.id}_`, endedAt: NOW, cause: 'c'.repeat(200) }));
    const stays = overdue.map(({ state }) => ({ state, well: 90, overdue: 9, other: 0, usualShare: 0.01 }));
    const { text, blocks } = message([{ ...QUIET, incidents: [...incidents, ...ended], overdue, stays }]);
    expect(messageProblem({ text, blocks })).toBeNull();
    expect(text.match(/^• Still open: /gm)).toHaveLength(5);
    expect(text).toContain('• and 4 more open incidents');
    expect(text).toMatch(/\n…(\n|$)/);
  });

  test('in a shape nobody expected is shown as far as it can be read', () => {
    const body = JSON.stringify({
      id: 'evt_1',
      type: 'incident.digest',
      timestamp: '2026-11-20T07:00:00.000Z',
      data: { sites: [7, { site: 5, incidents: [{}], overdue: 'x', stays: [null] }], quiet: {}, subscribers: [1] },
    });
    expect(slackMessage(body, { consoleUrl: null }).text).toContain('Digest of a site: no incidents, nobody stuck now');
  });

  test('whatever it holds, Slack takes it and its headline is whole', () => {
    const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 });
    const number = fc.integer({ min: 0, max: 2_000_000 });
    const at = fc.integer({ min: NOW - 720 * HOUR, max: NOW });
    const state = fc.integer({ min: 0, max: 20 });
    const ends = number.chain((customers) =>
      fc.record({ customers: fc.constant(customers), paid: fc.integer({ min: 0, max: customers }) }),
    );
    const site = fc.record({
      site: name,
      since: at,
      incidents: fc.array(
        fc.record({
          id: name,
          kind: fc.constantFrom('stuck', 'unreachable'),
          states: fc.array(state),
          partOf: fc.option(name),
          openedAt: at,
          endedAt: fc.option(at),
          count: number,
          peak: number,
          owner: fc.option(name),
          cause: fc.option(name),
        }),
      ),
      overdue: fc.array(fc.record({ state, count: number, since: fc.option(at) })),
      stays: fc.array(
        fc.record({
          state,
          well: number,
          overdue: number,
          other: number,
          usualShare: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
        }),
      ),
      pace: fc.array(fc.record({ state, p95: number, purchases: number, usualP95: fc.option(number), limit: fc.option(number) })),
      trend: fc.record({ range: fc.constantFrom('24h', '7d'), present: ends, before: ends }),
      unreadable: number,
      expired: number,
    });
    const subscriber = fc.record({
      id: number,
      name,
      givenUp: fc.integer({ min: 1, max: 2_000 }),
      parked: number,
      off: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.array(site, { maxLength: 40 }),
        fc.array(subscriber, { minLength: 1, maxLength: 30 }),
        (sites, subscribers) => {
          const { text, blocks } = message(sites as SiteFacts[], subscribers);
          expect(messageProblem({ text, blocks })).toBeNull();
          expect(text.isWellFormed()).toBe(true);
          expect(text.split('\n')[0]).toMatch(/^📋 Digest of .* stuck now$/);
        },
      ),
      { numRuns: 60 },
    );
  });
});
