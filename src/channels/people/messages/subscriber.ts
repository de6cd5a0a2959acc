/** Messages about a subscriber in trouble. None names an address: the path and query of one may be a secret. */

import { titleOfKind } from '../../../config/kinds/people-kinds.ts';
import { FAILURES_TO_SWITCH_OFF, WITH_PEOPLE } from '../../../domain/deliveries/subscriber-health.ts';
import { isAskedFor } from '../../../domain/deliveries/subscriber-state.ts';
import { commandLine } from '../../../domain/values/command-line.ts';
import { counted, grouped } from '../../../domain/values/counts.ts';
import { humanDuration } from '../../../domain/values/duration.ts';
import type { Instant } from '../../../domain/values/time.ts';
import type { SubscriberIncident } from '../events/incident-event.ts';
import { type Draft, LONGEST_NAME, lasting, NEUTRAL, OVER, signOf } from './draft.ts';
import { code, command, moment, plain } from './mrkdwn.ts';

const LONGEST_ERROR = 600;

export function subscriberDraft(incident: SubscriberIncident): Draft {
  if (incident.stage === 'ended' || incident.trouble === null) return endedDraft(incident);
  const { at, since, trouble, failures, failingSince, ourFailingSince, offSince, lastError, waiting, givenUp } = incident;
  const takesNothing = trouble === 'failing' || trouble === 'losing';
  return {
    headline: `${signOf(incident)} ${headline(incident)}`,
    facts: [
      subscriber(incident),
      ['Takes nothing since', takesNothing ? moment(failingSince ?? since) : null],
      ['Failures in a row', takesNothing && failures > 0 ? String(failures) : null],
      ['Not reached since', trouble === 'unreached' ? moment(ourFailingSince ?? since) : null],
      ['Off since', trouble === 'off' ? moment(offSince ?? since) : null],
      ['Since', trouble === 'given_up' ? moment(since) : null],
      ['Deliveries waiting', grouped(waiting, incident.countedTo)],
      ['Deliveries given up', givenUp > 0 ? grouped(givenUp, incident.countedTo) : null],
    ],
    paragraphs: [
      [trouble === 'off' ? 'Why' : 'The last error', lastError === null ? 'None is known.' : plain(lastError, LONGEST_ERROR)],
      ['What happens next', outlook(incident, at)],
      ['What to do', remedy(incident)],
    ],
  };
}

function headline(incident: SubscriberIncident): string {
  const { stage, subscriber: name, trouble, at, since, failingSince, ourFailingSince, offSince, waiting, givenUp } = incident;
  const who = plain(name, LONGEST_NAME);
  const isNews = stage !== 'reminder';
  if (trouble === 'given_up') return `${who}: ${deliveries(givenUp, incident, ['was', 'were'])} given up`;
  if (trouble === 'off') {
    const long = lasting(offSince ?? since, at);
    return isNews
      ? `${who} was switched off ${long} ago: it gets nothing`
      : `${who} is still switched off, after ${long}: it gets nothing`;
  }
  if (trouble === 'unreached') {
    const long = lasting(ourFailingSince ?? since, at);
    const all = deliveries(waiting, incident, ['waits', 'wait']);
    return isNews ? `We cannot reach ${who} for ${long}: ${all}` : `We still cannot reach ${who}, after ${long}: ${all}`;
  }
  const long = lasting(failingSince ?? since, at);
  const nothing = isNews ? `${who} has taken nothing for ${long}` : `${who} has still taken nothing, after ${long}`;
  return trouble === 'losing'
    ? `${nothing}, and deliveries are given up`
    : `${nothing}: ${deliveries(waiting, incident, ['waits', 'wait'])}`;
}

/** How what waits leaves afterwards: people get it together, systems one by one. */
function inWhich({ audience }: SubscriberIncident): string {
  return audience === 'people' ? 'as one message' : 'in order';
}

/** How deliveries go on if no person does anything. */
function outlook(incident: SubscriberIncident, at: Instant): string {
  const { audience, trouble, untried, nextTryAt, waiting, givenUp } = incident;
  const how = inWhich(incident);
  const lost = givenUp === 0 ? '' : ' What was given up used up its schedule and is not sent again by itself.';
  if (trouble === 'off' && audience === 'people')
    return `Nothing is sent to it. What is for it is kept for three days, and as long as its incident is open; it goes out ${how} once the channel is on again.${lost}`;
  if (trouble === 'off') {
    const kept = waiting === 0 ? '' : ' What waited when it was switched off is kept, and is sent in order once it is on again.';
    return `Nothing is sent to it.${kept} What has happened since then is not sent to it by itself, not even later.${lost}`;
  }
  if (trouble === 'given_up') return `Other deliveries get through.${lost}`;
  if (trouble === 'unreached' && untried)
    return `A daemon sends nothing of its share, not even a try, until it can use what is stored of it. What waits is kept and goes out ${how} then.${lost}`;
  if (trouble === 'unreached') {
    const kept = waiting === 0 ? '' : ` Once one gets through, all that waits goes out ${how}.`;
    return `One delivery tries again every few minutes.${kept} It is not held against the receiver: nothing is given up for it.${lost}`;
  }
  const next =
    nextTryAt === null
      ? 'Nothing waits: it is tried with the next event.'
      : nextTryAt > at
        ? `It is left alone until ${moment(nextTryAt)}; then one delivery tries.`
        : 'One delivery tries again soon.';
  const kept = waiting === 0 ? '' : ` Once one is taken, all that waits goes out ${how}.`;
  const worse =
    audience === 'people'
      ? `However often that fails, it is tried again, with pauses of ${humanDuration(WITH_PEOPLE.longestPause)} at most; a delivery that was tried for three days is given up.`
      : `Each failed try doubles the pause, up to a day; ${FAILURES_TO_SWITCH_OFF} in a row switch it off.`;
  return `${next}${kept} ${worse}${lost}`;
}

