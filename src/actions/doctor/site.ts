/** Checks one site with real calls: connection, credentials by either way, an answer about a purchase, clock, time zone. */

import { codesText } from '../../checkout/answer-text.ts';
import { createCheckoutClient } from '../../checkout/client.ts';
import type { SiteSettings } from '../../config/settings.ts';
import { stateWords } from '../../domain/purchases/states.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { shownAddress } from '../../domain/values/shown-address.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Way } from '../../domain/values/way.ts';
import { randomUUID } from '../../runtime/random.ts';
import { monotonic, wall } from '../../runtime/time.ts';
import type { Finding, Reporter } from '../overview/finding.ts';
import { siteClock } from './clocks.ts';
import { ALLOW_ADDRESS, MEND_PROXY } from './receivers.ts';

type Auth = SiteSettings['auth'];
type CalledSite = SiteSettings & { readonly way: Way };
type Answer = Awaited<ReturnType<ReturnType<typeof createCheckoutClient>['paymentStatus']>>;

/** A purchase to ask about. */
export interface AskedAbout {
  readonly purchaseId: string;
  readonly registeredAt: Instant;
}

/** The outcome of one call, made with one way of authentication. */
interface Asked {
  readonly answer: Answer;
  readonly tookMs: Milliseconds;
  /** Whether the client had an access token, which no client gets without credentials. */
  readonly token: boolean;
  /** The service's clock minus ours, from the Date header; null when no operation answered, or without that header. */
  readonly offset: Milliseconds | null;
  /** The service's clock when it answered. */
  readonly serviceNow: Instant | null;
}

/** Created may be a little ahead of other clocks. */
const CREATED_AHEAD: Milliseconds = 300_000;
const TOO_MANY = 'ask its operator how many calls are allowed and why so few are refused, and run doctor again';
const OTHER: Record<Auth, Auth> = { oauth2: 'basic', basic: 'oauth2' };

/** `known` is a purchase that the service showed before; without one it is asked about an id that does not exist. */
export async function checkSite(report: Reporter, site: CalledSite, known: AskedAbout | null): Promise<Finding[]> {
  const purchaseId = known?.purchaseId ?? randomUUID();
  const [configured, other] = await Promise.all([ask(site, site.auth, purchaseId), ask(site, OTHER[site.auth], purchaseId)]);
  const basic = site.auth === 'basic' ? configured : other;
  const alike = basic.answer.kind === 'unknown' && (await letsAnybodyIn(site, purchaseId));
  const entry = { configured: letsIn(configured, alike), other: letsIn(other, alike) };
  const connection = connectionFinding(report, site, entry.configured === null && entry.other !== null ? other : configured);
  if (connection.verdict === 'failed') return [connection];
  return [
    connection,
    credentials(report, site.auth, { answer: configured.answer, ...entry }),
    ...(entry.configured === true ? aboutPurchase(report, configured.answer, known) : []),
    ...siteClock(report, [configured, other]),
    ...(known === null ? [] : timeZone(report, site, configured, known)),
  ];
}

async function ask(site: CalledSite, auth: Auth, purchaseId: string): Promise<Asked> {
  let offset: Milliseconds | null = null;
  let serviceNow: Instant | null = null;
  let replied = false;
  const client = createCheckoutClient(
    { ...site, auth, concurrency: 1 },
    {
      fields: [],
      onReply: ({ headers: { date } }) => {
        replied = true;
        const at = date === undefined ? Number.NaN : Date.parse(date);
        if (Number.isNaN(at)) return;
        // On average it was cut by half a second.
        serviceNow = at + 500;
        offset = serviceNow - wall();
      },
    },
  );
  const began = monotonic();
  try {
    const answer = heard(await client.paymentStatus(purchaseId));
    return { answer, tookMs: Math.round(monotonic() - began), token: auth === 'oauth2' && replied, offset, serviceNow };
  } finally {
    await client.close();
  }
}

/** A service that refuses to answer about an id has let the call in as much as one that does not know the id. */
function heard(answer: Answer): Answer {
  const isRefusal = answer.kind === 'malformed' && (answer.httpStatus ?? 200) >= 400;
  return isRefusal ? { ...answer, kind: 'unknown' } : answer;
}

function connectionFinding(report: Reporter, { baseUrl, auth }: SiteSettings, { answer, tookMs }: Asked): Finding {
  const where = shownAddress(baseUrl);
  if (answer.kind === 'unreachable' || answer.kind === 'malformed')
    return report.failed(`${where}: ${answer.detail}`, mending(answer.reason));
  const unchecked = `${where}: the service refuses every call as too many (429); credentials and address could not be checked`;
  if (answer.kind === 'throttled') return report.failed(unchecked, TOO_MANY);
  const how = where.startsWith('https:') ? 'over TLS' : 'without encryption';
  return report.ok(`${where} answers ${how} in ${tookMs} ms (${auth === 'oauth2' ? 'token and call' : 'one call'})`);
}

