/** One reader for every answer: what a proxy or a serializer does to its bytes keeps no operation from reading it. */
import { expect, test } from 'vitest';
import { type FaultKind, OPERATIONS, type Operation } from '../../packages/simulator/src/contract/names.ts';
import { startCaller } from '../simulator/caller.ts';
import { clientOf } from './service.ts';

/** What an operation brings while calls of it go wrong in a way. */
async function asked(operation: Operation, kind: FaultKind) {
  const { simulator, control } = await startCaller();
  const { purchaseId } = control.add({ script: [{ state: 'Completed' }], paymentMethod: 'invoice' });
  control.fail({ kind, only: operation, for: '1h' });
  const client = clientOf(simulator.url, { auth: 'oauth2', clientId: 'demo-client', clientSecret: 'demo-secret' });
  if (operation === 'authorization') return client.authorization('a-1');
  if (operation === 'invoice') return client.invoice(purchaseId);
  return client.pollStatus(purchaseId);
}

const GOOD = { token: 'seen', authorization: 'answer', status: 'seen', invoice: 'invoice' } as const;

test.each(['bom', 'trailing-bytes', 'gzip', 'html-type', 'content-type'] as const)('%s is read past', async (kind) => {
  for (const operation of OPERATIONS)
    expect([operation, (await asked(operation, kind)).kind]).toEqual([operation, GOOD[operation]]);
});

test.each([
  ['utf-16', 'not_utf8'],
  ['invalid-utf8', 'not_utf8'],
  ['invalid-json', 'not_json'],
] as const)('%s is said', async (kind, reason) => {
  for (const operation of OPERATIONS) {
    const answer = await asked(operation, kind);
    expect([operation, answer]).toMatchObject([
      operation,
      operation === 'token' ? { reason: 'token_unusable' } : { kind: 'malformed', reason },
    ]);
  }
});
