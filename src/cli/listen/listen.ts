/** `listen`: a developer's machine shows verified events. */

import { type Command, InvalidArgumentError, Option } from 'commander';
import { shellWord } from '../../domain/values/command-line.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Keys } from '../../receiver/genuine.ts';
import { listenForPosts, type PostListener, type Receive } from '../../receiver/posts.ts';
import { createReceiver, isYes } from '../../receiver/receiver.ts';
import { untilStopSignal } from '../../runtime/process/signals.ts';
import type { WishOptions } from '../subscribers/subscriber-options.ts';
import { durationArgument, examples, numberArgument } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { SecretOption } from '../terminal/secret-option.ts';
import { findKeys, type KeyOptions, withoutLoneSecret } from './keys.ts';
import { type Answered, guessPauses, watchPauses } from './pauses.ts';
import { createScreen, type Screen } from './screen.ts';
import { type Subscribed, subscribe, subscriberName } from './subscription.ts';
import { leadsBack } from './target.ts';

interface ListenOptions extends KeyOptions, Pick<WishOptions, 'types' | 'sites' | 'states'> {
  readonly port: number;
  readonly host: string;
  readonly url?: string;
  readonly json?: true;
  readonly full?: true;
  readonly answer: number;
  readonly delay: Milliseconds;
  readonly fail: number;
  readonly forward?: string;
  readonly count: number;
  readonly subscribe?: string | true;
}

const PORT = 9_321;
const WITH_SUBSCRIBE = ['types', 'sites', 'states'] as const;

async function listen(context: CliContext, options: ListenOptions): Promise<void> {
  const stray = WITH_SUBSCRIBE.find((name) => options[name] !== undefined);
  if (stray !== undefined && options.subscribe === undefined) {
    throw new AppError('invalid', `--${stray}: only with --subscribe; otherwise the daemon's settings say what is sent here`);
  }
  const keys = await findKeys(context, options, { needsSecret: options.subscribe !== undefined });
  const name = options.subscribe === undefined ? null : await subscriberName(options.subscribe);
  const screen = createScreen(context, options);
  const ending = new AbortController();
  const own = withoutLoneSecret(context);
  const { signal } = ending;
  const answered = name === null ? guessPauses(screen.say) : watchPauses(own, { name, say: screen.say, signal });
  const receive = await receiverOf(options, { keys, name, screen, answered, end: () => ending.abort(), signal });

  void untilStopSignal(context.takeSignals).then(() => ending.abort());
  // A terminal that is closed must not leave a subscriber behind; it says so more than once.
  const hangUp = (): void => {
    screen.mute();
    ending.abort();
  };
  process.on('SIGHUP', hangUp);
  const { host, port } = options;
  const server = await listenForPosts(receive, { host, port, onRefused: screen.refused }).catch((cause: unknown) => {
    throw cannotListen(options, cause);
  });
  try {
    // Only now is the port known in any case.
    if (options.forward !== undefined && leadsBack(options.forward, { host, port: server.port })) {
      throw new AppError(
        'invalid',
        `--forward: ${options.forward} is where this listens itself; give the address of your program`,
      );
    }
    const url = options.url ?? `${reachable(server)}/`;
    if (name === null) {
      screen.introduce({ url, made: keys.made });
      await aborted(ending.signal);
    } else {
      const showSecret = keys.made !== null && options.forward !== undefined;
      await listenAs(own, { name, url, secret: keys.secrets[0]!, wishes: options }, { screen, signal, showSecret });
    }
  } finally {
    await server.close();
    process.off('SIGHUP', hangUp);
  }
  screen.sum();
}

/** What answers requests, and ends everything after `--count` of them. */
async function receiverOf(
  options: ListenOptions,
  {
    keys,
    name,
    screen,
    answered,
    end,
    signal,
  }: { keys: Keys; name: string | null; screen: Screen; answered: Answered; end: () => void; signal: AbortSignal },
): Promise<Receive> {
  const { answer: status, delay, fail, forward: forwardTo = null, count } = options;
  const counted = new Set<string>();
  let isTested = name === null;
  const receive = createReceiver({
    keys,
    status,
    delay,
    fail,
    forwardTo,
    // The test that is made of a new subscriber shows that the way is open; it need not be printed.
    isOwn: ({ type, data }) => {
      const isOurs = !isTested && type === 'subscriber.test' && data.subscriber === name;
      isTested ||= isOurs;
      return isOurs;
    },
    onRefused: (detail, { headers }) => {
      const id = headers['webhook-id'];
      if (id !== undefined) answered(false);
      screen.refused(id === undefined ? detail : `${shownId(id)}: ${detail}`);
    },
    onEvent: (taken) => {
      if (signal.aborted) return;
      screen.event(taken);
      answered(isYes(taken.status));
      if (count === 0 || taken.failed) return;
      counted.add(taken.event.id);
      if (counted.size >= count) end();
    },
  });
  // What comes after the end is not shown, so it must come again, for the next listener.
  return async (posted) => (signal.aborted ? { status: 503, body: 'nobody listens any more\n' } : receive(posted));
}