function mending(reason: string): string {
  if (reason.endsWith('proxy_failed')) return MEND_PROXY;
  if (reason.endsWith('proxy_refused')) return ALLOW_ADDRESS;
  if (reason.endsWith('dns') || reason.endsWith('http_404')) return 'correct the base address of the site';
  if (reason.endsWith('timeout'))
    return 'see whether the service is slow, or a firewall drops the connection; raise the timeout of the site if it is only slow';
  if (reason.endsWith('connection_refused')) return 'check the base address of the site, and whether the service is running';
  return 'check the base address of the site, whether the service is running, and client id and secret';
}

/** Whether made-up credentials get the same answer: then it says nothing about ours, for the address may be a wrong one. */
async function letsAnybodyIn(site: CalledSite, purchaseId: string): Promise<boolean> {
  const nobody = { ...site, clientId: `doctor-${randomUUID()}`, clientSecret: randomUUID() };
  return (await ask(nobody, 'basic', purchaseId)).answer.kind === 'unknown';
}

/** Whether the service let the call in: only then it has something to say about an id. Null: its answer leaves that open. */
function letsIn({ answer, token }: Asked, alike: boolean): boolean | null {
  if (answer.kind === 'answer') return true;
  if (answer.kind === 'unknown') return alike && !token ? null : true;
  return answer.kind === 'refused' ? false : null;
}

const ENTRY = new Map([
  [true, 'is accepted'],
  [false, 'is refused'],
  [null, 'gets no clear answer'],
]);

/** `configured` and `other`: whether the service let in who came with the configured way, and with the other one. */
function credentials(
  report: Reporter,
  auth: Auth,
  { answer, configured, other }: { answer: Answer; configured: boolean | null; other: boolean | null },
): Finding {
  const rest = `${OTHER[auth]} ${ENTRY.get(other)}${configured && other ? ', too' : ''}`;
  if (configured === true) return report.ok(`accepts ${auth} (configured); ${rest}`);
  const found = `${auth} (configured) ${ENTRY.get(configured)} (${reasonOf(answer)}); ${rest}`;
  if (answer.kind === 'throttled') {
    return report.failed(`${auth} (configured) could not be checked: its calls are refused as too many (429); ${rest}`, TOO_MANY);
  }
  if (other === true) return report.failed(found, `set auth of the site (CHECKOUT_AUTH) to ${OTHER[auth]}`);
  if (configured === false) return report.failed(found, 'check client id and secret, and that they belong to this environment');
  return report.failed(found, 'whatever the credentials, the answer is the same: correct the base address of the site');
}

function reasonOf(answer: Answer): string {
  return answer.kind === 'answer' ? 'no' : answer.reason.replaceAll('_', ' ').replace('http', 'HTTP');
}

function aboutPurchase(report: Reporter, answer: Answer, known: AskedAbout | null): Finding[] {
  if (answer.kind === 'answer') {
    return [report.ok(`GetPaymentStatus of ${known?.purchaseId ?? 'a made-up id'} shows: ${stateWords(answer.status.State)}`)];
  }
  if (answer.kind !== 'unknown') return [];
  const isRefusal = answer.httpStatus === 400 || answer.httpStatus === 409 || answer.httpStatus === 422;
  const said = `the service answered (HTTP ${answer.httpStatus}${codesText(answer.codes ?? [])}) that it ${isRefusal ? 'says nothing about' : 'does not know'}`;
  if (known === null) {
    const found = `${said} the made-up id it was asked about`;
    return [report.ok(`${found}, so the credentials are accepted; watch a purchase to check more`)];
  }
  const found = `${said} ${known.purchaseId}, the newest that is watched`;
  return [report.warning(found, 'check the id, and that it belongs to this site and environment')];
}

/** Created lies before the service's present and before the purchase was registered here, or the zone is another one. */
function timeZone(
  report: Reporter,
  { timeZone: zone }: SiteSettings,
  { answer, serviceNow }: Asked,
  known: AskedAbout,
): Finding[] {
  const created = answer.kind === 'answer' ? answer.times.Created?.instant : null;
  if (created == null) return [];
  const ahead = created - Math.min(serviceNow ?? known.registeredAt, known.registeredAt);
  const found = `read in ${zone}, the purchase was created`;
  if (ahead <= CREATED_AHEAD) return [report.ok(`${found} before it was registered here, as it should`)];
  const late = `${found} ${humanDuration(Math.round(ahead))} after it was registered here or asked about`;
  return [report.warning(late, 'set timeZone of the site (CHECKOUT_TIME_ZONE) to the zone of the service')];
}
