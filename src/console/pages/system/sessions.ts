/** Who is signed in to the console, from where, and signing browsers out. */
import type { SessionBody } from '../../../api/access/sessions.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type ApiRefusal, type Listed, refusalIn } from '../../frame/api-calls.ts';
import { type Html, html, NOTHING, number } from '../../frame/html.ts';
import type { View } from '../../frame/page.ts';
import { type Ask, action, page } from '../../frame/page-route.ts';
import { alertNote, flash, nothingHere, panel } from '../../parts/lists.ts';
import { when } from '../../parts/time.ts';

const PAGE_SIZE = 100;

export const sessionPages = [
  { ...page('/system/sessions', (ask) => view(ask, null)), isOfSession: true },
  action('/system/sessions/end', async (ask) => {
    const { id = '' } = ask.form;
    try {
      if (id !== '') {
        await ask.api.send('DELETE', `/v1/sessions/${encodeURIComponent(id)}`);
        return { goTo: '/system/sessions?ended=1' };
      }
      const { ended } = await ask.api.send<{ ended: number }>('DELETE', '/v1/sessions');
      return { goTo: `/system/sessions?ended=${ended}` };
    } catch (error) {
      return view(ask, refusalIn(error));
    }
  }),
];

async function view(ask: Ask, refusal: ApiRefusal | null): Promise<View> {
  const { base, query } = ask;
  const found = await ask.api.get<Listed<SessionBody>>('/v1/sessions', {
    limit: PAGE_SIZE,
    cursor: refusal === null ? query.cursor : null,
  });
  const ended = /^\d{1,6}$/.test(query.ended ?? '') ? Number(query.ended) : null;
  const done = ended !== null && flash(`${counted(ended, 'browser is', 'browsers are')} signed out.`);
  const foot =
    found.nextCursor !== null &&
    html`<a rel="next" href="${base}/system/sessions?cursor=${encodeURIComponent(found.nextCursor)}">Older</a>`;
  const list = found.data.length === 0 ? nothingHere('No browser is signed in.') : table(found.data, ask);
  const body = html`<div class="head"><h1 class="say">Sessions</h1><p class="sub">Browsers that are signed in to this console, the latest first. A session lasts twelve hours, and ends with its key.</p></div>
<div class="stack">${refusal === null ? done : alertNote(refusal.message)}${panel({ id: 'sessions', title: 'Sessions', body: list, foot })}${everywhere(found, ask)}</div>`;
  return {
    title: 'Sessions',
    place: 'system',
    body,
    crumb: html`<a href="${base}/system">System</a> / Sessions`,
    ...(refusal !== null && { status: refusal.status, isLive: false }),
  };
}

function table(sessions: readonly SessionBody[], { base, now, mayOperate }: Ask): Html {
  const button = (id: string): Html =>
    html`<td class="wide"><form method="post" action="${base}/system/sessions/end"><button class="btn" name="id" value="${id}" aria-label="Sign out ${id}">Sign out</button></form></td>`;
  const row = ({ id, key, person, address, signedInAt, lastSeenAt, expiresAt, isOwn }: SessionBody): Html =>
    html`<tr id="row-${id}"><th scope="row"><bdi>${person ?? key}</bdi>${person !== null && html`<small>key <bdi>${key}</bdi></small>`}${isOwn && html`<small>this browser</small>`}</th><td class="wide" data-l="from"><bdi>${address}</bdi></td><td class="wide" data-l="signed in">${when(signedInAt, now)}</td><td class="wide" data-l="last seen">${when(lastSeenAt, now)}</td><td class="wide" data-l="ends">${when(expiresAt, now)}</td>${mayOperate && button(id)}</tr>`;
  return html`<table class="cards fits"><thead><tr><th scope="col">Who</th><th scope="col">From</th><th scope="col">Signed in</th><th scope="col">Last seen</th><th scope="col">Ends</th>${mayOperate && html`<th scope="col"><span class="vh">What may be done</span></th>`}</tr></thead><tbody data-still>${sessions.map(row)}</tbody></table>`;
}

/** All at once; says how many, as far as the page knows. */
function everywhere({ data, nextCursor }: Listed<SessionBody>, { base, mayOperate, query }: Ask): Html {
  if (!mayOperate || data.length === 0) return NOTHING;
  const isAll = nextCursor === null && query.cursor === undefined;
  const many = isAll ? counted(data.length, 'browser') : `more than ${number(PAGE_SIZE)} browsers`;
  return html`<section class="panel" aria-label="Sign all browsers out"><details class="same" id="all"><summary>Sign all browsers out</summary><form class="body stack" method="post" action="${base}/system/sessions/end"><div class="confirm"><p><b>${many} will be signed out, this one, too.</b> Everybody signs in again with a key. Keys stay valid: replace a key that others know.</p><p><button class="btn heavy">Sign ${many} out</button></p></div></form></details></section>`;
}
