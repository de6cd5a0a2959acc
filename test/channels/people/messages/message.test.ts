import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type SlackMessage, slackMessage } from '../../../../src/channels/slack/message.ts';
import { renderForTerminal } from '../../../../src/channels/slack/terminal.ts';
import { lossTrouble, replicaData } from '../../../../src/domain/incidents/replica-trouble.ts';
import { messageProblem } from '../../../support/slack-stand-in.ts';

const consoleUrl = 'https://watch.example';
const stuck = {
  incidentId: 'inc_7',
  kind: 'stuck',
  site: 'se',
  state: { value: 4, name: 'WaitingForIdentityProvider' },
  count: 37,
  peak: 41,
  openedAt: '2026-11-20T09:15:30.000Z',
  endedAt: null,
  since: '2026-11-20T09:05:00.000Z',
  limitMs: 600_000,
  purchases: ['id1', 'id2', 'id3', 'id4', 'id5'],
  waiting: [
    { amount: '12345.50', currency: 'SEK' },
    { amount: '99', currency: 'EUR' },
  ],
};
const unreachable = {
  incidentId: 'inc_8',
  kind: 'unreachable',
  site: 'se',
  openedAt: '2026-11-20T09:15:30.000Z',
  endedAt: null,
  since: '2026-11-20T09:14:00.000Z',
  lastError: 'The service answered 503.',
};

const subscriber = {
  ...{ incidentId: 'inc_9', kind: 'subscriber', subscriber: 'shop', channel: 'webhook', trouble: 'failing', waiting: 3 },
  ...{ openedAt: '2026-11-20T09:15:30.000Z', endedAt: null, since: '2026-11-20T09:05:00.000Z' },
};

function message(type: string, data: object, timestamp = '2026-11-20T09:17:00.000Z'): SlackMessage {
  return slackMessage(JSON.stringify({ id: 'evt_1', type, timestamp, data }), { consoleUrl });
}

function headline({ text }: SlackMessage): string {
  return text.split('\n')[0]!;
}

test('of a site that no daemon names, it is said what to do, and at the end nothing about an answer of the service', () => {
  const data = { ...unreachable, reason: 'not_configured', lastError: 'No running daemon has this site in its settings.' };
  const made = message('incident.opened', data);
  expect(headline(made)).toBe(
    '🔴 se: no running daemon has the site in its settings, and its purchases have not been polled for 3 min',
  );
  expect(made.text).toContain('`formerly`');
  expect(made.text).not.toMatch(/Likely cause|One call at a time/);
  const over = message('incident.ended', { ...data, endedAt: '2026-11-20T09:17:00.000Z' });
  expect(headline(over)).toContain('its purchases are polled again, moved or ended, after 3 min');
  expect(over.text).not.toMatch(/answers again|Nothing needs to be done/);
});

test('of purchases that stay at the former name of a site, the session in the way is named, and not the setting', () => {
  const lastError = '1 purchase of site se is not polled yet: session 4711 of the database has locked rows that are to move.';
  const made = message('incident.opened', { ...unreachable, reason: 'not_moved', lastError });
  expect(headline(made)).toBe(
    '🔴 se: its purchases have not moved to the present name of the site, and have not been polled for 3 min',
  );
  expect(made.text).toMatch(/session 4711.*The setting `formerly` is right.*once it has moved/s);
  expect(made.text).not.toMatch(/add the old name|Likely cause|names the site again/);
});

test.each([
  [
    50_000,
    '🔴 purchase-watch: the database came back without its last writes, as of 1970-01-01T00:00:50Z',
    'Lost since: <!date^50^',
  ],
  [null, '🔴 purchase-watch: the database came back without its last writes', 'Lost since: not known'],
])('a loss of the database from %s on names the time where it is known, and its end is no alarm', (cameBackTo, first, fact) => {
  const change = {
    id: 'b',
    replica: 'r',
    host: 'h',
    kind: 'went_back',
    noticedAt: 60_000,
    cameBackTo,
    knownUntil: 55_000,
  } as const;
  const { troubles } = replicaData([lossTrouble(change)]);
  const data = { ...unreachable, kind: 'replica', severity: 'critical', troubles };
  const made = message('incident.opened', data);
  expect(headline(made)).toBe(first);
  expect(made.text).toContain(fact);
  expect(headline(message('incident.ended', { ...data, endedAt: '2026-11-20T09:17:00.000Z' }))).toMatch(/^⚪ .*they stay lost$/);
});

