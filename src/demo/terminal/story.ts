/** The story of the demo: shopping, one customer who does not come back, a page that breaks, customers who get stuck, the message, the fix, the end. */

import type { Control } from '../../../packages/simulator/src/contract/control.ts';
import { stateWords } from '../../domain/purchases/states.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { delay } from '../../runtime/time.ts';
import type { Progress } from '../cast/progress.ts';
import { BROKEN_SITE, BROKEN_STATE } from '../cast/settings.ts';
import { type CustomerLife, GOOD_DAY, quickLife, sendCustomers } from '../cast/traffic.ts';
import type { Narrator } from './narrator.ts';
import type { Stopwatch } from './stopwatch.ts';

export interface StoryParts {
  readonly control: Control;
  readonly narrator: Narrator;
  readonly progress: Progress;
  /** The story waits while it is paused. */
  readonly watch: Stopwatch;
  /** Slack messages so far. */
  messages(): number;
  /** Called when the story has broken a page, and when it has mended the page. */
  onPage(isBroken: boolean): void;
  /** Ends the story early: its next wait throws. */
  readonly signal: AbortSignal;
}

const QUICK = quickLife(BROKEN_STATE);
/** Two of three run into the broken page; the other site goes on as before. */
const BAD_DAY: readonly CustomerLife[] = [QUICK, QUICK, { site: 'demo-fi', script: 'card-paid' }];
/** Does not come back from the bank for longer than a person would wait: the story brings this customer back. */
const LOST: CustomerLife = {
  site: 'demo-fi',
  script: [{ state: 'New' }, { state: 'BeingProcessed', after: '20s' }, { state: BROKEN_STATE, after: '40s' }],
};
const ARRIVALS = { good: 1_300, bad: 1_000, recovery: 2_500 };

/** Long enough to read a few lines of traffic. */
const SHOPPING = 12_000;
/** Long enough to read a message of Slack; the screen shows each for a little less. */
export const READING: Milliseconds = 7_000;
/** Nothing takes as long, unless something is wrong; then the story goes on and says so. */
const PATIENCE = 45_000;
const LOOK_AGAIN = 50;

/** Waits so long; a time in which the demo is paused does not count. Throws when the signal says so. */
export async function rest(length: Milliseconds, { watch, signal }: Pick<StoryParts, 'watch' | 'signal'>): Promise<void> {
  const end = watch.elapsed() + length;
  while (watch.elapsed() < end) await delay(LOOK_AGAIN, undefined, { signal });
}

/** Runs the story; takes about 100 seconds. Throws when the signal says so. */
export async function runStory({ control, narrator, progress, watch, messages, onPage, signal }: StoryParts): Promise<void> {
  const pass = (length: Milliseconds): Promise<void> => rest(length, { watch, signal });
  const until = async (happened: () => boolean): Promise<void> => {
    const deadline = watch.elapsed() + PATIENCE;
    while (!happened() || watch.isPaused()) {
      if (watch.elapsed() > deadline)
        return narrator.say('This takes longer than expected; the log has the details. The demo goes on.');
      await pass(LOOK_AGAIN);
    }
  };

  narrator.headline('1  Customers shop', [
    'The shop registers each Purchase ID with purchase-watch. The checkout service',
    'never calls back, so purchase-watch polls. Each change becomes a webhook to the',
    'shop: a line with its checked signature (✓) and the time since the poll.',
  ]);
  let customers = sendCustomers(control, GOOD_DAY, { every: ARRIVALS.good });
  const lost = control.add(LOST);
  try {
    await pass(SHOPPING);
    await until(() => progress.completed >= 2);
    await until(() => progress.stuckNow.size >= 1);
    narrator.headline('2  One customer does not come back from the bank', [
      'The site is new here, so too little is known to judge it by the share of stuck',
      'customers. So each stuck checkout alerts people by itself, and once more when it',
      'is over.',
    ]);
    const silent = messages();
    await until(() => messages() > silent);
    await pass(READING);
    control.setState(lost.purchaseId, 'Completed');
    const alerted = messages();
    await until(() => messages() > alerted);
    await pass(READING);

    narrator.headline(`3  Now the page of ${BROKEN_SITE} breaks`, [
      'A deploy went wrong: customers who come back from their bank get a page that',
      'cannot render again. No error shows anywhere: each poll finds them still',
      `${stateWords(BROKEN_STATE)}. The other site works as before.`,
    ]);
    control.breakPage({ site: BROKEN_SITE, states: [BROKEN_STATE] });
    onPage(true);
    customers.stop();
    customers = sendCustomers(control, BAD_DAY, { every: ARRIVALS.bad });
    await until(() => progress.stuckNow.size >= 1);
    narrator.say('The first customer waited longer than the limit; one more poll confirms: stuck.');
    narrator.headline('4  Slack will get one message, however many are stuck', [
      'One stuck customer may have left. The fourth in a row makes the page count as',
      'broken. Ten seconds are left for others to join; then the message comes.',
    ]);

    const before = messages();
    await until(() => messages() > before);
    await pass(READING);

    customers.stop();
    customers = sendCustomers(control, BAD_DAY, { every: ARRIVALS.bad });
    narrator.headline('5  The page is fixed', [
      'A person who read the message rolls the deploy back. Customers come back and',
      'pay. Once five later customers got on as well, Slack gets a message that it is over.',
    ]);
    const alertedBefore = messages();
    control.fixPage({ site: BROKEN_SITE, states: [BROKEN_STATE] });
    onPage(false);
    await until(() => progress.stuckNow.size === 0);
    narrator.say('All of them have moved on.');
    await until(() => messages() > alertedBefore);
    customers.stop();
    customers = sendCustomers(control, GOOD_DAY, { every: ARRIVALS.recovery });
    await pass(READING);
  } finally {
    customers.stop();
    // A story that ends early leaves no customer behind who could be taken for an effect of a switch.
    if (control.get(lost.purchaseId)?.state.name !== 'Completed') control.setState(lost.purchaseId, 'Completed');
  }
}
