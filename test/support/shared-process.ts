/** Test files share processes, so that each process loads the product once: a file that leaves a process changed is found here. */
import { afterAll, expect } from 'vitest';

const global = globalThis as typeof globalThis & { timerOfProcess?: typeof setTimeout };
global.timerOfProcess ??= globalThis.setTimeout;
// After a file, vitest restores what the file spied on: what was faked at the time of a spy is back then.
if (globalThis.setTimeout !== global.timerOfProcess)
  throw new Error('an earlier test file of this process left a faked setTimeout');

const environment = { ...process.env };
afterAll(() => {
  expect(Object.entries(process.env).filter(([name, value]) => environment[name] !== value)).toEqual([]);
});
