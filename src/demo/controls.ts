/** What people can break and mend in the demo, by the name of its button. */
import type { Control } from '../simulator/control/control.ts';
import type { DaemonProcess } from './daemon.ts';
import { BROKEN_SITE, BROKEN_STATE } from './settings.ts';
import type { Shop } from './shop.ts';

/** A button: pressed while what it does holds, and then it ends that. */
export interface Switch {
  readonly group: string;
  readonly word: string;
  /** On the button while it is pressed. */
  readonly wordOn: string;
  isOn(): boolean;
  turn(on: boolean): void | Promise<void>;
}

const SLOW = 3_000;
/** For 429 answers. */
const RETRY_AFTER = 5;

/** The switches by name. */
export function switchesOf({
  control,
  daemon,
  shop,
}: {
  control: Control;
  daemon: DaemonProcess;
  shop: Shop;
}): ReadonlyMap<string, Switch> {
  const page = (word: string, state: string): Switch => {
    const spec = { site: BROKEN_SITE, states: [state] };
    return {
      group: BROKEN_SITE,
      word: `Break the ${word} page`,
      wordOn: `The ${word} page is broken: mend it`,
      isOn: () => control.settings().brokenPages.some((each) => each.site === BROKEN_SITE && each.state === state),
      turn: (on) => (on ? control.breakPage(spec) : control.fixPage(spec)),
    };
  };
  const fault = (kind: '429-seconds' | '503', word: string, wordOn: string): Switch => ({
    ...{ group: 'Service', word, wordOn },
    isOn: () => control.settings().faults.some((each) => each.kind === kind),
    turn: (on) => {
      control.clearFaults();
      if (on) control.fail({ kind, for: '1h', ...(kind === '429-seconds' && { retryAfter: RETRY_AFTER }) });
    },
  });
  return new Map<string, Switch>([
    ['card', page('card', BROKEN_STATE)],
    ['identity', page('identity', 'WaitingForIdentityProvider')],
    [
      'slow',
      {
        ...{ group: 'Service', word: 'Make it slow', wordOn: 'Slow: make it quick' },
        isOn: () => control.settings().latency > 0,
        turn: (on) => control.setLatency(on ? SLOW : 0),
      },
    ],
    ['throttle', fault('429-seconds', 'Let it throttle', 'Throttles: stop that')],
    ['refuse', fault('503', 'Let it refuse', 'Refuses: stop that')],
    [
      'daemon',
      {
        ...{ group: 'Processes', word: 'Kill the daemon', wordOn: 'The daemon is dead: start it' },
        isOn: () => !daemon.isRunning(),
        turn: (on) => (on ? daemon.kill() : daemon.start()),
      },
    ],
    [
      'receiver',
      {
        ...{ group: 'Processes', word: 'Kill the receiver', wordOn: 'The receiver is dead: revive it' },
        isOn: () => !shop.isOpen(),
        turn: (on) => (on ? shop.close() : shop.open()),
      },
    ],
  ]);
}
