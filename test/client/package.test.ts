/** The package for shops takes what the client imports, at the daemon's versions. `.ci/run` packs it, installs it and measures it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { clientManifest } from '../../tools/client-package.ts';

const daemon = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));

test("purchase-watch-client has the daemon's version, licence and engines, and needs four of its packages", () => {
  const { oauth4webapi, undici, zod } = daemon.dependencies;
  expect(clientManifest()).toMatchObject({
    name: 'purchase-watch-client',
    version: daemon.version,
    license: daemon.license,
    engines: daemon.engines,
    exports: { '.': daemon.exports['.'] },
    dependencies: { oauth4webapi, undici, zod },
    optionalDependencies: { 'temporal-polyfill': daemon.optionalDependencies['temporal-polyfill'] },
    publishConfig: { access: 'public', provenance: true },
  });
  const { dependencies, optionalDependencies } = clientManifest();
  expect(Object.keys({ ...dependencies, ...optionalDependencies })).toHaveLength(4);
});
