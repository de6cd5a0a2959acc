import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SlackMessage } from '../../../../src/channels/slack/message.ts';
import { slackFolded } from '../../../../src/channels/slack/message.ts';
import { renderForTerminal } from '../../../../src/channels/slack/terminal.ts';
import { TOGETHER_REASONS, type TogetherReason } from '../../../../src/domain/deliveries/channel-pace.ts';
import { CAUSES } from '../../../../src/domain/incidents/causes.ts';
import type { IncidentNow } from '../../../../src/postgres/incidents/current.ts';
import { messageProblem } from '../../../support/slack-stand-in.ts';

const START = Date.UTC(2026, 10, 20, 9);
const time = (minutes: number): string => new Date(START + minutes * 60_000).toISOString();
const card = { value: 6, name: 'WaitingForCardPayments' };
const stuck = {
  ...{ incidentId: 'inc_1', kind: 'stuck', site: 'se', state: card, severity: 'critical', count: 12, peak: 12 },
  ...{ openedAt: time(0), endedAt: null, since: time(-10), causes: [{ cause: 'new_checkout', why: 'It is so.' }] },
};
const unreachable = {
  ...{ incidentId: 'inc_2', kind: 'unreachable', site: 'no', severity: 'warning', openedAt: time(1), endedAt: null },
  ...{ since: time(-1), lastError: 'The service answered 503.' },
};
const NOW: IncidentNow = {
  ...{ count: 12, peak: 12, since: START - 10 * 60_000, endedAt: null, level: 'critical' },
  ...{ acknowledged: null, hasParent: false, parts: [] },
};
const over = { count: 0, endedAt: time(50) };

function event(type: string, data: object, minutes: number): string {
  return JSON.stringify({ id: 'evt_1', type, timestamp: time(minutes), data });
}

const incident = (stage: string, data: object, minutes: number): string => event(`incident.${stage}`, data, minutes);

/** How incidents are by now: as the last event about each said, unless told otherwise. */
function asTold(events: readonly string[]): ReadonlyMap<string, IncidentNow> {
  const told = events.flatMap((body) => {
    const { data } = JSON.parse(body) as { data: { incidentId?: string; severity?: string; count?: number; peak?: number } };
    const { incidentId, severity, count = 1, peak = count } = data;
    return incidentId === undefined
      ? []
      : [[incidentId, { ...NOW, count, peak, level: severity as IncidentNow['level'] }] as const];
  });
  return new Map(told);
}

interface Folding {
  readonly reason?: TogetherReason;
  readonly consoleUrl?: string | null;
  readonly incidents?: ReadonlyMap<string, IncidentNow>;
  readonly until?: number;
}

function folded(
  events: readonly string[],
  { reason = 'refused', consoleUrl = null, incidents = asTold(events), until = START + 50 * 60_000 }: Folding = {},
): SlackMessage {
  const made = slackFolded(events, { consoleUrl, since: START, until, now: START + 60 * 60_000, reason, incidents });
  expect(messageProblem(made)).toBeNull();
  return made;
}

const headline = ({ text }: SlackMessage): string => text.split('\n')[0]!;

