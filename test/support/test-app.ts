/** The whole product for one test: own database, simulator, receiver and Slack stand-in, clock in the test's hand. */

import { expect } from 'vitest';
import { createSimulator, type Simulator, type SimulatorOptions } from '../../packages/simulator/src/simulator.ts';
import { type App, createApp } from '../../src/app.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import type { Settings } from '../../src/config/settings.ts';
import type { StuckMode } from '../../src/domain/incidents/audience.ts';
import type { Replacements } from '../../src/parts.ts';
import { findPurchases, register } from '../../src/postgres/purchases/purchases.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { type TestDatabase, testDatabase } from './database.ts';
import { eventFaults } from './event-contract.ts';
import { MACHINE_DIR } from './machine.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { type SlackStandIn, startSlackStandIn } from './slack-stand-in.ts';
import { type TestClock, testClock } from './test-clock.ts';

export const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

export interface TestApp {
  readonly app: App;
  readonly database: TestDatabase;
  readonly simulator: Simulator;
  readonly receiver: Receiver;
  readonly slack: SlackStandIn;
  readonly clock: TestClock;
  readonly settings: Settings;
  /** All log lines, as text. */
  readonly log: string[];
  /** Makes a purchase at the simulator and registers it; answers its id. */
  watch(
    spec?: NonNullable<Parameters<Simulator['control']['add']>[0]>,
    registration?: { reference?: string; metadata?: string },
  ): Promise<string>;
  /** The names of the states a purchase's webhooks brought, in the order they came. */
  changesOf(purchaseId: string): string[];
  /** The events a purchase's webhooks brought, in the order they came. */
  eventsOf(purchaseId: string): ReceivedEvent[];
  /**
   * Lets time pass as a daemon lives through it: from one due poll to the next, and at least every half minute. Polls that are
   * due within `step` milliseconds, two seconds unless given, are made together; the last moment is met exactly.
   */
  live(milliseconds: number, step?: number): Promise<void>;
  /** Lets time pass in equal steps, after each of which each daemon makes the passes. */
  liveInSteps(milliseconds: number, options?: StepOptions): Promise<void>;
  /** The purchase as the database holds it. */
  rowOf(purchaseId: string): Promise<StoredPurchase>;
  /** Another daemon on the same database. */
  another(replacements?: Replacements): Promise<App>;
  stop(): Promise<void>;
}

type StoredPurchase = Awaited<ReturnType<typeof findPurchases>>[number];

export interface StepOptions {
  /** Milliseconds; 10 000 unless given. */
  readonly step?: number;
  /** Deliveries alone unless given. */
  readonly passes?: readonly ('pollOnce' | 'judgeOnce' | 'deliverOnce')[];
  /** The test's own daemon unless given. */
  readonly by?: readonly App[];
}

/** Of `live`, in milliseconds. Each step is a pass of every part of the product, sixteen statements when there is nothing to do. */
const TOGETHER = 2_000;
const LONGEST_STEP = 30_000;

/** What a daemon does, in the order in which one leads to the other. */
export const ALL_PASSES = ['pollOnce', 'judgeOnce', 'deliverOnce'] as const;

export interface ReceivedEvent {
  readonly id: string;
  readonly type: string;
  readonly data: {
    readonly purchaseId?: string;
    readonly sequence: number;
    readonly from: { readonly value: number; readonly name: string } | null;
    readonly to: { readonly value: number; readonly name: string };
    readonly [key: string]: unknown;
  };
}

export interface TestAppOptions {
  /** The test writes events of its own, which need not be what the schemas say. */
  readonly inventsEvents?: boolean;
  readonly simulator?: SimulatorOptions;
  /** Mode of the channel of Slack. `incidents` unless given: most stories are about incidents, or about no Slack at all. */
  readonly stuck?: StuckMode;
  /** Changes to the settings. */
  readonly change?: (settings: Settings) => void;
  readonly env?: Record<string, string>;
  readonly replacements?: Replacements;
  /** The test moves the monotonic clock, too, for daemons that run. */
  readonly wholeClock?: boolean;
  /** The clock runs by itself, as in the real daemon. */
  readonly realClock?: boolean;
  /** A database that the test made. */
  readonly database?: TestDatabase;
}