test.each([
  ['incident.opened', stuck, '🔴 se: 37 customers stuck waiting for identification, the oldest for 12 min'],
  ['incident.grew', { ...stuck, count: 80 }, '🔴 se: now 80 customers stuck waiting for identification, the oldest for 12 min'],
  ['incident.reminder', { ...stuck, count: 1 }, '🔴 se: still 1 customer stuck waiting for identification, for 12 min'],
  [
    'incident.ended',
    { ...stuck, count: 0, endedAt: '2026-11-20T10:27:30.000Z', movedOn: 39 },
    '✅ se: no longer stuck waiting for identification, after 1 h 12 min',
  ],
  [
    'incident.opened',
    { ...stuck, state: { value: 17, name: 'Unknown(17)' } },
    '🔴 se: 37 customers stuck in state 17 (not in the specification), the oldest for 12 min',
  ],
  ['incident.opened', unreachable, '🔴 se: no usable answer from the checkout service for 3 min'],
  ['incident.reopened', stuck, '🔴 se: again 37 customers stuck waiting for identification, the oldest for 12 min'],
  [
    'incident.opened',
    { ...stuck, severity: 'warning' },
    '🟠 se: 37 customers stuck waiting for identification, the oldest for 12 min',
  ],
  [
    'incident.opened',
    { ...unreachable, lastReadAt: '2026-11-20T09:16:00.000Z' },
    '🔴 se: hardly any usable answer from the checkout service for 3 min',
  ],
  ['incident.reopened', unreachable, '🔴 se: again no usable answer from the checkout service for 3 min'],
  ['incident.reminder', unreachable, '🔴 se: still no usable answer from the checkout service for 3 min'],
  [
    'incident.ended',
    { ...unreachable, endedAt: '2026-11-20T09:26:00.000Z' },
    '✅ se: the checkout service answers again, after 12 min',
  ],
])('the headline of %s says it all', (type, data, expected) => {
  const made = message(type, data);
  expect(headline(made)).toBe(expected);
  expect(made.text.split('\n')[0]).toBe(expected);
});

test('a stuck incident says where, how many, since when, why, what to do, which, how much and where to look', () => {
  const shown = renderForTerminal(message('incident.opened', stuck)).replace(/\n│ /g, ' ');
  for (const part of [
    'waiting for identification (WaitingForIdentityProvider)',
    '37 customers (41 at the worst)',
    '2026-11-20 09:05 UTC',
    '10 min',
    '12 345.50 SEK',
    "the merchant's hosting page may not handle redirects correctly",
    'Identify yourself in a test purchase',
    'id5',
    'and 32 more',
    'Open in the console: https://watch.example/incidents/inc_7',
  ]) {
    expect(shown).toContain(part);
  }
});

test('the card state is explained in the words of the specification', () => {
  const { text } = message('incident.opened', { ...stuck, state: { value: 6, name: 'WaitingForCardPayments' } });
  expect(text).toContain('the hosting page may not be able to render itself repeatedly');
});

test('the end says how long it was, how bad, and how many moved on', () => {
  const shown = renderForTerminal(
    message('incident.ended', { ...stuck, count: 0, endedAt: '2026-11-20T10:27:30.000Z', movedOn: 39 }),
  );
  expect(shown).toMatch(/Stuck at the worst +41 customers/);
  expect(shown).toMatch(/Got on after all +39 customers/);
  expect(shown).toMatch(/Over +2026-11-20 10:27 UTC/);
});

test('a site that refuses every call as one too many says first whom to ask', () => {
  const { text } = message('incident.opened', { ...unreachable, reason: 'throttled' });
  expect(text).toMatch(/What to do\W+Ask the operator of the checkout service how many calls a second it allows/);
});

test('an unreachable site says what the last error was and that nothing is lost', () => {
  const { text } = message('incident.opened', unreachable);
  expect(text).toContain('The last call ended with: The service answered 503.');
  expect(text).toContain('One call at a time, 30 s apart at most, finds out when the service answers again');
});

test('whoever looks after an incident is named in all kinds of messages, with what they said; nobody else is asked to', () => {
  const acknowledged = { by: 'Kim', note: 'rolling it back', at: '2026-11-20T09:16:00.000Z' };
  const stages = ['opened', 'reopened', 'grew', 'reminder'];
  for (const about of [stuck, unreachable, subscriber])
    for (const stage of stages) {
      const { text } = message(`incident.${stage}`, { ...about, acknowledged });
      expect(text).toContain('Looked after by: Kim, since <!date^');
      expect(text).toContain('*Kim says*\nrolling it back');
      expect(text).not.toContain('incidents acknowledge');
      expect(message(`incident.${stage}`, about).text).toContain(
        `\`purchase-watch incidents acknowledge ${about.incidentId} --by NAME\``,
      );
    }
});

