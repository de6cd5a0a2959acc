/** With what `listen` checks signatures. */
import { AppError } from '../core/errors.ts';
import type { Keys } from '../receiver/genuine.ts';
import type { CliContext } from './context.ts';

export interface KeyOptions {
  readonly secret?: readonly string[];
  readonly publicKey?: readonly string[];
}

export interface FoundKeys extends Keys {
  /** A secret that was made now, because none was given; somebody has to be told. */
  readonly made: string | null;
}

/**
 * The keys of the options; else, unless a secret of its own is wanted, of WEBHOOK_SECRET or the file it is in; else a new
 * secret. Throws AppError that names the option or variable, without its value.
 */
export async function findKeys(
  context: CliContext,
  { secret, publicKey }: KeyOptions,
  { fromEnvironment }: { fromEnvironment: boolean },
): Promise<FoundKeys> {
  const [{ checked }, { readSecret }, { newSigningSecret }] = await Promise.all([
    import('./subscriber-options.ts'),
    import('../subscription/rules.ts'),
    import('../subscription/sealed.ts'),
  ]);
  const publicKeys = (publicKey ?? []).map((text) => {
    if (/^whpk_[A-Za-z0-9+/]{43}=$/.test(text)) return text;
    throw new AppError(
      'invalid',
      `--public-key: ${text.startsWith('whpk_') ? 'it' : JSON.stringify(text.slice(0, 20))} is not whpk_ followed by base64 of 32 bytes`,
    );
  });
  const given = (secret ?? []).map((text) => checked('--secret', readSecret(text)));
  if (given.length > 0) return { secrets: given, publicKeys, made: null };
  const own = fromEnvironment ? await environmentSecret(context) : null;
  if (own !== null) return { secrets: [own], publicKeys, made: null };
  if (publicKeys.length > 0 && fromEnvironment) return { secrets: [], publicKeys, made: null };
  const made = newSigningSecret();
  return { secrets: [made], publicKeys, made };
}

async function environmentSecret({ env }: CliContext): Promise<string | null> {
  const { environmentOf } = await import('../config/environment.ts');
  const problems: string[] = [];
  const found = environmentOf(env).read('WEBHOOK_SECRET', problems);
  if (problems.length > 0) throw new AppError('configuration', problems.join('\n'));
  return found;
}
