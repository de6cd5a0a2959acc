/** The acts on many purchases of the list: the first press shows the effect, the second one does the act. */
import type { ManyDoneBody } from '../../../api/purchases/many.ts';
import { counted } from '../../../domain/values/counts.ts';
import { queryOf, refusalIn } from '../../frame/api-calls.ts';
import { type Html, html } from '../../frame/html.ts';
import type { View } from '../../frame/page.ts';
import { type Ask, action, type GoOn } from '../../frame/page-route.ts';
import { asked, filterOf } from './filter.ts';
import { listView } from './list.ts';

type Act = ManyDoneBody['act'];

const PICK = 'pick:';

/** The purchases whose boxes are ticked, as the fields of the form name them. */
function chosenIn(form: Ask['form']): { site: string; purchaseId: string }[] {
  return Object.keys(form).flatMap((name) => {
    const at = name.indexOf('/');
    return name.startsWith(PICK) && at > 0 ? [{ site: name.slice(PICK.length, at), purchaseId: name.slice(at + 1) }] : [];
  });
}

export const manyAction = action('/purchases/act', async (ask): Promise<View | GoOn> => {
  const { api, form, query } = ask;
  const act: Act = form.act === 'announce' || form.act === 'stop' ? form.act : 'poll';
  const purchases = chosenIn(form);
  const isAll = form.all === 'on';
  const { sort, ...filter } = asked(filterOf(query));
  const matching = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ''));
  const dryRun = form.sure !== 'yes';
  if (!isAll && purchases.length === 0)
    return listView(ask, { note: html`<p class="note warning" role="alert">Choose purchases first: tick their boxes.</p>` });
  try {
    const done = await api.send<ManyDoneBody>('POST', '/v1/purchases/act', {
      act,
      ...(isAll ? { matching } : { purchases }),
      dryRun,
    });
    if (dryRun)
      return await listView(ask, {
        note: confirm(ask, done, { isAll, names: Object.keys(form).filter((name) => name.startsWith(PICK)) }),
        picked: form,
      });
    return { goTo: `/purchases${queryOf({ ...filterOf(query), done: `${act}-${done.count}` })}` };
  } catch (error) {
    const { message } = refusalIn(error, ({ status }) => status === 400);
    return listView(ask, { note: html`<div class="note warning" role="alert"><p>${message}</p></div>`, picked: form });
  }
});

const deliveriesOf = (count: number): string => counted(count, 'delivery', 'deliveries');

const TITLES: Readonly<Record<Act, (purchases: string) => string>> = {
  poll: (purchases) => `Poll ${purchases} now?`,
  announce: (purchases) => `Announce the last event of ${purchases} again?`,
  stop: (purchases) => `Stop watching ${purchases}?`,
};

const BUTTONS: Readonly<Record<Act, (count: number) => string>> = {
  poll: (count) => `Poll ${counted(count, 'purchase')}`,
  announce: (count) => `Announce ${deliveriesOf(count)} again`,
  stop: (count) => `Stop watching ${counted(count, 'purchase')}`,
};

const AFTERWARDS: Readonly<Record<Act, Html | string>> = {
  poll: 'Each follows its plan again afterwards.',
  announce: html`Receivers know them by the same <code>webhook-id</code>, and drop what they have. Slack is sent nothing again.`,
  stop: 'What is known of them stays. Each can be watched again.',
};

function confirm({ base, query }: Ask, done: ManyDoneBody, { isAll, names }: { isAll: boolean; names: readonly string[] }): Html {
  const { act, purchases, missing, count, leftAlone, deliveries, sites } = done;
  const of = queryOf(filterOf(query));
  const lines: (Html | string)[] = [
    ...deliveries.map(
      (each) =>
        html`<b>${each.subscriber}</b>: ${deliveriesOf(each.count)}${each.count === 0 ? '' : each.waits === null ? ', sent at once' : html`, which wait. ${each.waits}`}${each.waiting === 0 ? '' : `. ${counted(each.waiting, 'more waits', 'more wait')} in any case, and is not sent twice`}.`,
    ),
    ...sites.map((each) => html`<b>${each.site}</b>: ${counted(each.count, 'purchase waits', 'purchases wait')}. ${each.waits}`),
    AFTERWARDS[act],
  ];
  if (leftAlone > 0)
    lines.push(
      `${counted(leftAlone, 'purchase is', 'purchases are')} left alone: ${act === 'poll' ? 'stopped before' : 'not polled any more'}.`,
    );
  if (missing > 0) lines.push(`${counted(missing, 'purchase is', 'purchases are')} not here any more.`);
  const hidden = isAll
    ? html`<input type="hidden" name="all" value="on">`
    : html`${names.map((name) => html`<input type="hidden" name="${name}" value="on">`)}`;
  const button =
    count === 0
      ? html`<p>There is nothing to do.</p>`
      : html`<button class="btn first" name="act" value="${act}">${BUTTONS[act](count)}</button>`;
  return html`<section class="confirm" aria-labelledby="dry" role="status"><h2 id="dry">${TITLES[act](counted(purchases, 'purchase'))} Nothing has been done yet.</h2><ul>${lines.map((text) => html`<li>${text}</li>`)}</ul>
<form class="acts" method="post" action="${base}/purchases/act${of}"><input type="hidden" name="sure" value="yes">${hidden}${button}<a class="btn" href="${base}/purchases${of}">Leave it</a></form></section>`;
}