describe('of one incident', () => {
  test('that grew while nobody could be told, the message says how it is now, and what to do', () => {
    const made = folded([incident('opened', stuck, 1), incident('grew', { ...stuck, count: 80, peak: 80 }, 20)]);
    expect(headline(made)).toBe('🔴 se: now 80 customers stuck waiting for the card provider, the oldest for 1 h 10 min');
    expect(made.text).toContain(CAUSES.new_checkout.remedy);
    expect(made.text).not.toContain('12 customers');
    expect(made.text).toContain('2 messages in one, because Slack did not take them at once. They were due from <!date^');
  });

  test('that came and went meanwhile, it says that it was', () => {
    const made = folded([incident('opened', stuck, 1), incident('ended', { ...stuck, ...over, peak: 40 }, 50)]);
    expect(headline(made)).toBe('✅ se: up to 40 customers were stuck waiting for the card provider for 50 min; it is over');
    expect(made.text).not.toMatch(/🔴|What to do/);
  });

  test('of which people had heard before, its end is told as ever', () => {
    const made = folded([incident('grew', stuck, 1), incident('ended', { ...stuck, ...over }, 50)]);
    expect(headline(made)).toBe('✅ se: no longer stuck waiting for the card provider, after 50 min');
  });

  test('that ended and came back goes on', () => {
    const made = folded([incident('ended', { ...stuck, ...over }, 20), incident('reopened', { ...stuck, count: 3 }, 40)]);
    expect(headline(made)).toMatch(/^🔴 se: again 3 customers stuck/);
  });

  test('nobody is reminded of what they have not heard of', () => {
    const made = folded([incident('opened', stuck, 1), incident('reminder', stuck, 40)]);
    expect(headline(made)).toMatch(/^🔴 se: now 12 customers stuck/);
    expect(headline(folded([incident('reminder', stuck, 40)]))).toMatch(/^🔴 se: still 12 customers stuck/);
  });

  test('it says how many there are by now, also when nothing was said of that', () => {
    const now = { ...NOW, count: 3, peak: 90, level: 'warning' as const, acknowledged: { by: 'Kim', note: null, at: START } };
    const made = folded([incident('grew', { ...stuck, count: 80, lately: { entrants: 90, overdue: 80 } }, 20)], {
      incidents: new Map([['inc_1', now]]),
    });
    expect(headline(made)).toBe('🟠 se: now 3 customers stuck waiting for the card provider, the oldest for 1 h 10 min');
    expect(made.text).toContain('3 customers (90 at the worst)');
    expect(made.text).toContain('Looked after by: Kim');
    expect(made.text).not.toMatch(/80 /);
    expect(made.text).toMatch(/Money, purchases and causes are as of <!date\^\d+\^.+\|2026-11-20 09:20 UTC>\./);
  });

  test('it is told as over when it ended and nobody wrote so', () => {
    const incidents = new Map([['inc_1', { ...NOW, count: 0, endedAt: START + 30 * 60_000 }]]);
    expect(headline(folded([incident('opened', stuck, 1)], { incidents }))).toBe(
      '✅ se: up to 12 customers were stuck waiting for the card provider for 30 min; it is over',
    );
    expect(headline(folded([incident('grew', stuck, 1)], { incidents }))).toMatch(/^✅ se: no longer stuck .+, after 30 min$/);
  });

  test('it says that nobody is stuck at the moment while it is not over yet', () => {
    const incidents = new Map([['inc_1', { ...NOW, count: 0 }]]);
    expect(headline(folded([incident('opened', stuck, 1)], { incidents }))).toBe(
      '🔴 se: nobody is stuck waiting for the card provider at the moment, up to 12 customers were',
    );
  });

  test('what is not kept any more is told as of its last event', () => {
    const made = folded([incident('grew', stuck, 20)], { incidents: new Map() });
    expect(headline(made)).toBe('🔴 se: now 12 customers stuck waiting for the card provider, the oldest for 30 min');
    expect(made.text).toMatch(/\nAs of: <!date\^.+\|2026-11-20 09:20 UTC>; how it is now is not known\n/);
    const two = folded([incident('grew', stuck, 20), incident('opened', unreachable, 1)], { incidents: new Map() });
    expect(two.text).toMatch(/• 🔴 se: .+ the oldest for 30 min, as of <!date\^.+\. Likely cause/);
  });

  test('of several places, each is told as it is by now, those that joined too', () => {
    const parts = [{ site: 'se', state: card, count: 12, peak: 12, ended: false }];
    const part = { site: 'se', state: 6, count: 5, peak: 12, ended: false };
    const now = { ...NOW, count: 7, parts: [part, { ...part, state: 4, count: 2, peak: 2 }] };
    const made = folded([incident('opened', { ...stuck, state: null, parts, includes: ['inc_5', 'inc_6'] }, 1)], {
      incidents: new Map([['inc_1', now]]),
    });
    expect(headline(made)).toMatch(/^🔴 se: 7 customers stuck in 2 states at once/);
    expect(made.text).toMatch(/\*Where\*\n• waiting for the card provider: 5 customers\n• .+: 2 customers\n/);
  });

  test('a single message that waited says that it comes late', () => {
    expect(folded([incident('opened', stuck, 1)]).text).toContain('This comes late, because Slack did not take it at once');
    expect(folded([incident('opened', stuck, 1)], { reason: 'capped' }).text).toContain('had had its messages of the hour');
  });
});

