/** Messages to systemd about the daemon that it started: ready, stopping, alive (`Type=notify`, `WatchdogSec=`). */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Logger } from '../logger.ts';

/** A system that does not answer for so long is asked again with the next message. */
const SENT_WITHIN: Milliseconds = 10_000;

/**
 * `env` is that of the process; without `NOTIFY_SOCKET` in it nothing is sent. A message that cannot be sent is logged.
 * Messages go by systemd's own program, as Node.js has no datagrams of Unix sockets (docs/decisions/0001-dependencies.md).
 */
export function createServiceManager(env: NodeJS.ProcessEnv, log: Logger) {
  const { NOTIFY_SOCKET, PATH, WATCHDOG_USEC, WATCHDOG_PID = process.pid } = env;
  let isFailing = false;
  const succeeded = (): void => {
    isFailing = false;
  };
  const failed = (error: unknown): void => {
    const advice = 'systemd waits for it: see that systemd-notify is on the PATH';
    if (!isFailing) log.error({ error, advice }, 'service_manager.not_told');
    isFailing = true;
  };
  let before = Promise.resolve();
  const send = (message: string): void => {
    if (NOTIFY_SOCKET === undefined) return;
    const notify = () => promisify(execFile)('systemd-notify', [message], { env: { NOTIFY_SOCKET, PATH }, timeout: SENT_WITHIN });
    // One after the other: the end of a reload must not arrive before its begin.
    before = before.then(notify).then(succeeded, failed);
  };
  const period = Number(WATCHDOG_PID) === process.pid ? Number(WATCHDOG_USEC) / 1_000 : Number.NaN;
  return {
    /** The start is over, or a reload is. */
    ready: (): void => send('READY=1'),
    /** Settings are being read again; `ready` ends it, whether they were taken or not. */
    reloading: (): void => send('RELOADING=1'),
    /** The stop has begun. */
    stopping: (): void => send('STOPPING=1'),
    /**
     * Sends a sign of life twice in each period of the watchdog for as long as nothing hangs; without signs, systemd ends the process
     * and starts another one. Does nothing where there is no watchdog. `hanging`: names of what hangs.
     */
    watch: (hanging: () => readonly string[]): void => {
      if (NOTIFY_SOCKET === undefined || !(period > 0)) return;
      let isWithheld = false;
      const tick = (): void => {
        const loops = hanging();
        if (loops.length === 0) send('WATCHDOG=1');
        else if (!isWithheld) log.error({ loops, advice: 'systemd restarts the daemon' }, 'watchdog.withheld');
        isWithheld = loops.length > 0;
      };
      setInterval(tick, period / 2).unref();
    },
  };
}
