/** The socket while the daemon starts: it says that the process lives and what the start is doing. The API takes it over. */
import type { Logger } from '../runtime/logger.ts';
import { Problem, problemResponse } from './problems.ts';
import { type ApiServer, serveApi } from './serve.ts';

export interface Front extends ApiServer {
  /** The start does this from now on, in words for people. */
  at(step: string): void;
}

/** Listens. Throws AppError, with what to do, when it cannot listen there. */
export async function openFront({ host, port }: { host: string; port: number }, log: Logger): Promise<Front> {
  let doing = 'beginning';
  let since = new Date();
  const answer = (request: Request): Response => {
    const { pathname } = new URL(request.url);
    if (pathname === '/healthz') return json(200, { status: 'alive' });
    if (pathname === '/readyz') return json(503, { status: 'starting', doing, since: since.toISOString() });
    const detail = `The daemon is starting (${doing}, since ${since.toISOString()}). Try again in a few seconds.`;
    return problemResponse(new Problem('starting', detail, { headers: { 'retry-after': '5', 'cache-control': 'no-store' } }));
  };
  const server = await serveApi({ fetch: answer }, { host, port });
  log.info({ url: server.url }, 'api.listening');
  return {
    ...server,
    at: (step) => {
      doing = step;
      since = new Date();
      log.info({ doing }, 'start.step');
    },
  };
}

function json(status: number, body: unknown): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
  });
}
