/** Registering purchases: one by a form, or many by pasting their lines. */

import type { FieldError } from '../../../../api/http/problems.ts';
import type { OverviewBody } from '../../../../api/overview/overview.ts';
import { SINGLES_FIRST } from '../../../../domain/polling/first-polls.ts';
import { counted } from '../../../../domain/values/counts.ts';
import { type JsonValue, parseExact } from '../../../../domain/values/exact-json.ts';
import { bare } from '../../../../domain/values/one-line.ts';
import { refusalIn } from '../../../frame/api-calls.ts';
import { type Html, html, NOTHING, number, tied } from '../../../frame/html.ts';
import { icon } from '../../../frame/icons.ts';
import type { View } from '../../../frame/page.ts';
import { type Ask, action, type GoOn, page } from '../../../frame/page-route.ts';
import { field, refusalNote, type Tried } from '../../../parts/fields.ts';
import { flash, panel, written } from '../../../parts/lists.ts';
import { purchasePath } from '../../../parts/purchases.ts';
import { length } from '../../../parts/time.ts';
import { type Pasted, registerPasted } from './pasted.ts';

/** Bad lines that are listed. */
const MOST_LISTED = 200;
const MOST_DOUBTED = 20;
/** Characters of one of them; the field below has all. */
const LONGEST_SHOWN = 300;

/** Bytes of pasted lines. */
const LARGEST_PASTE = 1_000_000;
const PATH = '/purchases/register';

export const registerPages = [
  page(PATH, async (ask) => view(ask, await sitesOf(ask), {})),
  {
    ...action(PATH, (ask) => (ask.form.lines === undefined ? registerOne(ask) : registerLines(ask)), 'register'),
    // A browser writes each sign of CSV and JSON as three.
    largestForm: 3 * LARGEST_PASTE,
  },
];

/** The result of a posted form. */
interface Shown {
  readonly errors?: readonly FieldError[];
  readonly problem?: string;
  readonly pasted?: Pasted;
  /** After lines were registered: the first polls of bulk registrations that are to come. */
  readonly firstPolls?: OverviewBody['polling']['firstPolls'];
}

async function sitesOf({ api }: Ask): Promise<string[]> {
  const { sites } = await api.get<OverviewBody>('/v1/overview');
  return sites.filter(({ configured }) => configured).map(({ site }) => site);
}

async function registerOne(ask: Ask): Promise<View | GoOn> {
  const { api, form } = ask;
  const { purchaseId = '', site = '', reference = '', metadata = '' } = form;
  const again = async (shown: Shown): Promise<View> => ({ ...view(ask, await sitesOf(ask), shown), status: 400 });
  let parsed: JsonValue = null;
  try {
    if (metadata.trim() !== '') parsed = parseExact(metadata);
  } catch {
    return again({ errors: [{ field: 'metadata', detail: 'is not JSON; expected an object such as {"cart": 7}, or nothing' }] });
  }
  const body = {
    purchaseId: bare(purchaseId),
    ...(site !== '' && { site }),
    ...(reference.trim() !== '' && { reference: reference.trim() }),
    ...(parsed !== null && { metadata: parsed }),
  };
  try {
    const isKnown = await isRegistered(ask, body);
    const made = await api.send<{ purchaseId: string; site: string }>('POST', '/v1/purchases', body);
    return { goTo: `${purchasePath(made)}?done=${isKnown ? 'known' : 'registered'}` };
  } catch (error) {
    const { errors, message } = refusalIn(error);
    return again({ errors, problem: message });
  }
}

async function isRegistered({ api }: Ask, { purchaseId, site }: { purchaseId: string; site?: string }): Promise<boolean> {
  try {
    await api.get(`/v1/purchases/${encodeURIComponent(purchaseId)}`, { site: site ?? null });
    return true;
  } catch (error) {
    return refusalIn(error).code === 'ambiguous_purchase';
  }
}

