/**
 * Known vulnerabilities of what is shipped, from the advisories of the registry that npm is configured for. Exit codes: 0 none is
 * known, 1 some are, 2 the registry has no advisories (a mirror may not), so nothing was checked.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';

interface Audit {
  readonly metadata?: { readonly vulnerabilities: { readonly total: number } };
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string; readonly range: string }>>;
}

function audit(): Promise<Audit> {
  return new Promise((resolve) => {
    const options = { cwd: join(import.meta.dirname, '..'), maxBuffer: 64 * 1024 * 1024 };
    // npm ends with 1 both when it finds something and when it cannot ask.
    execFile('npm', ['audit', '--omit=dev', '--json'], options, (_error, stdout) => {
      try {
        resolve(JSON.parse(stdout) as Audit);
      } catch {
        resolve({});
      }
    });
  });
}

const { metadata, vulnerabilities = {} } = await audit();
if (metadata === undefined) {
  console.error('npm audit: the configured registry answers no question about advisories, so nothing was checked');
  process.exitCode = 2;
} else {
  for (const [name, { severity, range }] of Object.entries(vulnerabilities)) console.error(`${severity}: ${name} ${range}`);
  console.info(`npm audit: ${metadata.vulnerabilities.total} known vulnerabilities in what is shipped`);
  process.exitCode = metadata.vulnerabilities.total === 0 ? 0 : 1;
}
