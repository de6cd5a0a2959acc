import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // IncidentMessages share two cores with daemons, databases and brokers, and some still count on their speed. What fails twice, fails.
    retry: 1,
    // What is waited for comes in milliseconds; a machine at its limit may take seconds.
    expect: { poll: { timeout: 20_000 } },
    // Two cores: more workers only take turns, and each holds connections to the same Postgres.
    maxWorkers: 2,
  },
});
