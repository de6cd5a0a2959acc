/** Starts the demo's daemon and the parts around it: database, simulated service, shop, Slack, and the page with switches. */
import { join } from 'node:path';
import { createSimulator, type Simulator } from '../../packages/simulator/src/simulator.ts';
import { hashOfKey } from '../config/api-keys.ts';
import type { Settings } from '../config/settings.ts';
import { AppError } from '../domain/values/errors.ts';
import { HOUR } from '../domain/values/time.ts';
import type { Sql } from '../postgres/connection/database.ts';
import { connect } from '../postgres/connection/database.ts';
import { startEmbedded } from '../postgres/embedded/embedded.ts';
import { migrateOrExplain } from '../postgres/migrations/migrate-or-explain.ts';
import { retireEverything } from '../postgres/polling/retire.ts';
import { register } from '../postgres/purchases/purchases.ts';
import type { Logger } from '../runtime/logger.ts';
import { PACKAGE_FOLDER } from '../runtime/process/package-folder.ts';
import { randomInt } from '../runtime/random.ts';
import { machineKey } from '../runtime/secrets/kept-key.ts';
import { linkTo } from '../runtime/secrets/one-time-links.ts';
import { createAuditor } from './browser/auditor.ts';
import { createBoard } from './browser/board.ts';
import { readFacts } from './browser/facts.ts';
import { openFront } from './browser/front.ts';
import { switchesOf } from './browser/switches.ts';
import { createDaemon } from './cast/daemon.ts';
import { freePort, freePortOrAny } from './cast/free-port.ts';
import { createProgress } from './cast/progress.ts';
import { CREDENTIALS, demoSettings, newSecret } from './cast/settings.ts';
import { openShop } from './cast/shop.ts';
import { openSlack } from './cast/slack.ts';
import { writeHistory } from './history/history.ts';
import { isLeftToTheReader, typed } from './terminal/hints.ts';
import type { Narrator } from './terminal/narrator.ts';
import type { Stage } from './terminal/stage.ts';

/** Where the console listens, unless something else does. */
export const API_PORT = 8_080;
const CHECKOUT_PORT = 8_090;
const MIGRATIONS = join(PACKAGE_FOLDER, 'migrations');
/** Steps that take customers minutes take seconds. */
const TIME_SCALE = 25;

/** The story, until a person turns a switch. */
export interface Story {
  isRunning: boolean;
  readonly ended: AbortController;
}

interface ProductParts {
  readonly home: string;
  readonly isFirst: boolean;
  readonly stage: Stage;
  readonly narrator: Narrator;
  readonly log: Logger;
  readonly logFile: string;
  /** Gets the function that ends each part, in the order in which the parts begin. */
  readonly closers: (() => Promise<unknown>)[];
}

