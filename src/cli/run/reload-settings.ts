/** Takes new settings into a running daemon: on SIGHUP, and when a file that a secret comes from has changed. */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { App } from '../../app.ts';
import { describeSettings } from '../../config/describe.ts';
import { loadSettings } from '../../config/load-settings.ts';
import type { Settings } from '../../config/settings.ts';
import { readPlainFile } from '../../config/sources/plain-file.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Logger } from '../../runtime/logger.ts';
import { startInterval } from '../../runtime/time.ts';

export type Reloader = ReturnType<typeof createReloader>;

/** How often files are looked at. A pair of files may be replaced one after the other, so a change counts once it has lasted as long. */
const LOOK_EVERY: Milliseconds = 5_000;
/** Variables of what belongs to the socket and to the database. */
const OF_RESTART = [
  'DATABASE_URL',
  'DATABASE_LISTEN_URL',
  'DATABASE_POOL_MODE',
  'DATABASE_CONNECTIONS',
  'DATA_DIR',
  'HOST',
  'PORT',
];

/** `started`: the settings with which the daemon was started; `env` answers the variables as they are now. */
export function createReloader(
  app: Pick<App, 'reload'>,
  started: Settings,
  { env, log }: { readonly env: () => NodeJS.ProcessEnv; readonly log: Logger },
) {
  let settings = started;
  let seen = digestOf(settings.secretFiles);
  let last = seen;
  /** Reads the settings again, and has the daemon go on with them; logs what changed, or every problem. Never rejects. */
  const reload = async (reason: 'SIGHUP' | 'a file of a secret changed'): Promise<void> => {
    seen = digestOf(settings.secretFiles);
    try {
      const next = loadSettings(env(), { requireSite: true });
      const { changed, restart } = changes(settings, next);
      await app.reload(next);
      log.info({ reason, changed }, 'settings.reloaded');
      if (restart.length > 0)
        log.warn({ settings: restart, advice: 'restart the daemon: these hold from its start on' }, 'settings.restart_needed');
      settings = next;
      seen = digestOf(settings.secretFiles);
    } catch (error) {
      const problems =
        error instanceof AppError ? error.message.split('\n') : [error instanceof Error ? error.message : String(error)];
      log.error({ reason, problems, advice: REFUSED }, 'settings.refused');
    }
  };
  const timer = startInterval(() => {
    const now = digestOf(settings.secretFiles);
    const isStable = now === last;
    last = now;
    if (isStable && now !== seen) void reload('a file of a secret changed');
  }, LOOK_EVERY);
  timer.unref();
  return {
    reload,
    /** Looks at no file any more. */
    stop: () => clearInterval(timer),
  };
}

const REFUSED =
  'the daemon goes on with the settings as they were: mend these, and reload again (SIGHUP, or purchase-watch config reload)';

/** Names of settings that differ: those that take effect now, and those that need a restart. */
function changes(before: Settings, after: Settings): { changed: string[]; restart: string[] } {
  const textOf = (settings: Settings) => new Map(describeSettings(settings).map(({ name, text }) => [name, text]));
  const [old, now] = [textOf(before), textOf(after)];
  const names = [...new Set([...old.keys(), ...now.keys()])].filter((name) => old.get(name) !== now.get(name));
  const restart = names.filter((name) => OF_RESTART.includes(name));
  const changed = names.filter((name) => !restart.includes(name));
  // Secrets are described as set or not.
  if (names.length === 0 && !isDeepStrictEqual(before, after)) changed.push('secrets');
  return { changed, restart };
}

/** A digest of what files hold; one that cannot be read counts as empty. */
function digestOf(paths: readonly string[]): string {
  const hash = createHash('sha256');
  for (const path of paths) {
    try {
      hash.update(readPlainFile(path));
    } catch {
      hash.update('\0');
    }
    hash.update(`\0${path}\0`);
  }
  return hash.digest('hex');
}
