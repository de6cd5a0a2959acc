/**
 * Messages about single stuck checkouts: which purchase, which order, how much money, for how long, why it may be and
 * what to do; later, that they got on or left.
 */

import { enoughKnown, tooLittleKnown } from '../../../domain/incidents/stuck-checkouts.ts';
import { stateBoth, stateWords } from '../../../domain/purchases/states.ts';
import { commandLine } from '../../../domain/values/command-line.ts';
import { grouped } from '../../../domain/values/counts.ts';
import { humanDuration } from '../../../domain/values/duration.ts';
import type { AlertedCheckout, AlertReason, Checkouts, OverCheckout } from '../events/checkouts-event.ts';
import { causeParagraphs } from './cause-paragraphs.ts';
import { amountText, type Named, namedParagraph, nameOf, orderName, whereOf } from './checkout-names.ts';
import { type Draft, type Labelled, LONGEST_NAME, lasting, NEUTRAL, OVER, signOf, waitingFor } from './draft.ts';
import { code, command, moment, plain, purchaseId } from './mrkdwn.ts';

/** A command with an id of signs that have to be spelled. */
const LONGEST_WHY = 900;
const LONGEST_REASON = 400;

/** A message about checkouts that became stuck, that are over, or both. */
export function checkoutsDraft(event: Checkouts, consoleUrl: string | null): Draft {
  const { stuckCount, isTest } = event;
  const isUnreadable = event.stuck.length > 0 && event.stuck.every(({ unreadable }) => unreadable !== null);
  const ofStuck = isUnreadable ? unreadableCheckouts : stuckCheckouts;
  const draft = stuckCount > 0 ? ofStuck(event, consoleUrl) : overCheckouts(event, consoleUrl);
  if (!isTest) return draft;
  const test: Labelled = ['This is a TEST', 'Nothing is wrong: ids and amounts are made up.'];
  return { ...draft, paragraphs: [test, ...draft.paragraphs] };
}

function labelOf({ stuck, stuckCount }: Checkouts): string {
  const what = stuck.every(({ unreadable }) => unreadable !== null) ? 'Cannot be read' : 'Stuck checkout';
  return stuckCount > 1 && what === 'Stuck checkout' ? `${what}s` : what;
}

/** A paragraph of the checkouts of a message that is about something else, too. */
export function checkoutLines(event: Checkouts, order: number, consoleUrl: string | null): Labelled[] {
  return [...stuckParagraph(event, order, consoleUrl), ...overParagraph(event, order, consoleUrl)];
}

function stuckParagraph(event: Checkouts, order: number, consoleUrl: string | null): Labelled[] {
  const line = (each: AlertedCheckout, isAlone: boolean, links: string | null) => stuckLine(each, event, { isAlone, links });
  return namedParagraph(labelOf(event), event.stuck, event.stuckCount, order, consoleUrl, line);
}

function stuckCheckouts(event: Checkouts, consoleUrl: string | null): Draft {
  const { stuck, stuckCount, causes, reasons, at, isTest } = event;
  const [first] = stuck;
  const isAlone = stuckCount === 1 && first !== undefined;
  const sign = `${signOf({ severity: 'warning' })} ${isTest ? 'TEST: ' : ''}`;
  const oldest = Math.min(...stuck.map(({ since }) => since));
  const many = isAlone ? '1 checkout' : `${grouped(stuckCount)} checkouts`;
  const least = stuck.some(({ since, foundLate }) => foundLate && since === oldest) ? ' at least' : '';
  const long = `${isAlone ? ' for' : ', the oldest for'}${least} ${lasting(oldest, at)}`;
  const facts: Draft['facts'] = isAlone
    ? [
        ...placeFacts(first),
        ...purchaseFacts(first, consoleUrl),
        ['Waiting since', moment(first.since)],
        ['Stuck after', first.limitMs === null ? null : humanDuration(first.limitMs)],
        ['Severity', 'warning'],
      ]
    : [...(reasons.length === 1 && first !== undefined ? placeFacts(first) : []), ['Severity', 'warning']];
  return {
    headline: `${sign}${whereOf(stuck)}: ${many} stuck ${placeOf(stuck)}${long}${moneyAfter(isAlone ? first : null)}`,
    facts,
    paragraphs: [
      ...(isAlone ? [] : stuckParagraph(event, 30, consoleUrl)),
      ...causeParagraphs(
        { causes, parts: reasons.map((reason) => ({ ...reason, peak: reason.count, ended: false })) },
        consoleUrl,
      ),
      ...foundLateParagraph(event),
      ...trustParagraph(event),
      ...reasonParagraph(reasons),
      ...overParagraph(event, 20, consoleUrl),
    ],
    notes: first === undefined ? [] : [[`More: ${command(commandLine`why ${first.purchaseId}`, LONGEST_WHY)}`, { order: 65 }]],
  };
}

