/** Answers of receivers: whole, as the reason in one line, and attempts that failed in the same way together. */
import type { DeliveryDetailsBody } from '../../api/subscribers/fields.ts';
import { parseExactQuickly } from '../../domain/values/exact-json.ts';
import { type Html, html } from '../frame/html.ts';
import { panel } from './lists.ts';

type Attempt = Pick<DeliveryDetailsBody['attempts'][number], 'outcome' | 'fault'>;

/** The whole answer, wrapped, to be read and copied without a mouse. */
export function answerPanel({ text, note, foot }: { text: string | null; note: Html | string; foot?: Html | undefined }): Html {
  const body =
    text === null
      ? html`<div class="none"><p>No answer came, or it is not kept any more: the excerpts of the attempts are what is left.</p></div>`
      : html`<div class="body"><pre class="answer" id="whole-answer" tabindex="0" role="region" aria-label="The whole answer">${text}</pre></div>`;
  const copy =
    text !== null &&
    html`<button class="btn" type="button" data-copy="whole-answer">Copy<span class="vh"> the answer</span></button>`;
  return panel({ id: 'answer', title: 'What it answered', note, right: copy, body, foot });
}

const LONGEST_REASON = 160;
/** Members of a JSON answer that say why, the plainest first. */
const REASONS = ['message', 'detail', 'error_description', 'error', 'title', 'reason'];

/** Why an attempt failed, in one line: what the answer itself says; null when its body says nothing. */
export function reasonIn(answer: string): string | null {
  const at = answer.indexOf('\n\n');
  const body = at === -1 ? '' : answer.slice(at + 2).trim();
  if (body === '') return null;
  const line = fromJson(body) ?? body.replace(/<(script|style)[^>]*>[\s\S]*?<\/\1>|<[^>]*>/g, ' ');
  const [, short = ''] = /^\s*(.*\S)?\s*/.exec(line.replace(/\s+/g, ' ')) ?? [];
  if (short === '') return null;
  return short.length <= LONGEST_REASON ? short : `${short.slice(0, LONGEST_REASON - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

function fromJson(body: string): string | null {
  if (!/^[{[]/.test(body)) return null;
  try {
    return reasonOfValue(parseExactQuickly(body), 0);
  } catch {
    return null;
  }
}

function reasonOfValue(value: unknown, depth: number): string | null {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null || depth > 3) return null;
  const members = value as Readonly<Record<string, unknown>>;
  for (const name of REASONS) {
    const found = Object.hasOwn(members, name) ? reasonOfValue(members[name], depth + 1) : null;
    if (found !== null && found !== '') return found;
  }
  return null;
}

/** Attempts one after the other, those in a row that failed in the same way together. */
export function alike<Each extends Attempt>(attempts: readonly Each[]): Each[][] {
  const groups: Each[][] = [];
  for (const each of attempts) {
    const last = groups.at(-1);
    const isSame = last?.[0]?.outcome === each.outcome && last[0].fault === each.fault && each.outcome !== 'delivered';
    if (isSame) last!.push(each);
    else groups.push([each]);
  }
  return groups;
}
