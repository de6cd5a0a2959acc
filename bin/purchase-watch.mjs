#!/usr/bin/env node
// Plain JavaScript on purpose: it must be readable by an old Node.js, to say so instead of failing on newer syntax.
import { existsSync, readFileSync } from 'node:fs';

// Before anything else is loaded. The kernel gives process 1 of a container no default action for signals: one without a handler
// is lost. Until a command asks for the signals (see src/runtime/process/signals.ts), each ends the process at once.
const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };
let onSignal = (signal) => process.exit(EXIT_CODES[signal]);
for (const signal of Object.keys(EXIT_CODES)) process.on(signal, () => onSignal(signal));
const takeSignals = (handle) => {
  onSignal = handle;
};

// A clone runs its sources; the published package carries built JavaScript only.
const source = new URL('../src/main.ts', import.meta.url);

const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  const remedy = existsSync(source)
    ? "In the repository, 'npm ci' brings one: use 'npx purchase-watch' or 'npm run'."
    : `Install one (https://nodejs.org/en/download), or tell your version manager, such as 'nvm install 24', and run the same command again. This one is ${process.execPath}.`;
  process.stderr.write(`purchase-watch needs Node.js 24 or newer, and this is ${process.version}. ${remedy}\n`);
  process.exit(2);
}

// Memory that large requests took goes back to the system only where glibc and V8 are told so before a process begins, so the daemon
// begins once more with that, as the same process (docs/operations.md#memory).
const { env, execArgv, execPath } = process;
// The command's name follows options of the program, of which one has a value.
const command = process.argv.slice(2).find((word, at, all) => !word.startsWith('-') && all[at - 1] !== '--env');
const isTold = env.MALLOC_TRIM_THRESHOLD_ !== undefined || process.send !== undefined;
if (command === 'start' && process.platform === 'linux' && typeof process.execve === 'function' && !isTold) {
  const { flags, settings } = JSON.parse(readFileSync(new URL('memory.json', import.meta.url), 'utf8'));
  const own = `${env.NODE_OPTIONS} ${execArgv}`.replaceAll('_', '-');
  const missing = flags.filter((flag) => !own.includes(flag.split('=')[0]));
  process.execve(execPath, [execPath, ...execArgv, ...missing, ...process.argv.slice(1)], { ...env, ...settings });
}

const built = new URL('../dist/src/main.js', import.meta.url);
const { main } = await import(existsSync(source) ? source.href : built.href);
await main(process.argv.slice(2), takeSignals);
