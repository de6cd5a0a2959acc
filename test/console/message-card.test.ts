/** Messages for people as pages show them: with their links, as each kind of channel lays them out. */
import { expect, test } from 'vitest';
import { peopleKind } from '../../src/channels/registry.ts';
import type { Ask } from '../../src/console/frame/page-route.ts';
import { messageCard } from '../../src/console/parts/messages/message-card.ts';

const NOW = Date.parse('2026-11-20T09:15:00Z');
const drawn = async (
  kind: 'slack' | 'teams' | 'alertmanager',
  consoleUrl: string | null,
  size: 'typical' | 'longest' = 'typical',
) => String(await messageCard(kind, peopleKind(kind).examples(NOW, size)[0]!, { now: NOW, consoleUrl } as Ask));

test.each(['slack', 'teams', 'alertmanager'] as const)('%s shows the links of the message where there are any', async (kind) => {
  expect(await drawn(kind, 'https://console.example/pw')).toContain('href="https://console.example/pw/incidents/inc_test"');
  expect(await drawn(kind, null)).not.toContain('href="https://console.example');
});

test('a card of Teams has its facts in pairs, and none of the marks of its Markdown', async () => {
  const card = await drawn('teams', null, 'longest');
  expect(card).toContain('<dt><bdi>Severity</bdi></dt>');
  expect(card.replaceAll(/<[^>]*>/g, '')).not.toMatch(/\\[_*[\]()~`-]|\u200b|\]\(http/);
});

test('an alert of Alertmanager has its labels, and says that it is active', async () => {
  const card = await drawn('alertmanager', null);
  expect(card).toContain('alertname="PurchaseWatchIncident"');
  expect(card).toContain('<b>active</b>');
});
