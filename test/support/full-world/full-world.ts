/**
 * A daemon whose database is full: three sites, several currencies, hundreds of rows in each list, 1 200 stuck purchases, incidents
 * of each kind, receivers in trouble, and every text as long as it may be. And one whose database is empty. Both show; neither
 * polls, sends or judges, because another replica has all the work.
 */
import { createHash } from 'node:crypto';
import { PAGES } from '../../../src/console/pages/pages.ts';
import { KEYS, OPERATOR } from '../browser.ts';
import { startTestApp, type TestApp } from '../test-app.ts';
import { addCounts, addReplicaElsewhere } from './counts.ts';
import { addEnds } from './ends.ts';
import { addIncidents } from './incidents.ts';
import { addMembers } from './members.ts';
import { addPurchases, LONGEST, longId } from './purchases.ts';
import { addAlerts, addDeliveries, newSubscribers } from './receivers.ts';
import { addSnapshots } from './snapshots.ts';
import { LONG_SITE, OFF, PAUSED, SITES, UNBROKEN } from './words.ts';

export interface World {
  readonly t: TestApp;
  readonly origin: string;
  /** Addresses to look at, by the route of the page. A route without one is one that this world forgot. */
  readonly addresses: ReadonlyMap<string, readonly string[]>;
}

/** Of every page that is read. */
export const ROUTES = PAGES.filter(({ method }) => method === 'GET').map(({ path }) => path);

export async function startFullWorld(): Promise<World> {
  const t = await startTestApp({
    realClock: true,
    inventsEvents: true,
    env: { ...KEYS, SECRETS_KEY: 'a key to encrypt with, of many characters' },
    change: (settings) => {
      const site = settings.sites[0]!;
      settings.sites = SITES.map((name) => ({ ...site, name, invoices: name !== 'fi' }));
      const slack = settings.channels[0]!;
      const own = { ...slack, stuck: 'incidents', paidTwice: false } as const;
      settings.channels = [
        slack,
        { ...slack, kind: 'slack', name: 'night', sites: [LONG_SITE], severity: 'critical' },
        { ...slack, kind: 'teams', name: 'payments'.padEnd(57, '_payments') },
        {
          ...own,
          kind: 'alerts',
          name: 'pager',
          secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
          oldSecrets: [],
          maxPerHour: null,
        },
        { ...own, kind: 'alertmanager', name: 'ops', maxPerHour: null },
      ];
    },
  });
  const { sql } = t.database;
  await addReplicaElsewhere(sql);
  await t.app.start();
  const origin = t.app.url()!;
  for (const body of newSubscribers(t.receiver.origin)) await api(origin, '/v1/subscribers', body);
  await addPurchases(sql);
  await addCounts(sql);
  await addSnapshots(sql, SITES);
  await addDeliveries(sql);
  await addEnds(sql);
  await addIncidents(sql);
  await addMembers(sql);
  await addAlerts(sql);
  await addSessions(t);
  await sql`analyze`;
  return { t, origin, addresses: await fullAddresses(t) };
}

