#!/usr/bin/env node
// Plain JavaScript on purpose: it must be readable by an old Node.js, to say so instead of failing on newer syntax.
import { existsSync } from 'node:fs';

// Before anything else is loaded. The kernel gives process 1 of a container no default action for signals: one without a handler
// is lost. Until a command asks for the signals (see src/runtime/process/signals.ts), each ends the process at once.
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 };
let onSignal = (signal) => process.exit(EXIT_CODES[signal]);
for (const signal of Object.keys(EXIT_CODES)) process.on(signal, () => onSignal(signal));
const takeSignals = (handle) => {
  onSignal = handle;
};

const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    `purchase-watch needs Node.js 24 or newer, and this is ${process.version}. In the repository, 'npm ci' brings one: use 'npx purchase-watch' or 'npm run'.\n`,
  );
  process.exit(2);
}

// A clone runs its sources; the published package carries built JavaScript only.
const source = new URL('../src/main.ts', import.meta.url);
const built = new URL('../dist/main.js', import.meta.url);
const { main } = await import(existsSync(source) ? source.href : built.href);
await main(process.argv.slice(2), takeSignals);
