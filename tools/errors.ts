/**
 * The error codes as a page: statuses and meanings from the API's own table, the calls that answer each from the OpenAPI document,
 * and what to do from the table below. Run by itself it writes docs/errors.md.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROBLEMS, type ProblemCode } from '../src/api/http/problems.ts';
import { openApiDocument } from './client-types.ts';

const ROOT = join(import.meta.dirname, '..');

/** What the caller does about each code. The type refuses a code without a remedy. */
const REMEDIES: Readonly<Record<ProblemCode, string>> = {
  invalid_request: 'Correct the fields that `errors` names; each has the value and what is expected.',
  not_json: 'Send JSON in UTF-8; `detail` says where the text ends to be JSON.',
  too_deep: 'Send fewer levels of lists and objects ([limits](http-api.md#limits)).',
  unknown_site: 'Name a site of the settings file; `detail` suggests the nearest name.',
  unknown_event: 'Begin with the oldest event that is kept (leave `after` out), or with `after=latest`.',
  unauthorized:
    'Send `Authorization: Bearer <key>` with a known key that has not expired, or [that of the machine](http-api.md#without-keys).',
  read_only_key: 'Use a key with the scope that `detail` names.',
  missing_scope: 'Use a key with the scope that `detail` names, or add that to this key in `api.keys`.',
  proxied: 'Set `API_KEY` at the daemon and send it: without keys a request that a proxy passed on is refused.',
  foreign_host: 'Call `http://127.0.0.1`, or set `API_KEY` at the daemon and send it.',
  cross_site: 'Call from a program, not from a page of another site; or set `API_KEY` and send it.',
  not_found: 'Compare the path with `/openapi.json`.',
  purchase_not_found: 'Register the purchase, or compare the Purchase ID and the site.',
  subscriber_not_found: 'List the names: `GET /v1/subscribers`, or `GET /v1/channels` for channels.',
  incident_not_found: 'List the ids: `GET /v1/incidents`.',
  mark_not_found: 'List the ids: `GET /v1/marks`.',
  silence_not_found: 'List the ids: `GET /v1/silences`.',
  session_not_found: 'Nothing: the browser is signed out.',
  delivery_not_found: 'List the ids: `GET /v1/deliveries`. Old deliveries are deleted by retention.',
  no_invoice: 'Nothing: purchases of this kind have none.',
  method_not_allowed: 'Use a method that the header `Allow` lists.',
  ambiguous_purchase: 'Name the site: `?site=`.',
  subscriber_exists: 'Choose another name, or change the subscriber: `PATCH /v1/subscribers/{id}`.',
  subscriber_configured: 'Change the subscriber in the settings file and restart the daemon.',
  subscriber_off: 'Switch the subscriber on first: `PATCH /v1/subscribers/{id}` with `{"status": "active"}`.',
  secrets_key_missing: 'Set `SECRETS_KEY` at the daemon ([secrets that are stored](configuration.md#secrets-that-are-stored)).',
  secrets_key_wrong: 'Set the `SECRETS_KEY` with which the secret was stored, or store a new secret.',
  too_many_secrets: 'Wait until an old secret ends (`oldSecretsUntil`), then replace the secret again.',
  headers_not_given: 'Give all headers again with `url`, or `"headers": null`.',
  incident_ended: 'Nothing: it takes no acknowledgement.',
  idempotency_key_in_use: 'Repeat the request after the seconds in `Retry-After`.',
  not_completed: 'Ask again when the purchase is Completed.',
  not_watched: 'Register the purchase again to watch it.',
  site_not_configured: 'Put the site back into the settings file.',
  too_large: 'Send less at once ([limits](http-api.md#limits)).',
  unsupported_media_type: 'Send the header `content-type: application/json`, and no compressed body.',
  idempotency_key_reused: 'Use a new key for each new request.',
  too_many_wrong_keys: 'Stop sending the wrong key; a right key is answered at once.',
  internal: 'Report it, with `api.failed` of the log.',
  checkout_unavailable: 'Try again later; `detail` says what the service answered.',
  checkout_busy: 'Try again after the seconds in `Retry-After`, or raise `maxRps` of the site.',
  starting: 'Try again after the seconds in `Retry-After`; `/readyz` says when the start is over.',
  unavailable: 'Try again in a few seconds. If it lasts, run `purchase-watch doctor`.',
  database_read_only: 'The operator lets the database take writes; `doctor` says how.',
  database_full: 'The operator makes room on the disk of the database.',
  busy: 'Try again after the seconds in `Retry-After`, with fewer calls at once.',
  locked: 'Try again in a few seconds; end the transaction that stays open in the database.',
  too_many_streams: 'Close streams that nobody reads, or read the feed with `GET /v1/events?wait=30s`.',
};

