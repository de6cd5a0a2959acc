import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { exampleEvents } from '../../../../src/channels/people/examples.ts';
import { type SlackMessage, slackMessage } from '../../../../src/channels/slack/message.ts';
import { renderForTerminal } from '../../../../src/channels/slack/terminal.ts';
import { CAUSES } from '../../../../src/domain/incidents/causes.ts';
import { messageProblem } from '../../../support/slack-stand-in.ts';

const card = { value: 6, name: 'WaitingForCardPayments' };
const identity = { value: 4, name: 'WaitingForIdentityProvider' };
const alarm = {
  ...{ rule: 'share', at: '2026-11-20T09:16:00.000Z', since: '2026-11-20T09:05:00.000Z', entrants: 16, overdue: 14 },
  ...{ usualShare: 0.03, perDay: 120, falseAlarmEvery: 5_700 },
};
const opened = {
  ...{ incidentId: 'inc_7', kind: 'stuck', site: 'se', state: card, severity: 'critical', count: 42, peak: 44 },
  ...{ openedAt: '2026-11-20T09:16:30.000Z', endedAt: null, reopenedAt: null, since: '2026-11-20T09:02:00.000Z' },
  parts: [{ site: 'se', state: card, count: 42, peak: 44, ended: false }],
  limitMs: 390_000,
  dwell: { usualMs: 38_000, p95Ms: 130_000, purchases: 412, source: 'learned' },
  ...{ alarm, lately: { entrants: 47, overdue: 44 }, noticedAfterMs: 660_000 },
  ...{ purchases: ['id1', 'id2', 'id3', 'id4', 'id5'] },
  waiting: [
    { amount: '1234567.50', currency: 'SEK' },
    { amount: '99', currency: 'EUR' },
  ],
  unpriced: 3,
  causes: [
    { cause: 'new_checkout', why: '9 of 11 orders were begun again by the same customer.' },
    { cause: 'return_request', why: 'Only card payments are affected.' },
  ],
  earlier: {
    ...{ cause: 'deploy', note: "the bank's form was blocked by our CSP", by: 'Kim', at: '2026-11-03T10:00:00.000Z' },
    ...{ site: 'se', state: card },
  },
  ...{ acknowledged: null, movedOn: null, includes: [] },
};
const several = {
  ...{ ...opened, state: null, dwell: null, limitMs: null, causes: [], earlier: null, includes: ['inc_1', 'inc_2'] },
  parts: [
    { site: 'se', state: identity, count: 12, peak: 12, ended: false },
    { site: 'se', state: card, count: 30, peak: 34, ended: false },
  ],
};
const sitesAtOnce = {
  ...{ ...several, site: null, includes: ['inc_1', 'inc_2', 'inc_3'] },
  parts: [
    { site: 'se', state: identity, count: 30, peak: 30, ended: false },
    { site: 'no', state: identity, count: 12, peak: 12, ended: false },
    { site: 'dk', state: identity, count: 0, peak: 9, ended: false },
  ],
};
const ended = { ...opened, count: 2, endedAt: '2026-11-20T10:27:30.000Z', movedOn: 39 };

function message(
  stage: string,
  data: object,
  { timestamp = '2026-11-20T09:17:00.000Z', consoleUrl = null as string | null } = {},
): SlackMessage {
  return slackMessage(JSON.stringify({ id: 'evt_1', type: `incident.${stage}`, timestamp, data }), { consoleUrl });
}

const headline = (made: SlackMessage): string => made.text.split('\n')[0]!;
/** As a person reads it, without line ends. */
const shown = (stage: string, data: object): string =>
  renderForTerminal(message(stage, data))
    .replace(/\s*\n│\s*/g, ' ')
    .replace(/ {2,}/g, ' ');

const slice = {
  ...{ method: '5', country: 'SE', currency: null, since: '2026-11-20T09:05:00.000Z' },
  ...{ inside: { came: 15, stuck: 14 }, elsewhere: { came: 40, stuck: 0 } },
};

