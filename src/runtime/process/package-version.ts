/** The version that runs. */
import { readFileSync } from 'node:fs';

/** As package.json says it. */
export function packageVersion(): string {
  const description = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: string };
  return description.version;
}
