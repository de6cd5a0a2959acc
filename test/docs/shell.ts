/** Shell examples as a reader would type them: one after the other in one shell's environment, on this machine. */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { quickStart } from '../support/daemon.ts';
import { ROOT } from './examples.ts';

export interface Shell {
  /** Runs a block; answers what it wrote. Throws when a command of it fails. */
  run(block: string): Promise<string>;
  /** Where `127.0.0.1:8080` leads. */
  setOrigin(origin: string): void;
  /** Ends what still runs, and waits for its end. */
  stop(): Promise<void>;
}

const WITHIN = 60_000;

/**
 * What the examples call. `start`, `demo`, `simulate` and `listen` go on in the background, once they say that they are up: the
 * reader has another terminal for what follows. An answer that is a problem fails curl, as a reader would say it failed;
 * a loop around `sleep` ends after two rounds, as with Ctrl-C; a stream that is cut off after the time that was asked for does not.
 */
const COMMANDS: Readonly<Record<string, string>> = {
  'purchase-watch': `
case "$1" in
  start|demo|simulate|listen)
    to=origin; case "$1" in simulate|listen) to=$1; set -- "$@" --port 0;; esac
    rm -f "$STATE/$1.log"; touch "$STATE/$1.log"
    "$NODE" "$ROOT/bin/purchase-watch.mjs" "$@" >>"$STATE/$1.log" 2>&1 &
    echo $! >>"$STATE/pids"
    for _ in $(seq 300); do
      origin=$(sed -nE 's/.*(http:\\/\\/[0-9.]+:[0-9]+).*/\\1/p' "$STATE/$1.log" | head -1)
      # The API of a daemon answers 503 until this line.
      if [ "$1" = start ] && ! grep -q '"event":"started"' "$STATE/start.log"; then command -p sleep 0.1; continue; fi
      if [ -n "$origin" ]; then echo "$origin" >"$STATE/$to"; exit 0; fi
      command -p sleep 0.1
    done
    cat "$STATE/$1.log"; exit 1;;
  *) exec "$NODE" "$ROOT/bin/purchase-watch.mjs" "$@";;
esac`,
  sleep: 'echo >>"$STATE/rounds"; [ "$(wc -l <"$STATE/rounds")" -le 2 ]',
  npx: 'command=$1; shift; exec "$command" "$@"',
  curl: `
for given in "$@"; do set -- "$@" "\${given//127.0.0.1:8080/$(sed 's|http://||' "$STATE/origin")}"; shift; done
status=0; "$REAL_CURL" --silent --show-error --fail-with-body --max-time 30 "$@" || status=$?
if [ "$status" = 28 ] && [[ " $* " = *" -N "* ]]; then exit 0; fi
exit "$status"`,
};

/** Prepares a shell in a folder of its own, with these variables and no others of ours. */
export function createShell(folder: string, env: Readonly<Record<string, string>>): Shell {
  const bin = join(folder, 'bin');
  const work = join(folder, 'work');
  mkdirSync(bin, { recursive: true });
  mkdirSync(work, { recursive: true });
  for (const [name, script] of Object.entries(COMMANDS)) {
    writeFileSync(join(bin, name), `#!/usr/bin/env bash\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  writeFileSync(join(folder, 'pids'), '');
  const all = {
    ...quickStart(),
    ...env,
    PATH: `${bin}:${process.env.PATH}`,
    HOME: work,
    NODE: process.execPath,
    REAL_CURL: which('curl') ?? 'curl',
    ROOT,
    STATE: folder,
  };
  return {
    run: (written) => {
      // `simulate` took a free port: whoever has 8090 here is not disturbed.
      const simulator = join(folder, 'simulate');
      const host = existsSync(simulator) ? readFileSync(simulator, 'utf8').trim().replace('http://', '') : '127.0.0.1:8090';
      const block = written.replaceAll('127.0.0.1:8090', host);
      // What one block exports, the next one has.
      const script = `set -eo pipefail\nif [ -f "$STATE/env" ]; then . "$STATE/env"; fi\n${block}\nexport -p >"$STATE/env"\n`;
      const child = spawn('bash', ['-c', script], { cwd: work, env: all, stdio: ['ignore', 'pipe', 'pipe'] });
      let text = '';
      const heard = (chunk: Buffer): void => {
        text += chunk;
      };
      child.stdout.on('data', heard);
      child.stderr.on('data', heard);
      const late = setTimeout(() => child.kill('SIGKILL'), WITHIN);
      return new Promise((resolve, reject) => {
        child.once('error', reject);
        child.once('exit', (code, signal) => {
          clearTimeout(late);
          if (code === 0) resolve(text);
          else reject(new Error(`ended with ${code ?? signal}: ${text.slice(-2_000)}`));
        });
      });
    },
    setOrigin: (origin) => writeFileSync(join(folder, 'origin'), origin),
    stop: async () => {
      const running = readFileSync(join(folder, 'pids'), 'utf8').split('\n').filter(Boolean).map(Number);
      // The simulator was started first, and the daemon asks it until its own end.
      for (const pid of running.reverse()) {
        send(pid, 'SIGTERM');
        // Not for ever: where process 1 collects no ended children, they stay in the table.
        for (let asked = 0; asked < 200 && send(pid, 0); asked++) await delay(50);
      }
    },
  };
}

/** Whether a process of this id took the signal; 0 only asks whether it is there. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** Where a program is, or null when it is not installed. */
export function which(name: string): string | null {
  for (const folder of (process.env.PATH ?? '').split(':')) {
    const path = join(folder, name);
    try {
      readFileSync(path);
      return path;
    } catch {
      // Not here.
    }
  }
  return null;
}
