/**
 * The simulator for tests of other programs: `import { startSimulator } from 'purchase-watch/simulator'`. What is exported here is
 * an interface and follows semantic versioning; nothing else is.
 */
import { randomInt } from 'node:crypto';
import type { RunningSimulator, SimulatorOptions } from './contract/simulator.ts';
import { createSimulator } from './simulator.ts';

export type {
  ClockView,
  Control,
  Counts,
  Fault,
  FaultSpec,
  ListFilter,
  PageSpec,
  Settings,
} from './contract/control.ts';
export { SimulatorError, type SimulatorErrorCode } from './contract/error.ts';
export type { CustomerAct, FaultKind, LifeName, Operation, PaymentMethodName } from './contract/names.ts';
export type { Negotiated, NegotiationSpec, PurchaseSpec, PurchaseView, ScriptStep, Site } from './contract/purchases.ts';
export type { Namespace, RunningSimulator as Simulator, SimulatorOptions } from './contract/simulator.ts';

/**
 * Starts a simulator in this process, on any free port unless one is given. Throws SimulatorError for options that cannot be used,
 * and the system's error when it cannot listen.
 */
export async function startSimulator(options: SimulatorOptions = {}): Promise<RunningSimulator> {
  const { auth = 'both', seed = randomInt(2 ** 31) } = options;
  // Drawn, because a shop's database that is kept remembers the ids of earlier runs.
  const simulator = createSimulator({ ...options, auth, seed });
  await simulator.start();
  return simulator;
}
