/** The form that adds a silence. */

import { INCIDENT_KINDS } from '../../../actions/incidents/rules.ts';
import type { OverviewBody } from '../../../api/overview/overview.ts';
import { STATE_NAMES } from '../../../domain/purchases/states.ts';
import { type Html, html } from '../../frame/html.ts';
import type { Ask } from '../../frame/page-route.ts';
import { type Choice, field, problemNote, problemOf, refusalNote, type Tried, wrongMarks } from '../../parts/fields.ts';
import { stateChoice } from '../../parts/states.ts';

/** As the API names them. */
export const FIELDS = ['site', 'state', 'kind', 'subscriber', 'everything', 'reason', 'by', 'startsAt', 'endsAt'] as const;

const KINDS: Readonly<Record<(typeof INCIDENT_KINDS)[number], string>> = {
  stuck: 'customers get stuck',
  unreachable: 'a site does not answer',
  subscriber: 'a subscriber does not get everything',
  replica: 'a replica cannot do its work',
};

/** The form, with what was typed; for people who may not add one, a line that says which key may. */
export function addForm(
  ask: Ask,
  { tried, isTried, overview }: { tried: Tried; isTried: boolean; overview: OverviewBody },
): Html {
  const { base, mayOperate, caller } = ask;
  if (!mayOperate)
    return html`<p class="small">Adding and ending silences needs a key with the scope operate; yours has ${caller.scopes.join(', ')}.</p>`;
  const any = (word: string, values: readonly Choice[]): Choice[] => [{ value: '', word }, ...values];
  const same = (values: readonly string[]): Choice[] => values.map((value) => ({ value, word: value }));
  const sites = any('every site', same(overview.sites.map(({ site }) => site)));
  const kinds = any(
    'every kind',
    INCIDENT_KINDS.map((value) => ({ value, word: `${value}: ${KINDS[value]}` })),
  );
  const subscribers = any('every subscriber', same(overview.subscribers.map(({ name }) => name)));
  return html`<section class="panel" aria-labelledby="add"><details id="add-more"${isTried && html` open`}><summary id="add">Add a silence</summary><form class="body stack" method="post" action="${base}/silences">${refusalNote(tried, FIELDS)}
<p class="small">While it holds, people are alerted of no incident that matches all that is chosen, but for the end of what they were alerted of before. What is not chosen matches everything.</p>
<div class="fields">${field({ name: 'site', label: 'Site', tried, choices: sites })}${field({ name: 'state', label: 'State', tried, choices: any('every state', STATE_NAMES.map(stateChoice)) })}${field({ name: 'kind', label: 'Kind', tried, choices: kinds })}${field({ name: 'subscriber', label: 'Subscriber', tried, choices: subscribers })}</div>
<label class="inline"><input type="checkbox" name="everything" value="true"${problemOf('everything', tried) !== null && wrongMarks('everything')}${tried.values.everything === 'true' && html` checked`}>All incidents, whatever they are about</label>${problemNote('everything', 'All incidents', tried)}
<div class="fields">${field({ name: 'startsAt', label: 'From', tried, placeholder: 'now', hint: 'now when empty; a duration such as 10m, or a time with its zone' })}${field({ name: 'endsAt', label: 'Until', tried, isRequired: true, hint: 'a duration such as 2h, or a time such as 2026-11-20T09:15:00Z; 30 d ahead at most' })}</div>
${field({ name: 'reason', label: 'Reason', tried, isRequired: true, longest: 500, placeholder: 'The service is being moved tonight.' })}${field({ name: 'by', label: 'Who', tried, isRequired: true, longest: 200 })}
<button class="btn first" name="act" value="add">Add the silence</button></form></details></section>`;
}
