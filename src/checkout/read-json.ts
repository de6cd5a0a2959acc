/** From the bytes of a 2xx answer to JSON, or to the reason why it is none. */
import { isUtf8 } from 'node:buffer';
import { type JsonReply, readBody } from './answer-text.ts';
import type { Reply } from './call.ts';
import { isPage, pageTrouble, type TroubleObservation, trouble } from './trouble.ts';

const LOOK = 'If it stays, ask the operator of the service.';

/** Parses first and looks for reasons afterwards: nearly every answer is good, and nothing else needs the headers. */
export function readJson(reply: Reply): JsonReply | TroubleObservation {
  return readBody(reply) ?? whyNotJson(reply);
}

function whyNotJson(reply: Reply): TroubleObservation {
  const encoding = String(reply.headers['content-encoding'] ?? 'identity');
  if (encoding !== 'identity' && reply.body.length > 0) {
    const detail =
      'The answer is compressed, which was not asked for, and could not be unpacked. A proxy in front of the service does this; switch it off there.';
    return trouble('unreachable', 'compressed', detail, reply);
  }
  if (isPage(reply)) return pageTrouble(reply);
  if (reply.body.every((byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d))) {
    return trouble('malformed', 'empty', `The service answered with an empty body. ${LOOK}`, reply);
  }
  if (!isUtf8(reply.body)) {
    return trouble('malformed', 'not_utf8', `The answer is not valid UTF-8 text, so it was not used. ${LOOK}`, reply);
  }
  return trouble('malformed', 'not_json', `The answer is not complete, valid JSON, so it was not used. ${LOOK}`, reply);
}