test('whoever looked after it before it came back is named as that, and somebody is asked to', () => {
  const acknowledged = { by: 'Kim', note: 'rolling it back', at: '2026-11-20T09:16:00.000Z' };
  const again = (reopenedAt: string) => message('incident.reopened', { ...stuck, acknowledged, reopenedAt }).text;
  expect(again('2026-11-20T09:16:30.000Z')).toContain('Before it came back: Kim looked after it');
  expect(again('2026-11-20T09:16:30.000Z')).toContain('incidents acknowledge inc_7 --by NAME');
  expect(again('2026-11-20T09:16:30.000Z')).not.toContain('rolling it back');
  expect(again('2026-11-20T09:15:50.000Z')).toContain('Looked after by: Kim, since <!date^');
  expect(again('2026-11-20T09:15:50.000Z')).not.toContain('incidents acknowledge');
});

test('what people wrote is neither a mention nor a link, in any place of a message', () => {
  const wrote = '@here @channel #general https://evil.example <!channel>';
  const answer = { cause: 'deploy', note: wrote, by: wrote, at: null, site: 'se', state: stuck.state };
  const data = {
    ...{ ...stuck, purchases: [wrote], earlier: answer, answer, causes: [{ cause: 'deploy', why: wrote }] },
    acknowledged: { by: wrote, note: wrote, at: null },
  };
  for (const stage of ['opened', 'ended']) {
    const made = message(`incident.${stage}`, data);
    expect(messageProblem(made)).toBeNull();
    const texts = made.blocks.flatMap((block) => {
      if (block.type === 'context') return block.elements;
      return block.type === 'section' && 'fields' in block ? block.fields : [block.text];
    });
    expect(texts.filter(({ text }) => text.includes('@here')).length).toBeGreaterThan(1);
    // Slack looks for names and addresses in texts that are not verbatim, and nowhere else unless it is asked to.
    expect(texts.filter((text) => text.type === 'mrkdwn' && !text.verbatim)).toEqual([]);
    expect(Object.keys(made).sort()).toEqual(['blocks', 'text']);
    expect(JSON.stringify(made)).not.toMatch(/<(?!!date\^|https:\/\/watch\.example\/)/);
  }
});

test('the first look says how many of the first load are stuck, where, and that no incident rests on them', () => {
  const data = {
    ...{ kind: 'first_look', site: 'se', count: 1_812, registered: 5_000, unseen: 17, since: '2026-11-20T09:12:00.000Z' },
    parts: [
      { state: { value: 6, name: 'WaitingForCardPayments' }, count: 1_700 },
      { state: { value: 4 }, count: 112 },
      'strange',
    ],
  };
  const made = message('incident.first_look', data);
  expect([headline(made), messageProblem(made)]).toEqual([
    '⚪ First look at se: 1 812 purchases have been waiting for long',
    null,
  ]);
  expect(made.text).toContain('• waiting for the card provider: 1 700\n• waiting for identification: 112\n');
  expect(made.text).toContain('Registered in all: 5 000\nNo answer about yet: 17\nThe oldest since: <!date^');
  expect(made.text).toContain('came with the first load of this site, so since when is not known');
});

test('a moment is shown in the time zone of the reader, with UTC where Slack cannot', () => {
  expect(message('incident.opened', stuck).text).toContain(
    '<!date^1795165500^{date_short_pretty} at {time}|2026-11-20 09:05 UTC>',
  );
});

test('the headline links to the incident, and ids to their purchases, where there is a console', () => {
  const made = message('incident.opened', { ...stuck, purchases: ['id1', 'a|b', '_id_ 3', 'x'.repeat(200)] });
  expect(messageProblem(made)).toBeNull();
  expect(made.blocks[0]).toEqual({
    ...{ type: 'section' },
    text: { type: 'mrkdwn', text: `*<https://watch.example/incidents/inc_7|${headline(made)}>*`, verbatim: true },
  });
  expect(made.text).toContain('<https://watch.example/purchases/se/id1|id1>\n`a|b`\n`_id_ 3`\n');
  expect(made.text).toContain(`<https://watch.example/purchases/se/${'x'.repeat(200)}|${'x'.repeat(200)}>`);
  const over = message('incident.ended', { ...stuck, endedAt: '2026-11-20T10:27:30.000Z' });
  expect(JSON.stringify(over.blocks[0])).toContain('*<https://watch.example/incidents/inc_7|✅ se: no longer stuck');
});

