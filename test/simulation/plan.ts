/** What happens in a world, drawn from its seed before anything runs, so that a world that fails can be made shorter act by act. */
import { createRandom, type Random } from './world/random.ts';

export const MINUTE = 60_000;

const LIVES = [
  'card-paid',
  'invoice-eid-app',
  'invoice-identity-provider',
  'mobile-payment',
  'finnish-direct-payment',
  'credit-not-approved',
  'cancelled-after-completion',
  'user-cancels',
  'abandoned-in-form',
  'stuck-at-card-payments',
  'stuck-at-identity-provider',
  'paid-at-second-poll',
] as const;
export type Life = (typeof LIVES)[number];

/** Answers of the service that are no answer to the question. */
const ODD_ANSWERS = [
  '401',
  '404',
  '429-seconds',
  '500',
  '503',
  'html',
  'empty',
  'null',
  'hang',
  'reset',
  'cut',
  'slow-body',
  'trailing-bytes',
  'invalid-json',
  'null-state',
  'string-state',
  'other-purchase',
] as const;

export type ReceiverMood = 'fails' | 'hangs' | 'closes' | 'lies' | 'slow';

/** One thing that happens, at so many milliseconds after the start. */
export type Act = { readonly at: number } & (
  | { readonly does: 'registers'; readonly by: 'sql' | 'api'; readonly life: Life; readonly count: number }
  | { readonly does: 'kills' | 'starts' | 'stops'; readonly daemon: number }
  | { readonly does: 'freezes'; readonly daemon: number; readonly lasts: number }
  | { readonly does: 'cuts off'; readonly daemon: number; readonly lasts: number }
  | { readonly does: 'restarts the database' }
  | { readonly does: 'loses statements'; readonly share: number; readonly lasts: number }
  | {
      readonly does: 'spoils answers';
      readonly kind: (typeof ODD_ANSWERS)[number];
      readonly share: number;
      readonly lasts: number;
    }
  | { readonly does: 'spoils a receiver'; readonly receiver: number; readonly mood: ReceiverMood; readonly lasts: number }
  | { readonly does: 'slows the network'; readonly ms: number; readonly lasts: number }
  | { readonly does: 'asks for polls'; readonly by: 'api' }
);

export interface Plan {
  readonly seed: number;
  readonly daemons: number;
  readonly receivers: number;
  /** Milliseconds until everything is mended. */
  readonly lasts: number;
  readonly acts: readonly Act[];
}

export function planOf(seed: number): Plan {
  const random = createRandom(seed);
  const daemons = 1 + random.below(3);
  const receivers = 1 + random.below(2);
  const lasts = (2 + random.below(6)) * MINUTE;
  const count = 4 + random.below(14);
  const acts = Array.from({ length: count }, () => actOf(random, { daemons, receivers, lasts }));
  // A world without purchases shows nothing.
  const first: Act = { at: 2_000, does: 'registers', by: 'sql', life: random.one(LIVES), count: 1 + random.below(4) };
  return { seed, daemons, receivers, lasts, acts: [first, ...acts].toSorted((a, b) => a.at - b.at) };
}

function actOf(random: Random, { daemons, receivers, lasts }: Pick<Plan, 'daemons' | 'receivers' | 'lasts'>): Act {
  const at = 2_000 + random.below(lasts - 2_000);
  const daemon = random.below(daemons);
  const during = 1_000 + random.below(random.chance(0.2) ? 3 * MINUTE : 30_000);
  const kinds: readonly (() => Act)[] = [
    () => ({
      at,
      does: 'registers',
      by: random.chance(0.5) ? 'sql' : 'api',
      life: random.one(LIVES),
      count: 1 + random.below(5),
    }),
    () => ({ at, does: 'registers', by: 'sql', life: random.one(LIVES), count: 1 + random.below(20) }),
    () => ({ at, does: random.one(['kills', 'starts', 'stops'] as const), daemon }),
    () => ({ at, does: 'freezes', daemon, lasts: during }),
    () => ({ at, does: 'cuts off', daemon, lasts: during }),
    () => ({ at, does: 'restarts the database' }),
    () => ({ at, does: 'loses statements', share: 0.02 + 0.3 * random.next(), lasts: during }),
    () => ({ at, does: 'spoils answers', kind: random.one(ODD_ANSWERS), share: 0.2 + 0.8 * random.next(), lasts: during }),
    () => ({
      at,
      does: 'spoils a receiver',
      receiver: random.below(receivers),
      mood: random.one(['fails', 'hangs', 'closes', 'lies', 'slow'] as const),
      lasts: during,
    }),
    () => ({ at, does: 'slows the network', ms: 5 + random.below(2_000), lasts: during }),
    () => ({ at, does: 'asks for polls', by: 'api' }),
  ];
  return random.one(kinds)();
}
