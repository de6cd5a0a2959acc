/** An event as a CloudEvent 1.0 in structured JSON, made from the stored text alone: the same bytes on every attempt. */

/** The media type of what `toCloudEvent` answers. */
export const CLOUDEVENT_TYPE = 'application/cloudevents+json; charset=utf-8';

/** The text that `eventBody` writes. Ids, types and times hold no quotes, so the first `data` is the outer one. */
const STORED = /^\{"id":"([^"\\]+)","type":"([^"\\]+)","timestamp":"([^"\\]+)","data":(\{.*\})\}$/s;
/** As many digits as any sequence has: its order as text is its order as a number, as the extension asks. */
const SEQUENCE_DIGITS = 10;

/**
 * Puts a stored event into the envelope of CloudEvents. `data` is cut out of the text and not written again, so that amounts
 * keep their digits. Throws TypeError for a text that is no stored event.
 */
export function toCloudEvent(stored: string): string {
  const found = STORED.exec(stored);
  if (found === null) throw new TypeError('the text is no stored event');
  const [, id, type, time, data] = found as unknown as readonly [string, string, string, string, string];
  const { site, purchaseId, sequence } = JSON.parse(data) as { site?: unknown; purchaseId?: unknown; sequence?: unknown };
  const attributes = {
    specversion: '1.0',
    id,
    source: typeof site === 'string' && site !== '' ? `/purchase-watch/sites/${encodeURIComponent(site)}` : '/purchase-watch',
    type,
    ...(typeof purchaseId === 'string' && purchaseId !== '' && { subject: purchaseId }),
    time,
    datacontenttype: 'application/json',
    ...(typeof sequence === 'number' && { sequence: String(sequence).padStart(SEQUENCE_DIGITS, '0') }),
  };
  return `${JSON.stringify(attributes).slice(0, -1)},"data":${data}}`;
}
