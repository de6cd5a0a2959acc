import { defineConfig } from 'vitest/config';

const LONG = 'test/**/*.long.test.ts';
/**
 * Tests of one part each. They leave nothing behind in their process, so that it loads the product once for many files.
 * Not the brokers': those count the sockets of their process.
 */
const PARTS = [
  'test/{actions,api,checkout,cli,client,config,domain,postgres,runtime,simulator}/**/*.test.ts',
  'test/channels/*.test.ts',
  'test/channels/!(brokers)/**/*.test.ts',
];

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 120_000,
    // Stories share two cores with daemons, databases and brokers, and some still count on their speed. What fails twice, fails.
    retry: 1,
    // What is waited for comes in milliseconds; a machine at its limit may take seconds.
    expect: { poll: { timeout: 20_000 } },
    // Most stories wait for a database, another process or a timer most of the time, so two cores carry more workers than two.
    maxWorkers: 4,
    projects: [
      { extends: true, test: { name: 'parts', include: PARTS, exclude: [LONG], isolate: false } },
      { extends: true, test: { name: 'stories', include: ['test/**/*.test.ts'], exclude: [LONG, ...PARTS] } },
      // What kills processes and waits for them, waits in real seconds, or goes through thousands of cases.
      { extends: true, test: { name: 'long', include: [LONG] } },
    ],
  },
});
