/** `listen --subscribe`: a subscriber for as long as the command runs. */

import { hostname } from 'node:os';
import { databaseNow } from '../../actions/database.ts';
import { findDelivery } from '../../actions/deliveries/deliveries.ts';
import { readName } from '../../actions/subscribers/rules.ts';
import { secretsOf } from '../../actions/subscribers/secrets.ts';
import { addSubscriber, readSubscribers, removeSubscriber, requireSubscriber } from '../../actions/subscribers/subscribers.ts';
import { testSubscriber } from '../../actions/subscribers/test-event.ts';
import { waitForAttempt } from '../../actions/subscribers/wait.ts';
import { refusedUrl } from '../../channels/http/address.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { monotonic } from '../../runtime/time.ts';
import { checked, filtersOf, type SubscriberOptions, urlArgument } from '../subscribers/subscriber-options.ts';
import type { CliContext } from '../terminal/context.ts';
import { missingDaemon, withDatabase } from '../terminal/database.ts';

export interface Subscribed {
  readonly name: string;
  readonly url: string;
  readonly secret: string;
  readonly filters: Pick<SubscriberOptions, 'types' | 'sites' | 'states'>;
}

/** Long enough for a daemon that has much to do. */
const TEST_WITHIN: Milliseconds = 10_000;

/** `listen-<host>-`, as the name of a subscriber may begin. */
function ownPrefix(): string {
  const host = hostname()
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .slice(0, 40);
  return `listen-${host}-`;
}

/** A name for the subscriber, checked; throws AppError `invalid`. */
export async function subscriberName(given: string | true): Promise<string> {
  return given === true ? ownPrefix() + process.pid : checked('--subscribe', readName(given));
}

/** Adds the subscriber. Throws AppError when it may not be called, or cannot be added; nothing is left behind then. */
export async function subscribe(context: CliContext, { name, url, secret, filters }: Subscribed) {
  const leftOver = await withDatabase(context, async ({ sql, settings }) => {
    const refused = refusedUrl(url, settings.webhooks.apiAllowAddresses, 'api');
    if (refused !== null) {
      throw new AppError(
        'configuration',
        `a daemon may not call ${url}: ${refused.problem.replace(/ If it is meant.*/, '')} Set ${refused.allowing} in this terminal, and for the daemon, which is restarted with it, unless it has it already`,
      );
    }
    const { types = null, sites = null, states = null } = await filtersOf(sql, filters);
    const description = `purchase-watch listen on ${hostname()}, for as long as it runs`;
    const wanted = { name, url: urlArgument(url, settings), secret, types, sites, states, description };
    await addSubscriber({ sql, secrets: secretsOf(settings) }, wanted);
    return (await readSubscribers(sql)).map((each) => each.name).filter((each) => each !== name && isLeftOver(each));
  });
  const remedy = (left: string): string =>
    `${left} is left over from a run that was killed; remove it with: ${commandLine`subscribers remove ${left} --yes`}`;
  return {
    /** Advice about subscribers of earlier runs that were killed; a line each. */
    leftOver: leftOver.map(remedy),
    /** Has a test sent, and answers in a sentence how that went. */
    test: (signal: AbortSignal) => test(context, name, signal),
    /** Takes the subscriber away again. */
    end: () => end(context, name),
  };
}

/** Whether a listener on this machine was killed before it could take its subscriber away. */
function isLeftOver(name: string): boolean {
  const prefix = ownPrefix();
  const pid = name.startsWith(prefix) ? Number(name.slice(prefix.length)) : Number.NaN;
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

function test(context: CliContext, name: string, signal: AbortSignal): Promise<string> {
  return withDatabase(context, async ({ sql }) => {
    const missing = await missingDaemon(sql);
    if (missing !== null) return `${missing}; until then nothing comes`;
    const began = monotonic();
    const id = await testSubscriber(sql, await requireSubscriber(sql, name), await databaseNow(sql));
    const attempted = await waitForAttempt(sql, id, { within: TEST_WITHIN, signal });
    const delivery = await findDelivery(sql, id);
    if (delivery?.status === 'delivered') return `a test came through after ${humanDuration(monotonic() - began)}`;
    if (!attempted) return `no attempt to send a test was made within ${humanDuration(TEST_WITHIN)}; see: purchase-watch status`;
    const failed = `the daemon's test did not come through: ${delivery?.lastError ?? 'no reason is known'}`;
    return failed.includes('WEBHOOK_API_ALLOW_ADDRESSES')
      ? `${failed} That is a setting of the daemon: restart it with it.`
      : failed;
  });
}

async function end(context: CliContext, name: string): Promise<void> {
  try {
    await withDatabase(context, async ({ sql }) => {
      await removeSubscriber(sql, name);
    });
  } catch (cause) {
    if (cause instanceof AppError && cause.code === 'not_found') return;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new AppError(
      'unavailable',
      `the subscriber ${name} could not be removed (${why}); do it with: ${commandLine`subscribers remove ${name} --yes`}`,
      { cause },
    );
  }
}
