/** How a person or an orchestrator ends the process. */

/** The signals that end a process in order, with the exit code of one that does not wait: a closed terminal sends SIGHUP. */
export const EXIT_CODES: ReadonlyMap<string, number> = new Map([
  ['SIGHUP', 129],
  ['SIGINT', 130],
  ['SIGTERM', 143],
]);

/** Sets what these signals do, in place of what they did before. */
export type TakeSignals = (handle: (signal: NodeJS.Signals) => void) => void;

const addHandlers: TakeSignals = (handle) => {
  for (const signal of EXIT_CODES.keys()) process.on(signal, handle);
};

/**
 * Resolves with the first SIGINT, SIGTERM or SIGHUP. A second one ends the process at once, for people who cannot wait. With
 * `onHangUp` a SIGHUP calls that instead.
 */
export function untilStopSignal(
  takeSignals: TakeSignals = addHandlers,
  onHangUp: (() => void) | null = null,
): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isStopping = false;
    let isAsked = false;
    const stop = (signal: NodeJS.Signals): void => {
      if (signal === 'SIGHUP' && onHangUp !== null) {
        onHangUp();
        return;
      }
      // A terminal that is closed says so more than once, and its programs then end each other: no person asked twice.
      if (isAsked && signal !== 'SIGHUP') process.exit(EXIT_CODES.get(signal));
      isAsked ||= signal !== 'SIGHUP';
      isStopping = true;
      resolve(signal);
    };
    takeSignals(stop);
    // npx runs us below a shell, and a SIGTERM for npx ends both of them and not us.
    if (process.env.npm_command === undefined) return;
    const parent = process.ppid;
    const look = (): void => {
      if (!isStopping && process.ppid !== parent) stop('SIGTERM');
    };
    setInterval(look, 250).unref();
  });
}
