/** The page that shows a new secret, once: it is in no address, no log and no other page. */
import { type Html, html, NOTHING } from '../../frame/html.ts';
import type { View } from '../../frame/page.ts';
import type { Ask } from '../../frame/page-route.ts';
import { panel, written } from '../../parts/lists.ts';
import { when } from '../../parts/time.ts';

interface NewSecret {
  readonly name: string;
  readonly secret: string;
  readonly reason: 'added' | 'rotated';
  /** Until when a replaced secret signs, too. */
  readonly oldUntil?: string | null;
}

/** Answers the form that made the secret; it is no page that can be opened again. */
export function secretView({ base, now }: Ask, { name, secret, reason, oldUntil = null }: NewSecret): View {
  const path = `${base}/subscribers/${encodeURIComponent(name)}`;
  const says = reason === 'added' ? `${name} was added and gets what happens from now on.` : `${name} has a new secret.`;
  const old: Html =
    reason === 'added'
      ? NOTHING
      : html`<p class="small">${oldUntil === null ? 'The old secret signs nothing any more.' : html`The old secret signs, too, until ${when(oldUntil, now)}: change the receiver over before.`}</p>`;
  const body = html`<div class="head"><h1 class="say">${says} Copy its secret now: it is shown this once.</h1><p class="sub">It signs every event for ${name}. Whoever has it can forge events, so keep it where secrets are kept.</p></div>
<div class="stack">${panel({
    id: 'secret-panel',
    title: 'Two steps',
    body: html`<div class="body"><ol class="steps"><li><div><h2>Give the receiver its secret</h2><div class="copy"><pre id="secret" tabindex="0" aria-label="The secret"><code>${secret}</code></pre><button class="btn" type="button" data-copy="secret">Copy<span class="vh"> the secret</span></button></div>${old}<p>Any library of <a href="https://www.standardwebhooks.com" rel="noreferrer">Standard Webhooks</a> verifies with it.</p></div></li>
<li><div><h2>See that a test arrives</h2><p>One event of the type <code>subscriber.test</code> is sent to ${name} alone, the way every event is sent. The secret is gone from this page then.</p><form class="acts" method="post" action="${path}/test"><button class="btn first">I have the secret: send a test</button><a class="btn" href="${path}">Later</a></form></div></li></ol></div>`,
  })}</div>`;
  return {
    title: `Secret of ${name}`,
    place: 'subscribers',
    crumb: html`<a href="${base}/subscribers">Subscribers</a> / <a href="${path}">${written(name)}</a> / secret`,
    body,
    isLive: false,
  };
}
