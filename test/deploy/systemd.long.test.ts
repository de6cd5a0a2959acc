/** The unit of deploy/systemd under a real systemd. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePorts } from '../support/broker-process.ts';
import { outcomeOf } from './programs.ts';
import { noSystemd, type Systemd, startSystemd } from './systemd.ts';

const NAME = 'purchase-watch.service';
const FILE = join(import.meta.dirname, '../../deploy/systemd', NAME);
/** Tenths, as systemd-analyze takes it: exposure of 2.0. */
const MOST_EXPOSED = 20;

if (noSystemd !== null) console.warn(`not tested: the unit of systemd: ${noSystemd}`);

test.runIf(process.env.CI)('CI runs the unit', () => expect(noSystemd).toBeNull());

describe.skipIf(noSystemd !== null)('the unit of systemd', () => {
  let systemd: Systemd;
  let origin: string;
  // With the Postgres that the daemon brings, which is confined as it is, and stopped by it.
  beforeAll(async () => {
    const [port] = await freePorts(1);
    origin = `http://127.0.0.1:${port}`;
    const checkout = { CHECKOUT_BASE_URL: 'http://127.0.0.1:9/', CHECKOUT_CLIENT_ID: 'shop', CHECKOUT_CLIENT_SECRET: 'secret' };
    systemd = await startSystemd({
      ...{ name: NAME, file: FILE, dropIn: '[Service]\nWatchdogSec=10\n' },
      env: { PORT: String(port), ...checkout },
    });
  });
  afterAll(async () => {
    await systemd?.stop();
  });

  const isReady = async (): Promise<boolean> =>
    await fetch(`${origin}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  const mainProcess = (): Promise<string> => systemd.property('MainPID');

  test('is confined', async () => {
    const { code, output } = await outcomeOf('systemd-analyze', [
      ...['security', '--offline=true', `--threshold=${MOST_EXPOSED}`],
      FILE,
    ]);
    expect(code, output).toBe(0);
  });

  test('is started once the daemon watches', async () => {
    expect(await systemd.call('systemd-analyze', 'verify', NAME)).toEqual({ code: 0, output: '' });
    expect(await systemd.call('systemctl', 'start', NAME)).toEqual({ code: 0, output: '' });
    expect(await isReady()).toBe(true);
  });

  test('runs it as a user of its own, without capabilities', async () => {
    const { output } = await systemd.call('cat', `/proc/${await mainProcess()}/status`);
    expect(output).toMatch(/^Uid:\t(?!0\t)(\d+)\t\1\t\1\t\1$/m);
    expect(output).toMatch(/^CapBnd:\t0+$/m);
    expect(output).toMatch(/^NoNewPrivs:\t1$/m);
  });

  test('restarts a daemon that gives no sign of life', async () => {
    const signAt = (): Promise<string> => systemd.property('WatchdogTimestampMonotonic');
    const started = await signAt();
    await expect.poll(signAt).not.toBe(started);

    const frozen = await mainProcess();
    await systemd.call('kill', '-STOP', frozen);
    await expect.poll(() => systemd.property('NRestarts')).toBe('1');
    await expect.poll(isReady).toBe(true);
    expect(await mainProcess()).not.toBe(frozen);
    const { output } = await systemd.call('journalctl', '--unit', NAME, '--output=cat');
    expect(output).toContain('Watchdog timeout');
  });

  test('stops it in order', async () => {
    expect(await systemd.call('systemctl', 'stop', NAME)).toEqual({ code: 0, output: '' });
    expect(await systemd.property('Result')).toBe('success');
    const { output } = await systemd.call('journalctl', '--unit', NAME, '--output=cat');
    const end = output.slice(output.lastIndexOf('"event":"stopping"'));
    expect(end).toContain('"event":"stopped"');
    expect(end).not.toContain('SIGKILL');
    expect(output).not.toContain('service_manager');
  });
});
