import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type SlackMessage, slackMessage } from '../../../../src/channels/slack/message.ts';
import { renderForTerminal } from '../../../../src/channels/slack/terminal.ts';
import { KEPT_WHILE_OFF } from '../../../../src/domain/deliveries/channel-pace.ts';
import { SCHEDULE_WITH_PEOPLE } from '../../../../src/domain/deliveries/delivery-plan.ts';
import { WITH_PEOPLE } from '../../../../src/domain/deliveries/subscriber-health.ts';
import { SUBSCRIBER_TROUBLES } from '../../../../src/domain/incidents/incident.ts';
import { messageProblem } from '../../../support/slack-stand-in.ts';

const failing = {
  incidentId: 'inc_9',
  kind: 'subscriber',
  site: null,
  subscriber: 'shop',
  channel: 'webhook',
  origin: 'api',
  openedAt: '2026-11-20T09:20:00.000Z',
  endedAt: null,
  since: '2026-11-20T09:05:00.000Z',
  trouble: 'failing',
  outcome: null,
  failures: 12,
  failingSince: '2026-11-20T09:05:00.000Z',
  lastError: 'The receiver answered 503.',
  nextTryAt: '2026-11-20T09:36:00.000Z',
  offSince: null,
  waiting: 412,
  givenUp: 0,
  givenUpFrom: null,
  countedTo: 1_000,
};
const losing = { ...failing, trouble: 'losing', waiting: 1_000, givenUp: 3, givenUpFrom: '2026-11-17T08:00:00.000Z' };
const off = { ...failing, trouble: 'off', offSince: '2026-11-20T09:19:30.000Z', nextTryAt: null };
const givenUp = { ...losing, trouble: 'given_up', failures: 0, failingSince: null, nextTryAt: null, waiting: 0 };
const ended = {
  ...failing,
  trouble: null,
  outcome: 'takes_again',
  endedAt: '2026-11-20T10:27:30.000Z',
  failures: 0,
  waiting: 380,
};

function message(type: string, data: object): SlackMessage {
  return slackMessage(JSON.stringify({ id: 'evt_1', type, timestamp: '2026-11-20T09:20:30.000Z', data }), { consoleUrl: null });
}

function headline({ blocks }: SlackMessage): string {
  const [first] = blocks;
  return first?.type === 'header' ? first.text.text : '';
}

/** As a person reads it, without line ends. */
const shown = (type: string, data: object): string => renderForTerminal(message(type, data)).replace(/\n│ */g, ' ');

test.each([
  ['incident.opened', failing, '🔴 shop has taken nothing for 15 min 30 s: 412 deliveries wait'],
  ['incident.reminder', failing, '🔴 shop has still taken nothing, after 15 min 30 s: 412 deliveries wait'],
  ['incident.grew', losing, '🔴 shop has taken nothing for 15 min 30 s, and deliveries are given up'],
  ['incident.opened', off, '🔴 shop was switched off 1 min ago: it gets nothing'],
  ['incident.reminder', off, '🔴 shop is still switched off, after 1 min: it gets nothing'],
  ['incident.opened', givenUp, '🔴 shop: 3 deliveries were given up'],
  ['incident.opened', { ...givenUp, givenUp: 1 }, '🔴 shop: 1 delivery was given up'],
  ['incident.ended', ended, '✅ shop: takes events again, after 1 h 23 min'],
  ['incident.ended', { ...ended, outcome: 'quiet' }, '✅ shop: no delivery was given up any more for an hour'],
  ['incident.ended', { ...ended, outcome: 'tried_again' }, '⚪ shop: is tried again; nothing was taken yet'],
  ['incident.ended', { ...ended, outcome: 'switched_off' }, '⚪ shop: was switched off by hand'],
  ['incident.ended', { ...ended, outcome: 'removed' }, '⚪ shop: gets nothing any more: it was taken away'],
])('the headline of %s says it all', (type, data, expected) => {
  const made = message(type, data);
  expect([headline(made), messageProblem(made)]).toEqual([expected, null]);
  expect(made.text).toContain(expected);
});

