/** The customers of the fifteen days before the demo was first started: drawn from a seed, so that each demo tells the same past. Pure. */
import { PAYMENT_METHOD, type PaymentMethodName } from '../../../packages/simulator/src/contract/names.ts';
import { createRandom, type Random } from '../../../packages/simulator/src/values/random.ts';
import { numberOf, type StateName } from '../../domain/purchases/states.ts';
import { DAY, HOUR, type Instant, MINUTE, type Milliseconds, SECOND } from '../../domain/values/time.ts';
import { BROKEN_SITE, BROKEN_STATE } from '../cast/settings.ts';

/** A customer's purchase, with each state and when it was reached; the last one is final. */
export interface PastCustomer {
  readonly site: string;
  readonly order: string;
  readonly method: number;
  readonly price: number;
  readonly steps: readonly { readonly state: number; readonly at: Instant }[];
}

/** The story of these days: moments for marks, and when the card page was broken. */
export interface PastStory {
  readonly newBankPage: Instant;
  readonly badDeploy: Instant;
  readonly brokenFrom: Instant;
  readonly brokenTo: Instant;
}

/** A day more than two weeks: of every time zone, fourteen whole days have passed. */
export const HISTORY_DAYS = 15;
const SEED = 37;

/** Of a hundred customers of a day, how many come in each hour. */
const BY_HOUR = [0.5, 0, 0, 0, 0, 0, 0.5, 2, 4, 6, 7, 8, 8, 7, 7, 7, 8, 9, 9, 8, 6, 2, 1, 0];

/** How customers of a site pay. */
interface Way {
  readonly state: StateName;
  readonly method: PaymentMethodName;
  /** Of the site's customers, and of those who pay: from 0 to 1. */
  readonly often: number;
  readonly paid: number;
}
const SITES: readonly {
  readonly site: string;
  readonly perDay: number;
  readonly price: number;
  readonly ways: readonly Way[];
}[] = [
  {
    site: BROKEN_SITE,
    perDay: 380,
    price: 780,
    ways: [
      { state: BROKEN_STATE, method: 'card', often: 0.65, paid: 0.88 },
      { state: 'WaitingForMobilePayment', method: 'mobile-payment', often: 0.2, paid: 0.91 },
      { state: 'WaitingForIdentityProvider', method: 'invoice', often: 0.15, paid: 0.84 },
    ],
  },
  {
    site: 'demo-fi',
    perDay: 120,
    price: 72,
    ways: [
      { state: 'WaitingForFinnishDirectPayment', method: 'direct-payment', often: 0.5, paid: 0.87 },
      { state: BROKEN_STATE, method: 'card', often: 0.3, paid: 0.87 },
      { state: 'WaitingForEidApp', method: 'part-payment', often: 0.2, paid: 0.8 },
    ],
  },
];
/** Of the customers of the Finnish banks, how many pay since the banks have a new page. */
const PAID_SINCE_NEW_BANK_PAGE = 0.6;
/** Of customers, how many wait longer than the demo's limit without any fault, and pay late. */
const SLOW = 0.012;
/** Of the customers of the broken page, how many do not come back from it. */
const STUCK = 0.9;

/** The story of the days before a moment: a new page of the banks four days ago, and a deploy two days ago that broke the card page. */
export function storyBefore(now: Instant): PastStory {
  const today = Math.floor(now / DAY) * DAY;
  const brokenFrom = today - 2 * DAY + 17 * HOUR + 44 * MINUTE;
  return {
    newBankPage: today - 4 * DAY + 8 * HOUR,
    badDeploy: brokenFrom - 4 * MINUTE,
    brokenFrom,
    brokenTo: brokenFrom + 117 * MINUTE,
  };
}

