import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { isGone, processIdentity } from '../../../src/runtime/process/process-identity.ts';

const MODULE = join(import.meta.dirname, '../../../src/runtime/process/process-identity.ts');

let child: ChildProcess | null = null;
afterEach(() => {
  child?.kill('SIGKILL');
  child = null;
});

/** A process that writes down its identity and lives until it is killed. */
async function another(): Promise<{ identity: string; kill(): Promise<void> }> {
  const script = `import(process.argv[1]).then((m) => { console.log(m.processIdentity()); process.stdin.resume(); })`;
  const started = spawn(process.execPath, ['-e', script, MODULE], { stdio: ['pipe', 'pipe', 'inherit'] });
  child = started;
  const [line] = (await once(started.stdout, 'data')) as [Buffer];
  return {
    identity: line.toString().trim(),
    kill: async () => {
      const closed = once(started, 'close');
      started.kill('SIGKILL');
      await closed;
    },
  };
}

test('a process has one identity, made of machine, pid and start', () => {
  expect(processIdentity()).toBe(processIdentity());
  expect(processIdentity().split(' ')).toEqual([expect.any(String), String(process.pid), expect.stringMatching(/^\d+$/)]);
});

test('this process is not gone', () => {
  expect(isGone(processIdentity())).toBe(false);
});

test('another process is gone once it was killed, and not before', async () => {
  const { identity, kill } = await another();
  expect(identity).not.toBe(processIdentity());
  expect(isGone(identity)).toBe(false);
  await kill();
  expect(isGone(identity)).toBe(true);
});

describe('what is certain', () => {
  const [machine, pid, start] = processIdentity().split(' ') as [string, string, string];

  test('a pid that was given to a later process is not that process', () => {
    expect(isGone(`${machine} ${pid} ${Number(start) - 1}`)).toBe(process.platform === 'linux');
  });

  test('nothing is known of other machines, nor of another life of this one', () => {
    expect(isGone(`elsewhere ${pid} ${start}`)).toBe(false);
    expect(isGone(`elsewhere 999999999 ${start}`)).toBe(false);
  });

  test.each(['', 'x', machine, `${machine} x 1`, `${machine} 0 1`, `${machine} -1 1`, `${machine} 1.5 1`])(
    'nothing can be told from %j',
    (identity) => {
      expect(isGone(identity)).toBe(false);
    },
  );
});
