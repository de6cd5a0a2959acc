/** Events as channels get them, made from a number. */
import type { OutgoingEvent, SendResult } from '../../src/channels/outgoing/channel.ts';

export interface EventOptions {
  readonly type?: string;
  readonly site?: string;
  /** Makes the body larger by about so many bytes. */
  readonly padding?: number;
}

/** The event `evt_<number>`, with digits and letters that have to survive. */
export function outgoingEvent(
  number: number,
  { type = 'purchase.state_changed', site = 'se', padding = 0 }: EventOptions = {},
): OutgoingEvent {
  const id = `evt_${number}`;
  const reference = `Åsa 🦊${'x'.repeat(padding)}`;
  const data = `{"site":"${site}","purchaseId":"p-1","sequence":${number},"price":249.50,"reference":"${reference}"}`;
  return { id, type, body: `{"id":"${id}","type":"${type}","timestamp":"2026-11-20T09:15:02.123Z","data":${data}}` };
}

/** The failure that a result is; throws for another one. */
export function failed(result: SendResult): Extract<SendResult, { kind: 'failed' }> {
  if (result.kind !== 'failed') throw new Error(`expected a failure, not ${result.kind}`);
  return result;
}
