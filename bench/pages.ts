/** How soon the console's pages answer and are painted where much is kept, what browsers load, and what open pages cost. */
import { brotliCompressSync } from 'node:zlib';
import { Agent, request } from 'undici';
import { foldAppended } from '../src/postgres/upkeep/folding.ts';
import { startBrowser } from '../test/support/browser.ts';
import { signedIn } from '../test/support/machine.ts';
import { timesOf, WARMING } from './answer-times.ts';
import { type ArchiveSize, anyPurchase, fillArchive } from './archive.ts';
import type { Bench } from './bench.ts';
import type { Lab, Part } from './lab.ts';
import { median } from './measure.ts';
import { busyPages, idlePages } from './open-pages.ts';
import { ENDED_INCIDENT, fillRecent, OPEN_INCIDENT } from './recent.ts';
import type { Row } from './report.ts';

const FULL: ArchiveSize = { purchases: 1_000_000, events: 5 };
const QUICK: ArchiveSize = { purchases: 50_000, events: 5 };
/** Addresses that are asked, by name. */
const PAGES: Readonly<Record<string, (size: ArchiveSize) => string>> = {
  now: () => '/',
  'now, one site': () => '/?site=default',
  'a past moment': () => '/?at=30h',
  'a past moment, one site': () => '/?at=13d&site=default',
  incidents: () => '/incidents',
  'incidents, ended': () => '/incidents?status=ended',
  'an incident': () => `/incidents/${OPEN_INCIDENT}`,
  'an aftermath': () => `/incidents/${ENDED_INCIDENT}/aftermath`,
  'trends of 24 hours': () => '/trends?range=24h',
  'trends of a week': () => '/trends?range=7d',
  'trends of a month': () => '/trends?range=30d',
  'trends of three months': () => '/trends?range=90d',
  'trends of three months, one site': () => '/trends?range=90d&site=default',
  purchases: () => '/purchases',
  'purchases, stuck': () => '/purchases?stuck=true',
  'purchases, one site and state': () => '/purchases?site=no&state=Completed',
  'purchases, one site and amount': () => '/purchases?site=no&currency=SEK&least=200',
  'purchases, one state and amount, the largest first': () => '/purchases?state=Completed&currency=SEK&least=200&sort=largest',
  'purchases, waiting, by text': () => '/purchases?outcome=waiting&q=ORD-1',
  'purchases, of a time, by text': () => '/purchases?from=2026-01-01T00:00&q=ORD-1',
  'purchases, found by id': (size) => `/purchases?q=${anyPurchase(size).id}`,
  'register a purchase': () => '/purchases/register',
  'a purchase': (size) => {
    const { site, id } = anyPurchase(size);
    return `/purchases/${site}/${id}`;
  },
  sites: () => '/sites',
  'a site': () => '/sites/default',
  subscribers: () => '/subscribers',
  'a subscriber': () => '/subscribers/archive',
  deliveries: () => '/deliveries',
  'deliveries, given up': () => '/deliveries?status=exhausted',
  'a delivery': (size) => `/deliveries/dlv_${1 + anyPurchase(size).number}`,
  channels: () => '/channels',
  silences: () => '/silences',
  rehearse: () => '/rehearse',
  system: () => '/system',
  actions: () => '/system/actions',
};
/** What leads to the page of a purchase where it finds one. */
const REDIRECTED: ReadonlySet<string> = new Set(['purchases, found by id']);
const PAINTS = 5;

export const pages: Bench = async (lab, options) => {
  const { quick, say } = options;
  const size = quick ? QUICK : FULL;
  const times = quick ? 50 : 200;
  const database = await lab.database();
  await fillArchive(database.sql, size, say);
  await fillRecent(database.sql, say);
  say('counting the ends');
  while (await foldAppended(database.sql));
  const { daemon } = await lab.daemon(database, { every: null, api: true, env: { CHECKOUT_MAX_RPS: '50' } });
  // The settings do not name it, so the start took it out.
  await database.sql`update purchase_watch_internal.subscribers set configured = true where name = 'archive'`;
  const url = await daemon.ask<string>('url');
  const agent = new Agent({ connections: 4 });
  const headers = await signedIn(url);
  const rows: Row[] = [];
  for (const [what, path] of Object.entries(PAGES)) {
    const spent = () => processorTime(lab, daemon);
    const before = await spent();
    const status = REDIRECTED.has(what) ? 303 : 200;
    rows.push(...(await timesOf(agent, { what, times, url: () => `${url}${path(size)}`, status, headers, atMost: 100, say })));
    const [ofDaemon, ofPostgres] = (await spent()).map((ms, at) => (ms - before[at]!) / (times + WARMING)) as [number, number];
    say(`  processor time: ${ofDaemon.toFixed(1)} ms of the daemon, ${ofPostgres.toFixed(1)} ms of Postgres`);
    rows.push({ what: `${what}, processor time`, value: ofDaemon + ofPostgres, unit: 'ms CPU', atMost: 100 });
  }
  rows.push(...(await paints(url, headers, say)), {
    what: 'script and style, compressed',
    value: await loadedKb(url, headers),
    unit: 'kB',
    atMost: 120,
  });
  rows.push(await idlePages(url, daemon, quick ? 10_000 : 60_000, say));
  await agent.close();
  await daemon.stop();
  await database.drop();
  rows.push(...(await busyPages(lab, options)));
  const how = `at ${size.purchases} purchases and ${size.purchases * size.events} events; pages over HTTP one after the other, ${times} of each`;
  return { bench: 'pages', how, rows };
};

/** Milliseconds so far: of the daemon, and of Postgres, which is not known on other machines. */
async function processorTime(lab: Lab, daemon: Part): Promise<[number, number]> {
  return [(await daemon.usage()).cpuMs, lab.postgres() ?? Number.NaN];
}

/** First contentful paint in Chromium, of a browser that has loaded nothing before. */
async function paints(url: string, headers: { cookie: string }, say: (line: string) => void): Promise<Row[]> {
  const browser = await startBrowser();
  const rows: Row[] = [];
  try {
    for (const [what, path] of [
      ['now', '/'],
      ['purchases', '/purchases'],
      ['a short page, to compare', '/sign-in'],
    ] as const) {
      const took: number[] = [];
      for (let paint = 0; paint < PAINTS; paint++) {
        const context = await browser.newContext({ extraHTTPHeaders: headers });
        const page = await context.newPage();
        await page.goto(url + path, { waitUntil: 'load' });
        // A page may be loaded before it is painted.
        const painted = await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
        took.push((await painted.jsonValue())!);
        await context.close();
      }
      say(`${what}, first paint: ${median(took).toFixed(0)} ms`);
      rows.push({ what: `${what}, first contentful paint, median of ${PAINTS}`, value: median(took), unit: 'ms', atMost: 300 });
    }
  } finally {
    await browser.close();
  }
  return rows;
}

/** All scripts and styles that the page of now names, as a browser that takes Brotli loads them. */
async function loadedKb(url: string, headers: { cookie: string }): Promise<number> {
  const html = await (await request(`${url}/`, { headers })).body.text();
  const addresses = [...html.matchAll(/(?:src|href)="([^"]+\.(?:js|css))"/g)].map(([, address]) => address!);
  const bodies = await Promise.all(addresses.map(async (address) => (await request(url + address)).body.bytes()));
  return bodies.reduce((sum, bytes) => sum + brotliCompressSync(bytes).length, 0) / 1_000;
}
