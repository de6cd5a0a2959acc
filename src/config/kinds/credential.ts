/** Client ids and secrets out of mails, vaults and editors: invisible marks are taken away, impossible characters are named. */

import { type Kind, textKind } from './kinds.ts';

/** Marks that no keyboard makes: byte order marks, zero-width characters, soft hyphens and marks of direction. */
const MARKS = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]/g;
/** Line ends and no-break spaces at the ends. */
const ENDS = /^[\r\n\u0085\u2028\u2029\u00a0\u202f]+|[\r\n\u0085\u2028\u2029\u00a0\u202f]+$/g;
const BLANKS_AT_END = /^\s|\s$/;
const QUOTED = /^(["'`]).*\1$|^[“„«‘].*[”“»’]$/s;

/** Characters that a client id or secret cannot hold, with their names. */
const FORBIDDEN: readonly (readonly [RegExp, string])[] = [
  [/[\r\n\u0085\u2028\u2029]/, 'a line end'],
  [/[\u00a0\u202f]/, 'a no-break space'],
  [/\p{Cc}/u, 'a control character'],
  [/\p{Cs}/u, 'half a character (a lone surrogate)'],
  [/\ufffd/, 'a character that was lost when the file was saved or read in another encoding'],
];

const cleaned = (value: string): string => value.replace(MARKS, '').replace(ENDS, '');

function fault(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  const bare = cleaned(value);
  if (bare === '') return 'holds nothing but invisible marks and line ends; copy it again';
  for (const [what, name] of FORBIDDEN) {
    const at = bare.search(what);
    if (at >= 0)
      return `holds ${name} (at character ${at + 1} of ${bare.length}), which a client id or secret cannot hold; copy it again`;
  }
  return undefined;
}

/** A client id; with `auth: basic` a user name. */
export const clientId = textKind(
  'text',
  { minLength: 1 },
  (value) => value !== '' && fault(value) === undefined && cleaned(value),
  { fault },
);

/** A client secret; with `auth: basic` a password. It is never shown. */
export const clientSecret: Kind<string> = { ...clientId, secret: true };

/** A client id or secret that can be right and is probably not. */
export interface OddCredential {
  readonly site: string;
  readonly field: 'clientId' | 'clientSecret';
  readonly has: 'blanks around it' | 'quotes around it';
}

export const ODD_CREDENTIAL_ADVICE = 'it is sent as it stands; take them away unless the service gave it out so';

/** Blanks and quotes around ids and secrets: of many a wrong credential the reason. */
export function oddCredentials(
  sites: readonly { readonly name: string; readonly clientId: string; readonly clientSecret: string }[],
): OddCredential[] {
  return sites.flatMap((site) =>
    (['clientId', 'clientSecret'] as const).flatMap((field): OddCredential[] => {
      if (BLANKS_AT_END.test(site[field])) return [{ site: site.name, field, has: 'blanks around it' }];
      return QUOTED.test(site[field]) ? [{ site: site.name, field, has: 'quotes around it' }] : [];
    }),
  );
}
