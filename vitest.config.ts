import { defineConfig } from 'vitest/config';

const LONG = 'test/**/*.long.test.ts';
/** Tests without database, connections and timers. They leave nothing behind in their process, so that it loads the product once for all. */
const PURE = ['test/{config,domain,simulator}/**/*.test.ts'];

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    // Stories share two cores with daemons, databases and a browser; those of the browser are new. What fails twice, fails.
    retry: 1,
    // For what hangs. A story of a minute's work takes several where other processes have the processors.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What is waited for comes in milliseconds; a machine at its limit may take seconds.
    expect: { poll: { timeout: 20_000 } },
    // Most stories wait for a database, another process or a timer most of the time, so two cores carry more workers than two.
    maxWorkers: 4,
    projects: [
      { extends: true, test: { name: 'pure', include: PURE, exclude: [LONG], isolate: false } },
      { extends: true, test: { name: 'stories', include: ['test/**/*.test.ts'], exclude: [LONG, ...PURE] } },
      // What kills processes and waits for them, waits in real seconds, or goes through thousands of cases.
      { extends: true, test: { name: 'long', include: [LONG] } },
    ],
  },
});
