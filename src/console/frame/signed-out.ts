/** The note of an open page whose session has ended. */
import type { Caller } from '../../api/http/caller.ts';
import { type Html, html } from './html.ts';

/** The note for an open page whose session has ended, for the script to put over the page, which stays as it is. */
export function signedOut({ key, name = null }: Caller, { base }: { readonly base: string }): Html {
  const way =
    key === null
      ? html`<p><code>npx purchase-watch open</code> on the daemon’s machine signs this browser in again; this page then goes on here.</p><p><button class="btn first" type="button" data-go-on>Go on here</button></p>`
      : html`<form id="sign-again" method="post" action="${base}/sign-in"><input type="hidden" name="person" value="${name ?? ''}"><input class="vh" type="text" name="user" value="purchase-watch" autocomplete="username" tabindex="-1" aria-hidden="true" readonly><label>Key of the API <input type="password" name="key" required maxlength="512" autocomplete="current-password" aria-describedby="sign-again-problem"></label><button class="btn first">Sign in, and go on here</button></form>`;
  return html`<template id="signed-out"><section class="panel sign-again" aria-labelledby="again"><header><h2 id="again">You were signed out at <span data-at></span></h2><p>a session ends after 12 hours, and when it or its key is ended</p></header><div class="body stack"><p>Below is how it was then; nothing here is newer. What you had typed is kept until you leave the page.</p>${way}<p class="problem" id="sign-again-problem" role="alert" hidden></p></div></section></template>`;
}
