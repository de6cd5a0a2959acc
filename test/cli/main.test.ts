import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { run } from '../../src/main.ts';
import { temporaryFile } from '../config/files.ts';
import { runCommand } from './run.ts';

const BIN = fileURLToPath(new URL('../../bin/purchase-watch.mjs', import.meta.url));

/** The command as a process of its own. */
async function spawned(argv: readonly string[], env: NodeJS.ProcessEnv = {}, flags: readonly string[] = []) {
  const result = promisify(execFile)(process.execPath, [...flags, BIN, ...argv], { env });
  return result.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
  );
}

describe('exit codes', () => {
  test.each<[readonly string[], NodeJS.ProcessEnv, number]>([
    [['--version'], {}, 0],
    [['--help'], {}, 0],
    [['help', 'plan'], {}, 0],
    [['plan', '--help'], {}, 0],
    [['config'], {}, 0],
    [[], {}, 2],
    [['plna'], {}, 2],
    [['plan', '--nope'], {}, 2],
    [['plan', 'New', 'Error'], {}, 2],
    [['plan', 'Nowhere'], {}, 2],
    [['config'], { PORT: 'x' }, 2],
  ])('%j %o: %i', async (argv, env, code) => {
    expect((await spawned(argv, env)).code).toBe(code);
  });
});

test('a mistyped command is met with the right one, on standard error', async () => {
  const { stdout, stderr } = await runCommand(['plna']);
  expect(stdout).toBe('');
  expect(stderr).toMatch(/unknown command 'plna'\n\(Did you mean plan\?\)/);
});

test('the version is that of the package', async () => {
  expect((await runCommand(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('every command has help with examples', async () => {
  const { stdout } = await runCommand(['--help']);
  for (const command of ['plan', 'config']) {
    expect(stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
    expect((await runCommand([command, '--help'])).stdout).toMatch(new RegExp(`Examples:\n  \\$ purchase-watch ${command}`));
  }
});

test('a bug is one line, and its place on request', async () => {
  const failing = async (env: NodeJS.ProcessEnv) => {
    const write = () => {
      throw new TypeError('broken');
    };
    const stderr = new PassThrough();
    const stdout = Object.assign(new PassThrough(), { write });
    const exitCode = await run(['plan'], { env, stdin: new PassThrough(), stdout, stderr, isTTY: false });
    return { exitCode, stderr: String(stderr.read()) };
  };
  expect(await failing({})).toEqual({ exitCode: 1, stderr: 'error: broken\n(--verbose shows where)\n' });
  expect((await failing({ LOG_LEVEL: 'debug' })).stderr).toMatch(/^error: TypeError: broken\n +at /);
});

test('a reader that leaves early is no failure', async () => {
  const child = spawn(process.execPath, [BIN, 'config', '--schema'], { env: {}, stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  let complaints = '';
  child.stderr.on('data', (chunk) => {
    complaints += chunk;
  });
  expect(await once(child, 'close')).toEqual([0, null]);
  expect(complaints).toBe('');
});

test('small commands and help load neither driver, client nor schema', async () => {
  const watcher = temporaryFile(
    `import { registerHooks } from 'node:module';
registerHooks({ load(url, context, next) { if (url.includes('node_modules')) process.stderr.write(url + '\\n'); return next(url, context); } });`,
    'watch-imports.mjs',
  );
  const { stdout, stderr } = await spawned(['plan', '--help'], {}, ['--import', watcher]);
  expect(stdout).toContain('Usage: purchase-watch plan');
  const packages = new Set(stderr.split('\n').flatMap((url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []));
  expect([...packages]).toEqual(['commander']);
});

test('names and keys of a settings file are repeated short, on their line, and do nothing to a terminal', async () => {
  const evil = '\u001b]0;title\u0007\u202e';
  const path = temporaryFile(JSON.stringify({ [evil]: 1, ['k'.repeat(50_000)]: 1, slack: { ['s'.repeat(50_000)]: 1 } }));
  const { code, stderr } = await spawned(['config'], { PURCHASE_WATCH_CONFIG: path });
  expect(code).toBe(2);
  expect(stderr).toContain('\\u001b]0;title\\u0007\\u202e: is not a setting');
  expect(stderr).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
  for (const line of stderr.split('\n')) expect(line.length).toBeLessThan(600);
});

test('a key of a settings file that is no text is a problem like others, without a warning of a library', async () => {
  const { code, stderr } = await spawned(['config'], { PURCHASE_WATCH_CONFIG: temporaryFile('? [hush]\n: b\n') });
  expect(code).toBe(2);
  expect(stderr).toMatch(/^error: \[ hush \]: is not a setting/);
  expect(stderr).not.toContain('Warning');
});

test('an older Node.js is told what to do: in a clone, and where the package is installed', () => {
  const older = "data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.19.0'}})";
  const saidBy = (bin: string): string => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', older, bin, 'config'], { encoding: 'utf8' });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    return stderr;
  };
  expect(saidBy(BIN)).toMatch(/^purchase-watch needs Node\.js 24 or newer, .*'npm ci' brings one/);
  const installed = temporaryFile(readFileSync(BIN), 'purchase-watch.mjs');
  expect(saidBy(installed)).toMatch(/^purchase-watch needs Node\.js 24 or newer, .*Install one .*'nvm install 24'/);
});
