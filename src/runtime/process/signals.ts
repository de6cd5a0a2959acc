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
    let told = false;
    const heard = (signal: NodeJS.Signals): void => {
      if (told) process.exit(signal === 'SIGINT' ? 130 : 143);
      told = true;
      resolve(signal);
    };
    takeSignals(heard);
    // npx runs us below a shell, and a SIGTERM for npx ends both of them and not us.
    if (process.env.npm_command === undefined) return;
    const parent = process.ppid;
    const look = (): void => {
      if (!told && process.ppid !== parent) heard('SIGTERM');
    };
    setInterval(look, 250).unref();
  });
}