async function registerLines(ask: Ask): Promise<View> {
  const { api, form } = ask;
  const { lines = '', site = '' } = form;
  const sites = await sitesOf(ask);
  if (lines.trim() === '' || Buffer.byteLength(lines) > LARGEST_PASTE) {
    const has = lines.trim() === '' ? 'is empty' : `has ${Buffer.byteLength(lines)} bytes`;
    const detail = `the field ${has}: paste at least one line and at most 1 MB, or use the command "purchase-watch watch --file"`;
    return { ...view(ask, sites, { errors: [{ field: 'lines', detail }] }), status: 400 };
  }
  const pasted = await registerPasted(api, lines, { site: site === '' ? null : site, sites });
  const { firstPolls } = (await api.get<OverviewBody>('/v1/overview')).polling;
  const errors = pasted.problem === null ? [] : [{ field: 'lines', detail: pasted.problem }];
  return { ...view(ask, sites, { pasted, errors, firstPolls }), status: pasted.problem === null ? 200 : 400 };
}

function view(ask: Ask, sites: readonly string[], shown: Shown): View {
  const { base, mayRegister } = ask;
  const says = shown.pasted === undefined || shown.pasted.problem !== null ? 'Register purchases' : resultSentence(shown.pasted);
  const head = html`<div class="head"><h1 class="say">${tied(says)}</h1><p class="sub">A purchase is polled from the moment it is registered. Registering it again changes nothing; one that was stopped is watched again.</p></div>`;
  const forms = mayRegister
    ? html`${shown.pasted !== undefined && result(shown.pasted, base, firstPollsText(shown))}<div class="two even">${oneForm(ask, sites, shown)}${linesForm(ask, sites, shown)}</div>`
    : html`<p>Registering purchases needs a key with the scope register.</p>`;
  const crumb = html`<a href="${base}/purchases">Purchases</a> / register`;
  return {
    title: 'Register purchases',
    place: 'purchases',
    crumb,
    body: html`${head}<div class="stack">${forms}</div>`,
    isLive: false,
  };
}

const resultSentence = ({ created, existing, bad }: Pasted): string =>
  `${number(created)} new, ${number(existing)} known already, ${counted(bad.length, 'bad line')}.`;

/** When purchases that were registered together are polled; nothing where none waits. */
function firstPollsText({ firstPolls }: Shown): string {
  if (firstPolls === undefined || firstPolls.waiting === 0) return '';
  const { waiting, withinMs } = firstPolls;
  const within = withinMs === null ? '' : `, within about ${length(withinMs)}`;
  return ` ${counted(waiting, 'first poll')} of purchases that were registered together ${waiting === 1 ? 'is' : 'are'} to come${within}; ${SINGLES_FIRST}.`;
}

/** The result of registering lines, with every bad line. */
function result({ created, existing, bad, unused, unlikely, problem }: Pasted, base: string, firsts: string): Html {
  if (problem !== null) return html``;
  const done =
    created + existing !== 0 &&
    flash(
      html`${counted(created + existing, 'purchase is', 'purchases are')} registered: ${number(created)} new, ${number(existing)} known already.${firsts} <a href="${base}/purchases">Show purchases</a>`,
    );
  const columns =
    unused.length !== 0 &&
    html`<p class="note">Not used, because no field is called so: ${unused.map((name) => html`${written(name)} `)}</p>`;
  const doubted = html`${done}${columns}${unlikelyNote(unlikely, base)}`;
  if (bad.length === 0) return doubted;
  const row = ({ line, problem: what, text }: (typeof bad)[number]): Html =>
    html`<tr><th scope="row" class="num">${line}</th><td>${what}</td><td class="wide">${written(text.slice(0, LONGEST_SHOWN))}</td></tr>`;
  const table = html`<div><table class="cards"><thead><tr><th scope="col" class="num">Line</th><th scope="col">What is wrong</th><th scope="col">Text</th></tr></thead><tbody>${bad.slice(0, MOST_LISTED).map(row)}</tbody></table></div>`;
  const more = bad.length > MOST_LISTED && html`<span>${number(bad.length - MOST_LISTED)} more are in the field below.</span>`;
  return html`${doubted}${panel({ id: 'bad', title: counted(bad.length, 'bad line'), note: 'not registered; mend them below and send them again', body: table, ...(bad.length > MOST_LISTED && { foot: more as Html }) })}`;
}