describe('a subscriber that takes nothing', () => {
  test('is shown with since when, what it answers, what waits, what comes next and what to do', () => {
    const text = shown('incident.opened', failing);
    for (const part of [
      'shop (webhook)',
      'Takes nothing since 2026-11-20 09:05 UTC',
      'Failures in a row 12',
      'Deliveries waiting 412',
      'The last error The receiver answered 503.',
      'left alone until 2026-11-20 09:36 UTC; then one delivery tries. Once one is taken, all that waits goes out in order.',
      '40 in a row switch it off',
      'purchase-watch subscribers show shop',
      'purchase-watch subscribers resume shop',
      'purchase-watch deliveries --subscriber shop --status parked',
    ])
      expect(text.replace(/ +/g, ' ')).toContain(part);
    expect(text).not.toMatch(/given up|replay|--status active/);
  });

  test('for so long that events are given up is shown with how to send them again', () => {
    const text = shown('incident.grew', losing).replace(/ +/g, ' ');
    for (const part of [
      'Deliveries waiting at least 1 000',
      'Deliveries given up 3',
      'is not sent again by itself',
      'purchase-watch deliveries --subscriber shop --status exhausted',
      'purchase-watch replay --subscriber shop --since 2026-11-17T08:00:00.000Z --dry-run',
    ])
      expect(text).toContain(part);
  });
});

describe('a subscriber that was switched off', () => {
  test('is shown with why, what is kept and what is not, and how to switch it on', () => {
    const text = shown('incident.opened', { ...off, lastError: 'The receiver answered 410: it wants no more events.' });
    for (const part of [
      'Off since 2026-11-20 09:19 UTC',
      'Why The receiver answered 410: it wants no more events.',
      'What has happened since then is not sent to it by itself',
      'purchase-watch subscribers change shop --status active',
      'replay --subscriber shop --since 2026-11-20T09:19:30.000Z --dry-run',
    ])
      expect(text.replace(/ +/g, ' ')).toContain(part);
    expect(text).not.toContain('resume');
  });

  test('and is named by the settings is switched on in the same way', () => {
    expect(shown('incident.opened', { ...off, origin: 'configuration' })).toContain('--status active');
  });

  test('and is Slack needs another address, and is told afterwards what it missed', () => {
    const text = shown('incident.opened', { ...off, origin: 'configuration', subscriber: '@slack', channel: 'slack' });
    expect(text).toContain('in the settings and restart the daemon');
    expect(text).toContain(
      'What is for it is kept for three days, and as long as its incident is open; it goes out as one message once the channel is on again.',
    );
    expect(text).not.toMatch(/--status active|missed|not even later/);
  });
});

describe('a channel of Slack that takes nothing', () => {
  const slack = { ...failing, subscriber: '@slack-ops', channel: 'slack', origin: 'configuration' };

  test('is tried every few minutes for three days, and never switched off for that', () => {
    for (const data of [slack, { ...slack, trouble: 'losing', givenUp: 1 }]) {
      const text = shown('incident.opened', data).replace(/ +/g, ' ');
      expect(text).toContain(
        'Once one is taken, all that waits goes out as one message. However often that fails, it is tried again, with pauses of 5 min at most; a delivery that was tried for three days is given up.',
      );
      expect(text).toContain('See whether Slack has trouble, or a proxy on the way to it; to try at once:');
      expect(text).not.toMatch(/up to a day|40 in a row|Mend the receiver|in order/);
    }
  });

  test('for a reason on this side, or takes messages again, says that what waits goes out as one', () => {
    expect(shown('incident.opened', { ...slack, trouble: 'unreached' })).toContain('all that waits goes out as one message');
    expect(shown('incident.ended', { ...ended, channel: 'slack' })).toContain('What waits goes out now, as one message.');
  });
});

test('how long Slack is tried is what is said of it', () => {
  expect(WITH_PEOPLE).toEqual({ longestPause: 5 * 60_000, failuresToSwitchOff: null });
  const waits = SCHEDULE_WITH_PEOPLE.reduce((sum, wait) => sum + wait, 0);
  expect(waits / 86_400_000).toBeCloseTo(3, 1);
  expect(KEPT_WHILE_OFF).toBe(3 * 86_400_000);
});

test('another channel of Slack is not sent past alarms again', () => {
  for (const data of [off, losing])
    expect(shown('incident.opened', { ...data, subscriber: '@slack', channel: 'slack' })).not.toContain('replay');
});

test('the end says what still waits, and what is not sent by itself', () => {
  expect(shown('incident.ended', ended)).toContain('What waits goes out now, in order. Nothing needs to be done.');
  expect(shown('incident.ended', { ...ended, waiting: 0 })).toContain('Nothing waits any more.');
  expect(shown('incident.ended', { ...ended, waiting: 0 })).not.toContain('What to do');
  expect(shown('incident.ended', { ...ended, givenUp: 3 })).toMatch(/--status\s+exhausted/);
  expect(shown('incident.ended', { ...ended, givenUp: 3 })).not.toContain('Nothing needs');
  expect(shown('incident.ended', { ...ended, outcome: 'removed', givenUp: 3 })).not.toContain('purchase-watch');
});

