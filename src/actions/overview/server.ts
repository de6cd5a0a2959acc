/** Checks of doctor that cost nothing where facts are read anyway: clocks, the queue of notifications, keys, certificates, the dead man's switch. */
import { type ApiKey, ENDING_KEY_ADVICE, endingKeys } from '../../config/api-keys.ts';
import { queueTrouble } from '../../domain/replicas/notification-queue.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { DAY, type Instant, type Milliseconds } from '../../domain/values/time.ts';
import type { Expiry } from '../../runtime/http/certificates.ts';
import type { OverviewFacts } from './facts.ts';
import { type Finding, offsetInWords, reporterOf } from './finding.ts';

/** Receivers refuse signatures that are older than five minutes; long before, lines of two logs cannot be put in order. */
const MOST_OFFSET: Milliseconds = 5_000;
/** Renewals are automatic in many places, and made some weeks before the end. */
const WARN_BEFORE: Milliseconds = 14 * DAY;
/** From here on there is no night in between. */
const FAIL_BEFORE: Milliseconds = DAY;

const SET_CLOCKS =
  'set both clocks by NTP: signatures and log lines carry their times; due times follow the database and stay right';

/** Findings about the database's server: clock and queue of notifications. */
export function serverFindings({ clockOffset, notificationQueue }: OverviewFacts): Finding[] {
  const report = reporterOf('database');
  const queue = queueTrouble(notificationQueue);
  const clock = `this machine's clock is ${offsetInWords(clockOffset)} of the database's`;
  return [
    ...(Math.abs(clockOffset) < MOST_OFFSET ? [] : [report.warning(clock, SET_CLOCKS)]),
    ...(queue === null ? [] : [report.warning(queue.found, queue.advice)]),
  ];
}

/** Keys of the API and certificates that end soon. */
export function endingFindings(keys: readonly ApiKey[], certificates: readonly Expiry[], now: Instant): Finding[] {
  const report = reporterOf('settings');
  const ofKeys = endingKeys(keys, now).map(({ name, detail, at }) =>
    report.warning(`the key ${name} of the API ${detail}`, ENDING_KEY_ADVICE, {
      what: `The key ${name} of the API ${endText(at, now)}`,
      since: null,
      why: null,
    }),
  );
  const ofCertificates = certificates
    .filter(({ at }) => at - now < WARN_BEFORE)
    .map(({ name, at }) => {
      const what = `The certificate for ${name} ${endText(at, now)}`;
      const found = `the certificate for ${name} ${at <= now ? 'expired' : 'expires'} at ${new Date(at).toISOString()}`;
      const why = at <= now ? 'Connections with it are refused' : 'From then on connections with it are refused';
      const verdict = at - now < FAIL_BEFORE ? 'failed' : 'warning';
      return report[verdict](found, 'renew it, and restart what keeps it in memory', { what, since: null, why });
    });
  return [...ofKeys, ...ofCertificates];
}

function endText(at: Instant, now: Instant): string {
  const long = humanDuration(Math.round(Math.abs(at - now) / 60_000) * 60_000);
  return at <= now ? `expired ${long} ago` : `expires in ${long}`;
}
