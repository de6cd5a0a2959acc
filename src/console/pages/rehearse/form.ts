/** The form of a rehearsal: the time, and the settings to try, each with the value that it has at the daemon. */

import type { OverviewBody } from '../../../api/overview/overview.ts';
import type { ShownAlertSettings } from '../../../config/rehearsed.ts';
import { STUCK_MODES } from '../../../domain/incidents/audience.ts';
import { stateBoth } from '../../../domain/purchases/states.ts';
import { type Html, html } from '../../frame/html.ts';
import type { Ask } from '../../frame/page-route.ts';
import { field, refusalNote, type Tried } from '../../parts/fields.ts';

/** Parameters of the address beside settings, by their names in the API. */
export const ABOUT = ['from', 'to', 'site', 'ignoreSilences'] as const;
/** The time that the form begins with. */
export const FIRST_SPAN = '7d';

/** The name of the field of a state's limit: as the API names it in what it refuses. */
const limitField = (state: string): string => `settings.states.${state}.stuckAfter`;
const slackField = (name: string): string => `settings.slack.${name}`;
const RISK_FIELD = 'settings.polling.atRisk.before';

/** The values at the daemon, by the names of their fields. */
export function presentValues({ states, slack, polling }: ShownAlertSettings): ReadonlyMap<string, string> {
  return new Map([
    ...Object.entries(states).map(([state, { stuckAfter }]) => [limitField(state), stuckAfter] as const),
    ...Object.entries(slack).map(([name, value]) => [slackField(name), String(value)] as const),
    [RISK_FIELD, polling.atRisk.before],
  ]);
}

/** Settings of the address that differ from the daemon's, as the API takes them. */
export function settingsToTry({ states, slack }: ShownAlertSettings, wanted: ReadonlyMap<string, string>) {
  const given = <Value>(names: readonly string[], nameOf: (name: string) => string, make: (value: string) => Value) =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = wanted.get(nameOf(name));
        return value === undefined ? [] : [[name, make(value)] as const];
      }),
    );
  return {
    states: given(Object.keys(states), limitField, (stuckAfter) => ({ stuckAfter })),
    slack: {
      ...given(
        Object.keys(slack).filter((name) => name !== 'paidTwice'),
        slackField,
        (value) => value,
      ),
      ...given(['paidTwice'], slackField, (value) => value === 'true'),
    },
    polling: {
      atRisk: given(
        ['before'],
        () => RISK_FIELD,
        (value) => value,
      ),
    },
  };
}

const MODES: Readonly<Record<(typeof STUCK_MODES)[number], string>> = {
  auto: 'auto: while too little is known of the state',
  each: 'each: always',
  incidents: 'incidents: never, only when a page counts as broken',
};

const YES_NO = [
  { value: 'true', word: 'true: yes' },
  { value: 'false', word: 'false: no' },
];

const TIMES: readonly (readonly [name: string, label: string, hint: string])[] = [
  ['groupWait', 'First message after', 'so long after an incident opens; more of it is known then'],
  ['quietFor', 'Ends after', 'so long after customers get on again'],
  ['groupInterval', 'Between messages', 'about an incident that grows'],
  ['repeatInterval', 'Remind after', 'of an incident that stays open'],
];

export function rehearsalForm(
  { base }: Ask,
  { settings, overview, tried }: { settings: ShownAlertSettings; overview: OverviewBody; tried: Tried },
): Html {
  const present = presentValues(settings);
  const setting = (name: string, label: string, hint: string): Html => {
    const was = present.get(name) ?? '';
    const now = tried.values[name] === was ? '' : `at present ${was}`;
    const text = [hint, now].filter((each) => each !== '').join('; ');
    return field({ name, label, tried, longest: 30, ...(text === '' ? {} : { hint: text }) });
  };
  const isLimited = (state: string): boolean =>
    [present, tried.values].some((values) => valueIn(values, limitField(state)) !== 'never');
  const states = Object.keys(settings.states);
  const limits = (some: readonly string[]): Html =>
    html`<div class="fields even">${some.map((state) => setting(limitField(state), stateBoth(state), ''))}</div>`;
  const unlimited = states.filter((state) => !isLimited(state));
  const fields = [...ABOUT, ...present.keys()];
  const sites = [{ value: '', word: 'all sites' }, ...overview.sites.map(({ site }) => ({ value: site, word: site }))];
  return html`<section class="panel" aria-labelledby="try"><header><h2 id="try">Settings to try</h2></header><form class="body stack" action="${base}/rehearse">${refusalNote(tried, fields)}
<div class="fields even">${field({ name: 'from', label: 'From', tried, isRequired: true, longest: 40, hint: 'such as 7d, or a time with its zone; 31d at most' })}${field({ name: 'to', label: 'Up to', tried, longest: 40, placeholder: 'now', hint: 'now when empty' })}${field({ name: 'site', label: 'Site', tried, choices: sites })}</div>
<label class="inline"><input type="checkbox" name="ignoreSilences" value="true"${tried.values.ignoreSilences === 'true' && html` checked`}>As if there had been no silences</label>
<h3>A purchase is stuck after</h3><p class="small">A duration such as <code>10m</code>; <code>auto</code>: learned from customers who got on; <code>never</code>.</p>
${limits(states.filter(isLimited))}${unlimited.length !== 0 && html`<details class="quiet" id="unlimited"><summary>States without a limit</summary>${limits(unlimited)}</details>`}
<h3>People are alerted</h3>
${field({ name: slackField('stuck'), label: 'Of single stuck checkouts', tried, choices: STUCK_MODES.map((value) => ({ value, word: MODES[value] })), hint: modeHint(tried, present, 'stuck') })}
${field({ name: slackField('paidTwice'), label: 'Of orders paid twice', tried, choices: YES_NO, hint: modeHint(tried, present, 'paidTwice') })}
<div class="fields even">${TIMES.map(([name, label, hint]) => setting(slackField(name), label, hint))}</div>
<h3>Subscribers get <code>purchase.at_risk</code></h3>
${setting(RISK_FIELD, 'Before the session of a stuck purchase ends', 'how long before, such as 5m; never: the event is not sent; a site with an atRisk of its own keeps that')}
<button class="btn first">Rehearse</button><p class="small">Nothing is changed, written or sent. The answer takes seconds, or up to a minute where very much is recorded.</p></form></section>`;
}

function valueIn(values: ReadonlyMap<string, string> | Readonly<Record<string, string>>, name: string): string | undefined {
  return values instanceof Map ? values.get(name) : (values as Readonly<Record<string, string>>)[name];
}

function modeHint({ values }: Tried, present: ReadonlyMap<string, string>, name: 'stuck' | 'paidTwice'): string {
  const was = present.get(slackField(name));
  const rule = 'for channels without a setting of their own';
  return values[slackField(name)] === was ? rule : `${rule}; at present ${was}`;
}
