/** Narrates on a screen that is drawn in place, and obeys its keys. */
import type { ShownMessage } from '../../channels/slack/terminal.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { startInterval } from '../../runtime/time.ts';
import type { Board } from '../browser/board.ts';
import type { Progress } from '../cast/progress.ts';
import { openDisplay } from './display.ts';
import { type Chapter, draw, type Scene, type Traffic } from './draw.ts';
import { LINES_A_SECOND, type Narrator } from './narrator.ts';
import { createPace } from './pace.ts';
import type { Stage, StageTerminal } from './stage.ts';
import type { Stopwatch } from './stopwatch.ts';

/** Facts that the screen shows besides the narration. */
export interface Live {
  readonly address: string;
  /** The address with a token that signs a browser in, once. */
  readonly link: string;
  readonly progress: Progress;
  /** Slack messages so far. */
  messages(): number;
  readonly board: Board;
}

/** So long each of Slack's messages stays. */
const CARD_HELD: Milliseconds = 6_000;
const REDRAW: Milliseconds = 200;
/** More lines than a terminal has. */
const TRAFFIC_KEPT = 300;
/** The switches that have keys: what the head calls them while they are on. */
const SWITCHES: ReadonlyMap<string, string> = new Map([
  ['card', 'card page'],
  ['daemon', 'daemon'],
  ['receiver', 'receiver'],
]);

interface Kept {
  chapter: Chapter;
  traffic: Traffic[];
  /** Slack's messages that were not shown long enough; the first is shown. */
  cards: { readonly message: ShownMessage; since: Milliseconds | null }[];
  commands: readonly string[];
  areCommandsShown: boolean;
}

/** A screen on this terminal; nothing is drawn before `open`, which shows what was narrated before, too. */
export function createScreen(
  terminal: StageTerminal,
  { stage, watch }: { stage: Stage; watch: Stopwatch },
): Narrator & { open(live: Live): void } {
  const kept: Kept = { chapter: { title: '', text: '' }, traffic: [], cards: [], commands: [], areCommandsShown: false };
  const show = (entry: Traffic): void => {
    kept.traffic.push(entry);
    if (kept.traffic.length > TRAFFIC_KEPT) kept.traffic.shift();
  };
  const pace = createPace<Traffic>({
    most: LINES_A_SECOND,
    show,
    more: (count) => ({ text: `  + ${count} more webhooks`, style: 'gray' }),
  });
  const say = (text: string): void => {
    pace.flush();
    show({ text, style: 'cyan' });
  };
  let close = (): void => undefined;
  return {
    headline: (title, text) => {
      kept.chapter = { title, text: text.join(' ') };
    },
    say,
    arrival: pace.line,
    slack: (message) => void kept.cards.push({ message, since: null }),
    commands: (lines, isShown) => {
      kept.commands = lines;
      kept.areCommandsShown = isShown;
    },
    open: (live) => {
      close = drawOften(terminal, { stage, watch, live, kept, say });
    },
    stop: () => {
      pace.stop();
      close();
    },
  };
}

interface DrawnParts {
  readonly stage: Stage;
  readonly watch: Stopwatch;
  readonly live: Live;
  readonly kept: Kept;
  say(text: string): void;
}

/** Draws until the function that it answers is called. */
function drawOften(terminal: StageTerminal, { stage, watch, live, kept, say }: DrawnParts): () => void {
  const sceneNow = (): Scene => sceneOf(kept, live, { watch, hasKeys: terminal.input !== null });
  // While the demo is paused, what was shown stays, so that it can be read and copied.
  let frozen: Scene | null = null;
  const pause = (): void => {
    watch.toggle();
    frozen = watch.isPaused() ? sceneNow() : null;
  };
  const onKey = (key: string): void => {
    if (key === 'space' || frozen !== null) pause();
    if (key === 't') kept.areCommandsShown = !kept.areCommandsShown;
    const turn = turnOf(key, live.board);
    if (key === 'f' && !live.board.switches.get('card')!.isOn()) say('The card page works: b breaks it.');
    const turned = turn === null ? Promise.resolve() : live.board.turn(...turn);
    turned.then(redraw, (error: unknown) => say(error instanceof Error ? error.message : String(error)));
  };
  const display = openDisplay(terminal, { onKey, onResize: () => redraw() });
  const redraw = (): void => display.draw(draw(frozen ?? sceneNow(), display.size(), stage.paint));
  const timer = startInterval(redraw, REDRAW);
  return () => {
    clearInterval(timer);
    display.close();
  };
}

/** The switch that a key turns, and to what. */
function turnOf(key: string, { switches }: Board): readonly [name: string, isOn: boolean] | null {
  const other = (name: string) => [name, !switches.get(name)!.isOn()] as const;
  switch (key) {
    case 'b':
      return ['card', true];
    case 'f':
      return ['card', false];
    case 'k':
      return other('daemon');
    case 'r':
      return other('receiver');
    default:
      return null;
  }
}

function sceneOf(
  kept: Kept,
  { address, link, progress, messages, board }: Live,
  { watch, hasKeys }: { watch: Stopwatch; hasKeys: boolean },
): Scene {
  const isOn = (name: string): boolean => board.switches.get(name)!.isOn();
  const isPaused = watch.isPaused();
  const broken = [...SWITCHES].filter(([name]) => isOn(name)).map(([, word]) => word);
  const keys = [
    ['space', isPaused ? 'go on' : 'pause'],
    ['b/f', 'break/mend page'],
    ['k', isOn('daemon') ? 'start daemon' : 'kill daemon'],
    ['r', isOn('receiver') ? 'open receiver' : 'kill receiver'],
    ...(kept.commands.length === 0 ? [] : [['t', kept.areCommandsShown ? 'hide' : 'try'] as const]),
    ['q', 'end'],
  ] as const;
  const commands = kept.areCommandsShown ? ({ kind: 'commands', lines: kept.commands } as const) : null;
  const message = cardNow(kept, watch.elapsed());
  return {
    // A line has no room for both the link and what is wrong.
    address: broken.length === 0 && !isPaused ? link : address,
    elapsed: watch.elapsed(),
    isPaused,
    counts: {
      purchases: progress.purchases.size,
      stuck: progress.stuckNow.size,
      webhooks: progress.webhooks,
      median: progress.medianTook(),
      messages: messages(),
    },
    broken,
    chapter: turnedChapter(board) ?? kept.chapter,
    panel: message === null ? commands : { kind: 'slack', message },
    traffic: [...kept.traffic],
    keys: hasKeys ? keys : [['Ctrl-C', 'ends the demo']],
  };
}

/** Slack's message that is shown now: each for its time, one after the other. */
function cardNow({ cards }: Kept, elapsed: Milliseconds): ShownMessage | null {
  const [first] = cards;
  if (first === undefined) return null;
  first.since ??= elapsed;
  if (elapsed - first.since < CARD_HELD) return first.message;
  cards.shift();
  return cardNow({ cards } as Kept, elapsed);
}

/** The switch that a person turned last, and which of the steps that follow have happened; null before a person turns one. */
function turnedChapter(board: Board): Chapter | null {
  const turn = board.turns().find(({ by }) => by === 'person');
  if (turn === undefined) return null;
  const words = turn.isOn ? turn.toggle.says : turn.toggle.saysAfter;
  const [title = '', text = ''] = words.split(/: (.*)/);
  const steps = turn.steps.map((step) => ({ words: step.words, isDone: step.happenedAt !== null }));
  return { title: capitalised(title), text: capitalised(text), steps };
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
