/** Everything that is called leaves through the proxies of the environment, and a proxy that fails is what people hear of. */
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Authority, makeAuthority } from '../support/certificates.ts';
import { watchMany } from '../support/changes.ts';
import { type ConnectProxy, startConnectProxy } from '../support/connect-proxy.ts';
import { type HttpsReceiver, startHttpsReceiver } from '../support/https-receiver.ts';
import { startTeamsStandIn } from '../support/teams-stand-in.ts';
import { startTestApp, type TestApp, type TestAppOptions } from '../support/test-app.ts';

const MINUTE = 60_000;

let authority: Authority;
beforeAll(() => {
  authority = makeAuthority();
  setDefaultCACertificates([...getCACertificates('default'), authority.certificate]);
});

async function startProxy(login?: string): Promise<ConnectProxy> {
  const started = await startConnectProxy(undefined, login);
  onTestFinished(() => started.stop());
  return started;
}

async function startApp(options: TestAppOptions): Promise<TestApp> {
  const t = await startTestApp(options);
  onTestFinished(() => t.stop());
  return t;
}

async function startSecure(name: string): Promise<HttpsReceiver> {
  const started = await startHttpsReceiver(authority.issue(name));
  onTestFinished(() => started.stop());
  return started;
}

/** An address of this machine by a name that leads nowhere but through the proxy. */
const under = (name: string, address: string): string => address.replace('127.0.0.1', name);

test('polls, Slack, Teams, alert webhooks and receivers go through the proxies, with a login that nobody is shown', async () => {
  const [plain, secure] = [await startProxy(), await startProxy('me:hush-hush')];
  const teams = await startTeamsStandIn();
  onTestFinished(() => teams.stop());
  const [shop, pager] = [await startSecure('shop.example'), await startSecure('pager.example')];
  const t = await startApp({
    simulator: { allowHosts: ['pay.example'] },
    env: { HTTP_PROXY: `127.0.0.1:${plain.port}`, HTTPS_PROXY: `http://me:hush%2Dhush@127.0.0.1:${secure.port}` },
    change: (settings) => {
      settings.sites = settings.sites.map((site) => ({ ...site, baseUrl: under('pay.example', site.baseUrl) }));
      const [slack] = settings.channels;
      const { secret, oldSecrets } = settings.subscribers[0]! as { secret: string; oldSecrets: string[] };
      settings.channels = [
        { ...slack!, webhookUrl: under('hooks.example', slack!.webhookUrl) },
        { ...slack!, kind: 'teams', webhookUrl: under('flow.example', teams.url) },
        { ...slack!, kind: 'alerts', secret, oldSecrets, webhookUrl: `https://pager.example:${pager.port}/alerts` },
      ];
      settings.subscribers.push({ ...settings.subscribers[0]!, name: 'far', url: `https://shop.example:${shop.port}/hook` });
    },
  });
  // What people are alerted of: the receiver that is called directly wants no more events.
  t.receiver.respond({ status: 410 });
  await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  for (let step = 0; step < 6; step++) {
    await t.app.deliverOnce();
    t.clock.advance('31s');
    await t.app.judgeOnce();
  }
  expect(shop.received).toHaveLength(1);
  expect(pager.received.length).toBeGreaterThan(0);
  expect(t.slack.received[0]!.text).toContain('default was switched off');
  expect(teams.received[0]!.summary).toContain('default was switched off');
  const hosts = ({ asked }: ConnectProxy): string[] => [...new Set(asked.map(({ target }) => target.split(':')[0]!))].sort();
  expect(hosts(plain)).toEqual(['flow.example', 'hooks.example', 'pay.example']);
  expect(hosts(secure)).toEqual(['pager.example', 'shop.example']);
  expect(t.log.join('')).not.toContain('hush');
});

test('a site that cannot be polled because of the proxy is alerted with the proxy, and without the password', async () => {
  const proxy = await startProxy();
  const t = await startApp({
    simulator: { allowHosts: ['pay.example'] },
    env: { CHECKOUT_PROXY: `http://me:hush@127.0.0.1:${proxy.port}`, HTTP_PROXY: 'http://nobody.example' },
    change: (settings) => {
      settings.sites = settings.sites.map((site) => ({ ...site, baseUrl: under('pay.example', site.baseUrl) }));
    },
  });
  const ids = await watchMany(t, 6);
  await t.live(MINUTE);
  for (const id of ids) expect(t.changesOf(id)).toHaveLength(1);
  proxy.answer(407);
  proxy.cut();
  await t.live(20 * MINUTE, 10_000);
  const { text } = t.slack.received[0]!;
  expect(text).toContain('no answer of the checkout service comes through our proxy');
  const everything = JSON.stringify(t.slack.received[0]);
  expect(everything).toContain(`The proxy 127.0.0.1:${proxy.port} (CHECKOUT_PROXY) made no connection: it answered 407`);
  expect(everything).toContain('Mend the proxy');
  expect(everything).not.toContain('Ask the service');
  proxy.answer('tunnel');
  // A tunnel has five real seconds, which a busy machine may miss: the next call comes through.
  const isOver = (): boolean => t.slack.received.at(-1)!.text.includes('the checkout service answers again');
  for (let minutes = 0; minutes < 60 && !isOver(); minutes += 10) await t.live(10 * MINUTE, 10_000);
  expect(isOver()).toBe(true);
  const [row] = await t.app.sql`select last_error from purchase_watch_internal.sites`;
  expect(JSON.stringify([row, t.log, t.slack.received])).not.toContain('hush');
});
