/** What people read: no state is shown by the specification's name alone, and "stuck" has no second word. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { exampleEvents } from '../../src/channels/people/examples.ts';
import { slackMessage } from '../../src/channels/slack/message.ts';
import { renderForTerminal } from '../../src/channels/slack/terminal.ts';
import { teamsMessage } from '../../src/channels/teams/card.ts';
import { STATE_NAMES, stateWords } from '../../src/domain/purchases/states.ts';
import { commandsPage } from '../../tools/commands.ts';
import { onDatabase } from '../cli/command.ts';
import { fetchAsMachine, signedIn } from '../support/machine.ts';
import { startStuckShop } from '../support/stuck-shop.ts';
import type { TestApp } from '../support/test-app.ts';

/** Of one word each, such as Cancelled: they are words of other texts, too. */
const isWord = (name: string): boolean => /^[A-Z][a-z]+$/.test(name);
/** Words and name belong together with nothing between them but these. */
const BESIDE = String.raw`[\s(\\]*`;
const UNLISTED = 17;

/** Faults of a text, each with what stands around it. */
function faultsOf(text: string): string[] {
  const names = STATE_NAMES.filter((name) => !isWord(name));
  const bare = names.flatMap((name) => {
    const alone = new RegExp(String.raw`(?<!${stateWords(name)}${BESIDE})(?<![.\w=])${name}\b`, 'g');
    return [...text.matchAll(alone)];
  });
  return [...bare, ...text.matchAll(/overdue|Unknown\(/gi)].map(({ index }) => text.slice(Math.max(0, index - 60), index + 60));
}

/** What a page shows: without markup, scripts, and what is to be typed into a terminal. */
function shown(page: string): string {
  return page
    .replace(/^.*<main\b/s, '<main')
    .replaceAll(/<(code|pre|script|style|symbol)\b.*?<\/\1>/gs, '')
    .replaceAll(/<[^>]*aria-label="([^"]*)"[^>]*>/g, ' $1 ')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&nbsp;', ' ')
    .replaceAll(/\s+/g, ' ');
}

let t: TestApp;
let stuck: string;

beforeAll(async () => {
  ({ t, stuck } = await startStuckShop({}));
  let last = '';
  for (const state of [...STATE_NAMES, UNLISTED]) last = await t.watch({ script: [{ state }] });
  await vi.waitFor(async () => expect((await t.rowOf(last)).state).toBe(UNLISTED), { timeout: 30_000, interval: 100 });
  const origin = t.app.url()!;
  const post = async (path: string, body: object): Promise<void> => {
    const response = await fetchAsMachine(`${origin}${path}`, {
      ...{ method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } },
    });
    expect(response.status, await response.text()).toBeLessThan(300);
  };
  await post('/v1/silences', { site: 'default', state: 'WaitingForEidApp', reason: 'test', by: 'Kim', endsAt: '1h' });
});

afterAll(() => t?.stop());

test('no page shows a state by its name alone', async () => {
  const origin = t.app.url()!;
  const headers = await signedIn(origin);
  const toVisit = ['/', '/purchases', '/incidents', '/sites', '/silences', '/subscribers', '/channels', '/system', '/deliveries'];
  toVisit.push('/rehearse?from=1h', '/purchases?state=WaitingForEidApp', '/purchases?state=17', `/incidents/${stuck}`);
  const visited = new Set<string>();
  const faults: string[] = [];
  for (let path = toVisit.shift(); path !== undefined && visited.size < 120; path = toVisit.shift()) {
    if (visited.has(path)) continue;
    visited.add(path);
    const page = await (await fetch(`${origin}${path}`, { headers })).text();
    faults.push(...faultsOf(shown(page)).map((text) => `${path}: ${text}`));
    const links = [...page.matchAll(/href="(\/(?:purchases|incidents|sites|subscribers)\/[^"?#]+)/g)].map(([, link]) => link!);
    toVisit.push(...links);
  }
  expect(faults).toEqual([]);
  // Every state was on a page, in words.
  const list = shown(await (await fetch(`${origin}/purchases`, { headers })).text());
  for (const name of [...STATE_NAMES, UNLISTED]) expect(list).toContain(stateWords(name));
});

test.each([
  'status',
  'status PURCHASE',
  'why PURCHASE',
  'flow',
  'incidents',
  'incidents show INCIDENT',
  'incidents customers INCIDENT',
  'silences',
  'subscribers',
  'events',
  'rehearse --from 1h',
  'plan',
])('no state is shown by its name alone: %s', async (command) => {
  const [purchase] = await t.database.sql<{ id: string }[]>`
    select purchase_id as id from purchase_watch.purchases where stuck_since is not null limit 1`;
  const argv = command.replace('PURCHASE', purchase!.id).replace('INCIDENT', stuck).split(' ');
  const { exitCode, stdout } = await onDatabase(t.database, argv);
  expect(exitCode).toBe(0);
  expect(faultsOf(stdout.replaceAll(/\s+/g, ' '))).toEqual([]);
});

test('nor in a message, and not in the help of the commands', async () => {
  const now = Date.UTC(2026, 10, 20, 9, 15);
  const messages = (['typical', 'longest'] as const).flatMap((size) =>
    exampleEvents(now, size).flatMap(({ body }) => [
      renderForTerminal(slackMessage(body, { consoleUrl: null })),
      JSON.stringify(teamsMessage(body, { consoleUrl: null })),
    ]),
  );
  // The box of the terminal breaks lines.
  for (const message of messages) expect(faultsOf(message.replaceAll(/\n│?\s*/g, ' '))).toEqual([]);
  expect(messages[0]).toContain('stuck waiting for the card provider');
  expect(faultsOf(await commandsPage())).toEqual([]);
});
