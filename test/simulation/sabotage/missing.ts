/**
 * Modules of the product without one of its guards, beside those with all of them in the same process: each guard has copies of its own,
 * whose addresses end in the number of the guard.
 */
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { without } from './guard.ts';
import { GUARDS } from './guards.ts';

const ROOT = join(import.meta.dirname, '../../..');
const ROOT_URL = `${pathToFileURL(ROOT).href}/`;
/** Time and network of a process are there once. */
const SHARED = `${ROOT_URL}test/simulation/world/`;
const isCopied = (url: string): boolean =>
  url.startsWith(ROOT_URL) && url.endsWith('.ts') && !url.includes('/node_modules/') && !url.startsWith(SHARED);
/** Modules that the product loads later, and that would load in the middle of a world. */
const LATER = ['api/routes', 'api/events/stream-places', 'console/open'];
const stripped = new Map<string, string>();

/** Answers the module of the worlds as it is without the guard of this name. */
export async function worldWithout(name: string): Promise<typeof import('../world.ts')> {
  const copy = `?without=${GUARDS.findIndex((guard) => guard.name === name)}`;
  if (stripped.size === 0) hook();
  for (const each of LATER) await import(`../../../src/${each}.ts${copy}`);
  return import(`../world.ts${copy}`);
}

function hook(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      const copy = /\?without=\d+$/.exec(context.parentURL ?? '')?.[0];
      return copy !== undefined && isCopied(found.url) ? { ...found, url: `${found.url}${copy}` } : found;
    },
    load(url, context, next) {
      const [path, number] = url.split('?without=');
      if (number === undefined) return next(url, context);
      const file = fileURLToPath(path!);
      const guard = GUARDS[Number(number)]!;
      if (file === join(ROOT, guard.file)) {
        const source = stripTypeScriptTypes(without(guard, readFileSync(file, 'utf8')));
        return { format: 'module', source, shortCircuit: true };
      }
      const source = stripped.get(file) ?? stripTypeScriptTypes(readFileSync(file, 'utf8'));
      stripped.set(file, source);
      return { format: 'module', source, shortCircuit: true };
    },
  });
}