/** What the client of the package throws when no answer of the API came; the codes stand in packages/client/src/http.ts. */
const OF_CLIENT: readonly (readonly [code: string, meaning: string, remedy: string])[] = [
  ['timeout', 'No answer came in time', 'Try again; raise `timeout` of the client if the call may take longer.'],
  ['unreachable', 'There was no connection, or it broke', 'Compare `baseUrl`; see whether the daemon runs; try again.'],
  [
    'unexpected_answer',
    'Something answered that is not this API',
    'Compare `baseUrl`, and look at proxies between the client and the daemon.',
  ],
];

/** The calls that answer a code are named up to this number; a longer list says nothing. */
const MOST_LISTED = 3;

/** The calls that may answer each code, as `GET /v1/…`. */
async function callsByCode(): Promise<Map<string, string[]>> {
  const calls = new Map<string, string[]>();
  for (const [path, item] of Object.entries((await openApiDocument()).paths)) {
    for (const [method, { responses }] of Object.entries(item)) {
      for (const { description } of Object.values(responses)) {
        const [, codes = ''] = /^Problem: ([a-z_, ]+)$/.exec(description) ?? [];
        for (const code of codes.split(', '))
          calls.set(code, [...(calls.get(code) ?? []), `\`${method.toUpperCase()} ${path}\``]);
      }
    }
  }
  return calls;
}

function listed(calls: readonly string[] = []): string {
  return calls.length === 0 || calls.length > MOST_LISTED ? '' : ` (${calls.join(', ')})`;
}

/** The page. */
export async function errorsPage(): Promise<string> {
  const calls = await callsByCode();
  const rows = Object.entries(PROBLEMS).map(([code, { status, title }]) => {
    const cells = [`\`${code}\``, status, title + listed(calls.get(code)), REMEDIES[code as ProblemCode]];
    return `| ${cells.join(' | ')} |`;
  });
  return `# Error codes

\`npm run errors\` makes this page from the code. Codes never change their meaning, so programs may compare them; titles and details are for people.

Each refused call of the [HTTP API](http-api.md) answers \`application/problem+json\` (RFC 9457):

\`\`\`json
{ "type": "urn:purchase-watch:problem:unknown_site", "title": "There is no such site", "status": 400, "code": "unknown_site",
  "detail": "site: is not configured; configured sites: fi, se.", "errors": [{ "field": "site", "value": "SE", "detail": "is not configured" }] }
\`\`\`

After 429 and 5xx the same call may succeed later (\`isTemporary\` of the [client](client.md)); \`Retry-After\` says after how many seconds. Others fail again until the request or the state of things has changed.

## Of the API

| code | status | meaning, and which calls where it is a few | what to do |
|---|---|---|---|
${rows.join('\n')}

A batch lists its rejected entries with a \`code\` of this table each, and registers the others.

## Of the client

The client throws \`ApiProblem\` with a code of the table above, or with one of these, whose \`status\` is null where no answer came:

| code | meaning | what to do |
|---|---|---|
${OF_CLIENT.map(([code, meaning, remedy]) => `| \`${code}\` | ${meaning} | ${remedy} |`).join('\n')}

Verification of a webhook throws \`WebhookVerificationError\` with a \`reason\` ([receiving](receiving.md#verify)).
The client of the checkout service never throws; its answers have a \`kind\` ([client](client.md#ask-the-checkout-service)).
Commands end with an [exit code](commands.md).
`;
}

if (import.meta.main) writeFileSync(join(ROOT, 'docs/errors.md'), await errorsPage());
