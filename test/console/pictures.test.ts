/** Each picture with nothing, one, a thousand and a million of what it shows, measured in a browser: no text over another, none outside. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FlowBody } from '../../src/api/flow/flow.ts';
import type { SiteBody } from '../../src/api/flow/site.ts';
import { type Html, html } from '../../src/console/frame/html.ts';
import { SPRITE } from '../../src/console/frame/icons.ts';
import { activityCharts } from '../../src/console/pages/now/activity-charts.ts';
import { attemptsPicture } from '../../src/console/pictures/attempts.ts';
import { dwellPicture } from '../../src/console/pictures/dwell.ts';
import { flowMap } from '../../src/console/pictures/flow-map.ts';
import { flowPicture } from '../../src/console/pictures/flow-model.ts';
import { flowLegend, flowList, flowTable } from '../../src/console/pictures/flow-words.ts';
import { lifePicture } from '../../src/console/pictures/life.ts';
import { timelinePicture } from '../../src/console/pictures/rehearsal.ts';
import { countAxis, lengthAxis } from '../../src/console/pictures/scale.ts';
import { sharePicture } from '../../src/console/pictures/share.ts';
import { countChart, shareChart, waitChart } from '../../src/console/pictures/trends/charts.ts';
import type { Happened } from '../../src/console/pictures/trends/lanes.ts';
import { stackPicture } from '../../src/console/pictures/trends/stack.ts';
import { namedState } from '../../src/domain/purchases/states.ts';
import { startBrowser } from '../support/browser.ts';

const NOW = Date.UTC(2026, 10, 25, 13, 20, 18);
const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const WIDTHS = [360, 768, 800, 1_024, 1_280, 1_440];
const AMOUNTS = [0, 1, 1_000, 1_000_000];
const iso = (at: number): string => new Date(at).toISOString();

/** Steps from 0 to 1 without a pattern, the same in each run. */
const wave = (place: number): number => (Math.sin(place * 12.9898) * 43_758.5453) % 1;

const STATES = [0, 1, 14, 4, 7, 6, 12, 9, 10, 13, 2, 11, 8, 3, 5];
const FINAL = new Set([13, 2, 11, 8, 3, 5]);

/** Every state there is with every way that occurs, and ways back; `n` purchases in all. */
function flow(n: number, { usual = null as number | null, incident = false } = {}): FlowBody {
  const waits = [14, 4, 7, 6, 12, 9, 10];
  const ways: [number | null, number, number][] = [
    [null, 0, n],
    [0, 1, n],
    ...waits.map((to, place): [number, number, number] => [1, to, Math.ceil(n / (place + 3))]),
    ...waits.map((from, place): [number, number, number] => [from, 2, Math.ceil(n / (place + 4))]),
    ...waits.flatMap((from): [number, number, number][] => [
      [from, 3, Math.ceil(n / 90)],
      [from, 5, Math.ceil(n / 120)],
      [from, 8, Math.ceil(n / 200)],
    ]),
    ...([
      [1, 13, Math.ceil(n / 80)],
      [0, 5, Math.ceil(n / 60)],
      [10, 11, Math.ceil(n / 70)],
      [4, 6, Math.ceil(n / 50)],
      [6, 7, Math.ceil(n / 51)],
      [6, 1, Math.ceil(n / 52)],
      [7, 1, Math.ceil(n / 53)],
      [2, 4, Math.ceil(n / 54)],
    ] as [number, number, number][]),
  ];
  const limit = {
    ...{ limitMs: 390_000, source: 'configured' as const, usualMs: null, p95Ms: null, purchases: null, text: '' },
  };
  return {
    ...{ at: iso(NOW), site: null, from: iso(NOW - HOUR), to: iso(NOW), usualDays: usual === null ? null : 14, notSeenYet: 0 },
    states: [...STATES, 17].map((value) => ({
      ...{ state: namedState(value), final: FINAL.has(value), watching: n, stuck: Math.ceil(n / 3), came: n },
      usual: { usualMs: 3_723_000, p95Ms: 4_000_000, purchases: 9 },
      limits: [{ site: 'se', limit }],
      incidents:
        incident && value === 6
          ? [
              {
                id: 'inc_1',
                site: 'a-shop-with-a-long-name-in-the-north',
                severity: 'critical' as const,
                since: iso(NOW),
                endsAt: null,
                parent: null,
              },
            ]
          : [],
      ages: {
        ...{
          oldest: Array.from({ length: Math.min(n, 60) }, (_, place) => ({
            ageMs: place * 9_000,
            share: place / 20,
            stuck: place > 20,
          })),
        },
        ...{
          buckets: n > 60 ? [0, 0.5, 1, 2].map((from) => ({ from, below: from === 2 ? null : from + 0.5, count: n / 4 })) : null,
          unread: 0,
        },
      },
    })),
    edges: (n === 0 ? [] : ways).map(([from, to, count]) => ({
      ...{ from: from === null ? null : namedState(from), to: namedState(to), count },
      usual: usual === null ? null : count * usual,
    })),
  };
}

