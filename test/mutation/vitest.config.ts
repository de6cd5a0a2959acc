/** How `mutate.ts` runs the tests that judge changed code: all in one process, which judge.ts keeps. */
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: join(import.meta.dirname, '../..'),
  test: {
    exclude: ['test/**/*.long.test.ts'],
    runner: join(import.meta.dirname, 'judge.ts'),
    pool: 'forks',
    isolate: false,
    maxWorkers: 1,
    // Changed code is kept for no other run.
    fsModuleCache: false,
    reporters: [],
    // For tests without a change, slow ones among them, which do not judge. With a change, the judge waits for less.
    testTimeout: 60_000,
    expect: { poll: { timeout: 3_000 } },
    setupFiles: ['test/support/shared-process.ts'],
  },
});