function remedy(incident: SubscriberIncident): string {
  const { subscriber: name, audience, trouble, untried, waiting, givenUp, givenUpFrom, offSince, failures, nextTryAt } = incident;
  const list = (status: string): string => command(commandLine`deliveries --subscriber ${name} --status ${status}`);
  const replay = (from: Instant | null): string =>
    audience === 'people'
      ? `What ${serviceOf(incident)} missed is not sent again.`
      : `Send again what it missed: ${command(commandLine`replay --subscriber ${name} --since ${from === null ? '24h' : new Date(from).toISOString()} --dry-run`)}, then without ${code('--dry-run', 20)}.`;
  const mend =
    audience === 'people' ? `See whether ${serviceOf(incident)} has trouble, or a proxy on the way to it` : 'Mend the receiver';
  const lines = [`See more: ${command(commandLine`subscribers show ${name}`)}.`];
  if (trouble === 'off' && audience === 'people') {
    lines.push('Give it another address in the settings and restart the daemon; that switches it on.');
    return lines.join('\n');
  }
  if (trouble === 'off') {
    const on = command(commandLine`subscribers change ${name} --status active`);
    lines.push(`Mend the receiver, then switch it on: ${on}.`, replay(offSince));
    return lines.join('\n');
  }
  if (trouble === 'unreached') {
    if (untried)
      lines.push(
        `Give every daemon the settings that it was added under, ${code('SECRETS_KEY', 20)} above all, and restart them; ${code('purchase-watch doctor', 40)} shows whether that is right. If that key is lost, take all that it encrypted away and add them again.`,
      );
    else
      lines.push(`Mend our name server, proxy or network; to try at once: ${command(commandLine`subscribers resume ${name}`)}.`);
    if (waiting > 0) lines.push(`What waits: ${list('pending')}.`);
  } else if (trouble !== 'given_up') {
    lines.push(
      isAskedFor({ failures, pausedUntil: nextTryAt })
        ? 'Nothing, unless that is too long: it asked to be left alone, and goes on by itself.'
        : `${mend}; to try at once: ${command(commandLine`subscribers resume ${name}`)}.`,
    );
    if (waiting > 0) lines.push(`What waits: ${list('parked')}.`);
  }
  if (givenUp > 0) lines.push(`What was given up, and why: ${list('exhausted')}.`, replay(givenUpFrom));
  return lines.join('\n');
}

function endedDraft(incident: SubscriberIncident): Draft {
  const { subscriber: name, outcome, at, openedAt, since, endedAt, waiting, givenUp } = incident;
  const who = plain(name, LONGEST_NAME);
  const over = endedAt ?? at;
  const lasted = lasting(Math.min(since, openedAt), over);
  const isWell = outcome === 'takes_again' || outcome === 'quiet';
  const text = {
    takes_again: `takes events again, after ${lasted}`,
    quiet: 'no delivery was given up any more for an hour',
    switched_off: 'was switched off by hand',
    removed: 'gets nothing any more: it was taken away',
  }[outcome ?? ''];
  return {
    headline: `${isWell ? OVER : NEUTRAL} ${who}: ${text ?? 'is tried again; nothing was taken yet'}`,
    facts: [
      subscriber(incident),
      ['Began', moment(Math.min(since, openedAt))],
      ['Over', moment(over)],
      ['Deliveries waiting', outcome === 'removed' ? null : grouped(waiting, incident.countedTo)],
      ['Deliveries given up', givenUp > 0 ? grouped(givenUp, incident.countedTo) : null],
    ],
    paragraphs: [
      ['What happens now', whatFollows(incident, text !== undefined)],
      ['What to do', givenUp > 0 && outcome !== 'removed' ? remedy({ ...incident, trouble: 'given_up' }) : null],
    ],
  };
}

/** The next step after the end of an incident; null when there is none. */
function whatFollows(incident: SubscriberIncident, isOver: boolean): string | null {
  const { outcome, waiting, givenUp } = incident;
  if (outcome === 'switched_off' || outcome === 'removed') return null;
  if (waiting > 0) return `What waits goes out now, ${inWhich(incident)}.${givenUp > 0 ? '' : ' Nothing needs to be done.'}`;
  return isOver ? 'Nothing waits any more.' : 'It is tried with the next event.';
}

function subscriber({ subscriber: name, channel }: SubscriberIncident): readonly [string, string] {
  return ['Subscriber', `${code(name, 80)}${channel === null ? '' : ` (${plain(channel, 20)})`}`];
}

/** Who runs a channel for people. */
function serviceOf({ channel }: SubscriberIncident): string {
  return titleOfKind(channel) ?? 'its service';
}

function deliveries(count: number, { countedTo }: SubscriberIncident, [one, more]: readonly [string, string]): string {
  return counted(count, `delivery ${one}`, `deliveries ${more}`, countedTo);
}