const map = (body: FlowBody): Html => {
  const picture = flowPicture(body);
  const listOf = () => '/';
  return html`<section class="panel">${flowMap(picture, { label: 'flow', listOf })}${flowList(picture, listOf)}<footer>${flowLegend}</footer>${flowTable(picture, { caption: '', listOf })}</section>`;
};

/** An hour of minutes; one in so many polls fails. */
function activity(n: number): Html {
  const minutes = Array.from({ length: 60 }, (_, place) => ({
    ...{ at: iso(NOW - (60 - place) * MINUTE), polls: Math.round(n * (0.8 + 0.2 * Math.abs(wave(place)))), changes: n },
    ...{ failedPolls: place === 40 ? Math.min(2, n) : 0, greatestLagMs: n === 0 ? null : n * 3 },
    ...{ delivered: n, failedAttempts: n },
  }));
  return activityCharts({ minutes, usual: { polls: n, failedPolls: 0, greatestLagMs: n, delivered: null }, site: null });
}

function share(n: number, isMarked: boolean): Html {
  const count = Math.min(n, 1_000);
  const from = NOW - 40 * MINUTE;
  const at = (place: number): string => iso(from + (place / Math.max(count, 1)) * 39 * MINUTE);
  const fates = ['well', 'overdue', 'late', 'other', 'open'] as const;
  const came = {
    ...{ from: iso(from), until: iso(NOW), isComplete: true },
    stays: Array.from({ length: count }, (_, place) => ({
      ...{ purchaseId: `p${place}`, enteredAt: at(place), overdueAt: null, leftAt: null, to: null, fate: fates[place % 5]! },
    })),
    share: Array.from({ length: count }, (_, place) => ({ at: at(place), overdue: place % 20, of: 20 })),
  };
  const marks = isMarked ? { first: from + 5 * MINUTE, noticed: from + 6 * MINUTE } : null;
  return html`<section class="panel"><figure class="fig body">${sharePicture({ came, marks, usual: n > 1 ? 0.02 : null, label: 'share' })}</figure></section>`;
}

function dwell(n: number, limits: readonly (readonly [usual: number, p95: number, limit: number])[]): Html {
  const stays = n === 0 ? [] : [9_000, 20_000, 38_000, 90_000].map((fromMs) => ({ fromMs, belowMs: fromMs * 1.4, count: n }));
  const figures = limits.map(([usualMs, p95Ms, limitMs]) => {
    const body = {
      state: namedState(6),
      stays,
      usual: n === 0 ? null : { usualMs, p95Ms, purchases: n },
      limit: { limitMs, source: 'learned', usualMs, p95Ms, purchases: n, text: '' },
    } as SiteBody['states'][number];
    return html`<figure>${dwellPicture(body, [])}</figure>`;
  });
  return html`<section class="panel"><div class="mult">${figures}</div></section>`;
}

const attempts = (n: number): Html =>
  html`<section class="panel"><div class="body">${attemptsPicture(
    Array.from({ length: Math.min(n, 72) }, (_, place) => ({ outcome: place % 7 === 6 ? 'http_500' : 'delivered', tookMs: n })),
  )}</div></section>`;

/** A purchase with `n` changes of state, of which a picture shows the last twelve, and `n` polls. */
function life(n: number, span: number): Html {
  const count = Math.min(Math.max(n, 1), 12);
  const at = (place: number): number => NOW - span + (place / count) ** 2 * span;
  const stays = Array.from({ length: count }, (_, place) => ({
    ...{
      sequence: place + 1,
      state: namedState(STATES[place % STATES.length]!),
      stuckAt: place % 5 === 4 ? at(place + 0.5) : null,
    },
    came: { notBefore: place === 0 ? null : at(place) - span / 200, notAfter: at(place) },
    left: place === count - 1 ? null : { notBefore: at(place + 1) - span / 200, notAfter: at(place + 1) },
  }));
  const kinds = ['delivered', 'failed', 'parked', 'waiting'] as const;
  return html`<section class="panel">${lifePicture({
    ...{ now: NOW, from: NOW - span, to: NOW - span / 50, stays, earlier: 0, seenAt: NOW - span / 40, next: NOW + span / 8 },
    polls: { count: n, failures: Math.min(n, 3), known: stays.map(({ came }) => came.notAfter) },
    subscribers: ['books', 'a-subscriber-with-a-name-of-fifty-letters-or-so-x'].map((name) => ({
      name,
      marks: kinds.map((kind, place) => ({ kind, at: at(place), says: kind })),
    })),
    alerts: [{ at: at(1), says: 'alert' }],
    invoiceAt: NOW - span / 30,
  })}</section>`;
}

