/** Sites: whether each answers, how much of its ceiling is used, and how long its customers take. */

import type { FlowBody } from '../../../api/flow/flow.ts';
import type { SiteBody } from '../../../api/flow/site.ts';
import type { OverviewBody } from '../../../api/overview/overview.ts';
import { unpolledAdvice, unpolledText } from '../../../domain/polling/unpolled.ts';
import { stateWords } from '../../../domain/purchases/states.ts';
import { commandLine } from '../../../domain/values/command-line.ts';
import { counted } from '../../../domain/values/counts.ts';
import { sentence as sentenceOf } from '../../../domain/values/sentence.ts';
import { type Html, html, number, tied } from '../../frame/html.ts';
import { tag } from '../../frame/icons.ts';
import { type Ask, page } from '../../frame/page-route.ts';
import { nothingHere, panel, written } from '../../parts/lists.ts';
import { siteMark } from '../../parts/sites.ts';
import { beside } from '../../parts/states.ts';
import { length, when } from '../../parts/time.ts';
import { dwellPicture } from '../../pictures/dwell.ts';
import { breakerOf, replicasPanel, tokenOf } from './replicas.ts';

/** Each site needs two calls, so a list of many shows the pictures of the first alone. */
const MOST_PICTURED = 6;

type Overview = OverviewBody['sites'][number];

export const sitePages = [
  page('/sites', async (ask) => {
    const overview = await ask.api.get<OverviewBody>('/v1/overview');
    const sites = overview.sites.filter(({ configured, unpolled }) => configured || unpolled > 0).toSorted(troubledFirst);
    const shown = sites.slice(0, MOST_PICTURED);
    const panels = await Promise.all(shown.map(async (site) => sitePanel(site, await read(site.site, ask), overview, ask)));
    const others = sites.slice(MOST_PICTURED);
    const more =
      others.length !== 0 &&
      panel({ id: 'more', title: 'More sites', body: html`<ul class="rows">${others.map((site) => item(site, ask))}</ul>` });
    const none =
      sites.length === 0 &&
      nothingHere(
        'No site is configured.',
        html`Set <code>CHECKOUT_BASE_URL</code>, or <code>sites</code> in the settings file.`,
      );
    const body = html`<div class="head"><h1 class="say" data-said>${sentence(sites)}</h1><p class="sub">Each picture shows how long customers who got on needed in the last 14 days, on a logarithmic scale, against the limit; below the line, those who wait now.</p></div>
<div class="stack">${panels}${more}${none}</div>`;
    return { title: 'Sites', place: 'sites', crumb: 'Sites', body };
  }),
  page('/sites/:name', async (ask) => {
    const { name = '' } = ask.params;
    const overview = await ask.api.get<OverviewBody>('/v1/overview');
    const site = overview.sites.find((each) => each.site === name);
    // A name that there is not is refused by the API, with the names that there are.
    const found = await read(name, ask);
    const body = html`<div class="head"><h1 class="say" data-said>${siteSentence(site!)}</h1><p class="sub"><bdi>${site!.unpolled > 0 ? `${sentenceOf(unpolledAdvice({ ...site!, name }))}.` : (site!.lastError ?? '')}</bdi></p></div>
<div class="stack">${sitePanel(site!, found, overview, ask)}${replicasPanel(found.details, ask)}${counts(site!, overview, ask)}</div>`;
    return { title: name, place: 'sites', crumb: html`<a href="${ask.base}/sites">Sites</a> / ${written(name)}`, body };
  }),
];

/** Sites that cannot be read first, then those with open incidents. */
function troubledFirst(a: Overview, b: Overview): number {
  const silent = ({ answers, unpolled }: Overview): number => Number(!answers || unpolled > 0);
  return silent(b) - silent(a) || b.openIncidents - a.openIncidents;
}

