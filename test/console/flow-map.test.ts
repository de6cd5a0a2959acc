/** The map of the flow for answers that are rare: open incidents, many who wait, ways back, numbers that nobody knows. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { FlowBody } from '../../src/api/flow/flow.ts';
import { flowMap } from '../../src/console/pictures/flow-map.ts';
import { flowPicture } from '../../src/console/pictures/flow-model.ts';
import { flowList, flowTable } from '../../src/console/pictures/flow-words.ts';
import { namedState } from '../../src/domain/purchases/states.ts';

type State = FlowBody['states'][number];
const at = '2026-11-22T14:27:18.000Z';
const state = (value: number, more: Partial<State> = {}): State => ({
  ...{
    state: namedState(value),
    final: false,
    watching: 1,
    stuck: 0,
    came: 1,
    usual: null,
    limits: [],
    incidents: [],
    ages: null,
  },
  ...more,
});
const flow = (states: State[], ways: [number | null, number, number, number | null][] = []): FlowBody => ({
  ...{ at, site: null, from: at, to: at, usualDays: 14, notSeenYet: 0, states },
  edges: ways.map(([from, to, count, usual]) => ({
    ...{ from: from === null ? null : namedState(from), to: namedState(to), count, usual },
  })),
});
const drawn = async (body: FlowBody) =>
  String(await flowMap(flowPicture(body), { label: 'flow', listOf: ({ key }) => `/${key}` }));
const incident = { id: 'inc_41', severity: 'critical' as const, since: at, endsAt: null, parent: null };

test('a state with an incident has a flag with the site, which is cut and never markup', async () => {
  const site = `<b>"&${'x'.repeat(4_000)}`;
  const svg = await drawn(
    flow([
      state(6, {
        stuck: 1,
        incidents: [
          { ...incident, site },
          { ...incident, site: 'fi' },
        ],
      }),
    ]),
  );
  expect(svg).toContain('node is-stuck');
  expect(svg).toContain('critical, &lt;b&gt;&quot;&amp;xxxxxxxxxxxx…, 1 more');
  expect(svg).not.toContain('<b>');
});

test('an incident that ends by itself, because nobody is stuck any more, has no flag', async () => {
  const svg = await drawn(flow([state(6, { incidents: [{ ...incident, site: 'fi', endsAt: at }] })]));
  expect(svg).not.toContain('critical');
  expect(svg).not.toContain('is-stuck');
});

test('a stuck purchase without an incident changes the number and no more', async () => {
  const svg = await drawn(flow([state(6, { stuck: 3 })]));
  expect(svg).toContain('class="over">3 stuck');
  expect(svg).not.toContain('is-stuck');
});

test('those who wait stand by their age: diamonds, bars where they are many, heights where they were counted in buckets', async () => {
  const limits: State['limits'] = [
    { site: 'se', limit: { limitMs: 60_000, source: 'configured', usualMs: null, p95Ms: null, purchases: null, text: '' } },
  ];
  const ages = (count: number, buckets: NonNullable<State['ages']>['buckets'] = null): State => {
    const oldest = Array.from({ length: count }, () => ({ ageMs: 90_000, share: 1.5, stuck: true }));
    return state(6, { limits, ages: { oldest, buckets, unread: 0 } });
  };
  expect((await drawn(flow([ages(8)]))).match(/tick-s/g)).toHaveLength(8);
  expect((await drawn(flow([ages(9)]))).match(/tick-o/g)).toHaveLength(9);
  const counted = await drawn(
    flow([
      ages(60, [
        { from: 0.2, below: 0.3, count: 10 },
        { from: 2, below: null, count: 90 },
      ]),
    ]),
  );
  expect(counted).not.toContain('tick-');
  expect(counted.match(/age-wait/g)).toHaveLength(1);
  expect(counted.match(/age-over/g)).toHaveLength(1);
});

test('however many numbers a service sends, the picture keeps its size, and the table has them all', async () => {
  const states = Array.from({ length: 500 }, (_, place) => state(1_000 + place));
  const body = flow(
    [state(1), ...states],
    states.map(({ state: { value } }) => [1, value, 1, null]),
  );
  const picture = flowPicture(body);
  expect([picture.nodes.length, picture.left]).toEqual([6, 495]);
  const whole = flowPicture(body, Number.POSITIVE_INFINITY);
  expect(String(await flowTable(whole, { caption: '', listOf: () => '/' })).match(/<tr>/g)).toHaveLength(502);
  expect(String(await flowList(picture, () => '/'))).toContain('state 1004, which is not in the specification');
});

test('every way is drawn with numbers, in whatever direction it goes', async () => {
  const keys = [0, 1, 4, 6, 17, 2, 3, 8];
  const ways = keys.flatMap((from) =>
    keys.filter((to) => to !== from).map((to) => [from, to, 3, 9] as [number, number, number, number]),
  );
  const svg = await drawn(
    flow(
      keys.map((key) => state(key)),
      ways,
    ),
  );
  expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  expect(svg.match(/<path class="e/g)).toHaveLength(ways.length);
  expect(svg.match(/class="arrow"/g)!.length).toBeGreaterThan(10);
});

test('the dark colours are the same by system and by switch', () => {
  const tokens = readFileSync(new URL('../../assets/tokens.css', import.meta.url), 'utf8');
  const [bySystem, bySwitch] = [':root:not([data-theme="light"])', ':root[data-theme="dark"]'].map((selector) => {
    const block = tokens.slice(tokens.indexOf(`${selector} {`));
    return [...block.slice(0, block.indexOf('}')).matchAll(/^ *([\w-]+): *(.+);/gm)].map(([, name, value]) => `${name} ${value}`);
  });
  expect(bySystem!.length).toBeGreaterThan(10);
  expect(bySwitch).toEqual(bySystem);
});
