/** Guards of asking and deciding: what an answer means, how often the service is called, who is stuck. */
import type { Guard } from './guard.ts';

const SEEN = 'src/domain/deciding/seen.ts';
const BREAKER = 'src/domain/polling/breaker.ts';

export const ASKING: readonly Guard[] = [
  {
    name: 'an answer is about the purchase asked for',
    promise: 'only a valid answer about a purchase changes its state',
    file: 'src/checkout/payment-status.ts',
    from: 'if (!isSamePurchase(purchaseId, checked.data.PurchaseId)) return wrongPurchase(reply);',
    to: '',
  },
  {
    name: 'an answer has a good status',
    promise: 'an error of the service is no answer about a purchase',
    file: 'src/checkout/authorized.ts',
    from: 'return answer.status >= 200 && answer.status < 300 ? answer : statusTrouble(answer, clock.now());',
    to: 'return answer;',
  },
  {
    name: 'trouble of the site is not held against a purchase',
    promise: 'no purchase counts as unreadable while no purchase of its site can be read',
    file: 'src/domain/deciding/decide.ts',
    from: 'return isOwn && context.excused !== true ?',
    to: 'return isOwn ?',
  },
  {
    name: 'strikes before a failure is the purchase’s own',
    promise: 'a short outage of the site makes no purchase unreadable',
    file: 'src/domain/polling/poll-plan.ts',
    from: 'export const STRIKES_UNTIL_OWN_TROUBLE = 6;',
    to: 'export const STRIKES_UNTIL_OWN_TROUBLE = 1;',
  },
  {
    name: 'quarantine of what cannot be read',
    promise: 'an id that the service does not know is asked for ever more rarely',
    file: 'src/domain/deciding/failed.ts',
    from: 'if (state !== null && !unknown) return withJitter',
    to: 'if (unknown || state !== null) return withJitter',
  },
  {
    name: 'a purchase that cannot be read is polled on',
    promise: 'any purchase that can be read again goes on where it was',
    file: 'src/domain/deciding/failed.ts',
    from: "return status === 'watching' || status === 'unreadable';",
    to: "return status === 'watching';",
  },
  {
    name: 'the poll that confirms a stuck purchase',
    promise: 'no purchase is called stuck without a poll that began after the limit',
    file: SEEN,
    from: 'stuckAt !== null && askedAt >= stuckAt;',
    to: 'stuckAt !== null && now >= stuckAt - 60_000;',
  },
  {
    name: 'time in which no daemon could ask the service does not count as waiting',
    promise: 'a purchase is never called stuck for time in which no daemon could ask the service',
    file: SEEN,
    from: 'return before.excused + unaskedTime(policy, { since, seenAt: before.seenAt, now: askedAt });',
    to: 'return before.excused;',
  },
  {
    name: 'a receiver is sent purchase.stuck once for a stay in a state',
    promise: 'a receiver is sent purchase.stuck once for each stay',
    file: SEEN,
    from: "const becomesStuck = wasStuckSince === null && status === 'watching'",
    to: "const becomesStuck = status === 'watching'",
  },
  {
    name: 'a watch ends after its last sign of life',
    promise: 'a purchase that still changes is watched for thirty days more',
    file: 'src/domain/polling/poll-plan.ts',
    from: 'return timeAfter(Math.max(watchedSince, stateSince ?? 0), giveUpAfter, skipped);',
    to: 'return timeAfter(watchedSince, giveUpAfter, skipped);',
  },
  {
    name: 'one probe while a site fails',
    promise: 'a site that fails is called once at growing intervals',
    file: BREAKER,
    from: "if (breaker.probing) return { kind: 'none', until: null };",
    to: '',
  },
  {
    name: 'the probe’s answer alone decides',
    promise: 'a late answer from before an outage does not end the pause of calls',
    file: BREAKER,
    from: 'return context.probe ? afterProbe(breaker, seen, context) : afterLateAnswer(breaker, seen, context);',
    to: 'return afterProbe(breaker, seen, context);',
  },
  {
    name: 'a pause that the service asks for',
    promise: 'no call leaves before the time that the service named with Retry-After',
    file: BREAKER,
    from: 'const pause = Math.max(wait * (1 + JITTER * part), (retryAfter ?? 0) + AFTER_ASKED * part);',
    to: 'const pause = wait * (1 + JITTER * part) + 0 * (AFTER_ASKED + (retryAfter ?? 0));',
  },
  {
    name: 'ceiling of calls a second',
    promise: 'in no second more calls leave than the site allows',
    file: 'src/daemon/poller/sites/budget.ts',
    from: 'if (now < earliest) return earliest - now;',
    to: 'if (now < earliest) return 0;',
  },
  {
    name: 'share of the ceiling',
    promise: 'the ceiling of a site holds over all replicas together',
    file: 'src/daemon/shards/ownership.ts',
    from: 'share: (): number => shards.size() / SHARDS,',
    to: 'share: (): number => Math.min(shards.size(), SHARDS, 1),',
  },
  {
    name: 'calls in flight at most',
    promise: 'a site that answers slowly has no more calls in flight than its settings say',
    file: 'src/daemon/poller/planning.ts',
    from: 'if (calls.inFlight >= calls.site.concurrency) return UNTIL_WOKEN;',
    to: '',
  },
  {
    name: 'a token that was refused is renewed',
    promise: 'a token that the service refuses costs one more call',
    file: 'src/checkout/authorized.ts',
    from: 'const answer = isRejection(reply)',
    to: 'const answer = isRejection(reply) && reply.status === 0',
  },
];
