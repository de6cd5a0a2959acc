/** The texts of the two files that `init` writes. */
import { newSigningSecret } from '../../channels/outgoing/sealed.ts';
import { AppError } from '../../domain/values/errors.ts';
import { randomBytes } from '../../runtime/random.ts';
import type { Answers } from './answers.ts';

/** The variables, with the secrets that the daemon makes up for itself; `file` is the path of the settings file. */
export function withOwnSecrets(answers: Answers, file: string): Map<string, string> {
  const variables = new Map(answers);
  if (answers.has('WEBHOOK_URL')) variables.set('WEBHOOK_SECRET', newSigningSecret());
  // The embedded Postgres has a key of its own beside it.
  if (answers.has('DATABASE_URL') || answers.has('DATABASE_URL_FILE'))
    variables.set('SECRETS_KEY', randomBytes(32).toString('base64'));
  return variables.set('PURCHASE_WATCH_CONFIG', file);
}

/** A file of variables as shells, Docker Compose, systemd and Node.js read it. Throws AppError `invalid` for what cannot be written so. */
export function environmentFile(variables: Answers): string {
  const lines = [...variables].map(([name, value]) => `${name}=${quoted(name, value)}`);
  return `# Secrets: keep this file out of version control. "purchase-watch --env <this file> config" shows what holds.\n${lines.join('\n')}\n`;
}

function quoted(name: string, value: string): string {
  if (/^[\w.:/@%+=,?&-]+$/.test(value) && !value.includes('&')) return value;
  if (!/['\n\r]/.test(value)) return `'${value}'`;
  throw new AppError(
    'invalid',
    `${name}: a quote or a line break cannot stand in the file; put the value into a file of its own and set ${name}_FILE`,
  );
}

/** The settings file: everything in it is an example, so that the defaults hold. */
export const SETTINGS_FILE = `# What variables cannot say. Every line here is an example: take away the "# " before those you want.
# "purchase-watch config --schema > purchase-watch.schema.json" lets editors complete this file.

# Several merchant accounts, each with credentials of its own; they replace the CHECKOUT_ variables. The site of the
# variables is named default, and formerly moves its purchases to its new name.
# sites:
#   se: { baseUrl: "https://checkout.example", clientId: shop-se, clientSecret: "\${CHECKOUT_CLIENT_SECRET}", formerly: [default] }
#   fi: { baseUrl: "https://checkout.example", clientId: shop-fi, clientSecret: "\${CHECKOUT_CLIENT_SECRET}" }

# When a state is polled, and after which time a customer in it counts as stuck ("auto" learns it).
# states:
#   WaitingForCardPayments: { poll: { first: 5s, growth: 0.1, most: 5m }, stuckAfter: auto }

# How long Slack's messages wait to be gathered, and when an open incident is mentioned again.
# slack: { groupWait: 30s, groupInterval: 5m, repeatInterval: 4h }

# The fields of a purchase that are kept.
# store: { fields: [Price, CurrencyCode, OrderReference] }
`;
