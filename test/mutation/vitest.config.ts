/** The tests that judge changed code: those of one folder, which `mutate.ts` names. */
import { defineConfig } from 'vitest/config';

const tests = process.env.MUTATION_TESTS ?? 'test/domain';

export default defineConfig({
  test: {
    include: [`${tests}/**/*.test.ts`],
    exclude: ['test/**/*.long.test.ts'],
    isolate: false,
    ...(tests.startsWith('test/daemon') && {
      globalSetup: ['test/support/global-setup.ts'],
      setupFiles: ['test/support/shared-process.ts'],
    }),
  },
});