/** Starts everything, the daemon last. */
export async function openProduct({ home, isFirst, stage, narrator, log, logFile, closers }: ProductParts) {
  const postgres = await startDatabase({ home, isFirst, stage });
  closers.push(() => postgres.stop());
  // One for registrations, one for the audit.
  const sql = connect(postgres.url, { max: 3, name: 'demo' });
  const auditor = createAuditor(sql);
  closers.push(() => sql.end({ timeout: 1 }));
  const simulator = await startCheckout();
  closers.push(simulator.stop);

  const progress = createProgress();
  const secret = newSecret();
  const shop = await openShop({
    secret,
    onArrival: (arrival) => {
      progress.count(arrival);
      narrator.arrival(arrival);
    },
    onForged: () => narrator.say('The shop refused a request whose signature is not good.'),
  });
  closers.push(shop.close);
  const slack = await openSlack(narrator.slack);
  closers.push(slack.close);

  const port = await freePortOrAny(API_PORT);
  const daemonPort = await freePort();
  const consolePort = port === 0 ? await freePort() : port;
  const apiUrl = `http://127.0.0.1:${consolePort}`;
  const { env, file, settings } = demoSettings({
    home,
    checkoutUrl: simulator.url,
    shopUrl: `${shop.origin}/webhooks`,
    secret,
    slackUrl: slack.url,
    consoleUrl: apiUrl,
  });
  const seeded = await seedHistory(sql, { settings, stage, isFirst });
  await retireEverything(sql);
  const key = machineKey(home);
  const daemon = createDaemon(env, { port: daemonPort, logFile });
  closers.push(daemon.stop);
  const story: Story = { isRunning: false, ended: new AbortController() };
  const board = createBoard({
    switches: switchesOf({ control: simulator.control, daemon, shop }),
    readFacts: () => readFacts(daemon.url, key),
    since: (moment) => ({
      arrivals: progress.arrivals.filter(({ at }) => at >= moment),
      posts: slack.posts().filter(({ at }) => at >= moment),
    }),
    onPerson: () => story.ended.abort(),
  });
  closers.push(async () => board.close());
  const front = await openFront({
    port: consolePort,
    daemonUrl: () => daemon.url,
    board,
    side: () => ({
      facts: board.facts(),
      isShopOpen: shop.isOpen(),
      verdict: auditor(),
      progress,
      posts: slack.posts(),
    }),
    isStory: () => story.isRunning,
  });
  closers.push(front.close);
  registerNewPurchases(simulator, sql, log);
  await daemon.start();
  // The terminal that shows the link is of one person, who may open it late.
  const link = linkTo(`${apiUrl}/`, hashOfKey(key), 12 * HOUR);
  return { simulator, progress, slack, postgres, board, story, file, apiUrl, link, port, seeded };
}

/** Starts the database and brings its schema up to date: the demo registers purchases while the daemon is dead, too. */
async function startDatabase({ home, isFirst, stage }: Pick<ProductParts, 'home' | 'isFirst' | 'stage'>) {
  if (isFirst) stage.write(stage.paint('gray', '    making the database, which takes a few seconds the first time …'));
  const postgres = await startEmbedded({ dataDir: home });
  try {
    await migrateOrExplain(postgres.url, MIGRATIONS);
    return postgres;
  } catch (error) {
    await postgres.stop();
    throw withRemedy(error, home);
  }
}

/** Writes a past for the pages about the past, on the first start; answers what is said of it. */
async function seedHistory(
  sql: Sql,
  { settings, stage, isFirst }: { settings: Settings; stage: Stage; isFirst: boolean },
): Promise<string> {
  if (isFirst) stage.write(stage.paint('gray', '    writing two weeks of made-up history …'));
  const isWritten = await writeHistory(sql, { sites: settings.sites.map(({ name }) => name), policy: settings.policy });
  return isWritten ? 'two made-up weeks: see Trends, and its incident' : 'what earlier demos left';
}

async function startCheckout(): Promise<Simulator> {
  const port = await freePortOrAny(CHECKOUT_PORT);
  // A database that is kept remembers the ids of earlier runs.
  const simulator = createSimulator({ ...CREDENTIALS, port, timeScale: TIME_SCALE, seed: randomInt(2 ** 31) });
  await simulator.start();
  return simulator;
}

/** Every purchase of the service is registered as a shop would do it, but for those that are left to the reader. */
function registerNewPurchases(simulator: Simulator, sql: Sql, log: Logger): void {
  simulator.control.onPurchase(({ purchaseId, site }) => {
    if (isLeftToTheReader(purchaseId)) return;
    register(sql, [{ purchaseId, site, reference: null, metadata: null }]).catch((error: unknown) => {
      log.warn({ error, purchaseId }, 'demo.not_registered');
    });
  });
}

/** A schema of another version stands in the way of a daemon for good reason; here nothing is lost. */
function withRemedy(error: unknown, home: string): unknown {
  if (!(error instanceof AppError) || error.code !== 'conflict') return error;
  const remedy = `the demo's data is of no use to anybody: delete ${typed(home)} and start again`;
  return new AppError('conflict', `${error.message}; ${remedy}`, { cause: error });
}
