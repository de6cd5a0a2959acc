/** The fuzz run alone: it takes the whole machine for a long while. A small part of it is in the suite (test/stories/fuzz.long.test.ts). */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/fuzz/*.fuzz.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 24 * 3_600_000,
    hookTimeout: 60_000,
    disableConsoleIntercept: true,
  },
});