/** Purchases whose answers cannot be used, or not be recorded: whether they are paid is not known. */
function unreadableCheckouts(event: Checkouts, consoleUrl: string | null): Draft {
  const { stuck, stuckCount, at, isTest } = event;
  const [first] = stuck;
  const isAlone = stuckCount === 1;
  const oldest = Math.min(...stuck.map(({ since }) => since));
  const many = isAlone ? '1 purchase cannot' : `${grouped(stuckCount)} purchases cannot`;
  const remedy = `Find out at the service whether ${isAlone ? 'it is' : 'they are'} paid. ${isAlone ? 'It is' : 'They are'} asked for on, and the next good answer ends this by itself. If the reason speaks of the service, ask its operator; if it speaks of the database, look at what was added to its tables.`;
  return {
    headline: `${signOf({ severity: 'warning' })} ${isTest ? 'TEST: ' : ''}${whereOf(stuck)}: ${many} be read for ${lasting(oldest, at)}${moneyAfter(isAlone ? first! : null)}`,
    facts: isAlone
      ? [
          ['Site', plain(first!.site, LONGEST_NAME)],
          ...purchaseFacts(first!, consoleUrl),
          ['Last read', moment(first!.since)],
          ['Severity', 'warning'],
        ]
      : [['Severity', 'warning']],
    paragraphs: [
      ...(isAlone ? ([['Why', unreadableText(first!)]] as const) : stuckParagraph(event, 30, consoleUrl)),
      ['What to do', remedy],
      ...overParagraph(event, 20, consoleUrl),
    ],
    notes: [[`More: ${command(commandLine`why ${first!.purchaseId}`, LONGEST_WHY)}`, { order: 65 }]],
  };
}

function unreadableText({ unreadable }: AlertedCheckout): string {
  return plain(unreadable?.lastError ?? unreadable?.reason ?? '', LONGEST_REASON);
}

function overCheckouts(event: Checkouts, consoleUrl: string | null): Draft {
  const { over, overCount, isTest } = event;
  const [first] = over;
  const gotOn = over.filter(isGood).length;
  const sign = `${gotOn > 0 ? OVER : NEUTRAL} ${isTest ? 'TEST: ' : ''}`;
  if (overCount === 1 && first !== undefined) {
    return {
      headline: `${sign}${whereOf(over)}: the ${first.outcome === 'readable' ? 'purchase' : 'stuck checkout'} ${outcomeText(first)} after ${lasting(first.since, first.overAt)}${moneyAfter(first)}`,
      facts: [...placeFacts(first), ...purchaseFacts(first, consoleUrl), ['Over', moment(first.overAt)]],
      paragraphs: [['What to do', adviceFor(over)]],
    };
  }
  const left = over.length - gotOn;
  const counts = [...(gotOn > 0 ? [`${grouped(gotOn)} got on`] : []), ...(left > 0 ? [`${grouped(left)} did not`] : [])].join(
    ', ',
  );
  return {
    headline: over.every(({ outcome }) => outcome === 'readable')
      ? `${sign}${whereOf(over)}: ${grouped(overCount)} purchases can be read again`
      : `${sign}${whereOf(over)}: ${grouped(overCount)} stuck checkouts are over, ${counts}`,
    facts: [],
    paragraphs: [...overParagraph(event, 30, consoleUrl), ['What to do', adviceFor(over)]],
  };
}

function placeFacts({ site, state }: Named): Draft['facts'] {
  return [
    ['Site', plain(site, LONGEST_NAME)],
    ['State', stateBoth(state.value)],
  ];
}

function purchaseFacts(named: Named, consoleUrl: string | null): Draft['facts'] {
  return [
    ['Purchase', purchaseId(named.purchaseId, { consoleUrl, site: named.site })],
    ['Order', orderName(named) ?? 'not known'],
    ['Money', amountText(named) ?? 'not known'],
  ];
}

/** Follows the headline of a message about one purchase. */
function moneyAfter(alone: Named | null): string {
  const amount = alone === null ? null : amountText(alone);
  return amount === null ? '' : `, ${amount}`;
}

function placeOf(all: readonly Named[]): string {
  const states = [...new Map(all.map(({ state }) => [state.value, state])).values()];
  return states.length === 1 ? waitingFor(states[0]!) : `in ${states.length} states`;
}