async function api(origin: string, path: string, body: unknown): Promise<void> {
  const headers = { authorization: `Bearer ${OPERATOR}`, 'content-type': 'application/json' };
  const answer = await fetch(origin + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
}

/** Browsers that signed in with the key of the operator. */
async function addSessions({ database: { sql }, settings }: TestApp): Promise<void> {
  const key = settings.apiKeys.find(({ scopes }) => scopes.includes('operate'))!;
  const mark = createHash('sha256').update(`session ${key.hash}`).digest('hex').slice(0, 16);
  await sql`
    insert into purchase_watch_internal.console_sessions (token_hash, created_at, expires_at, key_name, key_mark, address)
    select sha256(n::text::bytea), now() - n * interval '2 minutes', now() + interval '5 hours', ${key.name}, ${mark}, '2001:0db8:85a3:0000:0000:8a2e:0370:7334'
    from generate_series(1, 250) n`;
}

async function fullAddresses({ database: { sql } }: TestApp): Promise<World['addresses']> {
  const purchase = (site: string, id: string): string => `/purchases/${site}/${encodeURIComponent(id)}`;
  const longest = purchase('se', longId(LONGEST));
  const delivery = async (name: string, status: string): Promise<string> => {
    const [row] = await sql<{ id: string }[]>`
      select 'dlv_' || d.id as id from purchase_watch_internal.deliveries d join purchase_watch_internal.subscribers s on s.id = d.subscriber
      where s.name = ${name} and d.status = ${status} order by d.id + 0 limit 1`;
    return `/deliveries/${row!.id}`;
  };
  const ofStatus = async (status: string, state: number | null): Promise<string> => {
    const [row] = await sql<{ site: string; id: string }[]>`
      select site, purchase_id as id from purchase_watch.purchases where status = ${status} and state is not distinct from ${state} and stuck_since is null and id > 1200 order by id limit 1`;
    return purchase(row!.site, row!.id);
  };
  const incidents = [
    'sites',
    'se',
    'se_cards',
    'fi_bank',
    'long',
    'unread',
    'paused',
    'off',
    'replica',
    'ended_248',
    'ended_246',
    'ended_247',
  ];
  return new Map([
    ['/', ['/', '/?site=se', `/?site=${LONG_SITE}`, '/?at=9h', `/?at=13d&site=${LONG_SITE}`, '/?at=nonsense']],
    [
      '/trends',
      [
        '/trends',
        '/trends?range=24h&site=se',
        '/trends?range=30d',
        `/trends?range=90d&site=${LONG_SITE}`,
        '/trends?range=nonsense',
      ],
    ],
    ['/sites', ['/sites']],
    ['/sites/:name', ['/sites/se', `/sites/${LONG_SITE}`]],
    ['/incidents', ['/incidents', '/incidents?status=ended']],
    ['/incidents/:id', incidents.map((id) => `/incidents/inc_${id}`)],
    [
      '/incidents/:id/aftermath',
      ['se_cards', 'ended_246', 'ended_248', 'ended_246/aftermath?outcome=open,paid&from=50'].map(
        (id) => `/incidents/inc_${id}${id.includes('/') ? '' : '/aftermath'}`,
      ),
    ],
    ['/subscribers', ['/subscribers']],
    ['/subscribers/:name', [PAUSED, OFF, 'shop-13', 'default', '@slack'].map((name) => `/subscribers/${name}`)],
    ['/deliveries', ['/deliveries', '/deliveries?status=exhausted', '/deliveries?status=nonsense']],
    [
      '/deliveries/:id',
      await Promise.all([
        delivery(PAUSED, 'pending'),
        delivery('shop-13', 'exhausted'),
        delivery('default', 'delivered'),
        delivery('@slack', 'delivered'),
      ]),
    ],
    ['/channels', ['/channels']],
    [
      '/purchases',
      [
        '/purchases',
        '/purchases?stuck=true',
        `/purchases?site=${LONG_SITE}&status=settled`,
        `/purchases?q=${UNBROKEN.slice(0, 200)}`,
        '/purchases?state=nonsense',
      ],
    ],
    ['/purchases/register', ['/purchases/register']],
    [
      '/purchases/:site/:id',
      [
        longest,
        await ofStatus('settled', 2),
        await ofStatus('watching', 99),
        await ofStatus('unreadable', null),
        await ofStatus('expired', 6),
      ],
    ],
    ['/purchases/:site/:id/invoice', [`${await ofStatus('settled', 2)}/invoice`]],
    ['/purchases/:site/:id/forget', [`${longest}/forget`]],
    ['/silences', ['/silences']],
    ['/rehearse', ['/rehearse', '/rehearse?from=1d&settings.slack.quietFor=5m', `/rehearse?from=${UNBROKEN.slice(0, 40)}`]],
    ['/system/actions', ['/system/actions']],
    ['/system/sessions', ['/system/sessions']],
    ['/system', ['/system']],
    ['/system/doctor', ['/system/doctor']],
    // Of no route: what is shown where there is none.
    ['', [`/nowhere/${UNBROKEN}`, `/purchases/se/${UNBROKEN.slice(0, 200)}`, '/sites/nowhere']],
  ]);
}

/** Without purchases, subscribers, channels and history. */
export async function startEmptyWorld(): Promise<World> {
  const t = await startTestApp({
    realClock: true,
    env: KEYS,
    change: (settings) => {
      settings.channels = [];
      settings.subscribers = [];
    },
  });
  await addReplicaElsewhere(t.database.sql);
  await t.app.start();
  const plain = ROUTES.filter((path) => !path.includes(':')).map(
    (path) => [path, path === '/' ? ['/', '/?at=9h'] : [path]] as const,
  );
  return { t, origin: t.app.url()!, addresses: new Map([...plain, ['/sites/:name', ['/sites/default']], ['', ['/nowhere']]]) };
}