function sentence(sites: readonly Overview[]): string {
  const silent = sites.filter(({ answers, unpolled }) => !answers || unpolled > 0).map(({ site }) => site);
  if (sites.length === 0) return 'No site is configured.';
  if (silent.length > 0)
    return `No purchase can be read at ${silent.slice(0, 5).join(', ')}${silent.length > 5 ? ` and ${silent.length - 5} more` : ''}.`;
  const asked = sites.filter(({ lastAnswerAt }) => lastAnswerAt !== null).length;
  if (asked === 0) return 'No site was asked yet: no purchase is watched.';
  return asked === sites.length
    ? `${sites.length === 1 ? `${sites[0]!.site} answers` : `All ${sites.length} sites answer`}.`
    : `${asked} of ${sites.length} sites answer; the others were not asked yet.`;
}

function siteSentence(overview: Overview): string {
  const { site, answers, reason, lastAnswerAt, openIncidents, configured, unpolled } = overview;
  const incidents = openIncidents === 0 ? '' : ` ${counted(openIncidents, 'incident is', 'incidents are')} open there.`;
  if (unpolled > 0) return `${sentenceOf(unpolledText({ ...overview, name: site }))}.${incidents}`;
  if (!configured) return `${site} is no longer configured, so nothing is polled there.`;
  if (!answers) return `No purchase can be read at ${site}: ${reason}.${incidents}`;
  return lastAnswerAt === null ? `${site} was not asked yet: no purchase is watched there.` : `${site} answers.${incidents}`;
}

function item(site: Overview, { base }: Ask): Html {
  return html`<li>${siteMark(site)} <a href="${base}/sites/${encodeURIComponent(site.site)}">${written(site.site)}</a></li>`;
}

type Read = Awaited<ReturnType<typeof read>>;

async function read(name: string, { api }: Ask) {
  const [details, flow] = await Promise.all([
    api.get<SiteBody>(`/v1/sites/${encodeURIComponent(name)}`),
    api.get<FlowBody>('/v1/flow', { site: name }),
  ]);
  return { details, flow };
}

function sitePanel(site: Overview, { details, flow }: Read, overview: OverviewBody, ask: Ask): Html {
  const { base } = ask;
  const name = site.site;
  const path = `${base}/sites/${encodeURIComponent(name)}`;
  return panel({
    id: `site-${name}`,
    title: name,
    note: html`${siteMark(site)} ${details.settings?.timeZone ?? ''}`,
    right: html`<a href="${path}">Details</a>`,
    body: html`<div class="body">${figures(site, details, overview, ask)}</div>${pictures(details, flow, base)}`,
  });
}

function figures(
  site: Overview,
  { settings, replicas, orders }: SiteBody,
  { purchases }: OverviewBody,
  { now, base }: Ask,
): Html {
  const here = purchases.groups.filter((group) => group.site === site.site && group.status === 'watching');
  const watched = here.reduce((sum, { count }) => sum + count, 0);
  const states = new Set(here.map(({ state }) => state?.value)).size;
  const { polls, failedPolls } = site.perMinute.last5Minutes;
  const used = settings === null ? null : (polls / 60 / settings.maxRps) * 100;
  const share =
    used === null
      ? ''
      : `, ${used > 0 && used < 1 ? 'less than 1' : Math.round(used)} % of the ceiling of ${settings!.maxRps} a second`;
  const figure = (value: Html | string, unit: Html | string, says: Html | string): Html =>
    html`<div><dd>${value} <small>${unit}</small></dd><dt>${says}</dt></div>`;
  const breaker = breakerOf(replicas);
  return html`<dl class="figs">${[
    figure(number(watched), 'watched', tied(`in ${counted(states, 'state')}`)),
    figure(number(Math.round(polls * 10) / 10), 'a minute', tied(`polls${share}`)),
    figure(number(Math.round(failedPolls * 10) / 10), 'a minute', 'polls without a usable answer'),
    figure(when(site.lastAnswerAt, now), '', 'last answer'),
    figure(breaker.state, '', breaker.says),
    figure(
      settings === null ? 'none' : settings.auth,
      '',
      settings?.auth === 'basic' ? 'credentials with each call' : tokenOf(replicas, now),
    ),
    figure(
      html`<a href="${base}/incidents?site=${encodeURIComponent(site.site)}&amp;status=open">${number(site.openIncidents)}</a>`,
      '',
      'open incidents',
    ),
    ...(orders.paid === 0
      ? []
      : [
          figure(
            number(orders.repeated),
            `of ${number(orders.paid)}`,
            orders.reused
              ? 'paid orders repeat: references are reused by design, so no order paid twice is announced'
              : 'paid orders were paid before',
          ),
        ]),
  ]}</dl>`;
}

