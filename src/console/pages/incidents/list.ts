/** The incidents: those that are open first, then those that ended, page by page. */
import { INCIDENT_KINDS } from '../../../actions/incidents/rules.ts';
import type { ListedIncidentBody } from '../../../api/incidents/fields.ts';
import type { OverviewBody } from '../../../api/overview/overview.ts';
import { CAUSES, isCauseKey } from '../../../domain/incidents/causes.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Listed, queryOf } from '../../frame/api-calls.ts';
import { type Html, html, tied } from '../../frame/html.ts';
import { icon, status } from '../../frame/icons.ts';
import { type Ask, page } from '../../frame/page-route.ts';
import { field } from '../../parts/fields.ts';
import { comingEnd, shapeOf, worstFirst } from '../../parts/incidents.ts';
import { nothingHere, panel } from '../../parts/lists.ts';
import { length, since, when } from '../../parts/time.ts';
import { moneyWaiting } from './money.ts';

const MOST_OPEN = 100;
const ENDED_AT_ONCE = 30;

type Page = Listed<ListedIncidentBody>;

type Filters = Readonly<Record<'status' | 'site' | 'kind', string | undefined>>;

export const incidentListPages = [
  page('/incidents', async (ask) => {
    const { status: wanted, site, kind, cursor } = ask.query;
    const filters: Filters = { status: wanted, site, kind };
    const read = (of: 'open' | 'ended', limit: number): Promise<Page> =>
      ask.api.get('/v1/incidents', { site, kind, status: of, limit, cursor: wanted === of || of === 'ended' ? cursor : null });
    const [overview, open, ended] = await Promise.all([
      ask.api.get<OverviewBody>('/v1/overview'),
      wanted === 'ended' || (wanted !== 'open' && cursor !== undefined) ? NO_PAGE : read('open', MOST_OPEN),
      wanted === 'open' ? NO_PAGE : read('ended', ENDED_AT_ONCE),
    ]);
    const says = sentence(overview);
    const body = html`<div class="head"><h1 class="say" data-said>${overview.incidents.open !== 0 && icon('critical', 's-ico critical')}${says}</h1><p class="sub"><a href="${ask.base}/rehearse">What would another limit have alerted of?</a></p></div>
<div class="stack">${filterForm(filters, overview, ask)}${lists({ open, ended }, filters, ask)}</div>`;
    return { title: 'Incidents', place: 'incidents', crumb: 'Incidents', body };
  }),
];

const NO_PAGE: Page = { data: [], nextCursor: null };

function sentence({ incidents }: OverviewBody): string {
  if (incidents.open === 0) return 'No incident is open';
  return `${counted(incidents.open, 'incident is', 'incidents are')} open`;
}

function filterForm({ status: wanted, site, kind }: Filters, { sites }: OverviewBody, { base }: Ask): Html {
  const chip = (value: string, word: string): Html =>
    html`<a class="chip" href="${base}/incidents?${queryOf({ status: value, site, kind }).slice(1)}"${(wanted ?? '') === value && html` aria-current="true"`}>${word}</a>`;
  const tried = { values: { site: site ?? '', kind: kind ?? '' }, refusal: null };
  const choices = (all: string, values: readonly string[]) => [
    { value: '', word: all },
    ...values.map((value) => ({ value, word: value })),
  ];
  const names = sites.map((each) => each.site);
  return html`<form class="filters at-end" action="${base}/incidents"><nav class="filters" aria-label="Open or ended">${chip('', 'Open, then ended')}${chip('open', 'Open')}${chip('ended', 'Ended')}</nav>
${wanted !== undefined && wanted !== '' && html`<input type="hidden" name="status" value="${wanted}">`}
${field({ name: 'site', label: 'Site', tried, choices: choices('all sites', names) })}${field({ name: 'kind', label: 'Kind', tried, choices: choices('all kinds', INCIDENT_KINDS) })}<button class="btn">Show</button></form>`;
}

