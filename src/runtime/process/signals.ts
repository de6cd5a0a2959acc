/** How a person or an orchestrator ends the process. */

/** Sets what SIGINT and SIGTERM do, in place of what they did before. */
export type TakeSignals = (handle: (signal: NodeJS.Signals) => void) => void;

const addHandlers: TakeSignals = (handle) => {
  process.on('SIGINT', handle);
  process.on('SIGTERM', handle);
};

/** Resolves with the first SIGINT or SIGTERM. A second one ends the process at once, for people who cannot wait. */
export function untilStopSignal(takeSignals: TakeSignals = addHandlers): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isStopping = false;
    const stop = (signal: NodeJS.Signals): void => {
      if (isStopping) process.exit(signal === 'SIGINT' ? 130 : 143);
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
