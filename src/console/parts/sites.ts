/** The condition of a site as a mark with words, and the choice of a site. */
import type { OverviewBody } from '../../api/overview/overview.ts';
import { type Query, queryOf } from '../frame/api-calls.ts';
import { type Html, html, NOTHING } from '../frame/html.ts';
import { status } from '../frame/icons.ts';

/** Whether a site answers; of one that no running daemon has in its settings, that its purchases are not polled or move. */
export function siteMark({ answers, lastAnswerAt, reason, unpolled, renamedTo }: OverviewBody['sites'][number]): Html {
  if (unpolled > 0 && renamedTo !== null) return status(answers ? 'warning' : 'critical', `moves to ${renamedTo}`);
  if (unpolled > 0) return status('critical', 'not polled');
  if (!answers) return status('critical', `cannot be read: ${reason}`);
  return lastAnswerAt === null ? status('waiting', 'not asked yet') : status('ok', 'answers');
}

/** So many sites are buttons beside each other; more are a list to choose from. */
const MOST_BUTTONS = 4;
const LONGEST_BUTTON = 20;

/** A choice of all sites or one, by the parameter `site` of a page; `keep`: its other parameters. Nothing where there is one site. */
export function siteChoice({
  site,
  sites,
  path,
  id,
  label,
  keep = {},
}: {
  site: string | null;
  sites: readonly string[];
  path: string;
  id: string;
  label: string;
  keep?: Query;
}): Html {
  if (sites.length < 2 && site === null) return NOTHING;
  const isShort = sites.length <= MOST_BUTTONS && sites.every((name) => name.length <= LONGEST_BUTTON);
  if (!isShort) {
    const option = (name: string): Html => html`<option value="${name}"${name === site && html` selected`}>${name}</option>`;
    const hidden = Object.entries(keep).map(
      ([name, value]) => html`<input type="hidden" name="${name}" value="${String(value)}">`,
    );
    return html`<form class="fields" action="${path}">${hidden}<select class="clip" id="${id}-site" name="site" aria-label="Site"><option value="">All sites</option>${sites.map(option)}</select><button class="btn" id="${id}-show">Show</button></form>`;
  }
  const link = (name: string | null): Html =>
    html`<a id="${id}-of-${name ?? ''}" href="${path}${queryOf({ ...keep, site: name })}"${name === site && html` aria-current="true"`}>${name ?? 'All sites'}</a>`;
  return html`<nav class="seg" aria-label="${label}">${[null, ...sites].map(link)}</nav>`;
}
