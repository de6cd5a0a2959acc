/** The storm alone: it takes minutes, and the whole machine. */
import { defineConfig } from 'vitest/config';

/** An error of the driver that reaches nobody, in the sessions by which the storm itself breaks things: a server that still recovers refuses them. */
const OF_DRIVER = /Consistent recovery state has not been yet reached/;

export default defineConfig({
  test: {
    include: ['test/storm/*.storm.ts'],
    testTimeout: 24 * 3_600_000,
    hookTimeout: 60_000,
    disableConsoleIntercept: true,
    onUnhandledError: (error) => !OF_DRIVER.test(`${error.message} ${(error as { detail?: unknown }).detail ?? ''}`),
  },
});
