/** `mcp`: the daemon's answers for assistants that speak the Model Context Protocol. */

import { createCaller } from '../../../packages/client/src/http.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { packageVersion } from '../../runtime/process/package-version.ts';
import { apiAddressArgument, apiKeyIn, ownApi } from '../run/address.ts';
import { declare } from '../terminal/command.ts';
import { callTool, toolList } from './calls.ts';
import { serveTools } from './protocol.ts';

/** A rehearsal may wait for its turn, and takes the longest. */
const ANSWER_WITHIN: Milliseconds = 120_000;

const INSTRUCTIONS =
  'purchase-watch polls purchases of online shops at a checkout service, and alerts people when customers get stuck. All tools only read. Begin with `status`; `incidents` and `incident` say what is or was wrong, `why` explains one purchase, `trends` says how checkouts ended over days, `rehearse` tries alert settings on the past. Times are UTC. Where a number is null or `change` is too_few, say that too little is known.';

export const register = declare(
  {
    description:
      "A server of the Model Context Protocol on standard input and output, for an assistant that starts it: tools that only read what the daemon's API answers, with fixed fields and without names of people, notes or order references. The key is API_READ_KEY (or the file of API_READ_KEY_FILE), else API_KEY; without either, the key of this machine in DATA_DIR, which only 127.0.0.1 and [::1] get.",
    options: [
      [
        '--url <url>',
        "the address of the daemon's API; HOST and PORT of the environment, or http://127.0.0.1:8080, unless given",
        { read: apiAddressArgument },
      ],
    ],
    examples: [
      ['mcp', 'for the daemon on this machine'],
      ['mcp --url https://watch.shop.example', 'for a daemon elsewhere, with API_READ_KEY'],
    ],
  },
  async (context, { url }) => {
    const baseUrl = url ?? ownApi(context);
    const apiKey = apiKeyIn(context, baseUrl, ['API_READ_KEY', 'API_KEY']);
    // The daemon on this machine may make its key, or start, after this command.
    const ask: ReturnType<typeof createCaller> = (call) =>
      createCaller({ baseUrl, apiKey: apiKey(), timeout: ANSWER_WITHIN })(call);
    await serveTools(
      {
        server: { name: 'purchase-watch', version: packageVersion() },
        instructions: INSTRUCTIONS,
        list: toolList(),
        call: (name, given, signal) => callTool(ask, name, given, signal),
      },
      context.stdin,
      context.stdout,
    );
  },
);
