/** Judges what is wrong now: opens incidents, alerts people, and closes incidents. One replica at a time does it. */

import { audienceOf } from '../../domain/incidents/audience.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { glance, readOthers } from '../../postgres/incidents/look.ts';
import { LEASES } from '../../postgres/migrations/names.ts';
import { type Lease, raiseLease, takeFreeLease } from '../../postgres/shards/leases.ts';
import { createUsualReader } from '../../postgres/stays/usual.ts';
import { peopleChannels } from '../../postgres/subscribers/symptoms.ts';
import type { Deps } from '../deps.ts';
import { createDigests } from './digest.ts';
import { type AlertMoment, alertFirstLooks, type Outcome, type RecipientsOf } from './first-look.ts';
import { createLook, type LookOptions, NOTHING } from './look.ts';
import { announcePaidTwice } from './paid-twice.ts';
import { idsIn } from './people.ts';
import { createCheckoutAlerts } from './stuck-checkouts.ts';

interface JudgeOptions extends Pick<Deps, 'replica'>, Omit<LookOptions, 'usual'> {
  /** When digests are sent, as a cron expression; null: never. */
  readonly digest: string | null;
  /** Events were written: the notifier has work. */
  onEvents(): void;
}

const SWEEP: Milliseconds = 5_000;

export function createJudge(options: JudgeOptions) {
  const { sql, clock, replica, limits, channels, onEvents } = options;
  const usual = createUsualReader(sql);
  const look = createLook({ ...options, usual });
  const checkouts = createCheckoutAlerts({ ...options, usual });
  const digests = createDigests({
    ...options,
    expression: options.digest,
    limitOf: (site, state) => limits.limitOf(site, state).ms,
  });

  /** First looks and digests are no more urgent than a warning. */
  const recipients: AlertMoment['recipients'] = async (isWanted = () => true): Promise<RecipientsOf> => {
    const idsOf = idsIn(await peopleChannels(sql, clock.now()));
    const wanted = channels.filter((channel) => channel.onlyIncidents !== true && isWanted(channel));
    return (site) => audienceOf({ kind: 'stuck', severity: 0, subscriber: null }, [site], wanted).flatMap(idsOf);
  };
  const alertOthers = async (lease: Lease, isCalm: boolean): Promise<Outcome[]> => {
    const moment: AlertMoment = { now: clock.now(), lease, recipients };
    if (isCalm) return [await digests.alert(moment)];
    const others = await readOthers(sql);
    return [
      ...(others.checkouts ? [await checkouts.alert(moment)] : []),
      ...(others.payments ? [await announcePaidTwice(options, moment)] : []),
      ...(others.firstLooks ? [await alertFirstLooks(options, moment)] : []),
      await digests.alert(moment),
    ];
  };

  /** A look failed, and the database may yet run a statement of it. */
  let isUnsure = false;

  return {
    /** Memory of the database is no longer true: the usual numbers and the due digests are read again. */
    forget: (): void => {
      usual.forget();
      digests.forget();
    },
    /** Looks once; answers how long to rest. */
    tick: async (): Promise<Milliseconds> => {
      if (isUnsure) await raiseLease(sql, { name: LEASES.judge, replica });
      const { epoch: kept, isCalm } = await glance(sql, { replica, now: clock.now() });
      const epoch = kept ?? (await takeFreeLease(sql, { name: LEASES.judge, replica }));
      isUnsure = epoch !== null;
      if (epoch === null) return SWEEP;
      const lease = { name: LEASES.judge, replica, epoch };
      const { isMore, ...incidents } = isCalm ? NOTHING : await look(lease);
      const outcomes = [incidents, ...(isMore ? [] : await alertOthers(lease, isCalm))];
      isUnsure = false;
      if (outcomes.some(({ written }) => written > 0)) onEvents();
      if (isMore) return 0;
      const rests = outcomes.map(({ lookAgainAt }) => (lookAgainAt === null ? SWEEP : lookAgainAt - clock.now()));
      return Math.min(Math.max(Math.min(...rests), 10), SWEEP);
    },
  };
}
