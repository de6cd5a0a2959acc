/**
 * The messages of the Model Context Protocol that a server of tools needs, one a line: of revision 2026-07-28, in which each request
 * names its revision, and of the two before it, which begin with `initialize`. Nothing is remembered between requests.
 * Source of the rules: https://modelcontextprotocol.io/specification/2026-07-28 (basic, server/discover, server/tools).
 */
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { createTurns } from '../../runtime/loops/turns.ts';

const REVISION = '2026-07-28';
/** Revisions of clients that begin with `initialize`, the newest first. */
const WITH_HANDSHAKE: readonly string[] = ['2025-11-25', '2025-06-18'];
const META = 'io.modelcontextprotocol/';
/** For how long clients may keep the list of tools: it changes with the version of this program alone. */
const LIST_KEPT = { ttlMs: 3_600_000, cacheScope: 'public' } as const;
/** Calls of tools that are under way at once; others wait. */
const CALLS_AT_ONCE = 4;

const [PARSE_ERROR, INVALID_REQUEST, NO_SUCH_METHOD, INVALID_PARAMS, INTERNAL_ERROR] = [-32700, -32600, -32601, -32602, -32603];
const UNSUPPORTED_REVISION = -32022;

export interface ToolResult extends Readonly<Record<string, unknown>> {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[];
  readonly structuredContent?: object;
  readonly isError?: true;
}

export interface ServedTools {
  readonly server: { readonly name: string; readonly version: string };
  /** Advice for the model that uses the tools. */
  readonly instructions: string;
  /** The tools as `tools/list` answers them. */
  readonly list: readonly { readonly name: string }[];
  call(name: string, given: unknown, signal: AbortSignal): Promise<ToolResult>;
}

const idSchema = z.union([z.string(), z.int()]);
const messageSchema = z.object({
  jsonrpc: z.literal('2.0'),
  id: idSchema.optional(),
  method: z.string(),
  params: z.looseObject({ _meta: z.record(z.string(), z.unknown()).optional() }).optional(),
});
type Message = z.output<typeof messageSchema>;
type Id = z.output<typeof idSchema>;

/** A request that is answered with an error of the protocol. */
class RefusedRequest extends Error {
  readonly code: number;
  readonly data: object | undefined;

  constructor(code: number, message: string, data?: object) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Answers requests until the input ends and all answers are written. */
export async function serveTools(tools: ServedTools, input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Promise<void> {
  const underWay = new Map<Id, AbortController>();
  const answers = new Set<Promise<void>>();
  const answer = createAnswers(tools);
  const write = (id: Id | undefined, part: object) => void output.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...part })}\n`);

  const take = async (id: Id, message: Message): Promise<void> => {
    const ending = new AbortController();
    underWay.set(id, ending);
    const part = await answer(message, ending.signal).then(
      (result) => ({ result }),
      (error: unknown) => ({ error: errorOf(error) }),
    );
    underWay.delete(id);
    // A client that cancelled a request must not get an answer.
    if (!ending.signal.aborted) write(id, part);
  };

  for await (const line of createInterface({ input })) {
    if (line.trim() === '') continue;
    const { id, message, refused } = messageOf(line);
    if (refused !== undefined) write(id, { error: errorOf(refused) });
    else if (id !== undefined) {
      const taken: Promise<void> = take(id, message).finally(() => answers.delete(taken));
      answers.add(taken);
    } else if (message.method === 'notifications/cancelled') {
      const cancelled = idSchema.safeParse(message.params?.requestId);
      if (cancelled.success) underWay.get(cancelled.data)?.abort();
    }
  }
  await Promise.all(answers);
}

function messageOf(line: string) {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { refused: new RefusedRequest(PARSE_ERROR, 'a line is no JSON; write one message a line') };
  }
  const read = messageSchema.safeParse(value);
  if (read.success) return { id: read.data.id, message: read.data };
  const { data: id } = idSchema.safeParse((value as { id?: unknown } | null)?.id);
  return { id, refused: new RefusedRequest(INVALID_REQUEST, `no message of JSON-RPC 2.0: ${z.prettifyError(read.error)}`) };
}

function errorOf(error: unknown): object {
  if (!(error instanceof RefusedRequest))
    return { code: INTERNAL_ERROR, message: error instanceof Error ? error.message : String(error) };
  const { code, message, data } = error;
  return { code, message, data };
}

/** Answers a request with its result; rejects with RefusedRequest. */
function createAnswers({ server, instructions, list, call }: ServedTools) {
  const turns = createTurns({ most: CALLS_AT_ONCE });
  const capabilities = { tools: {} };

  async function callTool(params: Message['params'], signal: AbortSignal): Promise<ToolResult> {
    const name = params?.name;
    if (!list.some((tool) => tool.name === name)) {
      const names = list.map((tool) => tool.name).join(', ');
      throw new RefusedRequest(INVALID_PARAMS, `there is no tool ${JSON.stringify(name)}; there are ${names}`);
    }
    const giveBack = await turns.take();
    try {
      return await call(name as string, params?.arguments ?? {}, signal);
    } finally {
      giveBack();
    }
  }

  function resultOf({ method, params }: Message, signal: AbortSignal): object | Promise<object> {
    if (method === 'tools/call') return callTool(params, signal);
    if (method === 'tools/list') return { tools: list, ...LIST_KEPT };
    if (method === 'server/discover') return { supportedVersions: [REVISION], capabilities, instructions, ...LIST_KEPT };
    throw new RefusedRequest(NO_SUCH_METHOD, `this server has no ${method}`);
  }

  return async (message: Message, signal: AbortSignal): Promise<object> => {
    const { method, params } = message;
    if (method === 'initialize') {
      const asked = String(params?.protocolVersion);
      const protocolVersion = WITH_HANDSHAKE.includes(asked) ? asked : WITH_HANDSHAKE[0];
      return { protocolVersion, capabilities, serverInfo: server, instructions };
    }
    if (method === 'ping') return {};
    const isWithoutHandshake = checkRevision(message);
    const result = await resultOf(message, signal);
    if (!isWithoutHandshake) return result;
    return { resultType: 'complete', ...result, _meta: { [`${META}serverInfo`]: server } };
  };
}

/** Answers whether a request names its revision, as it must be without a handshake. Throws RefusedRequest for another revision. */
function checkRevision({ method, params }: Message): boolean {
  const requested = params?._meta?.[`${META}protocolVersion`];
  if (requested === undefined && method !== 'server/discover') return false;
  if (typeof requested !== 'string' || params?._meta?.[`${META}clientCapabilities`] === undefined) {
    throw new RefusedRequest(INVALID_PARAMS, `params._meta needs ${META}protocolVersion and ${META}clientCapabilities`);
  }
  if (requested === REVISION) return true;
  throw new RefusedRequest(UNSUPPORTED_REVISION, 'Unsupported protocol version', { supported: [REVISION], requested });
}