function timeline(n: number): Html {
  const count = Math.min(n, 60);
  const side = (name: string) => ({
    name,
    incidents: Array.from({ length: count }, (_, place) => ({
      ...{
        incidentId: `inc_${place}`,
        kind: 'stuck' as const,
        site: 'se',
        state: namedState(6),
        severity: 'warning' as const,
        peak: n,
      },
      ...{ openedAt: iso(NOW - (place * 7 + 40) * MINUTE), endedAt: iso(NOW - place * 7 * MINUTE), alertedAt: null },
    })),
    said: [],
  });
  return html`<section class="panel"><div class="fig">${timelinePicture({ from: NOW - 8 * HOUR, to: NOW, sides: [side('present settings'), side('tried')] })}</div></section>`;
}

/** Everything at one amount. */
/** Charts of so many days with as many things that happened as are read at most. */
function trends(n: number, days: number): Html {
  const to = NOW + days * 24 * HOUR;
  const happened = (kind: Happened['kind'], length: number): Happened[] =>
    Array.from({ length: Math.min(n, 200) }, (_, place) => {
      const from = NOW + Math.abs(wave(place)) * (to - NOW);
      const words = place % 3 === 0 ? 'a-shop-with-a-long-name, waiting' : 'deploy 4.2';
      return { from, to: from + length, kind, words, title: words, href: kind === 'mark' ? null : '#' };
    });
  const pieces = Array.from({ length: days }, (_, place) => ({
    ...{ from: NOW + place * 24 * HOUR, to: NOW + (place + 1) * 24 * HOUR, says: 'a day' },
    ...{
      customers: n,
      paid: Math.floor(n * 0.8),
      before: n,
      medianMs: n < 30 ? null : 54_000,
      p95Ms: n < 30 ? null : 181_019 + place * 600_000,
    },
  }));
  const shares = pieces.map(({ from, to: end, says }, place) => ({
    ...{
      from,
      to: end,
      says,
      href: '#',
      before: n < 30 ? null : 0.81,
      share: n < 30 || place % 5 === 4 ? null : Math.abs(wave(place)),
    },
  }));
  return stackPicture({
    ...{ from: NOW, to, label: 'Trends', lines: pieces.map(({ from }) => from) },
    lanes: [
      { name: 'Incidents', all: happened('critical', HOUR) },
      {
        name: 'Silences',
        all: happened('silence', 9 * HOUR),
        together: (some) => ({ ...some[0], to: some.at(-1)!.to, title: `${some.length} silences` }),
      },
      { name: 'Marks', all: happened('mark', 0) },
    ],
    charts: [
      countChart(pieces, ['green: paid,', 'dashed: before']),
      shareChart(shares, ['each day']),
      waitChart(pieces, 900_000, ['waiting for the card', 'provider, se']),
    ],
    ticks: pieces.map(({ from }) => ({ at: from + 12 * HOUR, word: 'Wed 18 Nov' })),
  });
}

const all = (n: number): readonly (readonly [name: string, picture: Html])[] => [
  ['map', map(flow(n))],
  ['map of less than usual, with an incident', map(flow(n, { usual: 3, incident: true }))],
  ['charts', activity(n)],
  ['share', share(n, false)],
  ['share with marks', share(n, true)],
  [
    'dwell',
    dwell(n, [
      [38_000, 130_000, 390_000],
      [60_000, 61_000, 62_000],
      [4_000, 5_000, 6_000],
      [3_000, 5_000, 10_000],
      [20 * HOUR, 30 * HOUR, 31 * HOUR],
      [1_700_000, 1_790_000, 1_800_000],
    ]),
  ],
  ['attempts', attempts(n)],
  ['life of minutes', life(n, 23 * MINUTE)],
  ['life of days', life(n, 40 * 24 * HOUR)],
  ['life of seconds', life(n, 20 * SECOND)],
  ['rehearsal', timeline(n)],
  ['trends', trends(n, 7)],
  ['trends of many days', trends(n, 90)],
];

const STYLES = [
  'tokens.css',
  'console.css',
  ...['now', 'incidents', 'purchases', 'deliveries', 'trends', 'live', 'forms'].map((name) => `pages/${name}.css`),
]
  .map((file) => readFileSync(join(import.meta.dirname, '../../assets', file), 'utf8'))
  .join('\n');

