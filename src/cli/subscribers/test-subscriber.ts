/** Trying out whether a subscriber can be reached. */

import { deliveryDetails } from '../../actions/subscribers/body.ts';
import { waitAdvice } from '../../actions/subscribers/outlook.ts';
import { secretsOf } from '../../actions/subscribers/secrets.ts';
import { testSubscriber as announceTest, offAdvice, requireSubscriber } from '../../actions/subscribers/subscribers.ts';
import { waitForAttempt } from '../../actions/subscribers/wait.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { findDelivery } from '../../postgres/deliveries/delivery-list.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import type { CliContext } from '../terminal/context.ts';
import { livingDaemons, NO_DAEMON, withDatabase } from '../terminal/database.ts';
import { printJson, printLine } from '../terminal/output.ts';

/** `subscribers test`: sends a test event and waits for what becomes of it. */
export async function testSubscriber(
  context: CliContext,
  name: string,
  { wait, json }: { readonly json?: true; readonly wait: Milliseconds },
): Promise<void> {
  await withDatabase(context, async (database) => {
    const { sql, settings } = database;
    const subscriber = await requireSubscriber(sql, name);
    if (subscriber.audience === 'people')
      throw new AppError('invalid', `${name} is for people; try it with: purchase-watch ${subscriber.kind} test`);
    // Before the daemons: switching it on is needed in any case.
    const off = offAdvice(subscriber);
    if (off !== null) throw new AppError('conflict', `nothing was sent: ${off}`);
    if ((await livingDaemons(sql)).length === 0) throw new AppError('unavailable', NO_DAEMON);
    const now = await databaseNow(sql);
    const id = await announceTest(sql, subscriber, now);
    // Of a pause that lasts longer nothing is to be expected.
    const isLong = (subscriber.health?.pausedUntil ?? 0) > now + wait;
    const attempted = !isLong && (await waitForAttempt(sql, id, { within: wait }));
    const body = deliveryDetails((await findDelivery(sql, id))!);
    if (json) printJson(context, body);
    if (!attempted) {
      const advice = waitAdvice(await requireSubscriber(sql, name), await databaseNow(sql), { secrets: secretsOf(settings) });
      const otherwise = `no attempt was recorded within ${humanDuration(wait)}; see "purchase-watch deliveries show ${body.id}" later`;
      throw new AppError('unavailable', advice === null ? otherwise : `the test (${body.id}) is kept and waits: ${advice}`);
    }
    if (body.status !== 'delivered')
      throw new AppError('unavailable', `${name} did not take the test: ${body.lastError ?? 'no reason is known'}`);
    const { httpStatus = null, tookMs = 0 } = body.attempts.at(-1) ?? {};
    if (!json)
      printLine(context, `${name} took the test: ${httpStatus} within ${humanDuration(tookMs)} (${body.id}, ${body.event.id})`);
  });
}
