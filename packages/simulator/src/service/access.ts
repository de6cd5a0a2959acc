/** Who may call: the token endpoint and the check of the Authorization header. */
import type { Settled } from '../contract/simulator.ts';
import { type Answer, errorAnswer, tokenErrorAnswer } from '../values/call.ts';
import { type Random, tokenText } from '../values/random.ts';

export type Access = ReturnType<typeof createAccess>;

/** So many tokens are remembered for `secrets`. */
const MOST_ISSUED = 10_000;

/** Starts with no tokens given out. */
export function createAccess(
  { auth, clientId, clientSecret, tokenLifetime, expiresIn, now }: Omit<Settled, 'sites'>,
  random: Random,
) {
  const validUntil = new Map<string, number>();
  const issued: string[] = [];
  const basic = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;

  function issue(): Answer {
    for (const [token, until] of validUntil) if (until <= now()) validUntil.delete(token);
    const token = `tok_${tokenText(random, 44)}`;
    validUntil.set(token, now() + tokenLifetime * 1_000);
    issued.push(token);
    if (issued.length > MOST_ISSUED) issued.shift();
    const lifetime = expiresIn === 'absent' ? {} : { expires_in: expiresIn === 'string' ? String(tokenLifetime) : tokenLifetime };
    const body = JSON.stringify({ access_token: token, token_type: 'Bearer', ...lifetime });
    return { status: 200, body, headers: { 'cache-control': 'no-store' } };
  }

  return {
    /** Answers a token request with the given form. */
    token(form: string, contentType: string): Answer {
      if (auth === 'basic') return errorAnswer(404, 'NOT_FOUND', 'There is no such address.');
      if (!contentType.startsWith('application/x-www-form-urlencoded')) return tokenErrorAnswer(400, 'invalid_request');
      const fields = new URLSearchParams(form);
      const grant = fields.get('grant_type');
      if (grant === null || fields.get('client_id') === null) return tokenErrorAnswer(400, 'invalid_request');
      if (grant !== 'client_credentials') return tokenErrorAnswer(400, 'unsupported_grant_type');
      const known = fields.get('client_id') === clientId && fields.get('client_secret') === clientSecret;
      return known ? issue() : tokenErrorAnswer(401, 'invalid_client');
    },
    /** Null when the header lets the call in, else the refusal. */
    refuse(authorization: string | undefined): Answer | null {
      if (auth !== 'oauth2' && authorization === basic) return null;
      const token = authorization?.startsWith('Bearer ') === true ? authorization.slice(7) : null;
      const until = token === null ? undefined : validUntil.get(token);
      if (until !== undefined && until > now()) return null;
      const scheme = auth === 'basic' ? 'Basic realm="checkout"' : 'Bearer error="invalid_token"';
      return errorAnswer(401, 'UNAUTHORIZED', 'The credentials are missing, wrong or expired.', { 'www-authenticate': scheme });
    },
    expireTokens: () => validUntil.clear(),
    /** Secrets that must not turn up anywhere: the client's own and every token given out. */
    secrets: () => [clientSecret, basic.slice(6), ...issued],
  };
}
