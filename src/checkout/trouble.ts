/**
 * The trouble of a call, as one of the observations that core knows and a sentence for a person who was just woken
 * up: what happened, then what to do. No sentence quotes an answer, an address with credentials or a secret.
 */

import { isUtf8 } from 'node:buffer';
import { readRetryAfter } from '../domain/deliveries/retry-after.ts';
import { NO_SUCH_PURCHASE, type Observation } from '../domain/purchases/purchase.ts';
import type { Instant, Milliseconds } from '../domain/values/time.ts';
import { codesText, type ErrorList, type JsonReply, readBody, readErrorList } from './answer-text.ts';
import type { Failure, Reply } from './call.ts';
import type { FailureReason } from './failure.ts';

/** Longer requests are cut to this: a mistyped header must not silence a site for days. */
const LONGEST_RETRY_AFTER: Milliseconds = 3_600_000;

/** Every observation that shows no state. */
export type TroubleObservation = Exclude<Observation, { kind: 'seen' | 'same' }>;

/** Builds one; the reply adds its status. */
export function trouble(kind: TroubleObservation['kind'], reason: string, detail: string, reply?: Reply): TroubleObservation {
  return { kind, reason, detail, httpStatus: reply?.status ?? null, retryAfter: null };
}

const WAITS = 'Nothing is lost: polling goes on by itself.';

const FAILURES: Record<FailureReason, string> = {
  timeout: 'The service did not answer in time.',
  too_large: 'The answer is far larger than any this service describes, so it was not read to its end. Look at it by hand.',
  dns: "The name in the site's base address could not be resolved. Check the address for a typing error, then this machine's DNS.",
  tls: 'No secure connection could be made. Check that the certificate is valid and that the base address has the right name.',
  connection_refused: 'Nothing accepts connections at the base address. The service is down, or the address or port is wrong.',
  connection_reset: 'The connection was reset before an answer came. The service, a firewall or a proxy broke it off.',
  connection_closed: 'The connection was closed before an answer came. The service may be restarting.',
  connection_cut: 'The connection ended in the middle of the answer. The service may be restarting.',
  no_route: 'This machine has no way to the base address. Check its network, firewall and proxy.',
  proxy_failed: 'Mend the proxy, or its address or credentials in that setting.',
  proxy_refused: 'Have the proxy allow the base address.',
  bad_http: 'What came back is not HTTP. Check that host, port and https/http in the base address are right.',
  stopped: 'The call was broken off because this process is stopping.',
  send_failed: 'The call could not be sent. This points to a setting or a fault of this program, so please report it.',
};

const PHASES: Record<Failure['phase'], string> = {
  connecting: 'No connection came about within the time limit. Check the base address, the network and any firewall.',
  waiting: 'The service took the call and did not answer within the time limit. It is slow or hangs; ask its operator.',
  reading: 'The answer began and was not complete within the time limit. The service or the line is slow.',
};

/** A call without a complete answer. Too large an answer is the purchase's trouble, everything else the site's. */
export function failureTrouble(failure: Failure): TroubleObservation {
  const { failed, status, phase, proxy = '' } = failure;
  const what = failed === 'timeout' ? PHASES[phase] : FAILURES[failed];
  const detail = failed === 'too_large' ? what : `${proxy} ${what} ${WAITS}`.trimStart();
  return {
    kind: failed === 'too_large' ? 'malformed' : 'unreachable',
    reason: failed,
    detail,
    httpStatus: status,
    retryAfter: null,
  };
}

/** A complete answer whose status is not 2xx. `now` (epoch milliseconds) serves `Retry-After` dates. */
export function statusTrouble(reply: Reply, now: Instant): TroubleObservation {
  const asked = readRetryAfter(reply.headers['retry-after'], { date: reply.headers.date, now });
  return { ...describeStatus(reply), retryAfter: asked === null ? null : Math.min(asked, LONGEST_RETRY_AFTER) };
}