test('values cannot mention, link or break out of their place', () => {
  const { text } = message('incident.opened', {
    ...failing,
    subscriber: '<!here>',
    lastError: '<https://evil.example|x> & more',
  });
  expect(text).toContain("`purchase-watch subscribers show '&lt;!here&gt;'`");
  expect(text).toContain('&lt;https://evil.example|x&gt; &amp; more');
});

test('an address is never shown, though the event should hold one', () => {
  const made = message('incident.opened', { ...failing, url: 'https://shop.example/hook/secret?key=7', address: 'shop.example' });
  expect(JSON.stringify(made)).not.toMatch(/shop\.example|secret/);
});

test('an event without its subscriber or its trouble is told all the same', () => {
  for (const missing of [{ subscriber: null }, { trouble: 'else' }]) {
    const made = message('incident.opened', { ...failing, ...missing });
    expect([headline(made), messageProblem(made)]).toEqual(['purchase-watch: incident.opened', null]);
  }
});

test('whatever the values, Slack takes the message, and what happens next and what to do are whole', () => {
  const anyText = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 5_000 }),
    fc.constantFrom('&'.repeat(3_000), '<'.repeat(3_000), '🦊'.repeat(3_000), '`'.repeat(200)),
  );
  const count = fc.nat(1_000_000);
  const time = fc.option(fc.constantFrom('2026-01-20T09:15:30.000Z', '2027-11-20T09:15:30.000Z', 'soon'));
  const data = fc.record({
    ...{ incidentId: anyText, kind: fc.constant('subscriber'), subscriber: anyText, channel: fc.option(anyText) },
    ...{ origin: fc.constantFrom('api', 'configuration', null), trouble: fc.constantFrom(...SUBSCRIBER_TROUBLES) },
    ...{ outcome: fc.oneof(anyText, fc.constantFrom('takes_again', 'quiet', 'tried_again', 'switched_off', 'removed')) },
    ...{ failures: count, waiting: count, givenUp: count, countedTo: fc.option(count), lastError: fc.option(anyText) },
    ...{ openedAt: time, endedAt: time, failingSince: time, nextTryAt: time, offSince: time, givenUpFrom: time },
    since: fc.constant('2026-01-20T09:15:30.000Z'),
  });
  const type = fc.constantFrom('incident.opened', 'incident.grew', 'incident.reminder', 'incident.ended');
  fc.assert(
    fc.property(type, data, (stage, values) => {
      const made = message(stage, values);
      expect(messageProblem(made)).toBeNull();
      expect(headline(made)).not.toMatch(/^purchase-watch/);
      if (stage !== 'incident.ended') expect(made.text).toMatch(/What happens next\*\n.+\.\n\*What to do\*\n(.+\.\n)+More: /);
      expect(() => renderForTerminal(made)).not.toThrow();
    }),
    { numRuns: 150 },
  );
});

test('of one that asked to be left alone nothing needs to be mended', () => {
  const resting = { ...failing, failures: 2, lastError: 'The receiver answered 429 and asked to be left alone for 1 d.' };
  expect(shown('incident.opened', resting)).toMatch(/it asked to be left alone, and goes on by itself/);
  expect(shown('incident.opened', resting)).not.toMatch(/Mend the receiver|resume/);
  expect(shown('incident.opened', failing)).toMatch(/Mend the receiver; .*resume shop/);
});

test('of one that a daemon cannot use what is stored of, people hear what to set, and not of a network', () => {
  const untried = {
    ...failing,
    ...{ trouble: 'unreached', untried: true, failures: 0, ourFailingSince: '2026-11-20T09:05:00.000Z' },
    lastError: 'Its address cannot be read: SECRETS_KEY is not the key that encrypted it.',
  };
  const text = shown('incident.opened', untried).replace(/ +/g, ' ');
  expect(text).toContain('A daemon sends nothing of its share, not even a try, until it can use what is stored of it.');
  expect(text).toContain('Give every daemon the settings that it was added under, SECRETS_KEY above all, and restart them');
  expect(text).not.toMatch(/network|every few minutes/);
  expect(messageProblem(message('incident.opened', untried))).toBeNull();
  expect(shown('incident.opened', { ...untried, untried: false })).toMatch(/Mend our name server/);
});