describe('of several incidents', () => {
  test('the one that goes on is told in full, the others after it in a line each', () => {
    const made = folded([
      incident('opened', stuck, 1),
      incident('opened', unreachable, 1),
      incident('ended', { ...stuck, incidentId: 'inc_3', site: 'dk', ...over }, 30),
      incident('ended', { ...unreachable, endedAt: time(40) }, 40),
      event('incident.first_look', { site: 'fi', count: 8, parts: [] }, 41),
      event('subscriber.test', {}, 42),
      event('incident.strange', {}, 43),
    ]);
    expect(headline(made)).toMatch(/^🔴 se: 12 customers stuck/);
    expect(made.text).toContain(CAUSES.new_checkout.remedy);
    expect(made.text).toContain('*Over*\n• ✅ dk: no longer stuck waiting for the card provider, after 50 min\n');
    expect(made.text).toMatch(
      /\*Came and went meanwhile\*\n• ✅ no: no usable answer from the checkout service from <.+> to <.+>\n/,
    );
    expect(made.text).toMatch(
      /\*Besides\*\n• ⚪ First look at fi: .+\n• ✅ This is a test: .+\n• purchase-watch: incident\.strange\n7 messages in one/,
    );
  });

  test('those that go on are listed, the worst first, with their likely cause and where to see more', () => {
    const events = [
      incident('opened', { ...stuck, severity: 'warning', count: 500 }, 1),
      incident('opened', { ...stuck, incidentId: 'inc_4', site: 'dk' }, 2),
      incident('ended', { ...stuck, incidentId: 'inc_3', ...over }, 30),
    ];
    const made = folded(events, { consoleUrl: 'https://watch.example' });
    expect(headline(made)).toBe('🔴 2 incidents go on, 1 incident is over: 3 messages in one');
    const [first, second] = made.text.split('*Going on*\n')[1]!.split('\n');
    expect(first).toMatch(
      /^• 🔴 dk: 12 customers .+ for 1 h 10 min\. Likely cause: The return page starts a new checkout \(<https/,
    );
    expect(second).toMatch(/^• 🟠 se: 500 customers .+\(<https:\/\/watch\.example\/incidents\/inc_1\|show>\)$/);
    expect(made.text).toContain('`purchase-watch incidents`');
  });

  test('what a larger one tells of, too, is told by that alone', () => {
    const parts = ['se', 'dk'].map((site) => ({ site, state: card, count: 12, peak: 12, ended: false }));
    const larger = { ...stuck, incidentId: 'inc_9', site: null, parts, count: 24, includes: ['inc_1', 'inc_4'] };
    const events = [
      incident('opened', stuck, 1),
      incident('opened', { ...stuck, incidentId: 'inc_4', site: 'dk' }, 2),
      incident('opened', larger, 3),
    ];
    expect(headline(folded(events))).toBe(
      '🔴 2 sites at once (dk, se): 24 customers stuck waiting for the card provider, the oldest for 1 h 10 min',
    );
    // Two that name each other are not lost.
    const circle = [
      incident('opened', { ...stuck, includes: ['inc_9'] }, 1),
      incident('opened', { ...larger, includes: ['inc_1'] }, 2),
    ];
    expect(headline(folded(circle))).toMatch(/^🔴 2 sites at once/);
  });

  test('that are all over nothing alarms any more', () => {
    const events = ['se', 'no', 'dk'].flatMap((site) => [
      incident('opened', { ...stuck, incidentId: `inc_${site}`, site }, 1),
      incident('ended', { ...stuck, incidentId: `inc_${site}`, site, ...over }, 50),
    ]);
    const made = folded(events);
    expect(headline(made)).toBe('✅ 3 incidents are over: 6 messages in one');
    expect(made.text).not.toContain('🔴');
  });
});

test('a channel that had its messages of the hour is told so', () => {
  const events = [incident('opened', stuck, 1), incident('opened', unreachable, 1)];
  const made = folded(events, { reason: 'capped' });
  expect(made.text).toContain('2 messages in one, because this channel had had its messages of the hour (`slack.maxPerHour`).');
  expect(folded(events, { reason: 'last' }).text).toContain('gets only one more within the hour (`slack.maxPerHour`)');
});

test('what came within a minute was due at one moment, and what came at once is not late', () => {
  const events = [incident('opened', stuck, 1), incident('opened', unreachable, 1)];
  expect(folded(events, { until: START + 20_000 }).text).toMatch(/They were due <!date\^[^>]+>; of each/);
  expect(folded(events, { reason: 'several' }).text).toMatch(/because they came at once\. Of each incident/);
});

test('nothing at all is still a message', () => {
  expect(headline(folded([]))).toBe('⚪ 0 messages in one');
});

test('five hundred events about as many incidents are one valid message, which says how many it does not name', () => {
  const events = Array.from({ length: 500 }, (_, index) =>
    incident('opened', { ...stuck, incidentId: `inc_${index}`, site: `site-${index}-${'&'.repeat(60)}` }, 1),
  );
  const { text } = folded(events, { consoleUrl: 'https://watch.example' });
  expect(text).toMatch(/^🔴 500 incidents go on: 500 messages in one\n/);
  expect(text).toMatch(/\nand 4\d\d more\n500 messages in one, because/);
});

test('whatever waited, Slack takes it', () => {
  const hostile = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }),
    fc.constantFrom('&'.repeat(200), '<!here>'.repeat(30), '🦊'.repeat(150), '`'.repeat(100)),
  );
  const data = fc.record({
    ...{
      incidentId: fc.oneof(hostile, fc.constantFrom('inc_1', 'inc_2', 'inc_3')),
      kind: fc.constantFrom('stuck', 'unreachable', 'subscriber'),
    },
    ...{ site: fc.option(hostile), state: fc.option(fc.record({ value: fc.nat(20), name: hostile })), count: fc.nat() },
    ...{
      severity: fc.constantFrom('warning', 'critical', null),
      subscriber: hostile,
      trouble: fc.constantFrom('off', 'failing'),
    },
    parts: fc.array(fc.record({ site: hostile, state: fc.record({ value: fc.nat(20) }), count: fc.nat() }), { maxLength: 5 }),
    ...{ since: fc.constant(time(-10)), openedAt: fc.constant(time(0)), endedAt: fc.constantFrom(null, time(30)) },
    ...{
      includes: fc.array(fc.constantFrom('inc_1', 'inc_2', 'inc_3')),
      causes: fc.array(fc.record({ cause: hostile, why: hostile }), { maxLength: 2 }),
    },
  });
  const stage = fc.constantFrom('opened', 'reopened', 'grew', 'reminder', 'ended', 'first_look', 'digest', 'strange');
  const bodies = fc.array(
    fc.tuple(stage, data).map(([type, values]) => incident(type, values, 1)),
    { maxLength: 40 },
  );
  const someKnown = new Map([
    ['inc_1', NOW],
    ['inc_2', { ...NOW, count: 0, endedAt: START }],
  ]);
  fc.assert(
    fc.property(fc.oneof(bodies, fc.array(hostile, { maxLength: 5 })), fc.constantFrom(...TOGETHER_REASONS), (events, reason) => {
      const made = folded(events, { reason, incidents: someKnown });
      expect(made.text).toMatch(/messages in one|This comes late/);
      expect(() => renderForTerminal(made)).not.toThrow();
    }),
    { numRuns: 150 },
  );
});