/** Faults of what is drawn: texts over each other, outside of their picture or box, too small to read, and a page that scrolls sideways. */
const FAULTS = `[...document.querySelectorAll('[data-picture]')].flatMap((part) => {
  const faults = [];
  const say = (what, ...texts) => faults.push(part.dataset.picture + ': ' + what + ': ' + texts.map((each) => each.textContent.trim().slice(0, 50)).join(' | '));
  const isShown = (each) => each.getClientRects().length > 0 && each.textContent.trim() !== '' && each.getBoundingClientRect().width > 0;
  for (const svg of part.querySelectorAll('svg[viewBox]')) {
    if (svg.closest('svg svg') !== null || svg.getClientRects().length === 0) continue;
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')].filter(isShown).map((each) => ({ each, box: each.getBoundingClientRect() }));
    for (const [place, { each, box }] of texts.entries()) {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 2 || box.bottom > frame.bottom + 2) say('outside', each);
      const size = parseFloat(getComputedStyle(each).fontSize) * (frame.width / svg.viewBox.baseVal.width);
      if (size < 8.5) say('letters of ' + size.toFixed(1) + ' px', each);
      const node = each.closest('.node');
      if (node !== null) {
        const own = node.querySelector('rect.box').getBoundingClientRect();
        if (box.left < own.left || box.right > own.right + 0.5 || box.top < own.top - 1 || box.bottom > own.bottom + 1) say('outside of its box', each);
      }
      for (const other of texts.slice(place + 1)) {
        const [wide, high] = [Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left), Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top)];
        // A line of letters is lower than its box.
        if (wide > 1 && high > Math.min(box.height, other.box.height) * 0.3) say('over another', each, other.each);
      }
    }
  }
  const end = part.getBoundingClientRect().right;
  for (const each of part.querySelectorAll('figcaption, p, li, span, b')) {
    if (isShown(each) && each.closest('.scroll, .vh') === null && each.getBoundingClientRect().right > end + 1) say('ends beyond its panel', each);
  }
  return faults;
}).concat(document.documentElement.scrollWidth > document.documentElement.clientWidth ? ['scrolls sideways'] : [])`;

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());

test.each(AMOUNTS)('no text lies over another or outside, at every width, with %i', { timeout: 60_000 }, async (n) => {
  const page = await browser.newPage();
  const parts = all(n).map(([name, picture]) => html`<div data-picture="${name}">${picture}</div>`);
  const body =
    await html`${SPRITE}<div class="app"><header class="rail"></header><main class="main" id="main"><div class="stack">${parts}</div></main></div>`;
  await page.setContent(`<!doctype html><html lang="en"><style>${STYLES}</style>${body}`);
  const faults: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    const found = (await page.evaluate(FAULTS)) as string[];
    faults.push(...found.map((fault) => `${width}: ${fault}`));
    if (process.env.PICTURES !== undefined)
      await page.screenshot({ path: join(process.env.PICTURES, `${n}-${width}.png`), fullPage: true });
  }
  await page.close();
  expect(faults).toEqual([]);
});

test('a scale ends at a round number that holds all values', () => {
  const words = (axis: ReturnType<typeof countAxis>): string =>
    axis.ticks.map(({ word }) => word.replaceAll('\u00a0', ' ')).join(' · ');
  expect([0, 1, 2, 17, 1_021, 142_000, 1_000_000].map((most) => words(countAxis(most)))).toEqual([
    ...['0 · 1', '0 · 1', '0 · 1 · 2', '0 · 10 · 20', '0 · 750 · 1 500', '0 · 75 k · 150 k', '0 · 500 k · 1 M'],
  ]);
  expect([0, 400, 600, 41_000, 3_000_000].map((most) => words(lengthAxis(most)))).toEqual([
    ...['0 · 0.05 s · 0.1 s', '0 · 0.2 s · 0.4 s', '0 · 0.5 s · 1 s', '0 · 30 s · 1 min', '0 · 30 min · 1 h'],
  ]);
});

test('two failures of 142 000 are a line, and 171 of 60 540 are seen', async () => {
  const minute = (polls: number, failedPolls: number) => ({
    ...{ at: iso(NOW), polls, failedPolls, changes: 0, greatestLagMs: 5, delivered: 0, failedAttempts: 0 },
  });
  const heights = async (polls: number, failed: number): Promise<number[]> => {
    const picture = String(
      await activityCharts({
        minutes: Array.from({ length: 60 }, () => minute(polls, failed)),
        usual: { polls: null, failedPolls: null, greatestLagMs: null, delivered: null },
        site: null,
      }),
    );
    return [...picture.matchAll(/class="c-bar bad"[^>]* height="([\d.]+)"/g)].map(([, height]) => Number(height));
  };
  expect(Math.max(...(await heights(2_366, 2)))).toBe(1);
  expect(Math.max(...(await heights(1_009, 17)))).toBeGreaterThan(15);
  expect(Math.max(...(await heights(1_009, 0)))).toBe(0);
  expect(Math.max(...(await heights(10, 10)))).toBe(62);
});