test('says where it is, and after which deploy it began', () => {
  const mark = { at: '2026-11-20T09:01:00.000Z', text: 'deploy <4.2>' };
  expect(shown('opened', { ...opened, slice, mark })).toContain(
    'only payment method 5, only SE, since 2026-11-20 09:05 UTC, 4 min after deploy <4.2> 14 of 15 customers got stuck, elsewhere 0 of 40',
  );
  expect(message('opened', { ...opened, slice, mark }).text).not.toContain('<4.2>');
  expect(shown('opened', { ...opened, mark })).toContain('2026-11-20 09:05 UTC, 4 min after deploy <4.2> noticed 11 min after');
  expect(shown('opened', opened)).not.toContain('Narrowed down to');
});

test.each([
  ['opened', several, '🔴 se: 42 customers stuck in 2 states at once, the oldest for 15 min'],
  ['ended', several, '✅ se: no longer stuck in 2 states, after 12 min'],
  [
    'opened',
    sitesAtOnce,
    '🔴 3 sites at once (dk, no, se): 42 customers stuck waiting for identification, the oldest for 15 min',
  ],
  [
    'grew',
    { ...sitesAtOnce, parts: sitesAtOnce.parts.map((part) => ({ ...part, ended: part.site === 'dk' })) },
    '🔴 2 of 3 sites (no, se): now 42 customers stuck waiting for identification, the oldest for 15 min',
  ],
  [
    'ended',
    { ...sitesAtOnce, parts: sitesAtOnce.parts.map((part) => ({ ...part, ended: true })) },
    '✅ 3 sites (dk, no, se): no longer stuck waiting for identification, after 12 min',
  ],
  ['opened', { ...opened, test: true }, '🔴 TEST: se: 42 customers stuck waiting for the card provider, the oldest for 15 min'],
])('the headline of %s says where in one glance', (stage, data, expected) => {
  const made = message(stage, data);
  expect([headline(made), messageProblem(made)]).toEqual([expected, null]);
  expect(made.blocks[0]).toEqual({ type: 'header', text: { type: 'plain_text', text: expected } });
});

test('names of sites are left out of a headline that has no room for them', () => {
  const parts = [1, 2, 3, 4].map((n) => ({ site: `a-site-with-a-long-name-number-${n}`, state: card, count: n, peak: n }));
  expect(headline(message('opened', { ...sitesAtOnce, parts, includes: [] }))).toBe(
    '🔴 4 sites at once: 42 customers stuck waiting for the card provider, the oldest for 15 min',
  );
});

test('of more parts than the event names, their number is a lower bound, and the list says how many there are', () => {
  const includes = Array.from({ length: 80 }, (_, index) => `inc_${index}`);
  const { text } = message('opened', { ...sitesAtOnce, includes });
  expect(text).toMatch(/^🔴 At least 3 sites at once: 42 customers/);
  expect(text).toContain('• dk, waiting for identification: 0 customers\nand 72 more\n');
});

