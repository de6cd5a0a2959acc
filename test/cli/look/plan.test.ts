import { describe, expect, test } from 'vitest';
import { SITE, temporaryFile } from '../../config/files.ts';
import { addExits } from '../../support/dwell-days.ts';
import { databaseOf } from '../command.ts';
import { runCommand } from '../run.ts';

describe('plan', () => {
  test('shows every state, the waiting ones first', async () => {
    const { exitCode, stdout } = await runCommand(['plan']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^waiting for the card provider \(WaitingForCardPayments\)\n {2}polls {3}after 5 s, 10 s, /m);
    expect(stdout).toMatch(/^ {2}then {4}every 5 min, once it has been there for 50 min/m);
    expect(stdout).toMatch(/^ {2}stuck {3}after 15 min: a poll is made at that moment/m);
    expect(stdout.indexOf('ElectronicIdValidationRequired')).toBeLessThan(stdout.indexOf('\n  final  no polls'));
  });

  test('shows one state, by name or number, also one that nobody knows', async () => {
    expect((await runCommand(['plan', 'WaitingForCardPayments'])).stdout).toBe((await runCommand(['plan', '6'])).stdout);
    expect((await runCommand(['plan', '17'])).stdout).toContain('\nstate 17, which is not in the specification\n');
    expect(await runCommand(['plan', 'Waiting'])).toMatchObject({ exitCode: 2, stdout: '' });
    expect((await runCommand(['plan', 'WaitingForCardPayment'])).stderr).toContain('did you mean WaitingForCardPayments?');
  });

  test('shows rechecks of final states', async () => {
    const PURCHASE_WATCH_CONFIG = temporaryFile('states: { Completed: { recheck: [1h, 24h] } }');
    expect((await runCommand(['plan', 'Completed'], { PURCHASE_WATCH_CONFIG })).stdout).toContain(
      '  final  polled again after 1 h, 1 d',
    );
  });

  test('says of a limit that it is learned', async () => {
    const PURCHASE_WATCH_CONFIG = temporaryFile('states: { WaitingForCardPayments: { stuckAfter: auto } }');
    const { stdout } = await runCommand(['plan', 'WaitingForCardPayments'], { PURCHASE_WATCH_CONFIG });
    expect(stdout).toMatch(/^ {2}stuck {3}after 15 min: a poll .*\n {10}That limit is learned for each site/m);
    const { states } = JSON.parse((await runCommand(['plan', '--json'], { PURCHASE_WATCH_CONFIG })).stdout);
    const learned = states.filter(({ stuckAfterIsAuto }: Record<string, boolean>) => stuckAfterIsAuto);
    expect(learned).toMatchObject([{ state: { value: 6 }, stuckAfterMs: 900_000, learned: null }]);
  });

  test('shows what is learned at each site, where there is a database', async () => {
    const database = await databaseOf('default');
    await addExits(database.sql, Date.now(), [{ site: 'default', state: 6, exits: 60, dwell: 120_000 }]);
    const PURCHASE_WATCH_CONFIG = temporaryFile('states: { WaitingForCardPayments: { stuckAfter: auto } }');
    const env = { ...SITE, PURCHASE_WATCH_CONFIG, DATABASE_URL: database.url };
    const { stdout } = await runCommand(['plan', 'WaitingForCardPayments'], env);
    expect(stdout).toMatch(
      /\n {10}That limit is learned .*\n {10}default: usual 1 min \d+ s.*, limit 6 min .*, from 60 purchases$/m,
    );
    const { states } = JSON.parse((await runCommand(['plan', '6', '--json'], env)).stdout);
    expect(states).toMatchObject([{ stuckAfterIsAuto: true, learned: [{ site: 'default', source: 'learned', purchases: 60 }] }]);
    expect(JSON.parse((await runCommand(['plan', '0', '--json'], env)).stdout).states).toMatchObject([{ learned: null }]);
    const alone = { ...env, DATABASE_URL: `${database.url}_gone` };
    expect(await runCommand(['plan', '6'], alone)).toMatchObject({ exitCode: 0, stderr: '' });
    await database.drop();
  });

  test('reckons the calls of a traffic beside the ceiling', async () => {
    const argv = ['plan', '--json', '--purchases-per-hour', '1000', '--settle-after', '12s'];
    const { traffic } = JSON.parse((await runCommand(argv, { ...SITE, CHECKOUT_MAX_RPS: '1' })).stdout);
    // At registration, then after 5, 10 and 15 s, which is the first after it settled.
    expect(traffic).toMatchObject({ callsPerPurchase: 4, callsPerHour: 4_000, modelledAs: 'BeingProcessed' });
    expect(traffic.sites).toEqual([{ site: 'default', maxRps: 1, shareOfCeiling: 4_000 / 3_600 }]);
    const { stdout } = await runCommand(
      argv.filter((word) => word !== '--json'),
      { ...SITE, CHECKOUT_MAX_RPS: '1' },
    );
    expect(stdout).toMatch(/111 % of the ceiling of site default .*too much/);
  });

  test.each([
    [['plan', '--settle-after', 'soon'], /Expected a duration/],
    [['plan', '--purchases-per-hour', 'many'], /Expected a number/],
    [['plan', '--jsno'], /Did you mean --json\?/],
  ])('%j is wrong usage', async (argv, message) => {
    const { exitCode, stdout, stderr } = await runCommand(argv);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });
});