function pictures({ states, site }: SiteBody, flow: FlowBody, base: string): Html {
  const shown = states.filter(({ stays, limit }) => stays.length > 0 || limit !== null);
  if (shown.length === 0) return nothingHere('How long customers stay is known as soon as some got on.');
  const figure = ({ state, ...dwell }: (typeof shown)[number]): Html => {
    const now = flow.states.find((each) => each.state.value === state.value);
    const list = new URLSearchParams({
      state: state.name.startsWith('Unknown(') ? String(state.value) : state.name,
      status: 'watching',
      site,
    });
    const isStuck = (now?.incidents.length ?? 0) > 0;
    return html`<figure><figcaption><span><a href="${base}/purchases?${list}">${stateWords(state.value)}</a>${beside(state)}</span>${isStuck && tag('stuck', 'stuck')}</figcaption>${dwellPicture({ state, ...dwell }, now?.ages?.oldest ?? [])}<p>${tied(waitingText(now))} ${tied(usualText(dwell))}</p></figure>`;
  };
  return html`<div class="mult">${shown.map(figure)}</div>`;
}

function waitingText(now: FlowBody['states'][number] | undefined): string {
  if (now === undefined || now.watching === 0) return 'Nobody waits.';
  const oldest = now.ages?.oldest[0];
  const longest = oldest === undefined ? '' : `, the oldest for ${length(Math.floor(oldest.ageMs / 1_000) * 1_000)}`;
  const rest = now.watching - now.stuck;
  if (now.stuck === 0) return `${counted(now.watching, 'waits', 'wait')}${longest}.`;
  return `${number(now.stuck)} stuck${longest}; ${rest === 0 ? 'nobody else waits' : `${number(rest)} more wait`}.`;
}

/** The limit's own words hold what it rests on; without a limit, what is usual stands alone. */
function usualText({ limit, usual }: Pick<SiteBody['states'][number], 'limit' | 'usual'>): string {
  if (limit !== null) return `${sentenceOf(limit.text)}.`;
  if (usual === null) return '';
  return `Usual ${length(usual.usualMs)}, 95 % under ${length(usual.p95Ms)}, from ${counted(usual.purchases, 'purchase')}; no limit.`;
}

function counts({ site }: Overview, { purchases }: OverviewBody, { base, now }: Ask): Html {
  const groups = purchases.groups.filter((group) => group.site === site);
  const row = ({ state, status: is, count, stuck, oldestSince }: (typeof groups)[number]): Html => {
    const filters = new URLSearchParams({
      site,
      status: is,
      ...(state !== null && { state: state.name.startsWith('Unknown(') ? String(state.value) : state.name }),
    });
    return html`<tr><th scope="row"><a href="${base}/purchases?${filters}">${state === null ? 'not seen yet' : stateWords(state.value)}</a>${beside(state)}</th><td class="end">${is}</td><td class="num left" data-l="purchases">${number(count)}</td><td class="num" data-l="stuck">${stuck > 0 ? html`<b class="stuck">${number(stuck)}</b>` : '0'}</td><td class="wide" data-l="the longest since">${oldestSince === null ? 'nobody waits' : when(oldestSince, now)}</td></tr>`;
  };
  return panel({
    id: 'counts',
    title: 'Purchases by state',
    body:
      groups.length === 0
        ? nothingHere(
            'No purchase of this site is registered.',
            html`Register one: <code>npx ${commandLine`watch --site ${site}`} &lt;purchase id&gt;</code>`,
          )
        : html`<table class="cards fits"><thead><tr><th scope="col">State</th><th scope="col">Status</th><th scope="col" class="num">Purchases</th><th scope="col" class="num">Stuck</th><th scope="col">The longest since</th></tr></thead><tbody>${groups.map(row)}</tbody></table>`,
  });
}