describe('the message that an incident has opened', () => {
  test('says how many, what share, since when, how late it was noticed, what is at stake and what the limit rests on', () => {
    const text = shown('opened', opened);
    for (const part of [
      'Site se',
      'State waiting for the card provider (WaitingForCardPayments)',
      'Stuck now 42 customers (44 at the worst)',
      'Share 44 of 47 customers since it began did not get on in time usually about 3 in 100',
      'Since 2026-11-20 09:05 UTC noticed 11 min after the first of them came',
      'Money waiting 1 234 567.50 SEK 99 EUR and 3 without a known amount',
      'Stuck after 6 min 30 s usual 38 s, 95 % under 2 min 10 s, from 412 purchases',
      'Severity critical',
      'By chance alone, such an alarm comes once in about 5 700 customers, which is about every 48 days with the 120 a day who come here.',
      'id4 id5 and 37 more',
    ])
      expect(text).toContain(part);
  });

  test('sums of more customers than are counted say so', () => {
    const text = shown('opened', { ...opened, atLeast: true });
    expect(text).toContain('Money waiting at least 1 234 567.50 SEK at least 99 EUR and 3 without');
  });

  test('never shortens an amount: one that is none, or is endless, is only counted', () => {
    const waiting = [...opened.waiting, { amount: '9'.repeat(300), currency: 'NOK' }, { amount: 'much', currency: 'DKK' }];
    const text = shown('opened', { ...opened, waiting });
    expect(text).toContain('Money waiting 1 234 567.50 SEK 99 EUR and 2 more currencies and 3 without a known amount');
  });

  test('gives each of two causes with what speaks for it, what to do and where to read on', () => {
    const { text } = message('opened', opened);
    for (const [key, label] of [
      ['new_checkout', 'Likely cause'],
      ['return_request', 'It may also be'],
    ] as const) {
      const { title, cause, remedy, anchor } = CAUSES[key];
      expect(text).toContain(`*${label}: ${title}*\n${cause}\nWhy: `);
      expect(text).toContain(`*What to do*\n${remedy}\nMore: \`docs/alerts.md#${anchor}\``);
    }
    expect(text).toContain('Why: 9 of 11 orders were begun again by the same customer.');
  });

  test('links to the docs where the address of the console is known', () => {
    const { text } = message('opened', opened, { consoleUrl: 'https://watch.example/ops/' });
    const { anchor } = CAUSES.new_checkout;
    expect(text).toContain(`More: <https://watch.example/ops/docs/alerts.html#${anchor}|docs/alerts#${anchor}>`);
  });

  test('quotes what it was the last time, and where when that was elsewhere', () => {
    const quoted = "it was: A deploy broke the page, says Kim: “the bank's form was blocked by our CSP”.";
    expect(shown('opened', opened)).toContain(`On 2026-11-03 ${quoted}`);
    const earlier = { ...opened.earlier, site: 'no', state: identity };
    expect(shown('opened', { ...opened, earlier })).toContain(`On 2026-11-03 (no, waiting for identification) ${quoted}`);
  });

  test('is plain about few customers', () => {
    const sparse = { ...alarm, rule: 'sparse', perDay: 2.2, falseAlarmEvery: null, entrants: 2, overdue: 2 };
    const text = shown('opened', { ...opened, alarm: sparse });
    expect(text).toContain('Few customers come here (about 2 a day), so this rests on two in a row who did not get on');
    expect(text).not.toContain('By chance alone');
    expect(shown('opened', { ...opened, alarm: { ...sparse, perDay: 0.3 } })).toContain('(fewer than one a day)');
  });

  test.each([
    [{ ...opened.dwell, source: 'pooled' }, '6 min 30 s usual 38 s, 95 % under 2 min 10 s, from 412 purchases of all sites'],
    [
      { ...opened.dwell, source: 'configured' },
      '6 min 30 s, by the settings or their default usual 38 s, 95 % under 2 min 10 s, from 412 purchases',
    ],
    [{ purchases: 12, source: 'default' }, '6 min 30 s, the default, as too little is known yet (12 of 50 purchases)'],
    [null, '6 min 30 s Severity'],
  ])('shows the working of the limit: %j', (dwell, expected) => {
    expect(shown('opened', { ...opened, dwell })).toContain(`Stuck after ${expected}`);
  });

  test('names the parts of several states or sites, the worst first, and for how many incidents it stands', () => {
    expect(message('opened', several).text).toContain(
      '*Where*\n• waiting for the card provider: 30 customers\n• waiting for identification: 12 customers\nThis one message stands for 2 incidents.',
    );
    expect(message('opened', sitesAtOnce).text).toContain('• se, waiting for identification: 30 customers\n• no, waiting');
  });

  test('never sets the share of its beginning beside the numbers of today, unless it says so', () => {
    const old = { ...opened, lately: null };
    for (const stage of ['opened', 'reopened', 'grew', 'reminder']) {
      expect(shown(stage, opened)).toContain(
        'Share 44 of 47 customers since it began did not get on in time usually about 3 in 100 Since',
      );
      expect(shown(stage, several)).toContain('in time usually about 3 in 100 where it was noticed first Since');
      expect(shown(stage, old)).toContain('Share 14 of 16 customers when this was noticed usually about 3 in 100 Since');
      expect(shown(stage, { ...several, lately: null })).toContain(
        '14 of 16 customers when this was noticed, where it was noticed first usually about 3 in 100 Since',
      );
    }
    const sparse = { ...alarm, rule: 'sparse' };
    expect(shown('opened', { ...several, alarm: sparse })).toContain(
      '44 of 47 customers since it began did not get on in time Since',
    );
  });

  test('quotes what somebody said of it already, as when it is back after it was over', () => {
    const answer = { cause: 'new_checkout', note: 'it lost the cookie', by: 'Kim', at: null, site: null, state: null };
    for (const stage of ['reopened', 'grew'])
      expect(shown(stage, { ...opened, answer })).toContain('says Kim: “it lost the cookie”.');
    expect(shown('reopened', { ...opened, answer: null })).not.toContain('Already said of it');
  });

  test('of one customer gives one age, and of none no age', () => {
    const age = (stage: string, count: number) => headline(message(stage, { ...opened, count, peak: 3 })).split('provider')[1];
    expect(age('opened', 1)).toBe(', for 15 min');
    expect(age('reminder', 2)).toBe(', the oldest for 15 min');
    expect(age('reminder', 0)).toBe('');
  });

  test('of sites of which one is left blames the provider no more', () => {
    const parts = sitesAtOnce.parts.map((part) => ({ ...part, ended: part.site !== 'se' }));
    const text = shown('grew', { ...sitesAtOnce, parts });
    expect(text).toContain('1 of 3 sites (se)');
    expect(text).not.toContain('hardly a page of yours');
    expect(text).toContain("the merchant's hosting page may not handle redirects correctly");
  });

  test('with no cause ranked says what is known of the state, or of many', () => {
    expect(shown('opened', { ...opened, causes: [] })).toContain('the hosting page may not be able to render itself repeatedly');
    expect(shown('opened', several)).toContain('what they all pass: the hosting page');
    expect(shown('opened', sitesAtOnce)).toContain('hardly a page of yours');
  });

  test('with a cause that nobody here knows names it', () => {
    for (const cause of ['cosmic_rays', 'constructor', '__proto__']) {
      const { text } = message('opened', { ...opened, causes: [{ cause, why: 'It says so.' }] });
      expect(text).toContain(`*Likely cause: ${cause}*\nWhy: It says so.\nSee \`docs/alerts.md\`.`);
    }
  });
});