function lists({ open, ended }: { open: Page; ended: Page }, filters: Filters, ask: Ask): Html {
  const older = ({ nextCursor: cursor }: Page, status: string | undefined, word: string): Html | false =>
    cursor !== null && html`<a rel="next" href="${ask.base}/incidents${queryOf({ ...filters, status, cursor })}">${word}</a>`;
  const parts: Html[] = [];
  if (open.data.length > 0) {
    const sorted = worstWithParts(open.data);
    const foot = older(open, 'open', 'Older open ones');
    parts.push(panel({ id: 'open', title: 'Open', body: table(sorted, ask, 'Open for'), foot }));
  }
  if (ended.data.length > 0) {
    const foot = older(ended, filters.status, 'Older');
    parts.push(panel({ id: 'ended', title: 'Ended', body: table(ended.data, ask, 'Lasted'), foot }));
  }
  return parts.length > 0 ? html`${parts}` : nothing(filters, ask);
}

/** The worst first, each followed by its parts. */
function worstWithParts(open: readonly ListedIncidentBody[]): ListedIncidentBody[] {
  const sorted = open.toSorted(worstFirst);
  const withParts = (one: ListedIncidentBody): ListedIncidentBody[] => [
    one,
    ...sorted.filter(({ parent }) => parent === one.id).flatMap(withParts),
  ];
  return sorted.filter(({ parent }) => !sorted.some(({ id }) => id === parent)).flatMap(withParts);
}

function table(incidents: readonly ListedIncidentBody[], ask: Ask, time: string): Html {
  return html`<table class="cards fits incidents"><thead><tr><th scope="col">Where and what</th><th scope="col">${time === 'Lasted' ? 'It was' : 'Waits'}</th><th scope="col">Severity</th><th scope="col">${time}</th><th scope="col">Looked after by</th></tr></thead>
<tbody data-still>${incidents.map((incident) => row(incident, ask))}</tbody></table>`;
}

function row(incident: ListedIncidentBody, { base, now }: Ask): Html {
  const { id, where, what, severity, openedAt, reopenedAt, endedAt, owner, acknowledged, silencedUntil, answer, parent, money } =
    incident;
  const time =
    endedAt === null
      ? since(reopenedAt ?? openedAt, now)
      : html`${length(Math.max(Date.parse(endedAt) - Date.parse(openedAt), 0))}<small>ended ${when(endedAt, now)}</small>`;
  const quiet = silencedUntil !== null && html`<small>silenced, ends ${when(silencedUntil, now)}</small>`;
  const was = answer !== null && html`${causeTitle(answer.cause)}`;
  const ends = incident.endsAt !== null && html`<small>${comingEnd(incident, now)}</small>`;
  const part = parent !== null && html`<small>part of <a href="${base}/incidents/${parent}">another incident</a></small>`;
  const waits = money !== null && incident.count !== 0 && moneyWaiting(money);
  const note =
    acknowledged?.note != null &&
    html`<small class="few-lines" title="${acknowledged.note}">“<bdi>${acknowledged.note}</bdi>”</small>`;
  return html`<tr id="row-${id}"${parent !== null && html` class="is-part"`}><th scope="row" class="wide"><a href="${base}/incidents/${id}"><bdi>${where}</bdi></a> <span>${tied(what)}</span>${ends}${part}</th>
<td class="full" data-l="${endedAt === null ? 'waits' : 'it was'}">${endedAt === null ? waits : was}</td>
<td>${endedAt === null ? status(shapeOf(incident), severity) : html`<span class="mute">was ${severity}</span>`}</td>
<td class="end" data-l="${endedAt === null ? 'open for' : 'lasted'}">${time}</td>
<td class="full" data-l="owner">${owner === null ? html`<span class="mute">${endedAt === null ? 'not acknowledged' : 'nobody'}</span>` : html`<bdi class="few-lines" title="${owner}">${owner}</bdi>`}${note}${quiet}</td></tr>`;
}

const causeTitle = (cause: string): string => (isCauseKey(cause) ? CAUSES[cause].title : cause);

function nothing({ status: wanted, site, kind }: Filters, { base, query }: Ask): Html {
  const isFiltered = [wanted, site, kind, query.cursor].some((each) => each !== undefined && each !== '');
  const body = isFiltered
    ? nothingHere('No incident matches these filters.', html`<a href="${base}/incidents">Show all incidents</a>`)
    : nothingHere(
        'There was no incident yet.',
        `An incident opens when too many customers get stuck in a state of a site, when a site does not answer, when a subscriber does not get everything, or when a replica cannot do its work. It is alerted once, and ends by itself.`,
        html`Get alerts on Slack: set <code>SLACK_WEBHOOK_URL</code>, then <code>npx purchase-watch slack test</code>.`,
      );
  return panel({ id: 'open', title: 'Incidents', body });
}
