import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, readSurvivors } from './survivors.ts';

test('each change that no test notices is listed with a reason, and of a line that is there', () => {
  for (const [file, survivors] of Object.entries(readSurvivors())) {
    const lines = readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .map((line) => line.trim());
    for (const { line, mutant, reason } of survivors) {
      expect(lines, `${file}: take ${mutant} from test/mutation/survivors.json, its line is gone`).toContain(line);
      expect(reason.length, `${file}: say why no test is to notice ${mutant}`).toBeGreaterThan(10);
    }
  }
});