describe('the message that it is over', () => {
  test('says for how long, how many at worst, how many got on after all, and asks what it was', () => {
    const text = shown('ended', ended);
    expect(text).toContain('✅ se: no longer stuck waiting for the card provider, after 1 h 23 min');
    for (const part of [
      'Stuck at the worst 44 customers',
      'Got on after all 39 customers',
      'Still stuck 2 customers, who may have left',
      'purchase-watch incidents answer inc_7 --cause KEY --by NAME',
      'The likeliest was new_checkout.',
    ])
      expect(text).toContain(part);
    expect(text).not.toMatch(/What to do|incidents acknowledge/);
  });

  test('says what it was when somebody has said so', () => {
    const answer = { cause: 'new_checkout', note: 'it lost the cookie', by: 'Kim', at: null, site: null, state: null };
    const text = shown('ended', { ...ended, answer });
    expect(text).toContain('What it was The return page starts a new checkout, says Kim: “it lost the cookie”.');
    expect(text).not.toContain('incidents answer');
  });
});

test('the examples are the longest plausible messages, and say that they are a test', () => {
  const messages = exampleEvents(Date.UTC(2026, 10, 20), 'longest').map(({ body }) => slackMessage(body, { consoleUrl: null }));
  for (const made of messages) {
    expect(messageProblem(made)).toBeNull();
    expect(headline(made)).toContain('TEST');
    expect(made.text).toContain('*This is a TEST*\nNothing is wrong');
  }
  const [first] = messages;
  expect(first!.text.length).toBeGreaterThan(3_500);
  expect(first!.text).toMatch(/^🔴 TEST: 200 sites at once: /);
  expect(first!.text.match(/\*What to do\*/g)).toHaveLength(2);
});

