/** A finding of doctor fits the terminal, and is one line where no terminal is. */
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import type { CliContext } from '../../../src/cli/terminal/context.ts';
import { printFinding } from '../../../src/cli/terminal/finding.ts';

const FINDING = {
  ...{ about: 'settings', verdict: 'failed' as const, found: 'CHECKOUT_BASE_URL: is missing; expected an http or https address' },
  todo: 'mend the settings and run doctor again: nothing else was checked',
};

function linesOn(columns: number | null): string[] {
  let text = '';
  const write = (chunk: string, _encoding: string, done: () => void) => {
    text += chunk;
    done();
  };
  const stdout = Object.assign(new Writable({ write, decodeStrings: false }), columns === null ? {} : { columns });
  printFinding({ env: { NO_COLOR: '1' }, stdout, isTTY: columns !== null } as unknown as CliContext, FINDING);
  return text.trimEnd().split('\n');
}

test('breaks at words, below the word that it begins with', () => {
  const lines = linesOn(40);
  expect(lines.filter((line) => line.length > 40)).toEqual([]);
  expect(lines.length).toBeGreaterThan(4);
  expect(lines.slice(1).every((line) => line.startsWith(' '.repeat(9)))).toBe(true);
  expect(linesOn(null)).toEqual([`failed   settings: ${FINDING.found}`, `         → ${FINDING.todo}`]);
});
