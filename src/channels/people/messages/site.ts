/** Messages about a site of which no purchase can be read, or hardly any: why, and what to do. */
import { isUnpolled } from '../../../domain/polling/unpolled.ts';
import { isOfProxy } from '../../../domain/values/way.ts';
import type { UnreachableIncident } from '../events/incident-event.ts';
import { type Draft, LONGEST_NAME, lasting, OVER, signOf } from './draft.ts';
import { code, moment, plain } from './mrkdwn.ts';

interface Words {
  /** Follows the site's name: what is wrong, in a few words. */
  readonly what: string;
  readonly remedy: string;
}

const DOCTOR = code('purchase-watch doctor', 40);
const UNREACHABLE: Words = {
  what: 'no usable answer from the checkout service',
  remedy: `Ask the service whether it has trouble; run ${DOCTOR} to check address, credentials and network from here.`,
};
const NEARLY_UNREACHABLE: Words = { ...UNREACHABLE, what: 'hardly any usable answer from the checkout service' };
/** By reason; an outage, and a reason that is not known here, has the words above. */
const WORDS = new Map<string, Words>(
  Object.entries({
    not_configured: {
      what: 'no running daemon has the site in its settings, and its purchases have not been polled',
      remedy:
        'Name the site in the settings again and restart the daemons. If it has another name now, add the old name to `formerly` of that site. If nothing is sold there any more, end its purchases: `purchase-watch unwatch --site NAME --dry-run` counts them.',
    },
    not_moved: {
      what: 'its purchases have not moved to the present name of the site, and have not been polled',
      remedy: `The setting \`formerly\` is right. Let the session of the database that has locked the rows end its transaction, or end the session; ${DOCTOR} names it. The purchases then move by themselves. If no session has locked them, look at the logs of the daemons.`,
    },
    throttled: {
      what: 'the checkout service refuses every call as one too many (429)',
      remedy:
        'Ask the operator of the checkout service how many calls a second it allows, and lower `maxRps` of the site (CHECKOUT_MAX_RPS) below that. Other programs that use the same credentials count, too.',
    },
    malformed: {
      what: 'no answer of the checkout service can be understood',
      remedy: `Ask the operator of the service whether its answers have changed, and look at one: ${DOCTOR} shows what it sees. A proxy or a wrong base address can answer in place of the service, too.`,
    },
    unknown: {
      what: 'the checkout service knows none of the purchases',
      remedy: `Check that the base address, the credentials and the environment (test or production) of the site belong together, and whether one of them was changed lately. ${DOCTOR} shows which are used. If they are right, ask the operator of the service.`,
    },
    refused: {
      what: 'the checkout service refuses the credentials',
      remedy: `Check client id, client secret and \`auth\` of the site: they may be mistyped, changed or withdrawn. ${DOCTOR} tries both ways to sign in. After a correction, restart the daemon.`,
    },
  }),
);

const PROXY: Words = {
  what: 'no answer of the checkout service comes through our proxy',
  remedy: `Mend the proxy, or its address or credentials where it is set; ${DOCTOR} shows which way each address is called.`,
};

export function wordsOfSite({ reason, lastError }: Pick<UnreachableIncident, 'reason' | 'lastError'>): Words {
  return WORDS.get(reason ?? '') ?? (isOfProxy(lastError ?? '') ? PROXY : UNREACHABLE);
}

/** The work that goes on, and the work that does not, as long as no purchase of the site can be read. */
export function meanwhileOf({ reason, since, lastReadAt }: Pick<UnreachableIncident, 'reason' | 'since' | 'lastReadAt'>): string {
  if (isUnpolled(reason))
    return `No change of this site's purchases is seen or delivered, and none is called stuck. What is due is polled once ${reason === 'not_moved' ? 'it has moved' : 'a daemon names the site again'}.`;
  const isReadAtTimes = lastReadAt !== null && lastReadAt > since;
  return `${isReadAtTimes ? 'Hardly any' : 'No'} state of this site's purchases is known, and none is called stuck for this time; failed polls are not held against them. One call at a time, 30 s apart at most, finds out when the service answers again; what is due then is polled by itself.`;
}

export function unreachableDraft(incident: UnreachableIncident): Draft {
  const { stage, site, at, since, openedAt, endedAt, lastError } = incident;
  const where = plain(site, LONGEST_NAME);
  // When it is over, purchases have been read again.
  const isReadAtTimes = stage !== 'ended' && incident.lastReadAt !== null && incident.lastReadAt > since;
  const words = wordsOfSite(incident);
  const { what, remedy } = isReadAtTimes && words === UNREACHABLE ? NEARLY_UNREACHABLE : words;
  const isUnnamed = isUnpolled(incident.reason);
  if (stage === 'ended') {
    const end = endedAt ?? at;
    return {
      headline: `${OVER} ${where}: ${isUnnamed ? 'its purchases are polled again, moved or ended' : 'the checkout service answers again'}, after ${lasting(Math.min(since, openedAt), end)}`,
      facts: [
        ['Site', where],
        ['Failing since', moment(since)],
        ['Over', moment(end)],
      ],
      paragraphs: [
        ['What it was', `${what.charAt(0).toUpperCase()}${what.slice(1)}.`],
        isUnnamed
          ? [
              'What happened',
              'A running daemon has the site in its settings again, its purchases moved to another site, or they were ended. What is due is polled.',
            ]
          : [
              'What happens now',
              'Every purchase that became due meanwhile is polled, the oldest first. Nothing needs to be done.',
            ],
      ],
    };
  }
  const cause = lastError === null ? null : plain(lastError, 600);
  const often = { opened: '', reopened: 'again ', grew: 'still ', reminder: 'still ' }[stage];
  return {
    headline: `${signOf(incident)} ${where}: ${often}${what} for ${lasting(since, at)}`,
    facts: [
      ['Site', where],
      [isReadAtTimes ? 'Failing since' : 'No purchase read since', moment(since)],
      ['Last purchase read', isReadAtTimes ? moment(incident.lastReadAt!) : null],
    ],
    paragraphs: [
      isUnnamed
        ? ['Cause', cause]
        : ['Likely cause', cause === null ? 'The service or the way to it is down.' : `The last call ended with: ${cause}`],
      ['What to do', remedy],
      ['Meanwhile', meanwhileOf(incident)],
    ],
  };
}
