#!/usr/bin/env node
// Plain JavaScript on purpose: it must be readable by an old Node.js, to say so instead of failing on newer syntax.
import { existsSync } from 'node:fs';

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
await main(process.argv.slice(2));
