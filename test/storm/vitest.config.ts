/** The storm alone: it takes minutes, and the whole machine. */
import { defineConfig } from 'vitest/config';

/**
 * Two errors of the driver that reach nobody, in the sessions by which the storm itself breaks things: a server that still recovers
 * refuses them, and a write to a connection that was closed in the middle of a transaction (porsager/postgres issue 1208).
 * The daemons are processes of their own, whose logs may hold neither.
 */
const OF_DRIVER = /Consistent recovery state has not been yet reached|reading 'write'\)/;

export default defineConfig({
  test: {
    include: ['test/storm/*.storm.ts'],
    testTimeout: 24 * 3_600_000,
    hookTimeout: 60_000,
    disableConsoleIntercept: true,
    onUnhandledError: (error) => !OF_DRIVER.test(`${error.message} ${(error as { detail?: unknown }).detail ?? ''}`),
  },
});
