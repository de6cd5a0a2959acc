/** Pages for what did not work: what happened, what goes on meanwhile, what to do. */
import type { Problem } from '../../api/http/problems.ts';
import { type Html, html, NOTHING } from '../frame/html.ts';
import { icon } from '../frame/icons.ts';
import type { View } from '../frame/page.ts';

interface Failure {
  readonly status: number;
  readonly title: string;
  readonly says: string;
  readonly rest?: Html;
  readonly code?: string;
}

function failure({ status, title, says, rest = NOTHING as Html, code }: Failure, base: string): View {
  const body = html`<div class="head"><h1 class="say">${title}</h1><p class="sub">${says}</p><p class="acts"><a class="btn first" href="${base}/">Go to Now</a></p></div>
${rest}${code !== undefined && html`<p class="small">${code}, ${status}</p>`}`;
  return { title, place: null, crumb: title, body, status, isLive: false };
}

/** An address at which there is no page. */
export function notFoundView(base: string): View {
  return failure(
    {
      status: 404,
      title: 'There is no page at this address',
      says: 'Look for a purchase by its id or order reference in the field of the navigation.',
    },
    base,
  );
}

/** What was refused, or a fault of this program. */
export function failedView({ status, title, message, code, errors }: Problem, base: string): View {
  const rest = html`<ul class="rows panel">${errors.map(
    ({ field, value, detail }) =>
      html`<li>${icon('warning', 'warning')} <b>${field}</b>${value !== undefined && html` <bdi class="clip" title="${String(value)}">${String(value)}</bdi>`}: ${detail}</li>`,
  )}</ul>`;
  const says = code === 'internal' ? `${message} Polling and delivering go on.` : message;
  return failure({ status, title, says, code, ...(errors.length > 0 && { rest }) }, base);
}
