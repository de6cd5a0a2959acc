/** Lets the faults of a forecast strike, each at its time, and notes when they struck. */
import { type Mend, strike } from './faults.ts';
import { type FaultKind, type PlannedFault, resourceOf } from './forecast.ts';
import type { World } from './world.ts';

/** A fault that struck, on this machine's clock; epoch milliseconds. */
export interface Struck {
  readonly kind: FaultKind;
  readonly from: number;
  readonly to: number;
}

/** Lets one fault strike after the other, and mends each when its time is over. Answers which struck, and when. */
export async function rage(world: World, planned: readonly PlannedFault[]): Promise<Struck[]> {
  const began = performance.now();
  const busy = new Map<string, Promise<void>>();
  const struck: Struck[] = [];
  const running: Promise<void>[] = [];
  for (const fault of planned) {
    await until(began + fault.at);
    const resource = resourceOf(fault);
    const over = (busy.get(resource) ?? Promise.resolve()).then(async () => {
      const left = began + fault.at + fault.length - performance.now();
      // The one before it took its place for so long that its own time is over.
      if (left < 1_000) return;
      const from = Date.now();
      console.info(`${seconds(performance.now() - began)} ${fault.kind}, replica ${fault.replica + 1}, for ${seconds(left)}`);
      const mend: Mend = await strike(world, fault);
      await until(began + fault.at + fault.length);
      await mend();
      struck.push({ kind: fault.kind, from, to: Date.now() });
      // The shop sees in its own books what the database lost, as the message about the loss asks for.
      if (fault.kind === 'lossy failover') await world.shop.registerAgain(from);
    });
    busy.set(resource, over);
    running.push(over);
  }
  await Promise.all(running);
  return struck;
}

function until(moment: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(moment - performance.now(), 0)));
}

export function seconds(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(1)} s`;
}
