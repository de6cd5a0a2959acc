/** The messages of the Model Context Protocol, line by line. */
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { toolList } from '../../../src/cli/mcp/calls.ts';
import { serveTools } from '../../../src/cli/mcp/protocol.ts';

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const server = { name: 'purchase-watch', version: '1' };

/** Serves one tool, which waits until it is told to answer, or for ever when its call is aborted. */
function serve() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const begun: { given: unknown; signal: AbortSignal; end: () => void }[] = [];
  const call = (_name: string, given: unknown, signal: AbortSignal) =>
    new Promise<{ content: [] }>((end) => begun.push({ given, signal, end: () => end({ content: [] }) }));
  const ended = serveTools({ server, instructions: 'Ask.', list: [{ name: 'status' }], call }, input, output);
  const write = (...messages: unknown[]): void => {
    for (const each of messages)
      input.write(`${typeof each === 'string' ? each : JSON.stringify({ jsonrpc: '2.0', ...(each as object) })}\n`);
  };
  let written = '';
  output.setEncoding('utf8').on('data', (text) => {
    written += text;
  });
  const lines = () =>
    written
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  return { write, lines, begun, end: () => input.end(), ended };
}

/** Sends messages, ends the input and answers what came back. */
async function answersTo(...messages: unknown[]): Promise<Record<string, unknown>[]> {
  const served = serve();
  served.write(...messages);
  served.end();
  await served.ended;
  return served.lines();
}

test('a client that names its revision in each request learns what there is', async () => {
  const [discovered, listed] = await answersTo(
    { id: 'a', method: 'server/discover', params: { _meta: META } },
    { id: 2, method: 'tools/list', params: { _meta: META } },
  );
  const common = {
    resultType: 'complete',
    ttlMs: 3_600_000,
    cacheScope: 'public',
    _meta: { 'io.modelcontextprotocol/serverInfo': server },
  };
  const capabilities = { tools: {} };
  expect(discovered).toEqual({
    jsonrpc: '2.0',
    id: 'a',
    result: { ...common, supportedVersions: ['2026-07-28'], capabilities, instructions: 'Ask.' },
  });
  expect(listed).toEqual({ jsonrpc: '2.0', id: 2, result: { ...common, tools: [{ name: 'status' }] } });
});

test.each([
  ['2025-06-18', '2025-06-18'],
  ['2025-11-25', '2025-11-25'],
  ['2024-11-05', '2025-11-25'],
  ['2026-07-28', '2025-11-25'],
])('a client that begins with a handshake and asks for %s is served by %s', async (asked, answered) => {
  const [begun, pinged] = await answersTo(
    {
      id: 1,
      method: 'initialize',
      params: { protocolVersion: asked, capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    },
    { method: 'notifications/initialized' },
    { id: 2, method: 'ping' },
  );
  expect(begun).toMatchObject({ id: 1, result: { protocolVersion: answered, capabilities: { tools: {} }, serverInfo: server } });
  expect(pinged).toEqual({ jsonrpc: '2.0', id: 2, result: {} });
});

test.each([
  ['{', undefined, -32700],
  [{ id: 1 }, 1, -32600],
  ['[]', undefined, -32600],
  [{ id: 1, method: 'resources/list', params: { _meta: META } }, 1, -32601],
  [{ id: 1, method: 'tools/call', params: { name: 'forget', _meta: META } }, 1, -32602],
  [{ id: 1, method: 'server/discover' }, 1, -32602],
  [{ id: 1, method: 'tools/list', params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } } }, 1, -32602],
  [
    { id: 1, method: 'tools/list', params: { _meta: { ...META, 'io.modelcontextprotocol/protocolVersion': '1900-01-01' } } },
    1,
    -32022,
  ],
])('%j is refused', async (message, id, code) => {
  const [refused, ...more] = await answersTo(message);
  expect([refused!.id, (refused!.error as { code: number }).code, more]).toEqual([id, code, []]);
  if (code === -32022) expect(refused!.error).toMatchObject({ data: { supported: ['2026-07-28'], requested: '1900-01-01' } });
});

test('calls go on side by side, four at most, and a cancelled one is ended and not answered', async () => {
  const served = serve();
  const call = (id: number) => ({ id, method: 'tools/call', params: { name: 'status', arguments: { id }, _meta: META } });
  served.write(call(1), call(2), call(3), call(4), call(5));
  await expect.poll(() => served.begun.map(({ given }) => given)).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }]);
  served.write({ method: 'notifications/cancelled', params: { requestId: 2 } });
  await expect.poll(() => served.begun[1]!.signal.aborted).toBe(true);
  served.begun[1]!.end();
  await expect.poll(() => served.begun.length).toBe(5);
  for (const { end } of served.begun) end();
  served.end();
  await served.ended;
  const answers = served.lines();
  expect(answers.map(({ id }) => id)).toEqual([1, 3, 4, 5]);
  expect(answers[0]).toMatchObject({ result: { resultType: 'complete', content: [] } });
});

test('tools say that they only read, and their list stays short enough for a model to read', () => {
  const tools = toolList();
  expect(tools.length).toBeLessThanOrEqual(6);
  expect(tools.map(({ annotations }) => annotations.readOnlyHint)).toEqual(tools.map(() => true));
  expect(JSON.stringify(tools).length).toBeLessThan(20_000);
});
