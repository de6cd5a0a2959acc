/** The headers of a webhook as Standard Webhooks signs it, without a check of what is given: the least work that a sender has. */
import { createHmac } from 'node:crypto';

export function signedHeaders({ id, body, secret }: { id: string; body: string; secret: string }): Record<string, string> {
  const timestamp = Math.floor(Date.now() / 1_000);
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'content-type': 'application/json',
    'user-agent': 'purchase-watch',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${signature}`,
  };
}