test('the message that the documentation shows is what is sent', () => {
  const page = readFileSync(new URL('../../../../docs/alerts.md', import.meta.url), 'utf8');
  const framed = renderForTerminal(message('opened', { ...opened, causes: opened.causes.slice(0, 1) })).split('\n');
  const made = framed.slice(1, -1).map((line) => line.replace(/^│ ?/, ''));
  expect(page).toContain(`\`\`\`\n${made.join('\n')}\n\`\`\``);
});

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

test('whatever the names and however many there are, Slack takes it, with headline, causes and remedies whole', () => {
  const hostile = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }),
    fc.constantFrom(
      '&'.repeat(300),
      '<!channel>'.repeat(30),
      '🦊'.repeat(200),
      '`'.repeat(200),
      '|>'.repeat(100),
      'x'.repeat(200),
    ),
  );
  const count = fc.nat(10_000_000);
  const state = fc.record({ value: fc.nat(20), name: hostile });
  const part = fc.record({ site: hostile, state, count, peak: count, ended: fc.boolean() });
  const answer = fc.record({
    cause: fc.oneof(hostile, fc.constantFrom(...Object.keys(CAUSES))),
    note: hostile,
    by: hostile,
    site: hostile,
    state,
  });
  const data = fc.record({
    ...{ incidentId: hostile, kind: fc.constant('stuck'), site: fc.option(hostile), state: fc.option(state) },
    ...{ severity: fc.constantFrom('warning', 'critical'), count, peak: count, test: fc.boolean() },
    parts: fc.oneof(
      fc.array(part, { minLength: 1, maxLength: 3 }),
      part.map((each) => Array.from({ length: 200 }, (_, index) => ({ ...each, site: `${index}${each.site}` }))),
    ),
    since: fc.constant('2026-01-20T09:15:30.000Z'),
    openedAt: fc.constant('2026-01-20T09:15:30.000Z'),
    limitMs: fc.option(count),
    dwell: fc.option(
      fc.record({
        usualMs: count,
        p95Ms: count,
        purchases: count,
        source: fc.constantFrom('learned', 'pooled', 'configured', 'default', 'else'),
      }),
    ),
    alarm: fc.option(
      fc.record({
        rule: fc.constantFrom('share', 'sparse'),
        since: fc.constant('2026-01-20T09:15:30.000Z'),
        entrants: count,
        overdue: count,
        usualShare: fc.double({ min: 0, max: 1, noNaN: true }),
        perDay: fc.option(fc.double({ min: 0, max: 1e9, noNaN: true })),
        falseAlarmEvery: fc.option(fc.double({ min: 0, max: 1e12, noNaN: true })),
      }),
    ),
    purchases: fc.array(hostile, { maxLength: 200 }),
    waiting: fc.oneof(
      fc.array(fc.record({ amount: hostile, currency: hostile }), { maxLength: 60 }),
      fc.constant(Array.from({ length: 60 }, () => ({ amount: '9'.repeat(30), currency: 'SEK' }))),
    ),
    unpriced: count,
    causes: fc
      .subarray(Object.keys(CAUSES), { minLength: 2, maxLength: 2 })
      .chain((keys) => fc.tuple(hostile, hostile).map((whys) => keys.map((cause, index) => ({ cause, why: whys[index] })))),
    ...{ earlier: fc.option(answer), answer: fc.option(answer), movedOn: fc.option(count) },
    acknowledged: fc.option(fc.record({ by: hostile, note: fc.option(hostile), at: fc.constant('2026-01-20T09:15:30.000Z') })),
    includes: fc.array(hostile, { maxLength: 200 }),
  });
  const stage = fc.constantFrom('opened', 'reopened', 'grew', 'reminder', 'ended');
  const consoleUrl = fc.constantFrom(null, `https://watch.example/${'a'.repeat(300)}`);
  fc.assert(
    fc.property(stage, data, consoleUrl, (said, values, url) => {
      const body = JSON.stringify({ id: 'evt_1', type: `incident.${said}`, timestamp: '2026-01-20T11:15:30.000Z', data: values });
      const made = slackMessage(body, { consoleUrl: url });
      expect(messageProblem(made)).toBeNull();
      const age = values.count === 0 ? '[^,]*' : `, ${values.count === 1 ? '' : 'the oldest '}for 2 h`;
      expect(headline(made)).toMatch(
        said === 'ended' ? /^✅ .*, after 2 h$/ : new RegExp(`^(🔴|🟠) .* customers? stuck .*${age}$`),
      );
      const sections = JSON.stringify(made.blocks);
      for (const { cause } of said === 'ended' ? [] : values.causes) {
        const { title, remedy, anchor } = CAUSES[cause as keyof typeof CAUSES];
        const more = url === null ? `\`docs/alerts.md#${anchor}\`` : `<${url}/docs/alerts.html#${anchor}|docs/alerts#${anchor}>`;
        for (const part of [`: ${escaped(title)}*`, `*What to do*\n${escaped(remedy)}\nMore: ${more}`]) {
          expect(made.text).toContain(part);
          expect(sections).toContain(JSON.stringify(part).slice(1, -1));
        }
      }
      expect(() => renderForTerminal(made)).not.toThrow();
    }),
    { numRuns: 150 },
  );
});

