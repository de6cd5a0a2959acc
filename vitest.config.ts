import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const LONG = 'test/**/*.long.test.ts';
/** Packages that a test installs bring tests of their own. */
const OF_PACKAGES = '**/node_modules/**';
/** Tests without database, connections and timers. */
const PURE = ['test/{config,domain,simulator}/**/*.test.ts'];

/** Tests of minutes, most of which they wait, and those of half a minute among the others: the longest first, one that works beside one that waits. */
const LONGEST = [
  ...[
    ...['stories/lost-with-the-judge', 'docs/examples', 'console/full-world'],
    ...['stories/other-settings', 'stories/delivery-crash', 'demo/demo', 'stories/replicas', 'api/property', 'stories/failover'],
    ...['stories/rolling-upgrade', 'cli/run/long-running', 'stories/fuzz'],
    ...['stories/incident-once', 'console/kept', 'console/subscribers', 'console/purchases', 'stories/lossy-failover'],
  ].map((name) => `test/${name}.long.test.ts`),
  ...['stories/unreadable-purchase', 'stories/stuck-checkouts', 'stories/stuck', 'simulation/seeds', 'console/journey'].map(
    (name) => `test/${name}.test.ts`,
  ),
  'test/postgres/purchases/odd-ids.test.ts',
];

/** Long tests of what a change of the daemon seldom touches, or of more than a CI has time for: by hand, and before a release. */
const RELEASE = [
  ...['simulator/invented-namespaces', 'api/reference/linters', 'docs/book-pages', 'postgres/logical-copy'],
  ...['demo/terminal/screen', 'console/demo', 'stories/bulk-and-live', 'api/incidents/rehearsals'],
  // The embedded Postgres starts for every demo and example; these are its ways to fail. Two thousand connections, and sixty of the worst bodies at once, need a machine alone.
  ...['postgres/embedded/embedded', 'stories/hostile-connections', 'stories/large-bodies'],
  // Beside the failovers of two servers, one of which loses commits: the documented cluster, with and without lag, and a primary that comes back.
  ...['stories/patroni-lag', 'stories/patroni', 'stories/two-primaries'],
  // The storm steps the clock, too; a site joins seldom.
  ...['stories/stepping-clock', 'postgres/site-joins'],
  // Migrations change seldom, and the storm takes the database away again and again.
  ...['postgres/migrations/beside-writers', 'stories/hour-without-database', 'prometheus/alertmanager'],
].map((name) => `test/${name}.long.test.ts`);

/** Begins with the longest, so that none of them is left alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(name));
      return at === -1 ? LONGEST.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/shared-process.ts'],
    // For what hangs. A story of a minute's work takes several where other processes have the processors.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // What is waited for comes in milliseconds; a machine at its limit may take many seconds.
    expect: { poll: { timeout: 60_000 } },
    // Most stories wait for a database, another process or a timer most of the time, so two cores carry more workers than two. With six,
    // failovers and crowds of connections miss their times.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: 'pure', include: PURE, exclude: [LONG, OF_PACKAGES], isolate: false } },
      // A process loads the product once for all its files: to load it for each took a third of the processor time.
      {
        extends: true,
        test: { name: 'stories', include: ['test/**/*.test.ts'], exclude: [LONG, OF_PACKAGES, ...PURE], isolate: false },
      },
      // What kills processes and waits for them, waits in real seconds, goes through thousands of cases, or through every form of the console.
      { extends: true, test: { name: 'long', include: [LONG], exclude: [...RELEASE, OF_PACKAGES] } },
      { extends: true, test: { name: 'long-release', include: RELEASE } },
    ],
  },
});
