/** Trying out whether a subscriber can be reached. */

import { databaseNow, type Sql } from '../../actions/database.ts';
import { findDelivery } from '../../actions/deliveries/deliveries.ts';
import { deliveryDetails } from '../../actions/subscribers/body.ts';
import { waitAdvice } from '../../actions/subscribers/outlook.ts';
import { secretsOf } from '../../actions/subscribers/secrets.ts';
import { requireSubscriber, type StoredSubscriber } from '../../actions/subscribers/subscribers.ts';
import { offAdvice, testSubscriber } from '../../actions/subscribers/test-event.ts';
import { waitForAttempt } from '../../actions/subscribers/wait.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { durationArgument, JSON_OPTION } from '../terminal/arguments.ts';
import { missingDaemon, type OpenDatabase, onDatabase } from '../terminal/database.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { recordCommand } from '../terminal/record.ts';

/** `subscribers test`: sends a test event and waits for what becomes of it. */
export const test = onDatabase(
  {
    summary: 'send it a test and show how that went',
    arguments: [['<name>', '']],
    options: [
      ['--wait <duration>', 'how long to wait for the answer', { read: durationArgument, usual: 20_000, shown: '20s' }],
      JSON_OPTION,
    ],
  },
  async (context, { name, wait, json }, database) => {
    const { sql } = database;
    const subscriber = await requireTestable(sql, name);
    const now = await databaseNow(sql);
    const id = await testSubscriber(sql, subscriber, now);
    await recordCommand(sql, 'subscribers test', { id: name });
    // During a pause that lasts longer, no attempt comes.
    const isLong = (subscriber.health?.pausedUntil ?? 0) > now + wait;
    const attempted = !isLong && (await waitForAttempt(sql, id, { within: wait }));
    const body = deliveryDetails((await findDelivery(sql, id))!);
    if (json) printJson(context, body);
    if (!attempted) throw new AppError('unavailable', await whyNoAttempt(database, name, { id: body.id, wait }));
    if (body.status !== 'delivered')
      throw new AppError('unavailable', `${name} did not take the test: ${body.lastError ?? 'no reason is known'}`);
    const { httpStatus = null, tookMs = 0 } = body.attempts.at(-1) ?? {};
    if (!json)
      printLine(context, `${name} took the test: ${httpStatus} within ${humanDuration(tookMs)} (${body.id}, ${body.event.id})`);
  },
);

/** The subscriber, if a test event can be sent to it now. */
async function requireTestable(sql: Sql, name: string): Promise<StoredSubscriber> {
  const subscriber = await requireSubscriber(sql, name);
  if (subscriber.audience === 'people')
    throw new AppError('invalid', `${name} is for people; try it with: ${commandLine`${subscriber.kind} test`}`);
  // Before the daemons: switching it on is needed in any case.
  const off = offAdvice(subscriber);
  if (off !== null) throw new AppError('conflict', `nothing was sent: ${off}`);
  const missing = await missingDaemon(sql);
  if (missing !== null) throw new AppError('unavailable', missing);
  return subscriber;
}

async function whyNoAttempt(
  { sql, settings }: OpenDatabase,
  name: string,
  { id, wait }: { id: string; wait: Milliseconds },
): Promise<string> {
  const advice = waitAdvice(await requireSubscriber(sql, name), await databaseNow(sql), { secrets: secretsOf(settings) });
  return advice === null
    ? `no attempt was recorded within ${humanDuration(wait)}; see "${commandLine`deliveries show ${id}`}" later`
    : `the test (${id}) is kept and waits: ${advice}`;
}
