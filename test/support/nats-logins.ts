/** Logins at NATS beyond a password, as its own tools make them: NKEYs, and JWTs of an operator's accounts. */
import { nkeys } from '@nats-io/transport-node';

type KeyPair = ReturnType<typeof nkeys.createUser>;

/** A user NKEY: what the server knows of it, and what its owner keeps. */
export function makeNkey(): { readonly publicKey: string; readonly seed: string } {
  const user = nkeys.createUser();
  return { publicKey: user.getPublicKey(), seed: seedOf(user) };
}

/** An operator with one account: lines for the server's configuration, and .creds files of its users. */
export function makeOperator(): { readonly config: string; creds(name: string): string } {
  const [operator, account, system] = [nkeys.createOperator(), nkeys.createAccount(), nkeys.createAccount()];
  const unlimited = { subs: -1, data: -1, payload: -1 };
  const limits = { ...unlimited, conn: -1, leaf: -1, imports: -1, exports: -1, wildcards: true };
  const storage = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
  const accountJwt = sign(operator, account, 'SHOP', { type: 'account', version: 2, limits: { ...limits, ...storage } });
  const systemJwt = sign(operator, system, 'SYS', { type: 'account', version: 2, limits });
  const preloaded = [account, system].map((each, index) => `${each.getPublicKey()}: ${[accountJwt, systemJwt][index]}`);
  const operatorJwt = sign(operator, operator, 'OPERATOR', { type: 'operator', version: 2 });
  return {
    config: [
      `operator: ${operatorJwt}`,
      `system_account: ${system.getPublicKey()}`,
      `resolver: MEMORY\nresolver_preload: { ${preloaded.join(', ')} }`,
    ].join('\n'),
    creds: (name) => {
      const user = nkeys.createUser();
      const jwt = sign(account, user, name, { type: 'user', version: 2, pub: {}, sub: {}, ...unlimited });
      return [
        `-----BEGIN NATS USER JWT-----\n${jwt}\n------END NATS USER JWT------\n`,
        `-----BEGIN USER NKEY SEED-----\n${seedOf(user)}\n------END USER NKEY SEED------\n`,
      ].join('\n');
    },
  };
}

function seedOf(pair: KeyPair): string {
  return new TextDecoder().decode(pair.getSeed());
}

function sign(issuer: KeyPair, subject: KeyPair, name: string, nats: Record<string, unknown>): string {
  const claims = {
    jti: name,
    iat: Math.floor(Date.now() / 1_000),
    iss: issuer.getPublicKey(),
    name,
    sub: subject.getPublicKey(),
    nats,
  };
  const parts = [{ typ: 'JWT', alg: 'ed25519-nkey' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signature = Buffer.from(issuer.sign(new TextEncoder().encode(parts.join('.')))).toString('base64url');
  return [...parts, signature].join('.');
}
