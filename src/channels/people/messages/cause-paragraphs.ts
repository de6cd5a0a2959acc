/** Why purchases may be stuck and what to do first: the part of a message for which it is read, so it is never cut. */

import { CAUSES, type Cause, isCauseKey } from '../../../domain/incidents/causes.ts';
import type { StateAdvice } from '../../../domain/purchases/states.ts';
import type { Answer, StuckIncident, StuckPart } from '../events/stuck-event.ts';
import { advice, type Labelled, LONGEST_NAME, waitingFor } from './draft.ts';
import { code, consolePage, day, linked, plain } from './mrkdwn.ts';
import { affected } from './stuck-headline.ts';

/** The evidence for a cause and the note of an operator are shortened; texts of our own are short. */
const LONGEST_WHY = 240;
const LONGEST_NOTE = 400;
const WHOLE = 1_000;
/** The page of the docs that says more of each cause. */
const PAGE = 'docs/alerts';

/** Where to read on: an address that the daemon serves, or, without CONSOLE_URL, a file. */
function readOn(consoleUrl: string | null, anchor: string | null): string {
  const part = anchor === null ? '' : `#${anchor}`;
  const address = consolePage(consoleUrl, `/${PAGE}.html${part}`);
  return address === null ? code(`${PAGE}.md${part}`, 100) : linked(address, `${PAGE}${part}`);
}

/** The likeliest causes, each with what speaks for it, what to do, and where to read on. */
export function causeParagraphs(
  { causes, parts }: Pick<StuckIncident, 'causes' | 'parts'>,
  consoleUrl: string | null,
): Labelled[] {
  const ranked = causes.slice(0, 2);
  if (ranked.length === 0) return unrankedParagraphs(parts);
  return ranked.flatMap(({ cause: key, why, likely }, index): Labelled[] => {
    const known = causeOf(key);
    const label = index > 0 ? 'It may also be' : likely ? 'Likely cause' : 'Possible cause';
    const evidence = why === null ? [] : [`Why: ${plain(why, LONGEST_WHY)}`];
    if (known === null) return [[`${label}: ${plain(key, 60)}`, [...evidence, `See ${readOn(consoleUrl, null)}.`].join('\n')]];
    return [
      [`${label}: ${plain(known.title, WHOLE)}`, [plain(known.cause, WHOLE), ...evidence].join('\n')],
      ['What to do', `${plain(known.remedy, WHOLE)}\nMore: ${readOn(consoleUrl, known.anchor)}`],
    ];
  });
}

function unrankedParagraphs(parts: StuckIncident['parts']): Labelled[] {
  const { cause, remedy } = unrankedAdvice(affected(parts));
  return [
    ['Possible cause', cause],
    ['What to do', remedy],
  ];
}

/** A possible cause and what to do, where nothing speaks for one cause more than for others. */
export function unrankedAdvice(parts: readonly Pick<StuckPart, 'site' | 'state'>[]): StateAdvice {
  const states = new Map(parts.map(({ state }) => [state.value, state]));
  const sites = new Set(parts.map(({ site }) => site));
  const [only] = states.values();
  if (sites.size > 1)
    return {
      cause: 'Several sites have this at once, so it is hardly a page of yours: the service or a provider may be in trouble.',
      remedy: "Look at the status pages of the service and the provider, and ask them. Then see what the sites' pages share.",
    };
  if (only !== undefined && states.size === 1) return advice(only);
  return {
    cause: 'Customers do not get on in several states at once, so it may be what they all pass: the hosting page.',
    remedy: 'Start with what was deployed last on the checkout page: make a test purchase and watch the browser’s console.',
  };
}

/** The cause that an operator named the last time, as far as it is shown: a title, a note, a name. */
export function earlierParagraph({ earlier, site, state }: StuckIncident): Labelled[] {
  if (earlier === null) return [];
  const elsewhere =
    earlier.site !== null && (earlier.site !== site || earlier.state?.value !== state?.value)
      ? ` (${plain(earlier.site, LONGEST_NAME)}${earlier.state === null ? '' : `, ${waitingFor(earlier.state)}`})`
      : '';
  const when = earlier.at === null ? 'Then' : `On ${day(earlier.at)}`;
  const said = (longest: number): string => `${when}${elsewhere} it was: ${answered(earlier, longest)}`;
  return [['Last time', said(LONGEST_NOTE), { order: 50, shorter: [said(100), said(0)] }]];
}

/** A cause that a person named, in words: A deploy broke the page, says Kim: “the form was blocked”. */
export function answered({ cause: key, note, by }: Answer, longestNote = LONGEST_NOTE): string {
  const title = plain(causeOf(key)?.title ?? key, WHOLE);
  const who = by === null ? '' : `, says ${plain(by, 60)}`;
  return `${title}${who}${note === null || longestNote === 0 ? '.' : `: “${plain(note, longestNote)}”.`}`;
}

/** The title of a cause; its key when it is not known here. */
export function causeTitle(key: string): string {
  return plain(causeOf(key)?.title ?? key, 120);
}

function causeOf(key: string): Cause | null {
  return isCauseKey(key) ? CAUSES[key] : null;
}
