/** Rehearsing settings: which alerts other settings would have sent in a past time. The address holds all that is tried. */
import type { RehearsalBody } from '../../../actions/rehearse/body.ts';
import type { OverviewBody } from '../../../api/overview/overview.ts';
import type { ShownAlertSettings } from '../../../config/rehearsed.ts';
import { type ApiRefusal, refusalIn } from '../../frame/api-calls.ts';
import { type Html, html, tied } from '../../frame/html.ts';
import type { View } from '../../frame/page.ts';
import { type Ask, type GoOn, page } from '../../frame/page-route.ts';
import type { Tried } from '../../parts/fields.ts';
import { nothingHere, panel } from '../../parts/lists.ts';
import { ABOUT, FIRST_SPAN, presentValues, rehearsalForm, settingsToTry } from './form.ts';
import { aboutText, basisPanel, messagesPanel, numbersPanel, timelinePanel } from './result.ts';

export const rehearsePages = [
  page('/rehearse', async (ask): Promise<View | GoOn> => {
    const { api, query } = ask;
    const [settings, overview] = await Promise.all([
      api.get<ShownAlertSettings>('/v1/rehearsals/settings'),
      api.get<OverviewBody>('/v1/overview'),
    ]);
    const present = presentValues(settings);
    const wanted = wantedOf(query, present);
    const values = { from: FIRST_SPAN, ...Object.fromEntries([...present, ...wanted]) };
    const form = (refusal: ApiRefusal | null): Html =>
      rehearsalForm(ask, { settings, overview, tried: { values, refusal } satisfies Tried });
    if (query.from === undefined)
      return view(html`<div class="two"><div class="stack">${teaching(ask)}</div>${form(null)}</div>`, TITLE);
    // A form sends all of its fields: what is as it is at the daemon leaves the address.
    if (Object.keys(query).some((name) => !wanted.has(name)))
      return { goTo: `/rehearse?${new URLSearchParams([...wanted]).toString()}` };
    try {
      const body = await api.send<RehearsalBody>('POST', '/v1/rehearsals', askedOf(settings, wanted));
      const [sentence = '', ...more] = body.summary.split(/(?<=\.) /);
      const sub = html`<p class="sub">${tied(more.join(' '))} ${aboutText(body)}</p><div class="acts"><a class="btn" href="#try">Try other settings</a></div>`;
      const result = html`${timelinePanel(body)}${numbersPanel(body)}${messagesPanel(body)}`;
      return view(
        html`<div class="stack">${result}<div class="two even">${form(null)}${basisPanel(body)}</div></div>`,
        sentence,
        sub,
      );
    } catch (error) {
      const refusal = refusalIn(error, ({ status, code }) => status < 500 || code === 'busy');
      return {
        ...view(html`<div class="two"><div class="stack">${teaching(ask)}</div>${form(refusal)}</div>`, 'Nothing was rehearsed'),
        status: refusal.status,
      };
    }
  }),
];

const TITLE = 'Which alerts would other settings have sent?';

function view(content: Html, sentence: string, sub: Html | string = ''): View {
  const body = html`<div class="head"><h1 class="say">${tied(sentence)}</h1>${sub}</div>
${content}`;
  return { title: 'Rehearse', place: 'rehearse', crumb: 'Rehearse', body, isLive: false };
}

/** The parameters of the address, by their names in the API: none that is empty but `from`, no setting as it is at the daemon. */
function wantedOf(query: Ask['query'], present: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const about = ABOUT.filter((name) => query[name] !== undefined && (name === 'from' || query[name] !== ''));
  const settings = [...present].filter(([name, was]) => query[name] !== undefined && query[name] !== '' && query[name] !== was);
  return new Map([...about, ...settings.map(([name]) => name)].map((name) => [name, query[name]?.trim() ?? '']));
}

function askedOf(settings: ShownAlertSettings, wanted: ReadonlyMap<string, string>) {
  const named = (['from', 'to', 'site'] as const).flatMap((name) =>
    wanted.has(name) ? [[name, wanted.get(name)] as const] : [],
  );
  const silences = wanted.get('ignoreSilences') === 'true' ? { ignoreSilences: true } : {};
  return { ...Object.fromEntries(named), ...silences, settings: settingsToTry(settings, wanted) };
}

function teaching({ origin }: Ask): Html {
  const command = `curl ${origin}/v1/rehearsals -H 'content-type: application/json' -d '{"from": "${FIRST_SPAN}", "settings": {"states": {"WaitingForCardPayments": {"stuckAfter": "5m"}}}}'`;
  return panel({
    id: 'what',
    title: 'What a rehearsal does',
    body: nothingHere(
      'Would a shorter limit have found the last trouble sooner, or only sent more alerts? A rehearsal goes through the recorded changes of state of a past time again, and shows which alerts would have been sent with the settings that you try, beside those of the present settings and those that were really sent.',
      'The 14 days before the time teach what is usual, as far as they are recorded. Nothing is changed, written or sent: to use a setting, write it into the settings file and start the daemon again.',
      'The address of a result holds all that was tried: send the address to share the result. The API answers the same:',
      html`<div class="copy"><pre id="example" tabindex="0" role="region" aria-label="A call of the API">${command}</pre><button class="btn" type="button" data-copy="example">Copy</button></div>`,
      html`Longer times, and settings of channels, are left to the command: <code>npx purchase-watch rehearse --from 90d --config new.yaml</code>`,
    ),
  });
}