/** An id that no key vouches for: other words than an id's could pass for a line of this screen. */
function shownId(id: string | string[]): string {
  return /^[\w.-]{1,64}$/.test(String(id)) ? String(id) : 'an id that no event has';
}

/** Listens as a subscriber of its own until a signal ends it. */
async function listenAs(
  context: CliContext,
  subscribed: Subscribed,
  { screen, signal, showSecret }: { screen: Screen; signal: AbortSignal; showSecret: boolean },
): Promise<void> {
  const subscription = await subscribe(context, subscribed);
  const { name, url, secret } = subscribed;
  try {
    for (const line of subscription.leftOver) screen.say(line);
    screen.say(`Listening as subscriber ${name}, at ${url}, until this ends. Ctrl-C ends it.`);
    if (showSecret) {
      screen.say(`Your program needs this secret, made for this run; with WEBHOOK_SECRET set here, too, it stays the same:`);
      screen.say(`  export WEBHOOK_SECRET=${shellWord(secret)}`);
    }
    const show = (text: string): void => {
      if (!signal.aborted) screen.say(text);
    };
    subscription.test(signal).then(show, (error: Error) => show(`no test could be made: ${error.message}`));
    await aborted(signal);
  } finally {
    await subscription.end();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** The address for callers on this machine. */
function reachable({ origin }: PostListener): string {
  return origin.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

function cannotListen({ host, port }: Pick<ListenOptions, 'host' | 'port'>, cause: unknown): AppError {
  const { code } = cause as { code?: string };
  const taken = `port ${port} is in use; choose another one with --port, or 0 for any that is free`;
  const why = {
    EADDRINUSE: taken,
    EACCES: `port ${port} needs more rights than this process has; choose one above 1023 with --port`,
  };
  const elsewhere = 'this machine has no such address; see --host';
  const reason = { ...why, EADDRNOTAVAIL: elsewhere, ENOTFOUND: elsewhere }[code ?? ''] ?? String(code);
  return new AppError('conflict', `cannot listen on ${host}, port ${port}: ${reason}`, { cause });
}

function wholeArgument(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = numberArgument(text);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`);
  };
}

/** An address; `3000` and `localhost:3000/hooks` are enough for one on this machine. */
function addressArgument(text: string): string {
  const whole = /^\d{1,5}$/.test(text) ? `http://127.0.0.1:${text}` : /^[a-z]+:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.parse(whole);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return url.href;
  throw new InvalidArgumentError('Expected an http or https address without credentials, such as http://localhost:3000/hooks.');
}

function several(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** Declares the command. */
export function register(command: Command, context: CliContext): void {
  command
    .description(
      'Takes webhooks on this machine and shows those with a good signature, one line each; others are refused with 401. Standard output has events only. Without --secret, WEBHOOK_SECRET and WEBHOOK_SECRET_FILE a secret is made and shown.',
    )
    .addOption(
      new Option('--port <port>', 'where it listens; 0 takes a free port').argParser(wholeArgument(0, 65_535)).default(PORT),
    )
    .option('--host <address>', 'on which address', '127.0.0.1')
    .addOption(new Option('--url <url>', 'where the daemon finds it, if not there: a tunnel, say').argParser(addressArgument))
    .addOption(
      new SecretOption('--secret <whsec>', 'what signs; may be given several times while one replaces another').argParser(
        several,
      ),
    )
    .option('--public-key <whpk>', 'accept signatures of this key (v1a), too; alone, accept no others', several)
    .option('--subscribe [name]', 'be a subscriber of the daemon whose database the settings name, as long as this runs')
    .option('--types <list>', 'with --subscribe: only these types of events, separated by commas')
    .option('--sites <list>', 'with --subscribe: only these sites')
    .option('--states <list>', 'with --subscribe: only these states')
    .addOption(new Option('--json', 'write the body of each event as one line, and nothing else').conflicts('full'))
    .option('--full', 'show the body below each line')
    .addOption(
      new Option('--forward <url>', 'pass events on, same bytes and headers, and answer what is answered there')
        .argParser(addressArgument)
        .conflicts('answer'),
    )
    .addOption(new Option('--answer <status>', 'what events are answered').argParser(wholeArgument(200, 599)).default(200))
    .addOption(new Option('--delay <duration>', 'how long answers take').argParser(durationArgument).default(0, 'none'))
    .addOption(
      new Option('--fail <count>', 'answer the first tries of each event with 500').argParser(wholeArgument(0, 1_000)).default(0),
    )
    .addOption(
      new Option('--count <count>', 'end after this many events; 0: do not end')
        .argParser(wholeArgument(0, 1_000_000_000))
        .default(0),
    )
    .action((options: ListenOptions) => listen(context, options));
  examples(command, [
    ['listen', 'makes a secret and says what to set'],
    ['listen --subscribe --types purchase.stuck', 'nothing to set: a subscriber while it runs'],
    ['listen --json --count 10 | jq .data.to.name', 'for programs'],
    ['listen --forward localhost:3000/hooks', 'check first, then your own program'],
    ['listen --fail 1', 'see a retry; with traffic also a pause'],
  ]);
}