test('a loss of the database whose alert waited until its incident had ended is alerted as a loss, alone and beside others', () => {
  const trouble = (reason: string) => ({ replica: 'r1', host: 'a (1)', reason, since: time(0), error: 'As of 09:00.' });
  const loss = {
    incidentId: 'inc_9',
    kind: 'replica',
    severity: 'critical',
    openedAt: time(0),
    since: time(0),
    endedAt: null,
    troubles: [trouble('database_went_back'), trouble('not_recording')],
  };
  const waited = [incident('opened', loss, 0), incident('ended', { ...loss, endedAt: time(2) }, 2)];
  const alone = JSON.stringify(folded(waited));
  expect(alone).toContain('🔴 purchase-watch: the database came back without its last writes');
  expect(alone).toContain('purchase-watch watch --file FILE');
  expect(alone).not.toContain('polls are not recorded');
  const beside = folded([...waited, incident('opened', stuck, 1), incident('ended', { ...stuck, ...over }, 50)]);
  expect(beside.text).toMatch(/^🔴 purchase-watch: the database came back without its last writes/);
  // What came later in the same incident hides no loss.
  const later = { ...loss, severity: 'warning', troubles: [trouble('reaches_no_site')] };
  const grown = JSON.stringify(folded([waited[0]!, incident('grew', later, 3)]));
  expect(grown).toContain('🔴 purchase-watch: the database came back without its last writes');
  expect(grown).toContain('A daemon reaches no checkout service');
  // A channel that was alerted of the loss is alerted of the end.
  expect(folded(waited.slice(1)).text).toMatch(/^⚪ purchase-watch: the alert about writes that the database lost ends/);
});
