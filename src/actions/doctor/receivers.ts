/** Checks the receivers: webhooks and brokers get a really signed test event over the real channel, channels for people are asked as their kind allows. */

import { ulid } from 'ulid';
import { allowedFor, type NamedBy, permittedBy, refusedUrl } from '../../channels/http/address.ts';
import type { OutgoingEvent } from '../../channels/outgoing/channel.ts';
import type { Opened, PingedKind } from '../../channels/outgoing/channel-kind.ts';
import { openReach, type Reach } from '../../channels/outgoing/sealed.ts';
import { configuredSubscribers } from '../../channels/recipients.ts';
import { configuredReach, openWebhook } from '../../channels/webhook/open.ts';
import { PEOPLE_KINDS } from '../../config/kinds/people-kinds.ts';
import type { ChannelSettings, Settings } from '../../config/settings.ts';
import { eventBody } from '../../domain/events/make-event.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { isOfProxy, type Way } from '../../domain/values/way.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import { readSubscribers } from '../../postgres/subscribers/subscribers.ts';
import { wall } from '../../runtime/time.ts';
import { isLeftAlone } from '../overview/daemons.ts';
import type { Finding, Reporter } from '../overview/finding.ts';
import { secretsOf } from '../subscribers/secrets.ts';

/** A webhook to be tried; without a reach its address cannot be read. */
export interface TriedWebhook {
  readonly name: string;
  readonly reach: Reach | null;
  readonly namedBy: NamedBy;
}

/** Names of the subscribers that are left alone. */
export async function restingOf(sql: Sql): Promise<string[]> {
  const [subscribers, now] = await Promise.all([readSubscribers(sql), databaseNow(sql)]);
  return subscribers.filter((each) => isLeftAlone(each, now)).map(({ name }) => name);
}

/** The webhooks that the settings name, and those that the API made; the latter only with a database. */
export async function webhooksOf(settings: Settings, sql: Sql | null): Promise<TriedWebhook[]> {
  const configured = settings.subscribers
    .filter((subscriber) => subscriber.kind === 'webhook')
    .map((subscriber): TriedWebhook => ({ name: subscriber.name, reach: configuredReach(subscriber), namedBy: 'configuration' }));
  if (sql === null) return configured;
  const isConfigured = (name: string): boolean => configured.some((each) => each.name === name);
  const stored = (await readSubscribers(sql)).filter(({ name, origin }) => origin === 'api' && !isConfigured(name));
  const secrets = stored.length === 0 ? null : secretsOf(settings);
  const ofApi = stored.map((row): TriedWebhook => ({ name: row.name, reach: openReach(secrets, row), namedBy: 'api' }));
  return [...configured, ...ofApi];
}

export function brokersOf(settings: Settings) {
  return configuredSubscribers(settings)
    .filter(({ definition: { kind } }) => kind === 'nats' || kind === 'rabbitmq')
    .map(({ definition: { name }, open }) => ({ name, open }));
}

/** Whether the broker is there, lets us in and confirms. */
export async function checkBroker(report: Reporter, { name, open }: ReturnType<typeof brokersOf>[number]): Promise<Finding[]> {
  const { result, took } = await tryEvent(open(), name);
  if (result.kind === 'delivered') return [report.ok(`confirmed a test event: ${result.excerpt} in ${took}`)];
  const found = `did not take a test event: ${result.detail} (${took})`;
  // Bound for purchases alone, perhaps: then all is well.
  if (result.reason === 'unroutable' || result.reason === 'no_stream') {
    return [report.warning(found, 'make what it names, unless events of purchases have a place and only this test has none')];
  }
  return [report.failed(found, 'mend the broker or the network to it; waiting deliveries are then sent automatically')];
}

export async function checkWebhook(
  report: Reporter,
  { name, reach, namedBy }: TriedWebhook,
  settings: Settings,
): Promise<Finding[]> {
  const todo = 'set SECRETS_KEY to the key that it was encrypted with, or make the subscriber again';
  if (reach === null) return [report.failed('its address cannot be read', todo)];
  const { result, took } = await tryEvent(openWebhook(reach, settings, namedBy), name);
  if (result.kind === 'delivered') return [report.ok(`took a signed test event: ${result.httpStatus} in ${took}`)];
  const found = `did not take a signed test event: ${result.detail} (${took})`;
  return [report.failed(found, todoFor(result.reason, { url: reach.url, namedBy }, settings))];
}

async function tryEvent({ channel }: Pick<Opened, 'channel'>, subscriber: string) {
  const result = await channel.send(testEvent(subscriber), { attempt: 1, now: wall() }).finally(() => channel.close());
  return { result, took: `${Math.round(result.tookMs)} ms` };
}

function testEvent(subscriber: string): OutgoingEvent {
  const now = wall();
  const id = `evt_${ulid(now)}`;
  const data = { subscriber, note: 'A test: nothing happened to any purchase.' };
  const body = eventBody(id, { type: 'subscriber.test', sequence: null, at: now, state: null, data });
  return { id, type: 'subscriber.test', body };
}

/** Advice about a proxy; the finding names the proxy and where it is set. */
export const MEND_PROXY = 'mend the proxy, or its address or credentials where it is set';
export const ALLOW_ADDRESS = 'have the proxy allow this address, if it is meant';

function todoFor(reason: string, { url, namedBy }: { url: string; namedBy: NamedBy }, { webhooks }: Settings): string {
  if (reason === 'http_401' || reason === 'http_403')
    return 'check that the receiver verifies with the same secret, and lets this machine in';
  if (reason === 'address_refused') {
    const allowing = refusedUrl(url, allowedFor(namedBy, webhooks), namedBy)?.allowing ?? null;
    return `if it is meant, ${allowing === null ? `add that address to ${permittedBy(namedBy)}` : `set ${allowing}`}`;
  }
  if (reason === 'proxy_failed') return MEND_PROXY;
  if (reason === 'dns_failed' || reason === 'no_route' || reason === 'no_socket')
    return 'mend the name server or the network of this machine';
  if (reason === 'proxy_refused') return ALLOW_ADDRESS;
  if (reason === 'unknown_host') return "correct the subscriber's address";
  if (reason === 'redirected') return "change the subscriber's address to where it really is";
  return 'mend the receiver; waiting deliveries are then sent automatically';
}

/** Whether a channel for people is alive, without showing a message there. */
export async function checkChannel(
  report: Reporter,
  {
    channel: { kind, webhookUrl },
    ping: asked,
    setting,
    way,
  }: {
    readonly channel: ChannelSettings;
    readonly ping: PingedKind | undefined;
    readonly setting: string;
    readonly way: Way;
  },
): Promise<Finding[]> {
  if (asked === undefined)
    return [report.ok(`it was not called, because whatever it is sent shows; "${commandLine`${kind} test`}" shows messages`)];
  const { within, host, ask } = asked;
  const ping = await ask(webhookUrl, within, way);
  if (ping.kind === 'alive')
    return [report.ok(`the webhook is alive: ${ping.tookMs} ms; "${commandLine`${kind} test`}" shows a message`)];
  if (ping.kind === 'silent') {
    const todo = isOfProxy(ping.detail)
      ? MEND_PROXY
      : `see that this machine can reach ${host}, by whatever proxy or firewall is in between`;
    return [report.failed(ping.detail, todo)];
  }
  if (ping.kind === 'unclear')
    return [report.warning(ping.detail, `see whether a message arrives: "${commandLine`${kind} test`}"`)];
  return [report.failed(ping.detail, `make a new incoming webhook in ${PEOPLE_KINDS[kind].title} and set ${setting} to it`)];
}
