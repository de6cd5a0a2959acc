/** Hostile requests to every operation that the OpenAPI document names. */
import fc from 'fast-check';
import { Agent, request } from 'undici';
import type { OpenApiDocument } from '../../tools/book/api/model.ts';
import { faultOfAnswer } from '../api/answers.ts';
import type { Known } from '../api/generate.ts';
import { type ApiRequest, requestsFor, type Target, targetsOf } from '../api/requests.ts';
import { schemaChecker } from '../api/schema-checker.ts';
import { breathe, brief, edited, edits, hostileHeaderText, sample, seedOf } from './hostile.ts';
import { PERSON } from './service.ts';
import { HIDDEN, KEY, WILD_SITES } from './world.ts';

export interface ApiDoor {
  readonly document: OpenApiDocument;
  /** Sends so many requests. */
  attack(seed: number, count: number): Promise<void>;
  /** Removes subscribers and silences that requests made: each would be called for each event. */
  tidy(): Promise<void>;
  /** Ends the pauses of subscribers that failed too often, and switches on those whose receivers wanted no more. */
  resume(): Promise<void>;
  close(): Promise<void>;
}

const AT_ONCE = 8;
const ANSWERS_WITHIN = 30_000;
const HEADERS = {
  authorization: `Bearer ${KEY}`,
};
/** Headers that the document does not name. */
const STRANGE_HEADERS = [
  'accept',
  'accept-encoding',
  'cookie',
  'forwarded',
  'if-match',
  'if-none-match',
  'last-event-id',
  'idempotency-key',
  'origin',
  'range',
  'referer',
  'sec-fetch-site',
  'te',
  'user-agent',
  'via',
  'x-forwarded-for',
  'x-http-method-override',
  'x-original-url',
];

/** Opens the door. `found` is told of each wrong answer. */
export async function openApi(origin: string, found: (fault: string) => void): Promise<ApiDoor> {
  const dispatcher = new Agent({ connections: AT_ONCE, headersTimeout: ANSWERS_WITHIN, bodyTimeout: ANSWERS_WITHIN });
  const answered = async (sent: ApiRequest): Promise<{ status: number; type: string; text: string }> => {
    const { method, headers, body = null } = sent;
    const answer = await request(origin + sent.path, { method: method as 'GET', headers, body, dispatcher });
    const type = String(answer.headers['content-type'] ?? '').split(';')[0]!;
    if (type === 'text/event-stream') {
      answer.body.on('error', () => undefined).destroy();
      return { status: answer.statusCode, type, text: '' };
    }
    return { status: answer.statusCode, type, text: await answer.body.text() };
  };
  const call = (method: string, path: string, body?: string) =>
    answered({
      method,
      path,
      headers: { ...HEADERS, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      body,
    });
  const document = JSON.parse((await call('GET', '/openapi.json')).text) as OpenApiDocument;
  const check = schemaChecker(document);
  const targets = targetsOf(document);

  const listed = async (path: string): Promise<Record<string, unknown>[]> =>
    (JSON.parse((await call('GET', path)).text) as { data?: Record<string, unknown>[] }).data ?? [];

  /** Ids by collection, and cursors and names by parameter. */
  const whatExists = async (): Promise<(target: Target) => Known> => {
    const ids = new Map<string, string[]>();
    const cursors: string[] = [];
    const collections = new Set(targets.map(({ path }) => path.split('/{')[0]!));
    for (const path of collections) {
      if (!path.startsWith('/v1/') || !('get' in (document.paths[path] ?? {})) || /\/stream$|\.csv$/.test(path)) continue;
      const { data, nextCursor } = JSON.parse((await call('GET', path)).text) as { data?: unknown; nextCursor?: unknown };
      if (typeof nextCursor === 'string') cursors.push(nextCursor);
      if (!Array.isArray(data)) continue;
      const found = (data as Record<string, unknown>[]).flatMap(({ purchaseId, id, name }) => [purchaseId, id, name]);
      ids.set(path, found.filter((value) => typeof value === 'string').slice(0, 60));
    }
    const of = (path: string): string[] => ids.get(path) ?? [];
    return (target) => ({
      id: of(target.path.split('/{')[0]!),
      site: WILD_SITES,
      purchase: of('/v1/purchases'),
      purchaseId: of('/v1/purchases'),
      subscriber: of('/v1/subscribers'),
      cursor: cursors,
      after: cursors,
    });
  };

  const hostile = (target: Target, exists: Known): fc.Arbitrary<ApiRequest> => {
    const strange = fc.tuple(fc.constantFrom(...STRANGE_HEADERS), hostileHeaderText);
    const rarely = <T>(some: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(some, { freq: 4 });
    const made = requestsFor(target, { document, exists, access: fc.constant(HEADERS.authorization) });
    return fc.tuple(made, rarely(edits), rarely(strange)).map(([each, damage, added]) => ({
      ...each,
      headers: { ...each.headers, ...(added !== null && added[1] !== '' ? { [added[0]]: added[1] } : {}) },
      body: each.body === undefined || damage === null ? each.body : edited(each.body, damage),
    }));
  };

  const send = async (target: Target, sent: ApiRequest): Promise<void> => {
    const where = `${target.name}: ${brief(JSON.stringify(sent))}`;
    try {
      const answer = await answered(sent);
      const fault = faultOfAnswer(target.operation, answer, check);
      if (fault !== null) found(`${where}\n  ${fault}`);
      // Invoices are a person's, and asked for.
      const mayHold = target.path.endsWith('/invoice') ? [PERSON] : [];
      const told = HIDDEN.find((secret) => !mayHold.includes(secret) && answer.text.includes(secret));
      if (told !== undefined) found(`${where}\n  the answer holds the secret ${told}`);
    } catch (error) {
      found(`${where}\n  ${error instanceof Error ? `${error.message} ${String(error.cause ?? '')}` : String(error)}`);
    }
  };

  return {
    document,
    attack: async (seed, count) => {
      const knownOf = await whatExists();
      const each = Math.ceil(count / targets.length);
      const all: { target: Target; sent: ApiRequest; turn: number; index: number }[] = [];
      for (const [index, target] of targets.entries()) {
        const requests = sample(hostile(target, knownOf(target)), each, seedOf(seed, target.name));
        all.push(...requests.map((sent, turn) => ({ target, sent, turn, index })));
        // The servers of this process answer meanwhile.
        await breathe();
      }
      // The operations take turns, so that what one makes meets what another one takes away.
      const queue = all
        .sort((a, b) => a.turn - b.turn || a.index - b.index)
        .slice(0, count)
        .reverse();
      const worker = async (): Promise<void> => {
        for (let next = queue.pop(); next !== undefined; next = queue.pop()) await send(next.target, next.sent);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
    },
    tidy: async () => {
      for (const { id, origin: from } of await listed('/v1/subscribers?limit=500'))
        if (from !== 'configuration' && from !== 'config')
          await call('DELETE', `/v1/subscribers/${encodeURIComponent(String(id))}`);
      for (const { id } of await listed('/v1/silences?limit=500'))
        await call('DELETE', `/v1/silences/${encodeURIComponent(String(id))}`);
    },
    resume: async () => {
      for (const { name, status, health } of await listed('/v1/subscribers?limit=500')) {
        const path = `/v1/subscribers/${encodeURIComponent(String(name))}`;
        if (status === 'off') await call('PATCH', path, '{"status":"active"}');
        else if ((health as { status: string }).status !== 'ok') await call('POST', `${path}/resume`);
      }
    },
    close: () => dispatcher.destroy(),
  };
}
