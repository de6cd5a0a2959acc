/** Messages of the daemon as systemd gets them: datagrams on a Unix socket, sent by the real systemd-notify. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createServiceManager } from '../../../src/runtime/process/service-manager.ts';
import { type Child, installed, startChild } from '../../support/broker-process.ts';

const RECEIVER = `
import socket, sys
line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
line.bind(sys.argv[1])
print("listening", flush=True)
while True:
    print(line.recv(4096).decode(), flush=True)
`;
const PERIOD = 400;
const log = { error: vi.fn() };
const missing = ['systemd-notify', 'python3'].filter((name) => installed(name) === null);
if (missing.length > 0) console.warn(`not tested: messages to systemd: ${missing.join(', ')} not installed here`);

describe.skipIf(missing.length > 0)('messages to systemd', () => {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-notify-'));
  const NOTIFY_SOCKET = join(folder, 'notify');
  let receiver: Child;
  let heard: string[];
  const env = (): NodeJS.ProcessEnv => ({ NOTIFY_SOCKET, PATH: process.env.PATH, WATCHDOG_USEC: String(PERIOD * 1_000) });
  const manager = (changes: NodeJS.ProcessEnv = {}) => createServiceManager({ ...env(), ...changes }, log as never);

  beforeEach(async () => {
    heard = [];
    log.error.mockClear();
    rmSync(NOTIFY_SOCKET, { force: true });
    receiver = startChild(installed('python3')!, ['-c', RECEIVER, NOTIFY_SOCKET], { PATH: process.env.PATH ?? '' });
    receiver.process.stdout!.on('data', (chunk: Buffer) =>
      heard.push(
        ...String(chunk)
          .split('\n')
          .filter((line) => /^\w+=1$/.test(line) && line !== 'BARRIER=1'),
      ),
    );
    await receiver.says('listening');
  });
  afterEach(async () => {
    receiver.process.kill();
    await receiver.ended;
  });

  test('arrive in order', async () => {
    const told = manager();
    told.reloading();
    told.ready();
    told.stopping();
    await expect.poll(() => heard).toEqual(['RELOADING=1', 'READY=1', 'STOPPING=1']);
    expect(log.error).not.toHaveBeenCalled();
  });

  test('hold signs of life until something hangs, and again when it does not any more', async () => {
    let hanging: string[] = [];
    manager().watch(() => hanging);
    await expect.poll(() => heard.length).toBeGreaterThan(1);
    expect(new Set(heard)).toEqual(new Set(['WATCHDOG=1']));

    hanging = ['poller'];
    await expect
      .poll(() => log.error.mock.calls)
      .toEqual([[expect.objectContaining({ loops: ['poller'] }), 'watchdog.withheld']]);
    // What was on its way has arrived by now.
    manager().ready();
    await expect.poll(() => heard.at(-1)).toBe('READY=1');
    const before = heard.length;
    await new Promise((resolve) => setTimeout(resolve, 2 * PERIOD));
    expect(heard.length).toBe(before);
    expect(log.error).toHaveBeenCalledTimes(1);

    hanging = [];
    await expect.poll(() => heard.length).toBeGreaterThan(before);
    // It goes on for as long as the process does.
    hanging = ['poller'];
    await expect.poll(() => log.error.mock.calls.length).toBe(2);
  });

  test('are sent by nobody but the process that systemd watches, and only where it asked', async () => {
    manager({ WATCHDOG_PID: '1' }).watch(() => []);
    manager({ WATCHDOG_USEC: undefined }).watch(() => []);
    manager({ NOTIFY_SOCKET: undefined }).ready();
    await new Promise((resolve) => setTimeout(resolve, 2 * PERIOD));
    manager().ready();
    await expect.poll(() => heard).toEqual(['READY=1']);
  });

  test('are missed with a line in the log, once', async () => {
    const told = manager({ PATH: folder });
    told.reloading();
    told.ready();
    await expect
      .poll(() => log.error.mock.calls)
      .toEqual([[expect.objectContaining({ advice: expect.stringContaining('systemd-notify') }), 'service_manager.not_told']]);
    expect(heard).toEqual([]);
  });
});
