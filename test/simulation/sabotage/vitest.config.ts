/** Tests of the suite without a guard, whose name is in the variable SABOTAGE. */
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import suite from '../../../vitest.config.ts';
import { without } from './guard.ts';
import { GUARDS } from './guards.ts';

const root = join(import.meta.dirname, '../../..');
const guard = GUARDS.find(({ name }) => name === process.env.SABOTAGE)!;

export default defineConfig({
  ...suite,
  root,
  // A module without its guard is kept for no other run.
  test: { ...suite.test, fsModuleCache: false },
  plugins: [
    {
      name: 'sabotage',
      enforce: 'pre',
      transform: (source, path) => (path.split('?')[0] === join(root, guard.file) ? without(guard, source) : null),
    },
  ],
});