/** Draws all customers whose purchases ended before a moment, in no order. */
export function drawCustomers(now: Instant, story: PastStory): PastCustomer[] {
  const today = Math.floor(now / DAY) * DAY;
  const first = Math.floor(now / HOUR) * HOUR - HISTORY_DAYS * DAY;
  const found: PastCustomer[] = [];
  for (let hour = first; hour < now; hour += HOUR) {
    // Each hour by its own seed: the same past, at whatever hour the demo is started.
    const random = createRandom(SEED + (hour - today) / HOUR);
    const weight = BY_HOUR[new Date(hour).getUTCHours()]! / 100;
    for (const { site, perDay, price, ways } of SITES) {
      // Never exactly as many as on the day before.
      const count = Math.floor(perDay * weight * (0.85 + 0.3 * random()) + random());
      for (let n = 0; n < count; n += 1) {
        const way = wayOf(ways, random());
        const came = Math.round(hour + random() * HOUR);
        const order = `DEMO-${10_001 + found.length}`;
        const customer = { site, order, price: Math.round(price * (0.3 + 1.4 * random())) };
        found.push(...purchasesOf(customer, { way, came, random, story }));
      }
    }
  }
  return found.filter(({ steps }) => steps.at(-1)!.at < now);
}

function wayOf(ways: readonly Way[], drawn: number): Way {
  const upTo = (place: number): number => ways.slice(0, place + 1).reduce((sum, { often }) => sum + often, 0);
  return ways.find((_, place) => upTo(place) > drawn) ?? ways[0]!;
}

interface Drawn {
  readonly way: Way;
  readonly came: Instant;
  readonly random: Random;
  readonly story: PastStory;
}

/** The purchase of a customer; of one who began again at a broken page, both purchases. */
function purchasesOf(
  customer: Pick<PastCustomer, 'site' | 'order' | 'price'>,
  { way, came, random, story }: Drawn,
): PastCustomer[] {
  const within = (least: Milliseconds, most: Milliseconds): Milliseconds => Math.round(least + random() * (most - least));
  const at = came + within(40 * SECOND, 4 * MINUTE);
  const past = (ways: Way, end: StateName, wait: Milliseconds, begun = { came, at }): PastCustomer => ({
    ...customer,
    method: PAYMENT_METHOD[ways.method],
    steps: [
      { state: numberOf('New'), at: begun.came },
      { state: numberOf(ways.state), at: begun.at },
      { state: numberOf(end), at: begun.at + wait },
    ],
  });
  const isBroken = way.state === BROKEN_STATE && customer.site === BROKEN_SITE && at >= story.brokenFrom && at < story.brokenTo;
  if (isBroken && random() < STUCK) {
    const drawn = random();
    // Those who wait until the page is mended, or try the same page again.
    if (drawn < 0.25)
      return [
        past(way, 'Completed', Math.min(story.brokenTo - at, within(5 * MINUTE, 25 * MINUTE)) + within(20 * SECOND, 90 * SECOND)),
      ];
    if (drawn < 0.4) {
      const again = at + within(2 * MINUTE, 6 * MINUTE);
      const mobile = SITES[0]!.ways[1]!;
      return [
        past(way, 'Error', within(8 * MINUTE, 20 * MINUTE)),
        past(mobile, 'Completed', within(2 * SECOND, 8 * SECOND), { came: again, at: again + within(30 * SECOND, 60 * SECOND) }),
      ];
    }
    return [past(way, 'SessionTimedOut', within(6 * MINUTE, 24 * MINUTE))];
  }
  const isNewBankPage = way.state === 'WaitingForFinnishDirectPayment' && at >= story.newBankPage;
  const isPaid = random() < (isNewBankPage ? PAID_SINCE_NEW_BANK_PAGE : way.paid);
  if (isPaid) return [past(way, 'Completed', random() < SLOW ? within(14 * SECOND, 50 * SECOND) : within(1_500, 8_000))];
  return [past(way, random() < 0.7 ? 'Error' : 'SessionTimedOut', within(2_000, 9_000))];
}
