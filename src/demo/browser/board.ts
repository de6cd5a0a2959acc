/** The state of the switches: which were turned, when and by whom, and which of the steps that follow have happened. */
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { monotonic, startInterval, wall } from '../../runtime/time.ts';
import { type DaemonFacts, type Seen, SILENT } from './facts.ts';
import type { Step, Switch } from './switches.ts';

/** Who turned a switch: the person at the browser, or the story in the terminal. */
type Actor = 'person' | 'story';

export interface FollowedStep {
  readonly words: string;
  readonly expectedAt: Instant;
  /** Null: not yet. */
  readonly happenedAt: Instant | null;
}

export interface Turn {
  readonly name: string;
  readonly toggle: Switch;
  readonly isOn: boolean;
  readonly at: Instant;
  readonly by: Actor;
  readonly steps: readonly FollowedStep[];
}

export type Board = ReturnType<typeof createBoard>;

interface BoardParts {
  readonly switches: ReadonlyMap<string, Switch>;
  /** Asks the daemon. */
  readFacts(): Promise<DaemonFacts>;
  /** Webhooks and messages to Slack since a moment. */
  since(at: Instant): Pick<Seen, 'arrivals' | 'posts'>;
  /** Called when a person turns a switch. */
  onPerson(): void;
}

const LOOK_EVERY: Milliseconds = 1_000;
/** So long a switch that was released stays in the line, beside all steps that have not happened. */
const REMEMBERED: Milliseconds = 60_000;
/** Nothing that follows takes as long as this. */
const LONGEST: Milliseconds = 5 * 60_000;

interface Kept extends Omit<Turn, 'steps'> {
  readonly began: number;
  readonly steps: (Step & { happenedAt: Instant | null })[];
}

/** Looks at the daemon each second. */
export function createBoard({ switches, readFacts, since, onPerson }: BoardParts) {
  const kept = new Map<string, Kept>();
  let facts = SILENT;
  let isLooking = false;
  const seenSince = (at: Instant): Seen => ({ ...facts, ...since(at) });
  const begin = (name: string, isOn: boolean, by: Actor): void => {
    const toggle = switches.get(name)!;
    const at = wall();
    const steps = toggle.steps(isOn, seenSince(at)).map((step) => ({ ...step, happenedAt: null }));
    kept.set(name, { name, toggle, isOn, at, by, steps, began: monotonic() });
  };
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    facts = await readFacts();
    isLooking = false;
    for (const { at, steps } of kept.values()) {
      const seen = seenSince(at);
      // A step is only of interest once those before it have happened.
      for (const step of steps) {
        if (step.happenedAt !== null) continue;
        if (!step.happened(seen)) break;
        step.happenedAt = wall();
      }
    }
  };
  const timer = startInterval(look, LOOK_EVERY);
  return {
    switches,
    facts: (): DaemonFacts => facts,
    /** Notes that the story turned a switch. */
    note: (name: string, isOn: boolean): void => begin(name, isOn, 'story'),
    /** Turns a switch for a person; one of no such name does nothing. */
    turn: async (name: string, isOn: boolean): Promise<void> => {
      const toggle = switches.get(name);
      if (toggle === undefined || toggle.isOn() === isOn) return;
      onPerson();
      begin(name, isOn, 'person');
      await toggle.turn(isOn);
    },
    /** The last turn of each switch that is on, and of those that were released a little while ago; the newest first. */
    turns: (): readonly Turn[] =>
      [...kept.values()]
        .filter((turn) => turn.toggle.isOn() || isFresh(turn))
        .map((turn) => ({
          ...turn,
          steps: turn.steps.map(({ words, after, happenedAt }) => ({ words, happenedAt, expectedAt: turn.at + after })),
        }))
        .sort((a, b) => b.at - a.at),
    close: (): void => clearInterval(timer),
  };
}

/** Whether a switch that was released still says what follows. */
function isFresh({ isOn, began, steps }: Kept): boolean {
  const age = monotonic() - began;
  return !isOn && age < LONGEST && (age < REMEMBERED || steps.some(({ happenedAt }) => happenedAt === null));
}
