/** Signing in with a key of the API, and out again. */

import { LONGEST_NAME } from '../../actions/incidents/rules.ts';
import type { KeyBody } from '../../api/access/own-key.ts';
import type { Caller } from '../../api/http/caller.ts';
import type { ServedApp } from '../../api/http/serve.ts';
import { type Html, html } from '../frame/html.ts';
import { icon } from '../frame/icons.ts';
import { documentOf, type Theme } from '../frame/page.ts';
import { alertNote } from '../parts/lists.ts';

/** The answer to a key: its caller, or why the key opens nothing, in a sentence for people. */
export type SignIn = { readonly caller: Caller } | { readonly refusal: string; readonly status: 400 | 401 | 403 | 429 | 503 };

const NO_KEY = 'Paste the key, and nothing else: it has letters, digits and signs, without spaces or accents.';
const NOT_READING = 'This key may not read. Sign in with one that has the scope read.';

/** Shows the API the key, so that wrong ones cost what they cost there, and are logged as there. */
export async function tryKey(api: ServedApp, key: string, address: string | undefined): Promise<SignIn> {
  // A header carries nothing else, and no key has other characters.
  if (!/^[\x21-\x7e]{1,512}$/.test(key)) return { refusal: NO_KEY, status: 400 };
  const headers = { authorization: `Bearer ${key}` };
  const response = await api.fetch(new Request('http://console/v1/key', { headers }), { address });
  const body = (await response.json()) as KeyBody & { detail?: string };
  if (response.ok) {
    const expires = body.expiresAt === null ? null : Date.parse(body.expiresAt);
    return { caller: { key: body.key, scopes: body.scopes, expires } };
  }
  switch (response.status) {
    case 403:
      return { refusal: NOT_READING, status: 403 };
    case 429:
      return { refusal: `${body.detail ?? ''} Wait ten seconds, then try again.`, status: 429 };
    case 401:
      return { refusal: body.detail ?? 'The key is not known here.', status: 401 };
    default:
      return { refusal: body.detail ?? 'The daemon cannot check keys now. Try again in a few seconds.', status: 503 };
  }
}

interface SignInPage {
  readonly base: string;
  readonly theme: Theme;
  /** Where the person wanted to go, below the base. */
  readonly to: string;
  /** The name that the person gave before; empty: none. */
  readonly name: string;
  readonly refusal?: string;
}

/** The page while no key is configured: the way in is a link that a command on the machine prints. */
export function linkPage({ base, theme, refusal }: Pick<SignInPage, 'base' | 'theme' | 'refusal'>): Html {
  return documentOf(
    { title: 'Sign in', base, theme },
    html`<div class="door"><main id="main"><p class="brand">${icon('mark', 'logo')}purchase-watch</p>
<div><h1 class="say">Open the console from its machine</h1><p class="sub">No key of the API is set. On the daemon’s machine, <code>npx purchase-watch open</code> opens the console by a link that works once; run it as the daemon’s user, in the daemon’s folder or with its <code>DATA_DIR</code> and <code>PORT</code>.</p></div>
${alertNote(refusal)}<p class="small">For people elsewhere, or behind a proxy: set <code>API_KEY</code>, and sign in with it here.</p></main></div>`,
  );
}

/** The page that asks for a key. */
export function signInPage({ base, theme, to, name, refusal }: SignInPage): Html {
  const wrong = refusal !== undefined && html` aria-describedby="refusal help" aria-invalid="true"`;
  return documentOf(
    { title: 'Sign in', base, theme },
    html`<div class="door"><main id="main"><p class="brand">${icon('mark', 'logo')}purchase-watch</p>
<div><h1 class="say">Sign in with a key of the API</h1><p class="sub">The key in <code>API_KEY</code> lets you change things; the one in <code>API_READ_KEY</code> lets you look.</p></div>
<form class="panel" method="post" action="${base}/sign-in">${alertNote(refusal, 'refusal')}<input type="hidden" name="to" value="${to}"><input class="vh" type="text" name="user" value="purchase-watch" autocomplete="username" tabindex="-1" aria-hidden="true" readonly>
<label>Key of the API <input type="password" name="key" required maxlength="512" autocomplete="current-password" autofocus${wrong}></label>
<label>Your name, if you like <input name="person" value="${name}" maxlength="${String(LONGEST_NAME)}" autocomplete="name"><small class="small">The others see it where you acknowledge or change something; without it they see the key’s name.</small></label>
<p class="small" id="help">You stay signed in for 12 hours, and can sign out everywhere.</p><button class="btn first">Sign in</button></form>
<p class="small">No key at hand? <code>purchase-watch key new</code> makes one; whoever runs the daemon adds it to the settings.</p></main></div>`,
  );
}
