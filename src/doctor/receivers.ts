/** Checks who is told: each webhook gets a really signed test event over the real channel, Slack an empty message that it refuses. */
import { ulid } from 'ulid';
import type { Settings } from '../config/settings.ts';
import { eventBody } from '../core/events.ts';
import type { Milliseconds } from '../core/purchase.ts';
import { openWebhook } from '../notifier/recipients.ts';
import { pingSlack } from '../notifier/slack-ping.ts';
import type { Sql } from '../store/database.ts';
import { readSubscribers } from '../store/subscribers.ts';
import { refusedUrl } from '../subscription/address.ts';
import { openReach, type Reach } from '../subscription/sealed.ts';
import { secretsOf } from '../subscription/secrets.ts';
import type { Finding, Reporter } from './finding.ts';

/** A webhook to be tried; without a reach its address cannot be read. */
export interface TriedWebhook {
  readonly name: string;
  readonly reach: Reach | null;
}

export const SLACK_WITHIN: Milliseconds = 10_000;

/** Those that the settings name, and those that the API made; the latter only with a database. */
export async function webhooksOf(settings: Settings, sql: Sql | null): Promise<TriedWebhook[]> {
  const configured = settings.subscribers.map(({ name, url, secret }) => ({
    name,
    reach: { url, keys: [{ key: secret, until: null }] },
  }));
  if (sql === null) return configured;
  const stored = (await readSubscribers(sql)).filter(({ name, origin, status }) => {
    return origin === 'api' && status === 'active' && !configured.some((each) => each.name === name);
  });
  if (stored.length === 0) return configured;
  const secrets = secretsOf(settings);
  return [...configured, ...stored.map((row) => ({ name: row.name, reach: openReach(secrets, row) }))];
}

export async function checkWebhook(report: Reporter, { name, reach }: TriedWebhook, settings: Settings): Promise<Finding[]> {
  if (reach === null) {
    return [
      report.failed(
        'its address cannot be read',
        'set SECRETS_KEY to the key that it was encrypted with, or make the subscriber anew',
      ),
    ];
  }
  const now = Date.now();
  const id = `evt_${ulid(now)}`;
  const data = { subscriber: name, note: 'A test: nothing happened to any purchase.' };
  const body = eventBody(id, { type: 'subscriber.test', sequence: null, at: now, state: null, data });
  const { channel } = openWebhook(reach, settings);
  try {
    const result = await channel.send({ id, type: 'subscriber.test', body }, { attempt: 1, now });
    const took = `${Math.round(result.tookMs)} ms`;
    if (result.kind === 'delivered') return [report.ok(`took a signed test event: ${result.httpStatus} in ${took}`)];
    const found = `did not take a signed test event: ${result.detail} (${took})`;
    return [report.failed(found, todoFor(result.reason, reach, settings))];
  } finally {
    await channel.close();
  }
}

function todoFor(reason: string, { url }: Reach, { webhooks }: Settings): string {
  if (reason === 'http_401' || reason === 'http_403')
    return 'check that the receiver verifies with the same secret, and lets this machine in';
  if (reason === 'address_refused') {
    const allowing = refusedUrl(url, webhooks.allowAddresses)?.allowing ?? null;
    return `if it is meant, ${allowing === null ? 'add that address to WEBHOOK_ALLOW_ADDRESSES' : `set ${allowing}`}`;
  }
  if (reason === 'unknown_host') return "correct the subscriber's address";
  if (reason === 'redirected') return "change the subscriber's address to where it really is";
  return 'mend the receiver; what waits is sent by itself afterwards';
}

export async function checkSlack(report: Reporter, url: string): Promise<Finding[]> {
  const ping = await pingSlack(url, SLACK_WITHIN);
  if (ping.kind === 'alive')
    return [report.ok(`the webhook is alive: ${ping.tookMs} ms; "purchase-watch slack test" shows a message`)];
  if (ping.kind === 'silent') {
    const todo = 'see that this machine can reach hooks.slack.com, by whatever proxy or firewall is in between';
    return [report.failed(ping.detail, todo)];
  }
  if (ping.kind === 'unclear') return [report.warning(ping.detail, 'see whether a message arrives: "purchase-watch slack test"')];
  return [report.failed(ping.detail, 'make a new incoming webhook in Slack and set SLACK_WEBHOOK_URL to it')];
}