function stuckLine(
  each: AlertedCheckout,
  { at }: Checkouts,
  { isAlone, links }: { isAlone: boolean; links: string | null },
): string {
  if (each.unreadable !== null)
    return `• ${nameOf(each, links)}, ${plain(each.site, LONGEST_NAME)}: not read for ${lasting(each.since, at)}. ${unreadableText(each)}`;
  const place = isAlone ? '' : `, ${plain(each.site, LONGEST_NAME)} ${waitingFor(each.state)}`;
  const long = `for ${each.foundLate ? 'at least ' : ''}${lasting(each.since, at)}${each.foundLate ? ', found late' : ''}`;
  return `• ${nameOf(each, links)}, ${long}${place}`;
}

function overParagraph({ over, overCount }: Checkouts, order: number, consoleUrl: string | null): Labelled[] {
  return namedParagraph('No longer stuck', over, overCount, order, consoleUrl, (each, isAlone, links) => {
    const place = isAlone ? '' : `, ${plain(each.site, LONGEST_NAME)}`;
    const became = `${outcomeText(each)} after ${lasting(each.since, each.overAt)}`;
    return `• ${isGood(each) ? OVER : NEUTRAL} ${nameOf(each, links)}${place}: ${became}`;
  });
}

function isGood({ outcome }: OverCheckout): boolean {
  return outcome === 'got_on' || outcome === 'paid' || outcome === 'readable';
}

/** The outcome of a checkout, in words that follow its name. */
function outcomeText({ outcome, to }: OverCheckout): string {
  const state = to === null ? '' : stateWords(to.value);
  switch (outcome) {
    case 'got_on':
      return `got on (${state})`;
    case 'left':
      return `left (${state})`;
    case 'paid':
      return 'is over: its order was paid by another purchase';
    case 'stopped':
      return 'is not watched any more: it was stopped by hand';
    case 'expired':
      return 'is not watched any more: nothing changed for too long';
    case 'readable':
      return 'can be read again';
    case 'uncounted':
      return 'does not count as stuck any more: its state has no limit now';
  }
}

function adviceFor(over: readonly OverCheckout[]): string {
  if (over.every(isGood)) return 'Nothing.';
  return 'These customers did not pay. If the order matters, ask them; if it happens again, try a purchase yourself and come back from the provider.';
}

/** The clock of the limit begins with the first poll of a purchase: what was before that is not known. */
function foundLateParagraph({ stuck, stuckCount }: Checkouts): Labelled[] {
  const late = stuck.filter(({ foundLate }) => foundLate).length;
  if (late === 0) return [];
  const isOne = late === 1;
  const who =
    stuckCount === 1
      ? 'This customer was'
      : `${late === stuckCount ? 'These customers' : grouped(late)} ${isOne ? 'was' : 'were'}`;
  const text = `${who} waiting already at the first poll of ${isOne ? 'the purchase, which' : 'their purchases, which'} came with the first load of ${isOne ? 'its' : 'their'} site. Times count from that poll, so the wait may be longer.`;
  return [['Found late', text, { order: 12 }]];
}

/** One customer may have left; whether others get on shows whether the page works. */
function trustParagraph({ reasons, stuckCount }: Checkouts): Labelled[] {
  const isOne = reasons.length === 1;
  const lines = reasons.slice(0, 5).map(({ site, state, lastWellAt }) => {
    const where = isOne ? 'here' : `at ${plain(site, LONGEST_NAME)} ${waitingFor(state)}`;
    return lastWellAt === null
      ? `No customer is known who got on ${where}.`
      : `The last customer who got on ${where} came ${moment(lastWellAt)}.`;
  });
  const one = stuckCount === 1 ? 'The customer may have left on purpose.' : 'Customers may have left on purpose.';
  return [['How sure this is', [one, ...lines].join(' '), { order: 15 }]];
}

function reasonParagraph(reasons: readonly AlertReason[]): Labelled[] {
  const isOne = reasons.length === 1;
  const lines = reasons.slice(0, 5).map((reason) => {
    const where = isOne ? 'here' : `at ${plain(reason.site, LONGEST_NAME)} ${waitingFor(reason.state)}`;
    if (reason.mode === 'each') return `Each stuck checkout ${where} alerts this channel (${code('slack.stuck: each', 40)}).`;
    if (reason.isLast)
      return `From now on incidents take over ${where}: ${enoughKnown(reason)}, enough to judge the page by the share of stuck customers. Single checkouts alert nobody any more (${code('slack.stuck: auto', 40)}; ${code('each', 10)} would go on).`;
    return `Each stuck checkout ${where} alerts, because ${tooLittleKnown(reason)}. Once enough is known, incidents take over (${code('slack.stuck: auto', 40)}).`;
  });
  const isLast = reasons.some((reason) => reason.isLast);
  return reasons.length === 0 ? [] : [['Why this message', lines.join('\n'), { order: isLast ? 85 : 12 }]];
}
