/** The demo: the whole product on this machine, around a checkout service that is simulated. */
import { createWriteStream, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { humanDuration } from '../domain/values/duration.ts';
import { AppError } from '../domain/values/errors.ts';
import { hasEmbedded } from '../postgres/embedded/present.ts';
import { createLogger } from '../runtime/logger.ts';
import { isGone, processIdentity } from '../runtime/process/process-identity.ts';
import { monotonic } from '../runtime/time.ts';
import type { Board } from './browser/board.ts';
import type { Progress } from './cast/progress.ts';
import { SHORT_TIMES, writePrivately } from './cast/settings.ts';
import { GOOD_DAY, sendCustomers } from './cast/traffic.ts';
import { API_PORT, openProduct, type Story } from './product.ts';
import { hints, purchasesToTry, typed } from './terminal/hints.ts';
import { createNarrator } from './terminal/narrator.ts';
import { createScreen } from './terminal/screen.ts';
import type { Stage } from './terminal/stage.ts';
import { createStopwatch } from './terminal/stopwatch.ts';
import { READING, rest, runStory } from './terminal/story.ts';

export interface DemoOptions {
  /** DATA_DIR; the demo has a folder of its own in it, so that it never touches what a real daemon keeps there. */
  readonly dataDir: string;
  /** End after the story. */
  readonly once: boolean;
  readonly stage: Stage;
  /** Ends the demo, whatever it is doing. */
  readonly signal: AbortSignal;
}

/** Customers after the story: one comes every so many milliseconds, and a few a minute live as they happen to. */
const ARRIVALS = 1_500;
const DRAWN_A_MINUTE = 6;

/** Runs until the signal, or with `once` until the end of the story. */
export async function runDemo({ dataDir, once, stage, signal }: DemoOptions): Promise<void> {
  const home = resolve(dataDir, 'demo');
  const began = monotonic();
  const took = (): string => humanDuration(monotonic() - began);
  const closers: (() => Promise<unknown>)[] = [];
  const watch = createStopwatch();
  const screen = stage.terminal && createScreen(stage.terminal, { stage, watch });
  const narrator = screen ?? createNarrator(stage);
  /** Lines that stay on the terminal after the screen. */
  let last: readonly string[] = [];
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
    const { simulator, progress, slack, postgres, board, story, file, apiUrl, link, port, seeded } = opened;
    stage.write(stage.paint('bold', `  Open ${link} in a browser`));
    stage.write('  Switches there break and mend things. The link signs one browser in, once.');
    if (port === 0)
      stage.write(stage.paint('gray', `  Another process listens on port ${API_PORT}, so the console has another port.`));
    stage.write('');
    fact('database', `embedded Postgres in ${typed(home)}, ${isFirst ? 'made just now' : 'kept from last time'}`);
    fact('history', seeded);
    fact('checkout', `simulated; its controls: ${simulator.url}/control`);
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
    const { messages } = slack;
    screen?.open({ address: apiUrl, link, progress, messages, board });
    const isWhole = await untilSwitched({ control, narrator, progress, watch, messages, board, story, signal });
    if (isWhole) {
      const lines = recap(progress, { messages: messages(), took: took() });
      narrator.headline('6  What you saw', lines);
      if (screen !== null) last = ['', ...lines];
    }
    if (once) {
      if (screen !== null) await rest(READING, { watch, signal });
      last = [...last, 'Without --once the demo goes on, and shows what to open and try.'];
      return;
    }

    const databaseFile = join(home, 'database-url');
    writePrivately(databaseFile, postgres.url);
    const ids = purchasesToTry(control);
    // A person who turned a switch watches what follows.
    narrator.commands(hints({ home, file, apiUrl, checkoutUrl: simulator.url, databaseFile, ids }), isWhole);
    narrator.say(
      `Calm traffic goes on: a customer every ${humanDuration(ARRIVALS)}, of whom a few give up.${screen === null ? ' Ctrl-C ends the demo.' : ''}`,
    );
    const customers = sendCustomers(control, GOOD_DAY, { every: ARRIVALS });
    closers.push(async () => customers.stop());
    control.setLoad(DRAWN_A_MINUTE);
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    narrator.stop();
    for (const line of last) stage.write(`  ${line}`.trimEnd());
    if (signal.aborted) stage.write('\nStopping …');
    for (const close of closers.reverse()) await close();
    if (signal.aborted) stage.write(`Stopped. The data stays in ${typed(home)} and makes the next start quick.`);
  }
}

interface StoryUntilSwitched extends Omit<Parameters<typeof runStory>[0], 'onPage'> {
  readonly board: Board;
  readonly story: Story;
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
    parts.narrator.headline('A switch was turned: the story ends here.', []);
    return false;
  } finally {
    story.isRunning = false;
  }
}

/** Claims the folder: two demos in one would stop each other's purchases. Answers the function that ends the claim. */
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
    `In ${took}: ${progress.purchases.size} purchases watched, ${progress.changes} changes announced, each once.`,
    `${progress.webhooks} webhooks: changes, who got stuck, and who got on again.`,
    `Every signature was good; half of them came within ${progress.medianTook()} ms of the poll.`,
    `${progress.everStuck.size} customers were stuck, and all of them moved on.`,
    `Slack got ${messages} messages: one when a trouble begins, and one when it is over.`,
  ];
}
