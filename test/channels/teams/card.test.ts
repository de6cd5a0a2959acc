import { expect, test } from 'vitest';
import { exampleEvents } from '../../../src/channels/people/examples.ts';
import { plainText } from '../../../src/channels/people/messages/mrkdwn.ts';
import { slackMessage } from '../../../src/channels/slack/message.ts';
import { countedBytes, laidOut, teamsFolded, teamsMessage } from '../../../src/channels/teams/card.ts';

/** What Teams takes: 28 KB. */
const MOST_OF_TEAMS = 28 * 1024;
const NO_CONSOLE = { consoleUrl: null };
const NOW = Date.UTC(2026, 10, 20, 9, 15);
const examples = exampleEvents(NOW, 'longest').map(({ body }) => body);

test('a card has the words of the message in Slack', () => {
  for (const body of examples) {
    const [headline] = slackMessage(body, NO_CONSOLE).text.split('\n');
    const { summary, attachments } = teamsMessage(body, NO_CONSOLE);
    expect(summary).toBe(plainText(headline!));
    const labels = attachments[0].content.body.flatMap((each) => (each.type === 'TextBlock' && each.weight ? [each.text] : []));
    expect(labels).toEqual(expect.arrayContaining(['This is a TEST']));
  }
});

test('the longest messages, also together and in letters of many bytes, are within what Teams takes', () => {
  const wide = examples.map((body) => body.replaceAll('xxxx', '"漢漢"'.replaceAll('"', '\\"')));
  const folded = teamsFolded([...examples, ...wide], {
    ...{ ...NO_CONSOLE, since: NOW - 60_000, until: NOW, now: NOW },
    ...{ reason: 'refused', incidents: new Map() },
  });
  const cards = [...examples, ...wide].map((body) => teamsMessage(body, NO_CONSOLE));
  for (const card of [...cards, folded]) expect(countedBytes(card)).toBeLessThan(MOST_OF_TEAMS);
  expect(JSON.stringify(folded)).toContain('Microsoft Teams did not take them at once');
});

test('the headline and the ids of a card are links where there is a console', () => {
  const data = {
    incidentId: 'inc_7',
    kind: 'stuck',
    site: 'se',
    state: { value: 4, name: 'WaitingForIdentityProvider' },
    count: 3,
  };
  const times = { openedAt: '2026-11-20T09:15:30.000Z', endedAt: null, since: '2026-11-20T09:05:00.000Z' };
  const timestamp = '2026-11-20T09:17:00.000Z';
  const event = {
    id: 'evt_1',
    type: 'incident.opened',
    timestamp,
    data: { ...data, ...times, peak: 3, purchases: ['id_1', 'id2'] },
  };
  const { summary, attachments } = teamsMessage(JSON.stringify(event), { consoleUrl: 'https://watch.example/(ops)' });
  const texts = attachments[0].content.body.flatMap((each) => (each.type === 'TextBlock' ? [each.text] : []));
  expect(summary).toMatch(/^🔴 se: 3 customers stuck/);
  expect(texts[0]).toMatch(/^\[🔴 se: 3 customers stuck .*\]\(https:\/\/watch\.example\/%28ops%29\/incidents\/inc_7\)$/);
  expect(texts).toContainEqual(expect.stringContaining('[id\\_1](https://watch.example/%28ops%29/purchases/se/id_1)'));
  expect(texts.at(-1)).toBe('[Open in the console](https://watch.example/%28ops%29/incidents/inc_7)');
});

test('what cannot be shortened any more is left out from the end, and the headline stays', () => {
  const sites = Array.from({ length: 14 }, (_, index) => ({ label: `${index}`, text: '漢'.repeat(2_900) }));
  const card = laidOut({ headline: '🔴 Everything', facts: [], paragraphs: sites.map(({ label, text }) => [label, text]) });
  expect(countedBytes(card)).toBeLessThan(MOST_OF_TEAMS);
  expect(card.summary).toBe('🔴 Everything');
  expect(JSON.stringify(card)).toContain('漢');
});

test('an event of a shape nobody knows is announced by its type', () => {
  expect(teamsMessage('{"type":"incident.new_kind"}', NO_CONSOLE).summary).toContain('incident.new_kind');
});
