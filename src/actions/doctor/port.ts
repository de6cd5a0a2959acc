/** Checks that the API can be served: its port is free, or a daemon of ours answers there. */
import { createServer } from 'node:net';
import { request } from 'undici';
import type { Settings } from '../../config/settings.ts';
import { readUpTo } from '../../runtime/http/read-up-to.ts';
import type { Finding, Reporter } from '../overview/finding.ts';

const ANSWER_WITHIN = 3_000;
/** What a daemon says of itself is shorter. */
const LARGEST_ANSWER = 64 * 1024;
const ANY = new Set(['0.0.0.0', '::']);

export async function checkPort(report: Reporter, { host, port }: Pick<Settings, 'host' | 'port'>): Promise<Finding[]> {
  if (port === 0) return [report.ok('PORT is 0: a free one is taken')];
  const where = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const trouble = await listenTrouble(host, port);
  if (trouble === null) return [report.ok(`${where} is free`)];
  if (trouble !== 'EADDRINUSE') return [report.failed(`${where} cannot be listened on (${trouble})`, explained(trouble))];
  const status = await readiness(ANY.has(host) ? '127.0.0.1' : host, port);
  if (status === 'ready') return [report.ok(`a daemon answers at ${where} and is ready`)];
  if (status === 'not ready')
    return [
      report.warning(
        `a daemon answers at ${where} and is not ready`,
        'its log says why, and so does its /readyz to a key with the scope read',
      ),
    ];
  if (status === 'starting')
    return [
      report.warning(
        `a daemon is starting at ${where}`,
        'let it: migrations of a large database take minutes; its log says what it does, and so does its /readyz to a key with the scope read',
      ),
    ];
  return [report.failed(`another program uses ${where}`, 'choose another one with PORT, or end that program')];
}

function explained(code: string): string {
  if (code === 'EACCES') return 'ports below 1024 need rights of their own: choose a higher PORT';
  return 'HOST must be an address of this machine';
}

/** Why the port cannot be taken, as the system's code, or null. */
function listenTrouble(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}

/** What /readyz says there, or null when that is none of ours. */
async function readiness(host: string, port: number): Promise<string | null> {
  const address = `http://${host.includes(':') ? `[${host}]` : host}:${port}/readyz`;
  try {
    const { body } = await request(address, { signal: AbortSignal.timeout(ANSWER_WITHIN) });
    const bytes = await readUpTo(body, LARGEST_ANSWER);
    const { status } = JSON.parse(new TextDecoder().decode(bytes ?? undefined)) as { status?: unknown };
    return typeof status === 'string' ? status : null;
  } catch {
    return null;
  }
}
