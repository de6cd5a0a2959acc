/** The tests that judge changed code: those of one folder, which `mutate.ts` names. */
import { defineConfig } from 'vitest/config';

const tests = process.env.MUTATION_TESTS ?? 'test/domain';

export default defineConfig({
  test: {
    include: [`${tests}/**/*.test.ts`],
    exclude: ['test/**/*.long.test.ts'],
    isolate: false,
    // Beside other work on the machine, with every line of the code instrumented.
    testTimeout: 60_000,
    ...(tests.startsWith('test/daemon') && {
      globalSetup: ['test/support/global-setup.ts'],
      setupFiles: ['test/support/shared-process.ts'],
    }),
  },
});