test('the longest of everything at once leaves headline, causes and remedies whole, for each pair of causes', () => {
  const name = '&'.repeat(300);
  const state = { value: 17, name };
  const said = { by: name, note: name, at: opened.openedAt };
  const keys = Object.keys(CAUSES) as (keyof typeof CAUSES)[];
  const pairs = keys.flatMap((one) => keys.filter((other) => other !== one).map((other) => [one, other] as const));
  for (const pair of pairs) {
    const { text, blocks } = message('grew', {
      ...{
        ...opened,
        state,
        earlier: { ...said, cause: name, site: name, state },
        acknowledged: said,
        incidentId: name,
        site: name,
      },
      parts: Array.from({ length: 200 }, (_, index) => ({ site: `${index}${name}`, state, count: 1_000_000 })),
      purchases: Array.from({ length: 200 }, () => name),
      waiting: Array.from({ length: 60 }, () => ({ amount: '9'.repeat(30), currency: name })),
      causes: pair.map((cause) => ({ cause, why: name })),
    });
    expect([messageProblem({ text, blocks }), text.length > 3_000]).toEqual([null, true]);
    expect(text).toMatch(/^🔴 .+ the oldest for 15 min\n/);
    for (const cause of pair) {
      expect(text).toContain(`: ${escaped(CAUSES[cause].title)}*\n${escaped(CAUSES[cause].cause)}\nWhy: &amp;`);
      expect(text).toContain(`*What to do*\n${escaped(CAUSES[cause].remedy)}\nMore: \`docs/alerts.md#${CAUSES[cause].anchor}\``);
    }
  }
});

test('where a message is too long, what matters less gives way first', () => {
  const long = {
    ...opened,
    parts: Array.from({ length: 200 }, (_, index) => ({ site: `a-site-with-a-very-long-name-${index}`, state: card, count: 1 })),
    ...{ site: null, state: null },
    purchases: [1, 2, 3, 4, 5].map((n) => `${n}${'x'.repeat(194)}&`),
    causes: [
      { cause: 'return_request', why: 'w'.repeat(240) },
      { cause: 'deploy', why: 'v'.repeat(240) },
    ],
    earlier: { ...opened.earlier, note: 'n'.repeat(400) },
    acknowledged: { by: 'Kim', note: 'k'.repeat(300), at: null },
  };
  const { text } = message('opened', long);
  expect(text.length).toBeLessThanOrEqual(4_000);
  // How sure it is goes first, then ids one after the other; the rest is whole.
  expect(text).not.toContain('How sure this is');
  expect(text).toMatch(/\*Oldest purchases\*\n(`\dx{194}&amp;`\n){1,3}and \d+ more\n/);
  expect(text).toContain('n'.repeat(400));
  expect(text).toContain('and 3 without a known amount');
});
