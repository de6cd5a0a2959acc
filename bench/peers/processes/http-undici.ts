/** Calls of the checkout service and of the receiver with undici's `request`, on connections that are kept. */
import { Agent, request } from 'undici';
import { signedHeaders } from '../../processes/signed-headers.ts';
import type { PeerSettings } from '../settings.ts';
import type { Http } from './http.ts';

const HEADERS = { authorization: 'Bearer bench', accept: 'application/json', 'content-type': 'application/json' };

export function httpByUndici({ serviceUrl, receiverUrl, secret, inFlight }: PeerSettings): Http {
  const dispatcher = new Agent({ connections: inFlight, pipelining: 1 });
  return {
    poll: async (id) => {
      const body = `{"PurchaseId":"${id}"}`;
      const reply = await request(`${serviceUrl}/CheckOut2Api/GetPaymentStatus`, {
        method: 'POST',
        headers: HEADERS,
        body,
        dispatcher,
      });
      const { State } = (await reply.body.json()) as { State: number };
      if (reply.statusCode !== 200) throw new Error(`the service answered ${reply.statusCode}`);
      return State;
    },
    post: async ({ id, body }) => {
      const reply = await request(receiverUrl, {
        method: 'POST',
        headers: signedHeaders({ id, body, secret }),
        body,
        dispatcher,
      });
      await reply.body.dump();
      if (reply.statusCode !== 200) throw new Error(`the receiver answered ${reply.statusCode}`);
    },
  };
}
