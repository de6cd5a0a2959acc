/**
 * Messages about stuck purchases. Read one as a person who was just woken up: the headline says what, where and how
 * bad; then since when and how sure it is, why it may be, and what to do.
 */

import { enoughKnown } from '../../../domain/incidents/stuck-checkouts.ts';
import { stateBoth } from '../../../domain/purchases/states.ts';
import { commandLine } from '../../../domain/values/command-line.ts';
import { grouped } from '../../../domain/values/counts.ts';
import { humanDuration } from '../../../domain/values/duration.ts';
import type { StuckIncident, StuckPart } from '../events/stuck-event.ts';
import { answered, causeParagraphs, earlierParagraph } from './cause-paragraphs.ts';
import { andMore, customers, type Draft, type Labelled, LONGEST_NAME, waitingFor } from './draft.ts';
import { code, command, moment, plain, purchaseId } from './mrkdwn.ts';
import { limitWords, markText, moneyText, shareText, sliceText, trustText } from './stuck-facts.ts';
import { beganAt, stuckHeadline } from './stuck-headline.ts';

/** Purchases named at most. */
const NAMED_PURCHASES = 5;
/** Characters of how customers ended. */
const LONGEST_ENDS = 400;
/** States of sites named at most. */
const NAMED_PARTS = 8;

export function stuckDraft(incident: StuckIncident, consoleUrl: string | null): Draft {
  return incident.stage === 'ended' ? endedDraft(incident) : openDraft(incident, consoleUrl);
}

function openDraft(incident: StuckIncident, consoleUrl: string | null): Draft {
  const { stage, openedAt, count, peak, since, alarm, noticedAfterMs, limitMs, dwell, severity, waiting, slice } = incident;
  const late = noticedAfterMs === null ? '' : `\nnoticed ${humanDuration(noticedAfterMs)} after the first of them came`;
  return {
    headline: stuckHeadline(incident),
    facts: [
      ...places(incident),
      ['Stuck now', peak > count ? `${customers(count)} (${grouped(peak)} at the worst)` : customers(count)],
      ['Share', shareText(incident)],
      ['Narrowed down to', sliceText(incident), { order: 95 }],
      ['Since', `${moment(alarm?.since ?? since)}${slice === null ? markText(incident) : ''}${late}`],
      ['First alerted', stage === 'reopened' ? moment(openedAt) : null],
      ['Money waiting', waiting.length === 0 ? null : moneyText(incident), { order: 90 }],
      limitMs === null
        ? ['Stuck after', null]
        : ['Stuck after', limitWords(limitMs, dwell), { order: 60, shorter: [limitWords(limitMs, null)] }],
      ['Severity', severity],
    ],
    paragraphs: [
      ...partsParagraph(incident),
      ...saidParagraph(incident),
      ...causeParagraphs(incident, consoleUrl),
      ['How sure this is', alarm === null ? null : trustText(alarm), { order: 10 }],
      ...purchasesParagraph(incident, consoleUrl),
      ...singlesParagraph(incident),
    ],
  };
}

/** Whether alerts about single stuck checkouts go on. */
function singlesParagraph({ singles }: StuckIncident): Labelled[] {
  if (singles === null) return [];
  const mode = code('slack.stuck: auto', 40);
  if (singles.until === 'over')
    return [['Single checkouts', `They alert nobody here until this is over (${mode}).`, { order: 11 }]];
  const known = `${enoughKnown(singles)}, enough to judge the page by the share of stuck customers`;
  return [
    ['From now on incidents take over', `Single stuck checkouts alert nobody here any more: ${known} (${mode}).`, { order: 85 }],
  ];
}

/** The cause that a person named, which may be before the incident was reopened; else the one of the last time. */
function saidParagraph(incident: StuckIncident): Labelled[] {
  const { answer } = incident;
  if (answer === null) return earlierParagraph(incident);
  return [['Already said of it', answered(answer), { order: 50, shorter: [answered(answer, 100), answered(answer, 0)] }]];
}

function endedDraft(incident: StuckIncident): Draft {
  const { incidentId, at, endedAt, reopenedAt, count, peak, movedOn, became, answer, causes } = incident;
  const [likely] = causes;
  const guess = likely === undefined ? '' : ` The ${likely.likely ? 'likeliest' : 'first guess'} was ${code(likely.cause, 60)}.`;
  return {
    headline: stuckHeadline(incident),
    facts: [
      ...places(incident),
      ['Began', moment(beganAt(incident))],
      ['Over', moment(endedAt ?? at)],
      ['Stuck at the worst', customers(peak)],
      [
        reopenedAt === null ? 'Got on after all' : 'Got on since it came back',
        movedOn === null || became !== null ? null : customers(movedOn),
      ],
      ['Still stuck', count === 0 ? null : `${customers(count)}, who may have left`],
    ],
    paragraphs: [
      ...partsParagraph(incident),
      ['What became of them', became === null ? null : plain(became, LONGEST_ENDS), { order: 70 }],
      answer === null
        ? [
            'What was it?',
            `Say so, and it is quoted the next time: ${command(commandLine`incidents answer ${incidentId} --cause KEY --by NAME`)}. Keys: ${command(commandLine`incidents answer --help`)}.${guess}`,
          ]
        : ['What it was', answered(answer)],
    ],
  };
}

function places({ site, state }: StuckIncident): Labelled[] {
  return [
    ['Site', site === null ? null : plain(site, LONGEST_NAME)],
    ['State', state === null ? null : stateBoth(state.value)],
  ];
}

/** Where customers are stuck and how bad it is there, the worst first, when that is more than one state of a site. */
function partsParagraph({ parts, stage, site, state, includes }: StuckIncident): Labelled[] {
  if (site !== null && state !== null && parts.length === 1) return [];
  const isOver = stage === 'ended';
  const weight = (part: StuckPart): number => (isOver || part.ended ? part.peak : part.count);
  const sorted = [...parts].sort((one, other) => Number(one.ended) - Number(other.ended) || weight(other) - weight(one));
  const line = (part: StuckPart): string => {
    const where = `• ${site === null ? `${plain(part.site, LONGEST_NAME)}, ` : ''}${waitingFor(part.state)}`;
    if (isOver) return `${where}: ${customers(part.peak)} at the worst`;
    return part.ended ? `${where}: over (${grouped(part.peak)} at the worst)` : `${where}: ${customers(part.count)}`;
  };
  const lines = (most: number): string =>
    andMore(sorted.slice(0, most).map(line), Math.max(sorted.length, includes.length) - most);
  const more = includes.length > 1 ? `\nThis one message stands for ${grouped(includes.length)} incidents.` : '';
  const shorter = [lines(NAMED_PARTS), lines(4), lines(2)];
  return [['Where', `${lines(NAMED_PARTS)}${more}`, { order: 40, shorter }]];
}

function purchasesParagraph({ site, purchases, count }: StuckIncident, consoleUrl: string | null): Labelled[] {
  const lines = (most: number, links: string | null = null): string => {
    const shown = purchases.slice(0, most).map((id) => purchaseId(id, { consoleUrl: links, site }));
    return andMore(shown, count - shown.length);
  };
  if (purchases.length === 0) return [];
  const fewer = [3, 1].filter((most) => most < Math.min(purchases.length, NAMED_PURCHASES)).map((most) => lines(most));
  // Links go before names do.
  const shorter = [...(consoleUrl === null ? [] : [lines(NAMED_PURCHASES)]), ...fewer];
  return [['Oldest purchases', lines(NAMED_PURCHASES, consoleUrl), { order: 30, shorter }]];
}
