/** `listen`: a developer's machine shows verified events. */

import { once } from 'node:events';
import { InvalidArgumentError } from 'commander';
import { shellWord } from '../../domain/values/command-line.ts';
import { AppError } from '../../domain/values/errors.ts';
import { listenForPosts, type PostListener, type Receive } from '../../receiver/posts.ts';
import { createReceiver, isYes, type Manners } from '../../receiver/receiver.ts';
import { untilStopSignal } from '../../runtime/process/signals.ts';
import { durationArgument, several, wholeArgument } from '../terminal/arguments.ts';
import { declare } from '../terminal/command.ts';
import type { CliContext } from '../terminal/context.ts';
import { findKeys, withoutLoneSecret } from './keys.ts';
import { type Answered, guessPauses, watchPauses } from './pauses.ts';
import { createScreen, type ListenScreen } from './screen.ts';
import { type Subscribed, subscribe, subscriberName } from './subscription.ts';
import { leadsBack } from './target.ts';

const PORT = 9_321;
const WITH_SUBSCRIBE = ['types', 'sites', 'states'] as const;

export const register = declare(
  {
    description:
      'Takes webhooks on this machine and shows those with a good signature, one line each; others are refused with 401. Standard output has events only. Without --secret, WEBHOOK_SECRET and WEBHOOK_SECRET_FILE a secret is made and shown.',
    options: [
      ['--port <port>', 'where it listens; 0 takes a free port', { read: wholeArgument(0, 65_535), usual: PORT }],
      ['--host <address>', 'on which address', { usual: '127.0.0.1' }],
      ['--url <url>', 'where the daemon finds it, if not there: a tunnel, say', { read: addressArgument }],
      [
        '--secret <whsec>',
        'what signs; may be given several times while one replaces another',
        { read: several, isSecret: () => true },
      ],
      ['--public-key <whpk>', 'accept signatures of this key (v1a), too; alone, accept no others', { read: several }],
      ['--subscribe [name]', 'be a subscriber of the daemon whose database the settings name, as long as this runs'],
      ['--types <list>', 'with --subscribe: only these types of events, separated by commas'],
      ['--sites <list>', 'with --subscribe: only these sites'],
      ['--states <list>', 'with --subscribe: only these states'],
      ['--json', 'write the body of each event as one line, and nothing else', { conflicts: ['full'] }],
      ['--full', 'show the body below each line'],
      [
        '--forward <url>',
        'pass events on, same bytes and headers, and answer what is answered there',
        { read: addressArgument, conflicts: ['answer'] },
      ],
      ['--answer <status>', 'what events are answered', { read: wholeArgument(200, 599), usual: 200 }],
      ['--delay <duration>', 'how long answers take', { read: durationArgument, usual: 0, shown: 'none' }],
      ['--fail <count>', 'answer the first tries of each event with 500', { read: wholeArgument(0, 1_000), usual: 0 }],
      ['--count <count>', 'end after this many events; 0: do not end', { read: wholeArgument(0, 1_000_000_000), usual: 0 }],
    ],
    examples: [
      ['listen', 'makes a secret and says what to set'],
      ['listen --subscribe --types purchase.stuck', 'nothing to set: a subscriber while it runs'],
      ['listen --json --count 10 | jq .data.to.name', 'for programs'],
      ['listen --forward localhost:3000/hooks', 'check first, then your own program'],
      ['listen --fail 1', 'see a retry; with traffic also a pause'],
    ],
  },
  async (context, options) => {
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
    const { answer: status, delay, fail, forward: forwardTo = null, count } = options;
    const receive = receiverOf({ keys, status, delay, fail, forwardTo }, { name, count, screen, answered, ending });

    void untilStopSignal(context.takeSignals).then(() => ending.abort());
    // A terminal that is closed must not leave a subscriber behind; it says so more than once.
    const hangUp = (): void => {
      screen.mute();
      ending.abort();
    };
    process.on('SIGHUP', hangUp);
    const { host, port } = options;
    const server = await listenForPosts(receive, { host, port, onRefused: screen.refused }).catch((cause: unknown) => {
      throw cannotListen(host, port, cause);
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
        await listenAs(own, { name, url, secret: keys.secrets[0]!, filters: options }, { screen, signal, showSecret });
      }
    } finally {
      await server.close();
      process.off('SIGHUP', hangUp);
    }
    screen.sum();
  },
);

interface Listening {
  readonly name: string | null;
  readonly count: number;
  readonly screen: ListenScreen;
  readonly answered: Answered;
  readonly ending: AbortController;
}

/** Answers requests, and ends everything after `count` of them. */
function receiverOf(
  manners: Pick<Manners, 'keys' | 'status' | 'delay' | 'fail' | 'forwardTo'>,
  { name, count, screen, answered, ending }: Listening,
): Receive {
  const { signal } = ending;
  const counted = new Set<string>();
  let isTested = name === null;
  const receive = createReceiver({
    ...manners,
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
      if (counted.size >= count) ending.abort();
    },
  });
  // Events after the end are not shown, so the daemon must send them again, for the next listener.
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
  { screen, signal, showSecret }: { screen: ListenScreen; signal: AbortSignal; showSecret: boolean },
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

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

/** The address for callers on this machine. */
function reachable({ origin }: PostListener): string {
  return origin.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

function cannotListen(host: string, port: number, cause: unknown): AppError {
  const { code } = cause as { code?: string };
  const elsewhere = 'this machine has no such address; see --host';
  const reasons = new Map([
    ['EADDRINUSE', `port ${port} is in use; choose another one with --port, or 0 for any that is free`],
    ['EACCES', `port ${port} needs more rights than this process has; choose one above 1023 with --port`],
    ['EADDRNOTAVAIL', elsewhere],
    ['ENOTFOUND', elsewhere],
  ]);
  const reason = reasons.get(String(code)) ?? String(code);
  return new AppError('conflict', `cannot listen on ${host}, port ${port}: ${reason}`, { cause });
}

/** An address; `3000` and `localhost:3000/hooks` are enough for one on this machine. */
function addressArgument(text: string): string {
  const whole = /^\d{1,5}$/.test(text) ? `http://127.0.0.1:${text}` : /^[a-z]+:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.parse(whole);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return url.href;
  throw new InvalidArgumentError('Expected an http or https address without credentials, such as http://localhost:3000/hooks.');
}
