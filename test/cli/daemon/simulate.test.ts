import { expect, test } from 'vitest';
import { runCommand } from '../run.ts';

test.each([
  [['--site', 'shop'], 'Expected code:currency:country[:zone], such as my-shop:NOK:NOR:Europe/Oslo.'],
  [['--site', 'shop:kr:SWE'], 'currency: "kr" must be three capital letters, such as SEK'],
  [
    ['--site', 'shop:SEK:SWE:Mars'],
    'timeZone: "Mars" is not a time zone that this Node.js knows; write it like Europe/Stockholm',
  ],
  [
    ['--site', 's:SEK:SWE', '--site', 's:SEK:SWE'],
    'sites[1].code: "s" names a site a second time; give each site a code of its own',
  ],
  [['--client-id', ''], 'clientId: "" is empty; give one or more characters, or leave it out'],
  [['--time-scale', '0'], 'Expected a number greater than 0.'],
])('simulate refuses %j, and says what to give', async (argv, message) => {
  const { exitCode, stderr } = await runCommand(['simulate', '--port', '0', ...argv]);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
});
