/** With what `listen` checks signatures. */

import { readSecret } from '../../actions/subscribers/rules.ts';
import { newSigningSecret } from '../../channels/outgoing/sealed.ts';
import { environmentOf } from '../../config/sources/environment.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Keys } from '../../receiver/genuine.ts';
import { checked } from '../subscribers/subscriber-options.ts';
import type { CliContext } from '../terminal/context.ts';

/**
 * The keys of the options; else of WEBHOOK_SECRET or the file it is in; else a new secret, which a subscriber of one's own
 * needs beside a public key, too. The first secret is the newest. Throws AppError that names the option or variable, without its value. `made` is
 * a secret that was made now, because none was given; the screen must show it.
 */
export async function findKeys(
  context: CliContext,
  { secret, publicKey }: { readonly secret?: readonly string[]; readonly publicKey?: readonly string[] },
  { needsSecret }: { needsSecret: boolean },
): Promise<Keys & { readonly made: string | null }> {
  const publicKeys = (publicKey ?? []).map((text) => {
    if (/^whpk_[A-Za-z0-9+/]{43}=$/.test(text)) return text;
    // Nothing of it is quoted: a private key is put here by mistake.
    const isPrivate = text.startsWith('whsk_') ? '; it begins as a private key, which only the sender may know' : '';
    throw new AppError('invalid', `--public-key: it is not whpk_ followed by base64 of 32 bytes${isPrivate}`);
  });
  const given = (secret ?? []).map((text) => checked('--secret', readSecret(text)));
  if (given.length > 0) return { secrets: given, publicKeys, made: null };
  const own = await environmentSecrets(context);
  if (own.length > 0) return { secrets: own, publicKeys, made: null };
  if (publicKeys.length > 0 && !needsSecret) return { secrets: [], publicKeys, made: null };
  const made = newSigningSecret();
  return { secrets: [made], publicKeys, made };
}

/**
 * The context without a secret that is there for a program of one's own: without WEBHOOK_URL it names no subscriber of
 * the settings, and the settings must not take it for half of one.
 */
export function withoutLoneSecret(context: CliContext): CliContext {
  const { WEBHOOK_SECRET: _secret, WEBHOOK_SECRET_FILE: _file, ...env } = context.env;
  return (env.WEBHOOK_URL ?? '') === '' ? { ...context, env } : context;
}

async function environmentSecrets({ env }: CliContext): Promise<string[]> {
  const problems: string[] = [];
  const found = environmentOf(env).read('WEBHOOK_SECRET', problems);
  if (problems.length > 0) throw new AppError('configuration', problems.join('\n'));
  return found;
}
