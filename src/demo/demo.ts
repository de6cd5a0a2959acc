/** The demo: the whole product on this machine, around a checkout service that is simulated. */
import { randomInt } from 'node:crypto';
import { createWriteStream, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { renderForTerminal } from '../channels/slack/terminal.ts';
import { humanDuration } from '../domain/values/duration.ts';
import { AppError } from '../domain/values/errors.ts';
import type { Sql } from '../postgres/connection/database.ts';
import { connect } from '../postgres/connection/database.ts';
import { type EmbeddedPostgres, startEmbedded } from '../postgres/embedded/embedded.ts';
import { hasEmbedded } from '../postgres/embedded/present.ts';
import { migrateOrExplain } from '../postgres/migrations/migrate-or-explain.ts';
import { retireEverything } from '../postgres/polling/retire.ts';
import { register } from '../postgres/purchases/purchases.ts';
import { listenForPosts } from '../receiver/posts.ts';
import { createLogger, type Logger } from '../runtime/logger.ts';
import { isGone, processIdentity } from '../runtime/process/process-identity.ts';
import { createSimulator, type Simulator } from '../simulator/simulator.ts';
import { type Auditor, createAuditor } from './browser/auditor.ts';
import { type Board, createBoard } from './browser/board.ts';
import { readFacts, type SlackPost } from './browser/facts.ts';
import { openFront } from './browser/front.ts';
import type { SideParts } from './browser/side.ts';
import { switchesOf } from './browser/switches.ts';
import { createDaemon } from './cast/daemon.ts';
import { freePort, freePortOrAny } from './cast/free-port.ts';
import { createProgress, type Progress } from './cast/progress.ts';
import { CREDENTIALS, demoSettings, newSecret, SHORT_TIMES, SITES, writePrivately } from './cast/settings.ts';
import { openShop, type Shop } from './cast/shop.ts';
import { GOOD_DAY, sendCustomers } from './cast/traffic.ts';
import { hints, isLeftToTheReader, purchasesToTry, typed } from './terminal/hints.ts';
import { createNarrator, type Narrator } from './terminal/narrator.ts';
import type { Stage } from './terminal/stage.ts';
import { runStory } from './terminal/story.ts';

export interface DemoOptions {
  /** DATA_DIR; the demo has a folder of its own in it, so that it never touches what a real daemon keeps there. */
  readonly dataDir: string;
  /** End after the story. */
  readonly once: boolean;
  readonly stage: Stage;
  /** Ends the demo, whatever it is doing. */
  readonly signal: AbortSignal;
}

const MIGRATIONS = join(import.meta.dirname, '../../migrations');
const CHECKOUT_PORT = 8_090;
const API_PORT = 8_080;
/** What takes a customer minutes takes seconds. */
const TIME_SCALE = 25;
/** Customers after the story: one comes every so many milliseconds, and a few a minute live as they happen to. */
const ARRIVALS = 1_500;
const DRAWN_A_MINUTE = 6;
/** Slack's messages that are kept for the page. */
const POSTS_KEPT = 50;

/** Runs until the signal, or with `once` until the end of the story. */
export async function runDemo({ dataDir, once, stage, signal }: DemoOptions): Promise<void> {
  const home = resolve(dataDir, 'demo');
  const began = performance.now();
  const took = (): string => humanDuration(performance.now() - began);
  const closers: (() => Promise<unknown>)[] = [];
  const narrator = createNarrator(stage);
  const fact = (name: string, text: string): void => stage.write(`  ${stage.paint('green', '✓')} ${name.padEnd(10)}${text}`);
  try {
    stage.write(stage.paint('bold', 'purchase-watch: the whole product, on this machine, with nothing else installed'));
    stage.write('');
    const isFirst = !hasEmbedded(home);
    mkdirSync(home, { recursive: true });
    closers.push(claim(home));
    const logFile = join(home, 'demo.log');
    // The daemon adds its lines to the same file.
    writeFileSync(logFile, '');
    const log = createLogger({ level: 'info', destination: createWriteStream(logFile, { flags: 'a' }) });

    const opened = await openProduct({ home, isFirst, stage, narrator, log, logFile, closers });
    const { simulator, progress, slack, postgres, board, story, file, apiUrl, port } = opened;
    const elsewhere = port === 0 ? ` (port ${API_PORT} is taken)` : '';
    stage.write(
      stage.paint('bold', `  Open ${apiUrl} in a browser: the console, with switches to break and mend things${elsewhere}`),
    );
    stage.write('');
    fact(
      'database',
      `embedded Postgres in ${typed(home)}, ${isFirst ? 'made just now and kept for the next time' : 'kept from last time'}`,
    );
    fact('checkout', `simulated, for ${SITES.join(' and ')}; its controls: ${simulator.url}/control`);
    fact('shop', 'takes webhooks and checks their signatures');
    fact('Slack', 'a stand-in that shows what Slack would show');
    fact('daemon', `polls, decides, delivers; its API: ${apiUrl}`);
    const remarks = [
      `Ready after ${took()}; the daemon's log is in ${typed(logFile)}`,
      `Demo settings: ${SHORT_TIMES}`,
      `They are in ${typed(file)}`,
    ];
    for (const remark of remarks) stage.write(stage.paint('gray', `    ${remark}`));

    const { control } = simulator;
    const isWhole = await untilSwitched({ control, narrator, progress, messages: slack.messages, board, story, signal });
    if (isWhole) narrator.headline('6  What you saw', recap(progress, { messages: slack.messages(), took: took() }));
    if (once) return void stage.write('  Without --once the demo goes on, and shows what to open and try.');

    const databaseFile = join(home, 'database-url');
    writePrivately(databaseFile, postgres.url);
    const ids = purchasesToTry(control);
    for (const line of hints({ home, apiUrl, checkoutUrl: simulator.url, databaseFile, ids }))
      stage.write(line === '' ? '' : `  ${line}`);
    narrator.headline(
      `Calm traffic goes on: a customer every ${humanDuration(ARRIVALS)}, of whom a few give up. Ctrl-C ends the demo.`,
      [],
    );
    const customers = sendCustomers(control, GOOD_DAY, { every: ARRIVALS });
    closers.push(async () => customers.stop());
    control.setLoad(DRAWN_A_MINUTE);
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  } catch (error) {
    if (!signal.aborted) throw error;
    narrator.show('\nStopping …');
  } finally {
    narrator.stop();
    for (const close of closers.reverse()) await close();
    if (signal.aborted)
      stage.write(`Stopped. The data stays in ${typed(home)}, so the next start is quick; delete the folder to begin again.`);
  }
}

interface StoryUntilSwitched extends Omit<Parameters<typeof runStory>[0], 'onPage'> {
  readonly board: Board;
  readonly story: Story;
}

/** The story, until a person turns a switch. */
interface Story {
  isRunning: boolean;
  readonly ended: AbortController;
}

/** Runs the story until a person turns a switch; answers whether the story came to its end. Throws when the signal says so. */
async function untilSwitched({ board, story, signal, ...parts }: StoryUntilSwitched): Promise<boolean> {
  story.isRunning = true;
  try {
    const onPage = (isBroken: boolean): void => board.note('card', isBroken);
    await runStory({ ...parts, onPage, signal: AbortSignal.any([signal, story.ended.signal]) });
    return true;
  } catch (error) {
    if (signal.aborted || !story.ended.signal.aborted) throw error;
    parts.narrator.headline('A switch was turned in the browser: the story ends here.', []);
    return false;
  } finally {
    story.isRunning = false;
  }
}

interface ProductParts {
  readonly home: string;
  readonly isFirst: boolean;
  readonly stage: Stage;
  readonly narrator: Narrator;
  readonly log: Logger;
  readonly logFile: string;
  /** Gets what ends each part, in the order in which they begin. */
  readonly closers: (() => Promise<unknown>)[];
}

/** Starts everything, the daemon last. */
async function openProduct({ home, isFirst, stage, narrator, log, logFile, closers }: ProductParts) {
  const postgres = await startDatabase({ home, isFirst, stage });
  closers.push(() => postgres.stop());
  // One for registrations, one for the audit.
  const sql = connect(postgres.url, { max: 3, name: 'demo' });
  const auditor = createAuditor(sql);
  closers.push(() => sql.end({ timeout: 1 }));
  await retireEverything(sql);
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
  const slack = await openSlack(narrator);
  closers.push(slack.listener.close);

  const port = await freePortOrAny(API_PORT);
  const daemonPort = await freePort();
  const consolePort = port === 0 ? await freePort() : port;
  const apiUrl = `http://127.0.0.1:${consolePort}`;
  const { env, file } = demoSettings({
    home,
    checkoutUrl: simulator.url,
    shopUrl: `${shop.origin}/webhooks`,
    secret,
    slackUrl: `${slack.listener.origin}/services/demo`,
    consoleUrl: apiUrl,
  });
  const daemon = createDaemon(env, { port: daemonPort, logFile });
  closers.push(daemon.stop);
  const story: Story = { isRunning: false, ended: new AbortController() };
  const board = createBoard({
    switches: switchesOf({ control: simulator.control, daemon, shop }),
    readFacts: () => readFacts(daemon.url),
    since: (moment) => ({
      arrivals: progress.arrivals().filter(({ at }) => at >= moment),
      posts: slack.posts().filter(({ at }) => at >= moment),
    }),
    onPerson: () => story.ended.abort(),
  });
  closers.push(async () => board.close());
  const front = await openFront({
    port: consolePort,
    daemonUrl: () => daemon.url,
    board,
    side: () => sideParts({ board, shop, auditor, progress, posts: slack.posts }),
    isStory: () => story.isRunning,
  });
  closers.push(front.close);
  registerNewPurchases(simulator, sql, log);
  await daemon.start();
  return { simulator, progress, slack, postgres, board, story, file, apiUrl, port };
}

interface SideSources {
  readonly board: Board;
  readonly shop: Shop;
  readonly auditor: Auditor;
  readonly progress: Progress;
  posts(): readonly SlackPost[];
}

/** What stands beside the pages now. */
function sideParts({ board, shop, auditor, progress, posts }: SideSources): SideParts {
  return { facts: board.facts(), isShopOpen: shop.isOpen(), verdict: auditor.verdict(), progress, posts: posts() };
}

/** Starts the database and brings its schema up to date: what changes at the service is registered while the daemon is dead, too. */
async function startDatabase({
  home,
  isFirst,
  stage,
}: {
  home: string;
  isFirst: boolean;
  stage: Stage;
}): Promise<EmbeddedPostgres> {
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

async function startCheckout(): Promise<Simulator> {
  const port = await freePortOrAny(CHECKOUT_PORT);
  // A database that is kept remembers the ids of earlier runs.
  const simulator = createSimulator({ ...CREDENTIALS, port, timeScale: TIME_SCALE, seed: randomInt(2 ** 31) });
  await simulator.start();
  return simulator;
}

async function openSlack(narrator: Narrator) {
  let messages = 0;
  const posts: SlackPost[] = [];
  const listener = await listenForPosts(({ body }) => {
    const message = JSON.parse(body.toString()) as Partial<Parameters<typeof renderForTerminal>[0]>;
    // As Slack does: a message without text is not shown. `doctor` asks so whether the address lives.
    const { text, blocks } = message;
    if (text === undefined) return { status: 400, body: 'no_text' };
    messages += 1;
    posts.push({ at: Date.now(), text, blocks: blocks === undefined ? null : [...blocks] });
    if (posts.length > POSTS_KEPT) posts.shift();
    narrator.say('Slack gets a message:');
    narrator.show(renderForTerminal(blocks === undefined ? { text } : { text, blocks }));
    return { status: 200, body: 'ok' };
  });
  return { listener, messages: () => messages, posts: () => posts };
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

/** Two demos in one folder would stop each other's purchases. Answers what ends this one's claim. */
function claim(home: string): () => Promise<void> {
  const file = join(home, 'running');
  if (existsSync(file) && !isGone(readFileSync(file, 'utf8'))) {
    throw new AppError(
      'conflict',
      `a demo is running already in ${typed(home)}: stop it first, or set DATA_DIR to another folder`,
    );
  }
  writeFileSync(file, processIdentity());
  return async () => rmSync(file, { force: true });
}

function recap(progress: Progress, { messages, took }: { messages: number; took: string }): string[] {
  return [
    `In ${took}: ${progress.purchases.size} purchases watched, ${progress.changes()} changes seen and announced once each.`,
    `${progress.webhooks()} webhooks, every signature good; half of them came within ${progress.medianTook()} ms of the poll.`,
    `${progress.everStuck.size} customers were stuck, all of them moved on, and Slack got ${messages} messages.`,
  ];
}
