/** Pages for what did not work: what happened, what goes on meanwhile, what to do. */
import type { Problem } from '../../api/http/problems.ts';
import { type Html, html } from '../frame/html.ts';
import { icon } from '../frame/icons.ts';
import type { View } from '../frame/page.ts';

function failure(base: string, { status, title }: { status: number; title: string }, says: string, more: Html | false): View {
  const body = html`<div class="head"><h1 class="say">${title}</h1><p class="sub">${says}</p><p class="acts"><a class="btn first" href="${base}/">Go to Now</a></p></div>
${more}`;
  return { title, place: null, crumb: title, body, status, isLive: false };
}

/** An address at which there is no page. */
export function notFoundView(base: string): View {
  const says = 'Look for a purchase by its id or order reference in the field of the navigation.';
  return failure(base, { status: 404, title: 'There is no page at this address' }, says, false);
}

/** The page of a refusal, or of a fault of this program. */
export function failedView(problem: Problem, base: string): View {
  const { status, message, code, errors } = problem;
  const item = ({ field, value, detail }: (typeof errors)[number]): Html =>
    html`<li>${icon('warning', 'warning')} <b>${field}</b>${value !== undefined && html` <bdi class="clip" title="${String(value)}">${String(value)}</bdi>`}: ${detail}</li>`;
  const list = errors.length > 0 && html`<ul class="rows panel">${errors.map(item)}</ul>`;
  const says = code === 'internal' ? `${message} Polling and delivering go on.` : message;
  return failure(base, problem, says, html`${list}<p class="small">${code}, ${status}</p>`);
}
