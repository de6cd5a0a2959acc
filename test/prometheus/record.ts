/**
 * Records the scenarios anew: `npm run alerts [scenario …]`. Each causes its fault with real parts, and what Prometheus would have
 * scraped becomes a test of promtool in deploy/prometheus/tests. Takes seven minutes; needs Debian's prometheus and postgresql-15.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { promtool } from './promtool.ts';
import { FOLDER, promtoolTest } from './recording.ts';
import { SCENARIOS } from './scenarios.ts';
import { record } from './world.ts';

/** Scenarios at a time: each is a Postgres and a daemon. */
const AT_ONCE = 3;

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(SCENARIOS);
const failed: string[] = [];

async function work(): Promise<void> {
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const path = join(FOLDER, 'tests', `${name}.yml`);
    try {
      const recording = await record(name, SCENARIOS[name]!);
      const test = promtoolTest(recording, SCENARIOS[name]!.rules);
      for (const { alert, command, printed } of recording.followed)
        process.stdout.write(`${name}, ${alert}:\n${command}${printed}\n`);
      writeFileSync(path, `# Recorded by npm run alerts ${name}; do not edit.\n${stringify(test, { lineWidth: 0 })}`);
      promtool('test', 'rules', path);
      process.stdout.write(`${name}: as it should be\n`);
    } catch (error) {
      failed.push(name);
      process.stdout.write(`${name}: ${(error as Error).message}\n`);
    }
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, work));
process.exitCode = failed.length === 0 ? 0 : 1;
