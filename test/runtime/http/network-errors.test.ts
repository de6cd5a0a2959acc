/** One table of codes, and what the checkout client and the channels make of it. */
import { expect, test } from 'vitest';
import { networkFailureOf } from '../../../src/channels/http/network-failure.ts';
import { reasonOf } from '../../../src/checkout/failure.ts';
import { networkCause } from '../../../src/runtime/http/network-errors.ts';

const failed = (code: string): Error => Object.assign(new Error('failed'), { code });

test.each([
  ['EAI_AGAIN', 'dns', 'dns_failed', 'ours'],
  ['ENOTFOUND', 'dns', 'unknown_host', 'receiver'],
  ['EADDRNOTAVAIL', 'no_route', 'no_socket', 'ours'],
  ['EMFILE', 'send_failed', 'no_socket', 'ours'],
  ['EHOSTUNREACH', 'no_route', 'no_route', 'ours'],
  ['EACCES', 'no_route', 'no_route', 'ours'],
  ['ECONNREFUSED', 'connection_refused', 'connection_refused', 'receiver'],
  ['ECONNRESET', 'connection_reset', 'connection_lost', 'receiver'],
  ['UND_ERR_SOCKET', 'connection_closed', 'connection_lost', 'receiver'],
  ['UND_ERR_CONNECT_TIMEOUT', 'timeout', 'timeout', 'receiver'],
  ['ETIMEDOUT', 'timeout', 'timeout', 'receiver'],
  ['HPE_INVALID_EOF_STATE', 'connection_cut', 'bad_answer', 'receiver'],
  ['HPE_INVALID_CONSTANT', 'send_failed', 'bad_answer', 'receiver'],
  ['CERT_HAS_EXPIRED', 'tls', 'tls', 'receiver'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls', 'tls', 'receiver'],
  ['EPROTO', 'tls', 'tls', 'receiver'],
])('%s is %s for the checkout client, and %s, the fault of %s, for a delivery', (code, checkout, delivery, fault) => {
  expect(networkCause(code)).not.toBeNull();
  expect(reasonOf(failed(code), { isSent: false, hasBegun: false })).toBe(checkout);
  expect(networkFailureOf(failed(code))).toMatchObject({ reason: delivery, fault, detail: expect.stringContaining(`(${code})`) });
});

test('a connection that goes away within an answer has cut it', () => {
  for (const code of ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])
    expect(reasonOf(failed(code), { isSent: true, hasBegun: true })).toBe('connection_cut');
});

test('a code that is not known is nonsense from the other end once the request was sent, and our fault before', () => {
  expect(networkCause('EODD')).toBeNull();
  expect(reasonOf(failed('EODD'), { isSent: true, hasBegun: false })).toBe('bad_http');
  expect(reasonOf(failed('EODD'), { isSent: false, hasBegun: false })).toBe('send_failed');
  expect(networkFailureOf(failed('EODD'), { isSent: true })).toMatchObject({ reason: 'bad_answer', fault: 'receiver' });
  expect(networkFailureOf(failed('EODD'))).toMatchObject({ reason: 'unexpected', fault: 'ours' });
});
