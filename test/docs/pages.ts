/** What the examples of single pages need, and what of them is not run. */

/** Those that nobody runs here, by page and first words; the page gives the reason in a comment. */
export const NOT_RUN: readonly string[] = [
  'README.md: npm ci && npm run demo',
  'README.md: npm run package # here: makes purchase-watch-0.1.0',
  'README.md: npm ci && npm test # every check and the quick tes',
  'docs/client.md: npm run package:client && npm run package # in thi',
  'docs/deploying.md: docker buildx imagetools inspect node:26-bookworm-',
  'docs/deploying.md: cd deploy/compose cp env.example .env # and fill i',
  'docs/deploying.md: kubectl create secret generic purchase-watch --fro',
  'docs/deploying.md: install -D -m 600 deploy/systemd/env.example /etc/',
  'docs/metrics.md: sed -i s,https://purchase-watch.example,https://wa',
  'docs/numbers.md: DATABASE_URL=postgres://reports@copy/watch npx pur',
  'docs/numbers.md: create publication purchase_watch_copy for table p',
  'docs/numbers.md: truncate purchase_watch.purchases, purchase_watch_',
  'docs/production.md: npm ci && npm run package # makes purchase-watch-0',
  'docs/production.md: new="-newkey ec -pkeyopt ec_paramgen_curve:prime25',
  'docs/production.md: for name in SUPERUSER REPLICATION REWIND RESTAPI;',
  'docs/production.md: n=1 apt-get install -y etcd-server patroni postgre',
  "docs/production.md: create role purchase_watch login password '…'; alt",
  'docs/production.md: apt-get install -y haproxy install -m 644 deploy/p',
  'docs/production.md: purchase-watch --env /etc/purchase-watch/env docto',
  'docs/production.md: apt-get install -y prometheus prometheus-alertmana',
  'docs/production.md: purchase-watch --env /etc/purchase-watch/env docto',
  'docs/production.md: API_KEY=$(sed -n s/^API_KEY=//p /etc/purchase-watc',
  "docs/receiving.md: // receiver.mjs import { createServer } from 'node",
  'docs/releasing.md: version=0.2.0 npm version --no-git-tag-version "$v',
  'docs/runbooks.md: systemctl start purchase-watch',
  'docs/runbooks.md: openssl s_client -connect shop.example:443 -server',
  'docs/sql.md: PGPASSWORD=$(cat .purchase-watch/postgres/password',
  "docs/sql.md: create role watch_owner login password 'change me'",
  'docs/troubleshooting.md: npx purchase-watch watch --file begun.txt',
  'docs/troubleshooting.md: npx purchase-watch audit --sent received.txt --sub',
  'docs/tutorial.md: npm ci',
  'docs/tutorial.md: npm install ./purchase-watch-0.1.0.tgz',
  'docs/upgrading.md: pg_dump --format=custom --file=purchase-watch.dump',
  'docs/upgrading.md: tar -czf backup.tgz .purchase-watch',
  'docs/upgrading.md: pg_restore --dbname="$DATABASE_URL" purchase-watch',
  'docs/upgrading.md: tar -xzf backup.tgz',
  'docs/upgrading.md: drop schema purchase_watch, purchase_watch_interna',
  'packages/client/README.md: npm install purchase-watch-client',
];
/** Pages whose own examples register what they are about. */
export const REGISTER_THEMSELVES: readonly string[] = [
  ...['README.md', 'docs/http-api.md', 'docs/sql.md', 'docs/client.md', 'docs/simulator.md'],
  ...['docs/registering.md', 'docs/from-cron.md', 'docs/tutorial.md', 'packages/client/README.md'],
];
/** Pages whose own examples start the daemon. */
export const START_THEMSELVES: readonly string[] = ['README.md', 'docs/simulator.md', 'docs/tutorial.md'];
/** Pages whose own examples say which service a daemon watches. */
export const SERVICE_THEMSELVES: readonly string[] = ['docs/simulator.md', 'docs/tutorial.md'];
/** Pages whose daemon brings its own Postgres. */
export const EMBEDDED: readonly string[] = ['docs/tutorial.md'];
/** Pages whose programs in Python and PHP are called by a test of their own. */
export const CALLED_ELSEWHERE: readonly string[] = ['docs/receiving.md'];
