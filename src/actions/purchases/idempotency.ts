/** Requests with an `Idempotency-Key`, and the answers that are kept for them. */
export { claimKey, type KeyedRequest, keepAnswer, releaseKey } from '../../postgres/purchases/idempotency.ts';
