/** Pages for what did not work: what happened, what goes on meanwhile, what to do. */
import type { Scope } from '../../config/kinds/key-kinds.ts';
import { ApiRefusal } from '../frame/api-calls.ts';
import { type Html, html, NOTHING } from '../frame/html.ts';
import { icon } from '../frame/icons.ts';
import type { View } from '../frame/page.ts';
import type { Ask } from '../frame/page-route.ts';

interface Failure {
  readonly status: number;
  readonly title: string;
  readonly says: string;
  readonly rest?: Html;
  readonly code?: string;
}

function failure({ status, title, says, rest = NOTHING as Html, code }: Failure, base: string): View {
  const body = html`<div class="head"><h1 class="say">${title}</h1><p class="sub">${says}</p><p class="acts"><a class="btn first" href="${base}/">Go to Now</a></p></div>
${rest}${code === undefined ? NOTHING : html`<p class="small">${code}, ${status}</p>`}`;
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

/** A form that came from a page of another site. */
export function foreignView(base: string): View {
  const says =
    'The form came from another web site, or from a browser that does not say where it came from. Nothing was changed.';
  return failure({ status: 403, title: 'Forms are taken from the console alone', says, code: 'cross_site' }, base);
}

/** A person whose key lacks a scope. */
export function refusedView({ base, caller }: Pick<Ask, 'base' | 'caller'>, scope: Scope): View {
  const says = `This needs a key with the scope ${scope}; the key ${caller.key} has ${caller.scopes.join(', ')}. Nothing was changed.`;
  return failure({ status: 403, title: 'Your key may not do this', says, code: 'missing_scope' }, base);
}

/** What the API refused, or a fault of this program. */
export function failedView(error: unknown, base: string): View {
  if (!(error instanceof ApiRefusal)) {
    const says =
      'The page could not be made because of a fault here. Polling and delivering go on. The log of the daemon says more.';
    return failure({ status: 500, title: 'Something went wrong here', says, code: 'internal' }, base);
  }
  const { status, title, message, code, errors } = error;
  const rest = html`<ul class="rows panel">${errors.map(
    ({ field, value, detail }) =>
      html`<li>${icon('warning', 'warning')} <b>${field}</b>${value === undefined ? NOTHING : html` <bdi class="clip" title="${String(value)}">${String(value)}</bdi>`}: ${detail}</li>`,
  )}</ul>`;
  return failure({ status, title, says: message, code, ...(errors.length > 0 && { rest }) }, base);
}