function describeStatus(reply: Reply): TroubleObservation {
  const { status } = reply;
  const list = readErrorList(readBody(reply)?.value);
  const found = describeWith(reply, `HTTP ${status}${codesText(list?.codes ?? [])}`, list);
  return list === null || list.codes.length === 0 ? found : { ...found, codes: list.codes };
}

/** `said`: the status with the codes beside it, for people. */
function describeWith(reply: Reply, said: string, list: ErrorList | null): TroubleObservation {
  const { status } = reply;
  if (status === 401 || status === 403) {
    const detail = `The service does not accept the site's credentials (${said}). Check client id, secret and auth of the site; they may have been changed or withdrawn.`;
    return trouble('refused', `http_${status}`, detail, reply);
  }
  if (status === 429) {
    const detail = `The service asks for fewer calls (HTTP 429). Polling slows down by itself; lower maxRps if this stays.`;
    return trouble('throttled', 'http_429', detail, reply);
  }
  if (status >= 300 && status < 400) {
    const detail = `The service redirects elsewhere (${said}), and credentials are not sent after a redirect. Set the base address to where it really is.`;
    return trouble('unreachable', 'redirected', detail, reply);
  }
  if (list?.saysNoPurchase === true) return noSuchPurchase(said, reply);
  if (status >= 500) {
    const detail = `The service reports an error of its own (${said}). If it stays, tell its operator. ${WAITS}`;
    return trouble('unreachable', `http_${status}`, detail, reply);
  }
  // Only the service itself can say that it does not know an id; a page comes from something in front of it.
  if (isPage(reply)) return pageTrouble(reply);
  if (status === 404 || status === 410) {
    const detail = `The service does not know this Purchase ID (${said}). Check the id, and that it belongs to this site and environment. If every purchase says so, check the base address.`;
    return trouble('unknown', `http_${status}`, detail, reply);
  }
  if (list !== null || status === 400 || status === 422) return declined(said, reply);
  const detail = `The service answered with ${said}, which says nothing about the purchase. Check the base address and any proxy in between.`;
  return trouble('unreachable', `http_${status}`, detail, reply);
}

/** The service says in words that it has no such purchase, whatever the status. */
function noSuchPurchase(said: string, reply: Reply): TroubleObservation {
  const detail = `The service says that there is no such purchase (${said}). Check the id, and that it belongs to this site and environment. If every purchase says so, check the base address.`;
  return trouble('unknown', NO_SUCH_PURCHASE, detail, reply);
}

/** The service takes the call and refuses to answer the question: that says nothing about whether there is such a purchase. */
function declined(said: string, reply: Reply): TroubleObservation {
  const detail = `The service refuses to answer about this purchase (${said}). Ask its operator what that means.`;
  return trouble('malformed', reply.status < 300 ? 'error_list' : `http_${reply.status}`, detail, reply);
}

/** A 2xx answer that holds errors where a purchase belongs; null when it holds none. */
export function errorsInstead(value: unknown, reply: Reply): TroubleObservation | null {
  const list = readErrorList(value);
  if (list === null) return null;
  const said = `HTTP ${reply.status}${codesText(list.codes)}`;
  const found = list.saysNoPurchase ? noSuchPurchase(said, reply) : declined(said, reply);
  return list.codes.length === 0 ? found : { ...found, codes: list.codes };
}

/** Whether the body is a page for people: because it begins like markup, or by its type where it does not begin like data. */
export function isPage(reply: Reply): boolean {
  const begin = reply.body.toString('utf8', 0, 64);
  if (/^\ufeff?\s*</.test(begin)) return true;
  return /html/i.test(String(reply.headers['content-type'] ?? '')) && !/^\ufeff?\s*[[{]/.test(begin);
}

/** A page where data belongs: a proxy, a login or maintenance page, or a wrong base address; never this purchase's fault. */
export function pageTrouble(reply: Reply): TroubleObservation {
  const detail = `A web page came back instead of data (HTTP ${reply.status}). Check the base address, and whether a proxy, login or maintenance page answers for the service.`;
  return trouble('unreachable', 'html', detail, reply);
}

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
