/** How `rehearse` shows which alerts would have been sent, and which were. */

import { type MessageSums, type RehearsalBody, type ShownAlert, STAGES } from '../../actions/rehearse/body.ts';
import { reuseText } from '../../domain/incidents/paid-twice.ts';
import { stateBoth } from '../../domain/purchases/states.ts';
import { riskText } from '../../domain/rehearsal/rehearsed-risks.ts';
import type { CliContext } from '../terminal/context.ts';
import { counted, printLine, styled } from '../terminal/output.ts';
import { printTable } from '../terminal/table.ts';

/** Writes it for people: first the sum of it, then the messages, then the numbers, then those that were really sent. */
export function showRehearsal(context: CliContext, body: RehearsalBody): void {
  const { from, to, site, config, rehearsed, really, taughtSince, limits, changed, summary } = body;
  const where = site === null ? '' : ` at ${site}`;
  printLine(context, `${day(from)} to ${day(to)} UTC${where}, under ${config ?? 'the default settings'}`);
  for (const { setting, present, tried } of changed) printLine(context, `${setting}: ${tried}, at present ${present}`);
  printLine(context, summary);
  const remark = (text: string): void => printLine(context, styled(context, 'gray', text));
  remark(
    taughtSince === null
      ? 'Nothing was recorded before: what is usual had to be learned from the time itself.'
      : `What is usual was learned from the time since ${day(taughtSince)}.`,
  );
  if (body.channelInvented) remark('No channel for people is configured: shown as for one Slack channel that gets every alert.');
  if (body.silencesIgnored) remark('Silences are ignored.');

  messages(context, 'Would have been sent', rehearsed.said);
  printLine(context);
  numbers(context, body);
  printLine(context);
  const { incidents, unsaid, openBefore, openAfter } = rehearsed;
  printLine(
    context,
    `${counted(incidents, 'incident')}${unsaid === 0 ? '' : `, ${unsaid} of them without an alert`}; open at the beginning ${openBefore}, at the end ${openAfter}`,
  );
  if (rehearsed.atRisk !== null) printLine(context, riskText(rehearsed.atRisk));
  for (const { site: its, ...counts } of body.reusing)
    remark(`${its}: no person is alerted of orders paid twice, because ${reuseText(counts)}`);
  for (const { site: its, state, text } of limits) remark(`${its}, ${stateBoth(state.value)}: ${text}`);
  messages(context, 'Was really sent', really.said);
}

function numbers(context: CliContext, { rehearsed, present, really }: RehearsalBody): void {
  const sides: readonly (readonly [string, MessageSums])[] = [
    ['under these settings', rehearsed],
    ...(present === null ? [] : [['under the present ones', present] as const]),
    ['really', really],
  ];
  const stages = STAGES.filter((stage) => sides.some(([, side]) => side.stages[stage] !== 0));
  const rows: readonly (readonly [string, (side: MessageSums) => string | number])[] = [
    ['messages', rate],
    ...stages.map((stage) => [`  ${stage}`, (side: MessageSums) => side.stages[stage] ?? 0] as const),
    ['purchases found stuck', ({ overdue }) => overdue],
  ];
  printTable(context, rows, {
    '': ([name]) => name,
    ...Object.fromEntries(sides.map(([title, side]) => [title, ([, of]: (typeof rows)[number]) => String(of(side))])),
  });
}

const rate = ({ messages: said, perDay }: MessageSums): string => (perDay === null ? String(said) : `${said} (${perDay} a day)`);

function messages(context: CliContext, title: string, said: readonly ShownAlert[]): void {
  printLine(context);
  if (said.length === 0) return void printLine(context, `${title}: nothing`);
  printLine(context, styled(context, 'bold', `${title}:`));
  printTable(context, said, {
    'at (UTC)': ({ at }) => day(at),
    channels: ({ channels }) => channels.join(', ') || 'none',
    stage: ({ stage }) => stage,
    headline: ({ headline }) => headline,
  });
}

/** `2026-11-20 09:15:02` */
function day(iso: string): string {
  return iso.slice(0, 19).replace('T', ' ');
}
