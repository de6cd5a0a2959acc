/** The storm alone: it takes minutes, and the whole machine. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/storm/*.storm.ts'],
    testTimeout: 24 * 3_600_000,
    hookTimeout: 60_000,
    disableConsoleIntercept: true,
    // Faults strike at moments of real time, so two storms of one seed are not the same to the millisecond. What fails twice, fails.
    retry: 1,
  },
});
