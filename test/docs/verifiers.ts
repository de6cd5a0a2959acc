/** Requests that a receiver must take or refuse, and programs that ask the examples of docs/receiving.md about them. */
import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { WebhookOptions } from '../../src/channels/webhook/webhook.ts';
import { newSigningKey } from '../../src/config/kinds/signing-key.ts';

export const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
/** Its base64 needs padding, has both signs that other alphabets write otherwise, and is written without the padding. */
export const UNPADDED = `whsec_${Buffer.alloc(32, 0xfb).toString('base64').replace('=', '')}`;
export const STRANGER = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
export const SIGNING_KEY = newSigningKey();
export const BODY =
  '{"id":"evt_1","type":"purchase.state_changed","timestamp":"2026-11-20T09:15:02.123Z","data":{"site":"se","purchaseId":"2f1c9a7e","sequence":3,"from":null,"to":{"value":2,"name":"Completed"},"reference":"Åsa 🦊 /","metadata":{"cart":7},"price":249.50,"currency":"SEK"}}';

export interface Request {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What a subscriber with these keys is sent. */
export type Send = (keys: readonly string[], options?: Partial<WebhookOptions> & { at?: number }) => Promise<Request>;

/** Signed now with the empty key, as anybody can. */
export function forged(): Request {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac('sha256', '').update(`evt_1.${timestamp}.${BODY}`).digest('base64');
  return {
    headers: { 'webhook-id': 'evt_1', 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` },
    body: BODY,
  };
}

/** Settings that hold no secret, or a wrong one: with them nothing may start. */
export const NO_SECRETS: readonly (string | null)[] = [
  null,
  '',
  ' ',
  ',',
  'whsec_',
  'whsec_c2hvcnQ=',
  `${SECRET} whsec_`,
  'secret',
];

export interface Case extends Request {
  readonly about: string;
  readonly secrets: readonly string[];
  /** The secrets as a setting, for those that read one; null: it is not set. */
  readonly setting?: string | null;
  readonly good: boolean;
}

export async function cases(sent: Send): Promise<Case[]> {
  const request = await sent([SECRET]);
  const changed = (headers: IncomingHttpHeaders) => ({ ...request, headers: { ...request.headers, ...headers } });
  const now = Number(request.headers['webhook-timestamp']);
  const good = { secrets: [SECRET], good: true };
  const bad = { secrets: [SECRET], good: false };
  return [
    { about: 'as it was sent', ...request, ...good },
    { about: 'with a secret whose base64 has no padding', ...(await sent([UNPADDED])), secrets: [UNPADDED], good: true },
    { about: 'signed four minutes ago', ...(await sent([SECRET], { at: Date.now() - 240_000 })), ...good },
    { about: 'while a secret is replaced, for one who has the old one', ...(await sent([STRANGER, SECRET])), ...good },
    { about: 'while a secret is replaced, for one who has the new one', ...(await sent([SECRET, STRANGER])), ...good },
    { about: 'for one who has both, before it is replaced', ...request, secrets: [STRANGER, SECRET], good: true },
    { about: 'for one who has both, after it was replaced', ...request, secrets: [SECRET, STRANGER], good: true },
    { about: 'with a public signature before the other', ...(await sent([SIGNING_KEY, SECRET])), ...good },
    { about: 'as a CloudEvent', ...(await sent([SECRET], { format: 'cloudevents' })), ...good },
    { about: 'with a changed body', ...request, body: BODY.replace('249.50', '249.5'), ...bad },
    { about: 'with a space more', ...request, body: `${BODY} `, ...bad },
    { about: 'with another secret', ...request, secrets: [STRANGER], good: false },
    { about: 'with a public signature alone', ...(await sent([SIGNING_KEY])), ...bad },
    { about: 'signed six minutes ago', ...(await sent([SECRET], { at: Date.now() - 360_000 })), ...bad },
    { about: 'signed six minutes from now', ...(await sent([SECRET], { at: Date.now() + 360_000 })), ...bad },
    { about: 'with another id', ...changed({ 'webhook-id': 'evt_2' }), ...bad },
    { about: 'with another time', ...changed({ 'webhook-timestamp': String(now - 1) }), ...bad },
    { about: 'with a time that is none', ...changed({ 'webhook-timestamp': 'soon' }), ...bad },
    {
      about: 'with a signature cut short',
      ...changed({ 'webhook-signature': String(request.headers['webhook-signature']).slice(0, 20) }),
      ...bad,
    },
    { about: 'with an empty signature', ...changed({ 'webhook-signature': 'v1,' }), ...bad },
    { about: 'without a signature', ...changed({ 'webhook-signature': undefined }), ...bad },
    { about: 'without anything', ...request, headers: {}, ...bad },
    ...[[], [''], ['whsec_'], [SECRET, ''], ['', SECRET]].map((secrets) => ({
      about: `forged with the empty key, for one who has ${JSON.stringify(secrets)}`,
      ...forged(),
      secrets,
      good: false,
    })),
    ...[...NO_SECRETS, `${SECRET} `, ` ${SECRET}`, `${STRANGER},,${SECRET}\n`].map((setting) => ({
      about: `forged with the empty key, where the setting is ${JSON.stringify(setting)}`,
      ...forged(),
      secrets: [],
      setting,
      good: false,
    })),
    ...NO_SECRETS.map((setting) => ({
      about: `as it was sent, where the setting is ${JSON.stringify(setting)}`,
      ...request,
      secrets: [],
      setting,
      good: false,
    })),
    ...[`${SECRET} `, `${STRANGER},${SECRET}`, `${SECRET}, ${STRANGER}`, `${STRANGER}\n${SECRET}\n`].map((setting) => ({
      about: `as it was sent, where the setting is ${JSON.stringify(setting)}`,
      ...request,
      secrets: [],
      setting,
      good: true,
    })),
  ];
}

/** Each reads cases from standard input and says of each what the event says, or null when it was refused. */
export const NODE = (file: string): string => `
import { readFileSync } from 'node:fs';
import * as page from './${file}';
const said = JSON.parse(readFileSync(0)).map(({ headers, body, secrets, setting }) => {
  try {
    const list = setting === undefined ? secrets : page.secretsOf(setting ?? undefined);
    const { data } = page.verify(Buffer.from(body), headers, list);
    return [data.purchaseId, data.reference, String(data.price)];
  } catch {
    return null;
  }
});
console.log(JSON.stringify(said));
`;
export const PYTHON = `
import json, sys
from verify import secrets_of, verify
def say(case):
    try:
        secrets = secrets_of(case["setting"]) if "setting" in case else case["secrets"]
        data = verify(case["body"].encode(), case["headers"], secrets)["data"]
        return [data["purchaseId"], data["reference"], str(data["price"])]
    except ValueError:
        return None
print(json.dumps([say(case) for case in json.load(sys.stdin)]))
`;
export const PHP = `<?php
require __DIR__ . '/verify.php';
echo json_encode(array_map(function (array $case) {
    try {
        $secrets = array_key_exists('setting', $case) ? secretsOf($case['setting'] ?? false) : $case['secrets'];
        $data = verify($case['body'], $case['headers'], $secrets)['data'];
        return [$data['purchaseId'], $data['reference'], number_format($data['price'], 2, '.', '')];
    } catch (RuntimeException | LogicException) {
        return null;
    }
}, json_decode(file_get_contents('php://stdin'), true)));
`;
