/** How a client of `purchase-watch mcp` lists the tools and calls one. An answer has the fields that the tool's schema names, and no others. */
import { z } from 'zod';
import type { ApiCaller } from '../../../packages/client/src/http.ts';
import { ApiProblem } from '../../../packages/client/src/problem.ts';
import type { ToolResult } from './protocol.ts';
import { TOOLS } from './tools.ts';

/** A JSON Schema without what says nothing to a model, which reads it all: bounds of integers, and two ways to say null. */
function briefSchema(schema: z.ZodObject, io: 'input' | 'output') {
  const { $schema, ...brief } = z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema }) => {
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (io === 'output') delete jsonSchema.additionalProperties;
      const [first, second] = jsonSchema.anyOf ?? [];
      if (second?.type !== 'null' || typeof first?.type !== 'string' || first.type === 'object') return;
      delete jsonSchema.anyOf;
      Object.assign(jsonSchema, { type: [first.type, 'null'] });
    },
  });
  return brief;
}

/** The entries of `tools/list`. */
export const toolList = () =>
  [...TOOLS].map(([name, { title, description, input, output }]) => ({
    name,
    title,
    description,
    inputSchema: briefSchema(input, 'input'),
    outputSchema: briefSchema(output, 'output'),
    annotations: { readOnlyHint: true, openWorldHint: false },
  }));

/** Asks the API for what a tool answers. What the model can mend is a result with `isError`. */
export async function callTool(ask: ApiCaller, name: string, given: unknown, signal: AbortSignal): Promise<ToolResult> {
  const called = TOOLS.get(name)!;
  const read = called.input.safeParse(given);
  if (!read.success) return failed(`${name}: ${faultsOf(read.error)}`);
  try {
    const { body } = await ask({ ...called.ask(read.data), signal });
    const shown = called.output.safeParse(body);
    if (!shown.success)
      return failed(`the daemon has another version than this command, and answers otherwise: ${faultsOf(shown.error)}`);
    return { content: [{ type: 'text', text: JSON.stringify(shown.data) }], structuredContent: shown.data };
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    const advice = error.code === 'unreachable' ? '; start the daemon there, or correct --url' : '';
    return failed(`${error.message}${advice}`);
  }
}

const failed = (words: string): ToolResult => ({ content: [{ type: 'text', text: words }], isError: true });

/** Each field with its fault. */
const faultsOf = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => `${path.length === 0 ? '' : `${path.join('.')}: `}${message}`).join('; ');
