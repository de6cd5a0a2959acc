/** What people type into the book's search leads to a section that answers it, also where the page uses another word. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { WORDS } from '../../tools/book/words.ts';
import { buildBook } from '../../tools/docs.ts';
import { searchIn } from './search.ts';

/** What a section must say to answer its words. */
const ANSWERS: Readonly<Record<string, readonly string[]>> = {
  '#erasing-one-purchase': ['purchase-watch forget', 'backups of the database'],
  'data.html#export': ['psql --csv', 'event feed'],
  '#what-is-deleted-by-itself': ['store.retention', 'retention.done'],
  '#uninstall': ['drop schema purchase_watch', 'DATA_DIR', 'npm uninstall'],
  '#upgrade': ['migrate --plan', 'one after another with the new version'],
  '#roll-back': ['works on the newer schema', 'backup'],
  '#back-up': ['pg_dump', 'SECRETS_KEY'],
  '#restore': ['pg_restore', 'Stop every daemon'],
  '#4-two-daemons': ['purchase-watch.service', 'doctor', 'CONSOLE_URL'],
  '#the-image': ['Dockerfile', 'docker exec', 'docker run'],
  '#compose': ['compose.yml', 'Grafana'],
  '#kubernetes': ['kubectl apply', 'helm install'],
  '#systemd': ['systemctl', 'WatchdogSec', 'TimeoutStopSec'],
  '#managed-services': ['Amazon Aurora', 'AlloyDB', 'Cloud SQL'],
  '#replicas': ['Start as many daemons', 'one that dies is replaced'],
  '#patroni-etcd-and-haproxy': ['haproxy.cfg', 'DATABASE_URL'],
  '#what-it-runs-on': ['macOS', 'Windows', 'Alpine', 'arm64'],
  '#behind-a-proxy': ['CONSOLE_URL', 'nginx'],
  '#signing-in': ['sign in', '12 hours'],
  '#keys-of-the-api': ['key new', 'API_KEY'],
  '#the-line-to-the-database': ['sslmode', 'password'],
  'configuration.html#subscribers': ['clientCertificate', 'NODE_EXTRA_CA_CERTS', 'headers'],
  'configuration.html#proxies': ['CHECKOUT_PROXY', 'NO_PROXY', 'CONNECT'],
  'configuration.html#sites': ['formerly'],
  'configuration.html#file': ['timeZone'],
  '#where-a-delivery-stands': ['exhausted', 'suppressed'],
  '#retries': ['webhooks.schedule', '5 min'],
  '#a-receiver-that-fails': ['pause', 'subscribers resume'],
  '#drop-repeats': ['webhook-id', 'at least once'],
  '#an-order-paid-twice': ['order.paid_twice'],
  '#a-purchase-was-not-announced-what-now': ['purchase-watch why', 'attempts failed'],
  '#try-it-on-your-machine': ['listen --subscribe', 'tunnel'],
  '#verify': ['webhook-signature', 'constant time'],
  '#which-addresses-are-called': ['WEBHOOK_ALLOW_ADDRESSES', 'not public'],
  '#the-checkout-service-on-your-machine': ['simulator', 'no account'],
  '#many-purchases-at-once': ['watch --file', 'CSV'],
  'not-for.html#what-purchase-watch-is-not-for': ['Temporal', 'hyperswitch', 'pg-boss'],
  '#also-not': ['Refunds', 'Fraud', 'accounting'],
  '#slack-itself-does-not-answer': ['purchase_watch_channel_up', 'invalid_token'],
  '#systems-that-page-people': ['PagerDuty', 'alerts.channels'],
  '#silences-and-maintenance-windows': ['silences add'],
  '#rehearsing-settings': ['purchase-watch rehearse'],
  '#alert-rules': ['deploy/prometheus/rules.yml'],
  'metrics.html#dashboards': ['deploy/grafana'],
  '#metrics': ['/metrics', 'Prometheus'],
  'traces.html#traces': ['OTEL_EXPORTER_OTLP_ENDPOINT'],
  '#failover-of-the-database': ['primary', 'DATABASE_URL'],
  '#memory': ['--max-old-space-size', 'heap'],
  'mcp.html#set-it-up': ['purchase-watch mcp', 'API_READ_KEY'],
};

const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-words-'));
await buildBook(folder, { forPackage: true });
const search = searchIn(folder);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('each of these sections is in the book once, and is held to an answer', () => {
  const entries = JSON.parse(/\[.*\]/.exec(readFileSync(join(folder, 'assets/sections.js'), 'utf8'))![0]) as string[][];
  expect(entries.flatMap(([, , , , words]) => words ?? []).toSorted()).toEqual(Object.values(WORDS).toSorted());
  expect(Object.keys(WORDS)).toEqual(Object.keys(ANSWERS));
});

test.each(Object.entries(WORDS))('%s answers: %s', (section, words) => {
  for (const word of words.split(', ')) {
    const [first] = search(word);
    expect(first, `nothing is found for ${word}`).toBeDefined();
    const says = ANSWERS[section]!.filter((answer) => !`${first!.heading} ${first!.text}`.includes(answer));
    expect(says, `${word} leads to ${first!.address}, which does not say`).toEqual([]);
  }
});

test.each([
  ['silence alerts during a deploy', 'channels.html#silences-and-maintenance-windows'],
  ['how do I run it behind a reverse proxy', 'console.html#behind-a-proxy'],
  ['why was the customer not announced during the frobnication', 'troubleshooting.html'],
])('a sentence leads to the section with the most of its words: %s', (sentence, address) => {
  expect(
    search(sentence)
      .slice(0, 5)
      .map((found) => found.address),
  ).toContain(address);
});

test('words that no page has find nothing', () => {
  expect(search('frobnicate')).toEqual([]);
});