/** Ids that were taken and look like something else, each with the way to stop watching it. */
function unlikelyNote(unlikely: Pasted['unlikely'], base: string): Html {
  if (unlikely.length === 0) return NOTHING;
  const shown = unlikely
    .slice(0, MOST_DOUBTED)
    .map(
      ({ line, purchaseId, site }) =>
        html`<li>line ${line}: <a href="${base}${purchasePath({ purchaseId, site })}">${written(purchaseId)}</a></li>`,
    );
  const more = unlikely.length - shown.length;
  return html`<div class="note warning" role="status">${icon('warning', 'warning')}<div><p><b>${counted(unlikely.length, 'line')} may hold no Purchase ID</b>: an id has digits and no spaces. ${unlikely.length === 1 ? 'It is' : 'They are'} registered all the same. If one is no id, open it and stop watching it.</p><ul>${shown}${more > 0 && html`<li>and ${number(more)} more</li>`}</ul></div></div>`;
}

/** The values of a form, and the reasons why the form was refused. */
const triedOf = ({ form }: Ask, { errors = [], problem = '' }: Shown): Tried => ({
  values: form,
  refusal: errors.length + problem.length === 0 ? null : { message: problem, errors, status: 400 },
});

const siteField = (sites: readonly string[], tried: Tried): Html =>
  field({ name: 'site', label: 'Site', tried, choices: sites.map((value) => ({ value, word: value })) });

function oneForm(ask: Ask, sites: readonly string[], shown: Shown): Html {
  const tried = triedOf(ask, ask.form.lines === undefined ? shown : {});
  const optional = 'Your reference, such as an order number (optional)';
  const metadata = 'Metadata, a JSON object that comes back in every event (optional)';
  const body = html`<form class="body stack" method="post" action="${ask.base}${PATH}">${refusalNote(tried, ['purchaseId', 'site', 'reference', 'metadata'])}${field({ name: 'purchaseId', label: 'Purchase ID', tried, placeholder: '2f1c9a7e-51b3-4c0e-9d7a-0e6b4f1d2c11' })}${siteField(sites, tried)}${field({ name: 'reference', label: optional, tried, placeholder: 'ORD-1' })}
${field({ name: 'metadata', label: metadata, tried, isLong: true, rows: 2, placeholder: '{"cart": 7}' })}
<button class="btn${shown.pasted === undefined ? ' first' : ''}">Register 1 purchase</button></form>`;
  return panel({ id: 'one', title: 'One purchase', body });
}

function linesForm(ask: Ask, sites: readonly string[], shown: Shown): Html {
  const { pasted } = shown;
  const { form } = ask;
  // Good lines are registered: only the bad ones are left to mend.
  const left =
    pasted === undefined || pasted.problem !== null
      ? (form.lines ?? '')
      : pasted.bad.length === 0
        ? ''
        : [...(pasted.header === '' ? [] : [pasted.header]), ...pasted.bad.map(({ text }) => text)].join('\n');
  const refused = triedOf(ask, form.lines === undefined ? {} : shown);
  const tried = { ...refused, values: { ...form, lines: left } };
  const label =
    'One purchase a line: only ids, or id,site,reference in each line; or CSV with a header such as purchase_id,reference,metadata';
  const placeholder = `2f1c9a7e-51b3-4c0e-9d7a-0e6b4f1d2c11,${sites[0] ?? 'default'},ORD-1`;
  const body = html`<form class="body stack" method="post" action="${ask.base}${PATH}">${refusalNote(tried, ['lines', 'site'])}${field({ name: 'lines', label, tried, isLong: true, rows: 9, placeholder })}${siteField(sites, tried)}
<button class="btn${pasted === undefined ? '' : ' first'}">Register these lines</button><p class="small">The site is for lines that name none. A bad line is listed with its number and what to do; the others are registered. For more than 1 MB use <code>purchase-watch watch --file</code>.</p></form>`;
  return panel({ id: 'many', title: 'Many purchases', body });
}