export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  // The clock after it: the first database of a run is made from migrations, which takes its time.
  const database = options.database ?? (await testDatabase());
  const clock = testClock({ isWhole: options.wholeClock ?? false });
  const simulator = createSimulator({ ...(options.realClock ? {} : { now: clock.now }), ...options.simulator });
  await simulator.start();
  const receiver = await startReceiver({ secret: SECRET });
  const slack = await startSlackStandIn();
  const settings = loadSettings({
    DATABASE_URL: database.url,
    DATA_DIR: MACHINE_DIR,
    // To find that out takes two more sessions of each start.
    DATABASE_POOL_MODE: 'session',
    CHECKOUT_BASE_URL: simulator.url,
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
    CHECKOUT_MAX_RPS: '10000',
    CHECKOUT_TIMEOUT: '10s',
    WEBHOOK_URL: receiver.url,
    WEBHOOK_SECRET: SECRET,
    WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
    WEBHOOK_API_ALLOW_ADDRESSES: '127.0.0.0/8',
    SLACK_WEBHOOK_URL: slack.url,
    PORT: '0',
    ...options.env,
  });
  const { stuck = 'incidents' } = options;
  settings.slack = { ...settings.slack, stuck };
  settings.channels = settings.channels.map((each) => ({ ...each, stuck }));
  options.change?.(settings);
  const log: string[] = [];
  const destination = { write: (line: string) => log.push(line) } as unknown as NodeJS.WritableStream;
  const base: Replacements = {
    ...(options.realClock ? {} : { clock, random: () => 0.5 }),
    log: createLogger({ level: 'debug', destination }),
  };
  const app = await createApp(settings, { ...base, ...options.replacements });
  const others: App[] = [];

  const eventsOf = eventsByPurchase(receiver);
  return {
    app,
    database,
    simulator,
    receiver,
    slack,
    clock,
    settings,
    log,
    watch: async (
      spec = {},
      { reference = null, metadata = null }: { reference?: string | null; metadata?: string | null } = {},
    ) => {
      const { purchaseId } = simulator.control.add(spec);
      await register(app.sql, [{ purchaseId, site: null, reference, metadata }]);
      clock.catchUp();
      return purchaseId;
    },
    eventsOf,
    changesOf: (purchaseId) =>
      eventsOf(purchaseId)
        .filter(({ type }) => type === 'purchase.state_changed')
        .map(({ data }) => data.to.name),
    live: async (milliseconds, step = TOGETHER) => {
      const end = clock.now() + milliseconds;
      while (clock.now() < end) {
        const [due] = await app.sql<{ at: number | null }[]>`
          select (extract(epoch from min(next_poll_at)) * 1000)::float8 as at from purchase_watch.purchases`;
        const next = Math.ceil(Math.min(Math.max(due?.at ?? end, clock.now() + step), clock.now() + LONGEST_STEP, end));
        clock.advance(`${next - clock.now()}ms`);
        await app.pollOnce();
        await app.judgeOnce();
        await app.deliverOnce();
      }
    },
    liveInSteps: async (milliseconds, { step = 10_000, passes = ['deliverOnce'], by = [app] }: StepOptions = {}) => {
      for (const end = clock.now() + milliseconds; clock.now() < end; ) {
        clock.advance(`${Math.min(step, end - clock.now())}ms`);
        for (const pass of passes) await Promise.all(by.map((each) => each[pass]()));
      }
    },
    rowOf: async (purchaseId) => (await findPurchases(database.sql, { purchaseId, site: null }))[0]!,
    another: async (replacements = {}) => {
      const other = await createApp(settings, { ...base, ...replacements });
      others.push(other);
      return other;
    },
    stop: async () => {
      for (const running of [...others, app]) await running.stop();
      await Promise.all([simulator.stop(), receiver.stop(), slack.stop()]);
      const faults = options.inventsEvents ? [] : await eventFaults(database.sql);
      await database.drop();
      expect(faults, 'every event of a story is what the published schemas say').toEqual([]);
    },
  };
}

/** Each body is parsed once: a story that looks at hundreds of purchases many times a second would do little else. */
function eventsByPurchase({ received }: Receiver): (purchaseId: string) => ReceivedEvent[] {
  const byPurchase = new Map<string | undefined, ReceivedEvent[]>();
  let parsed = 0;
  return (purchaseId) => {
    for (; parsed < received.length; parsed++) {
      const event = JSON.parse(received[parsed]!.body) as ReceivedEvent;
      const events = byPurchase.get(event.data.purchaseId);
      if (events === undefined) byPurchase.set(event.data.purchaseId, [event]);
      else events.push(event);
    }
    return [...(byPurchase.get(purchaseId) ?? [])];
  };
}
