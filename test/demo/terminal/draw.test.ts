import { expect, test } from 'vitest';
import { slackMessage } from '../../../src/channels/slack/message.ts';
import type { Arrival } from '../../../src/demo/cast/shop.ts';
import { draw, type Scene, type Size } from '../../../src/demo/terminal/draw.ts';
import type { Style } from '../../../src/demo/terminal/stage.ts';
import { namedState } from '../../../src/domain/purchases/states.ts';
import { textWidth } from '../../../src/domain/values/text-width.ts';

const ID = '3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c1';
const change = (number: number, from: number, to: number): Arrival => ({
  event: {
    id: `evt_${number}`,
    type: 'purchase.state_changed',
    timestamp: '2026-11-20T09:15:30.000Z',
    data: { site: 'demo-se', purchaseId: `${ID}${number % 10}`, from: namedState(from), to: namedState(to) },
  } as Arrival['event'],
  at: Date.parse('2026-11-20T09:15:30.000Z'),
  took: 12 * number,
});
const TRAFFIC = Array.from({ length: 60 }, (_, at) => change(at, 1, 12));
const SCENE: Scene = {
  address: 'http://127.0.0.1:8080',
  elapsed: 65_400,
  isPaused: false,
  counts: { purchases: 84, stuck: 3, webhooks: 367, messages: 1, median: 11 },
  broken: [],
  chapter: { title: '1  Customers shop', text: 'The shop registers each Purchase ID with purchase-watch. '.repeat(4).trim() },
  panel: null,
  traffic: [...TRAFFIC, { text: 'All of them have moved on.', style: 'cyan' }],
  keys: [
    ['space', 'pause'],
    ['q', 'end'],
  ],
};
const stuck = {
  ...{ incidentId: 'inc_7', kind: 'stuck', site: 'demo-se', state: { value: 6, name: 'WaitingForCardPayments' }, count: 37 },
  ...{ peak: 41, openedAt: '2026-11-20T09:15:30.000Z', endedAt: null, since: '2026-11-20T09:05:00.000Z', limitMs: 600_000 },
  ...{ purchases: ['日本語の注文', 'id2'], waiting: [{ amount: '12345.50', currency: 'SEK' }] },
};
const body = JSON.stringify({ id: 'evt_1', type: 'incident.opened', timestamp: '2026-11-20T09:17:00.000Z', data: stuck });
const WITH_CARD: Scene = {
  ...SCENE,
  panel: { kind: 'slack', message: slackMessage(body, { consoleUrl: 'https://watch.example' }) },
};
const WITH_COMMANDS: Scene = { ...SCENE, panel: { kind: 'commands', lines: ['Try', '  npx purchase-watch status'] } };
const PERSON: Scene = {
  ...SCENE,
  broken: ['card page', 'daemon', 'receiver'],
  isPaused: true,
  chapter: { title: 'The daemon is dead', text: 'a word '.repeat(90), steps: [{ words: 'it answers', isDone: true }] },
};
const EMPTY: Scene = { ...SCENE, traffic: [], keys: [] };

const drawn = (scene: Scene, size: Size = { columns: 80, rows: 24 }): string[] => draw(scene, size, (_, text) => text);

test('at 80×24 the head, the chapter and the keys stand around the newest traffic', () => {
  const lines = drawn(SCENE);
  expect(lines.slice(0, 8)).toEqual([
    `purchase-watch  http://127.0.0.1:8080${' '.repeat(39)}1:05`,
    '84 purchases · 3 stuck · 367 webhooks, half within 11 ms · 1 to Slack',
    '─'.repeat(80),
    '1  Customers shop',
    'The shop registers each Purchase ID with purchase-watch. The shop registers each',
    'Purchase ID with purchase-watch. The shop registers each Purchase ID with',
    'purchase-watch. The shop registers each Purchase ID with purchase-watch.',
    '─'.repeat(80),
  ]);
  expect(lines.slice(-3)).toEqual([
    `✓ 708 ms demo-se waiting for the mobile pa… ${ID}9`,
    'All of them have moved on.',
    'space pause  q end',
  ]);
});

test("Slack's card has 12 lines there: headline, facts, likely cause, what to do, and how much more there is", () => {
  const lines = drawn(WITH_CARD);
  const top = lines.findIndex((line) => line.startsWith('┌─ Slack'));
  const card = lines.slice(top, lines.findIndex((line) => line.startsWith('└')) + 1);
  expect([top, card.length]).toEqual([8, 12]);
  expect(card[1]).toMatch(/^│ 🔴 demo-se: 37 customers stuck/);
  for (const part of ['37 customers (41 at the worst)', '12 345.50 SEK', 'Possible cause · ', 'What to do · '])
    expect(card.join('\n')).toContain(part);
  expect(card.at(-1)).toMatch(/^└─ \d+ more lines? in Slack ─+$/);
  expect(lines.slice(-4, -1).map((line) => line.slice(0, 1))).toEqual(['✓', '✓', 'A']);
  // A larger terminal shows the whole message.
  expect(drawn(WITH_CARD, { columns: 120, rows: 80 }).join('\n')).toContain('日本語の注文');
});

test('a wide terminal shows the time, and the state before where there is room', () => {
  const line = drawn(SCENE, { columns: 126, rows: 40 }).findLast((each) => each.includes('✓'))!;
  expect(line).toMatch(
    /^\d\d:15:30 {2}✓ 708 ms {2}demo-se {2}in the check-out form → waiting for the mobile payment app +3f6b8a52-\S+9$/,
  );
  const narrower = drawn(SCENE, { columns: 120, rows: 40 }).findLast((each) => each.includes('✓'))!;
  expect(narrower).toMatch(/demo-se {2}waiting for the mobile payment app +3f6b8a52-\S+9$/);
});

test('what a person broke is in the head, with what follows below', () => {
  const lines = drawn(PERSON);
  expect(lines[0]).toContain('broken: card page, daemon, receiver');
  expect(drawn(PERSON, { columns: 120, rows: 24 })[0]).toMatch(/paused {2}1:05$/);
  const steps = drawn({ ...PERSON, chapter: { ...PERSON.chapter, text: 'nothing is polled' } });
  expect(steps.slice(3, 7)).toEqual(['The daemon is dead', 'nothing is polled', '✓ it answers', '']);
});

test('whatever there is to show, a screen has its size', () => {
  for (const scene of [SCENE, WITH_CARD, WITH_COMMANDS, PERSON, EMPTY]) {
    for (let rows = 1; rows <= 50; rows += 1) expect(drawn(scene, { columns: 80, rows })).toHaveLength(rows);
    for (let columns = 1; columns <= 160; columns += 1) {
      const wider = drawn(scene, { columns, rows: 24 }).filter((line) => textWidth(line) > columns);
      expect(wider, String(columns)).toEqual([]);
    }
  }
});

test('colours take no room', () => {
  const paint = (style: Style, text: string): string => `<${style}>${text}</>`;
  const lines = draw(WITH_CARD, { columns: 80, rows: 24 }, paint);
  expect(lines.map((line) => line.replace(/<[a-z]*>|<\/>/g, ''))).toEqual(drawn(WITH_CARD));
  expect(lines[1]).toContain('<red>3 stuck</>');
});
