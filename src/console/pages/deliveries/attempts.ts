/** The attempts of a delivery: those that failed in the same way, one after the other, in one row. */
import type { DeliveryDetailsBody } from '../../../api/subscribers/fields.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Html, html } from '../../frame/html.ts';
import { alike } from '../../parts/answers.ts';
import { nothingHere, panel } from '../../parts/lists.ts';
import { excerptText, outcomeMark, took } from '../../parts/receivers.ts';
import { momentTime, when } from '../../parts/time.ts';
import { attemptsPicture } from '../../pictures/attempts.ts';

type Attempt = DeliveryDetailsBody['attempts'][number];

/** More would make the picture's bars too thin. */
const MOST_DRAWN = 72;

/** The panel of attempts, first to last. */
export function attemptsPanel({ attempts, tries }: DeliveryDetailsBody, now: number): Html {
  if (attempts.length === 0) {
    const nothing =
      tries === 0
        ? 'No attempt was made yet. It is made when the delivery has its turn.'
        : `${counted(tries, 'attempt')} ${tries === 1 ? 'was' : 'were'} made; those that failed are not kept any more.`;
    return panel({ id: 'attempts', title: 'Attempts', body: nothingHere(nothing) });
  }
  const picture = attempts.length >= 2 && html`<div class="body">${attemptsPicture(attempts.slice(-MOST_DRAWN))}</div>`;
  const span = Date.parse(attempts.at(-1)!.at) - Date.parse(attempts[0]!.at);
  return panel({
    id: 'attempts',
    title: 'Attempts',
    note: counted(attempts.length, 'attempt'),
    body: html`${picture}<table class="cards fits attempts"><thead><tr><th scope="col" class="num left">No.</th><th scope="col">Ended</th><th scope="col">Outcome</th><th scope="col" class="num">Took</th><th scope="col">Answer began</th></tr></thead><tbody>
${alike(attempts).map((group) => row(group, span, now))}</tbody></table>`,
  });
}

function row(group: readonly Attempt[], span: number, now: number): Html {
  const [first, last] = [group[0]!, group.at(-1)!];
  const at = (each: Attempt): Html => momentTime(Date.parse(each.at), span);
  const isOne = group.length === 1;
  const times = group.map(({ tookMs }) => tookMs);
  const [least, most] = [took(Math.min(...times)), took(Math.max(...times))];
  const each = html`<details id="each-${first.number}"><summary>each of them</summary><ol class="each">${group.map((one) => html`<li>${one.number}: ${at(one)}, ${took(one.tookMs)}</li>`)}</ol></details>`;
  return html`<tr id="row-attempt-${first.number}"><th scope="row" class="num left">${isOne ? first.number : html`${first.number} to ${last.number}`}</th>
<td class="wide">${isOne ? when(first.at, now) : html`the same ${group.length} times in a row, ${at(first)} to ${at(last)}${each}`}</td>
<td class="word">${outcomeMark(last)}</td><td class="num" data-l="took">${least === most ? least : html`${least} to ${most}`}</td><td class="wide">${excerptText(last.excerpt)}</td></tr>`;
}