test('purchases of several sites link to a search, for the message does not say which is where', () => {
  const parts = ['dk', 'se'].map((site) => ({ site, state: stuck.state, count: 20, peak: 20, ended: false }));
  const { text } = message('incident.opened', { ...stuck, site: null, state: null, parts });
  expect(text).toContain('<https://watch.example/purchases?q=id1|id1>');
});

test('links go before names do where a message becomes too long', () => {
  const purchases = Array.from({ length: 5 }, (_, index) => `${index}${'x'.repeat(199)}`);
  const acknowledged = { by: 'Kim', note: 'n'.repeat(290), at: '2026-11-20T09:16:00.000Z' };
  const far = `https://watch.example/${'p'.repeat(150)}`;
  const timestamp = '2026-11-20T09:17:00.000Z';
  const data = { ...stuck, purchases, acknowledged };
  const body = JSON.stringify({ id: 'evt_1', type: 'incident.opened', timestamp, data });
  const made = slackMessage(body, { consoleUrl: far });
  expect(messageProblem(made)).toBeNull();
  for (const id of purchases) expect(made.text).toContain(`\`${id}\``);
  expect(made.text).not.toContain('/purchases/se/');
});

test('without a console address there is no link', () => {
  const body = JSON.stringify({ id: 'evt_1', type: 'incident.opened', timestamp: '2026-11-20T09:17:00.000Z', data: stuck });
  expect(slackMessage(body, { consoleUrl: null }).text).not.toContain('console');
});

test('the test message and events of unknown shape are told too', () => {
  expect(headline(message('subscriber.test', {}))).toBe('✅ This is a test: purchase-watch can post here');
  expect(headline(message('site.unknown_state', { site: 'se' }))).toBe('purchase-watch: site.unknown_state');
  expect(headline(message('incident.opened', { site: 'se' }))).toBe('purchase-watch: incident.opened');
  for (const body of ['', 'null', '[]', '"x"', '{"data":null}']) {
    expect(messageProblem(slackMessage(body, { consoleUrl: null }))).toBeNull();
  }
});

test('values cannot mention, link or break out of their place', () => {
  const { text } = message('incident.opened', { ...stuck, site: '<!channel>', purchases: ['a`<https://evil.example|x>`&b'] });
  expect(text).toContain('&lt;!channel&gt;');
  expect(text).toContain("`a'&lt;https://evil.example|x&gt;'&amp;b`");
});

test('fields that are not expected, a person among them, are never shown', () => {
  const made = message('incident.opened', { ...stuck, mail: 'kim@example.com', customers: [{ name: 'Kim' }] });
  expect(JSON.stringify(made)).not.toMatch(/kim/i);
});

test('whatever the values, Slack takes the message, and headline, cause and remedy are whole', () => {
  const anyText = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 5_000 }),
    fc.constantFrom('&'.repeat(3_000), '<'.repeat(3_000), '🦊'.repeat(3_000)),
  );
  const count = fc.nat(1_000_000);
  const data = fc.record({
    incidentId: anyText,
    kind: fc.constantFrom('stuck', 'unreachable'),
    site: anyText.map((text) => `s${text}`),
    state: fc.record({ value: fc.nat(20), name: anyText }),
    count,
    peak: count,
    openedAt: fc.constant('2026-11-20T09:15:30.000Z'),
    endedAt: fc.constantFrom(null, '2027-11-20T09:15:30.000Z'),
    since: fc.constant('2026-01-20T09:15:30.000Z'),
    limitMs: fc.option(fc.nat()),
    purchases: fc.array(anyText, { maxLength: 20 }),
    waiting: fc.array(fc.record({ amount: anyText, currency: anyText }), { maxLength: 20 }),
    movedOn: fc.option(count),
    lastError: fc.option(anyText),
    lastReadAt: fc.constantFrom(null, '2026-01-20T09:15:31.000Z'),
  });
  const type = fc.constantFrom('incident.opened', 'incident.grew', 'incident.reminder', 'incident.ended');
  fc.assert(
    fc.property(type, data, (stage, values) => {
      const made = message(stage, values);
      expect(messageProblem(made)).toBeNull();
      expect(headline(made)).not.toMatch(/^purchase-watch/);
      if (stage !== 'incident.ended') expect(made.text).toMatch(/(Likely|Possible) cause\*\n.+\n\*What to do\*\n.+\.(\n|$)/);
      expect(() => renderForTerminal(made)).not.toThrow();
    }),
    { numRuns: 150 },
  );
});

test('a message without blocks is shown from its text', () => {
  const shown = renderForTerminal({ text: '*Head*\nState: `A` &amp; <https://x.example|there>' });
  expect(shown.split('\n').slice(1, -1)).toEqual(['│ Head', '│', '│ State: A & there: https://x.example']);
});
