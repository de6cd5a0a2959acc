/** Calls of the checkout service and of the receiver with Node's `fetch`, as most scripts make them. */
import { signedHeaders } from '../../processes/signed-headers.ts';
import type { PeerSettings } from '../settings.ts';
import type { Http } from './http.ts';

const HEADERS = { authorization: 'Bearer bench', accept: 'application/json', 'content-type': 'application/json' };

export function httpByFetch({ serviceUrl, receiverUrl, secret }: PeerSettings): Http {
  return {
    poll: async (id) => {
      const body = JSON.stringify({ PurchaseId: id });
      const reply = await fetch(`${serviceUrl}/CheckOut2Api/GetPaymentStatus`, { method: 'POST', headers: HEADERS, body });
      if (!reply.ok) throw new Error(`the service answered ${reply.status}`);
      return ((await reply.json()) as { State: number }).State;
    },
    post: async ({ id, body }) => {
      const reply = await fetch(receiverUrl, { method: 'POST', headers: signedHeaders({ id, body, secret }), body });
      await reply.arrayBuffer();
      if (!reply.ok) throw new Error(`the receiver answered ${reply.status}`);
    },
  };
}
