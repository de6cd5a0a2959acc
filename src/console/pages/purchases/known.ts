/** Why a purchase is (not) polled, flagged or announced, in the order in which the API explains it, and what is known of it. */
import type { ExplanationBody } from '../../../api/purchases/explanation-body.ts';
import { counted } from '../../../domain/values/counts.ts';
import type { JsonValue } from '../../../domain/values/exact-json.ts';
import { type Html, html, tied } from '../../frame/html.ts';
import { icon } from '../../frame/icons.ts';
import type { Ask } from '../../frame/page-route.ts';
import { facts, panel, written } from '../../parts/lists.ts';
import { amountOf, valueText } from '../../parts/purchases.ts';
import { isHeld } from '../../parts/receivers.ts';
import { momentTime, when } from '../../parts/time.ts';
import type { Known } from './read.ts';

type Step = ExplanationBody['steps'][number];

/** Of more receivers with nothing wrong, each has its line when a person asks for them. */
const MOST_CALM = 4;

/** The next steps, when and why they come, and how things stand. */
export function nextPanel({ why, purchase, receivers }: Known, { base, now }: Ask): Html {
  // A receiver that gets nothing has a line of its own above.
  const held = new Set(receivers.filter(isHeld).map(({ name }) => name));
  const stands = why.standing.filter(({ kind, subscriber }) => kind !== 'subscriber' || !held.has(subscriber ?? ''));
  const next = purchase.nextPollAt === null ? html`no poll is planned` : html`next poll ${when(purchase.nextPollAt, now)}`;
  const coming = ({ at, ...step }: Step): Html => html`<li>${at !== null && html`${when(at, now)}: `}${text(step, base)}</li>`;
  const standing = (step: Step): Html => html`<li>${text(step, base)}</li>`;
  const calm = stands.filter(({ kind, wrong }) => kind === 'subscriber' && !wrong);
  const isLong = calm.length > MOST_CALM;
  const shown = isLong ? stands.filter((step) => !calm.includes(step)) : stands;
  const rest =
    isLong &&
    html`<details class="same" id="calm"><summary>${counted(calm.length, 'receiver')} with nothing wrong</summary><ol class="why">${calm.map(standing)}</ol></details>`;
  return panel({
    id: 'next',
    title: 'Next poll and why',
    note: next,
    body: html`<ol class="why">${why.next.map(coming)}${shown.map(standing)}</ol>${rest}`,
  });
}

/** Everything that happened, first to last. */
export function stepsPanel({ why }: Known, { base }: Ask): Html {
  const times = why.steps.flatMap(({ at }) => (at === null ? [] : [Date.parse(at)]));
  const span = times.length === 0 ? 0 : Math.max(...times) - Math.min(...times);
  const row = (step: Step): Html =>
    html`<li><span>${step.at === null ? '' : momentTime(Date.parse(step.at), span)}</span><span>${step.sequence === undefined || step.kind === 'delivery' || step.kind === 'attempt' ? '' : `${step.sequence}. `}${text(step, base)}</span></li>`;
  return html`<section class="panel"><details id="happened"><summary>What happened, in order</summary><ol class="rows tl">${why.steps.map(row)}</ol></details></section>`;
}

function text({ text: says, wrong, incidentId }: Omit<Step, 'at'>, base: string): Html {
  const link = incidentId !== undefined && html` <a href="${base}/incidents/${incidentId}">Look at the incident</a>`;
  return html`${wrong && html`${icon('warning', 'warning')} `}<bdi>${tied(says)}</bdi>${link}`;
}

/** Numbers that the specification names, by field and number; and fields whose numbers it leaves without names. */
const CODES: ReadonlyMap<string, readonly string[]> = new Map([
  ['CustomerType', ['private and company', 'only private', 'only company']],
  ['PaymentMethod', []],
  ['AuthenticationType', []],
]);

/** A field's value; of a number that stands for something, what that is, as far as the specification says it. */
function coded(name: string, value: JsonValue): Html {
  const text = valueText(value);
  const names = CODES.get(name);
  if (names === undefined || !/^\d{1,4}$/.test(text)) return written(text);
  return html`${text}<small>${names[Number(text)] ?? "the service's number; its specification gives no name"}</small>`;
}

/** Fields, who registered it, and who polls it. */
export function knownPanel({ purchase, why }: Known, { now }: Ask): Html {
  const { details, metadata, reference, orderReference, registeredAt, lastPolledAt, lastError, polls } = purchase;
  const { registeredBy, shard, replica } = why.purchase;
  const own = Object.entries(details).map(([name, value]) => [name, coded(name, value)] as const);
  return panel({
    id: 'known',
    title: 'Known of it',
    body: html`<div class="body">${facts([
      ['Price', amountOf(purchase) ?? 'not known'],
      ['Reference', reference === null ? 'none' : written(reference)],
      ['Order', orderReference === null ? 'not known' : written(valueText(orderReference))],
      ...own,
      [
        'Registered',
        html`${when(registeredAt, now)}<small>${registeredBy === null ? 'by whom was not noted' : `by ${registeredBy}`}</small>`,
      ],
      ['Last poll', html`${when(lastPolledAt, now)}<small>${polls} in all</small>`],
      lastError !== null && ['Last error', written(lastError)],
      ['Shard', `${shard}, ${replica === null ? 'of no replica now' : `polled by ${replica}`}`],
    ])}${metadata !== null && html`<p class="small">Metadata</p><div class="copy"><pre id="metadata" tabindex="0"><code><bdi>${JSON.stringify(metadata, null, 2)}</bdi></code></pre><button class="btn" type="button" data-copy="metadata">Copy<span class="vh"> the metadata</span></button></div>`}</div>`,
  });
}
