/** Messages about replicas of the daemon that cannot do their work. */
import { isStartKnown } from '../../../domain/incidents/database-loss.ts';
import {
  REPLICA_WORDS,
  type ReplicaTrouble,
  type ReplicaTroubleReason,
  reasonsOf,
  replicaRemedies,
} from '../../../domain/incidents/replica-trouble.ts';
import { sentence } from '../../../domain/values/sentence.ts';
import { isoTime } from '../../../domain/values/time.ts';
import type { ReplicaIncident } from '../events/incident-event.ts';
import { andMore, type Draft, type Labelled, lasting, NEUTRAL, OVER, signOf } from './draft.ts';
import { code, moment, plain } from './mrkdwn.ts';

const LONGEST_ERROR = 400;
const MOST_ERRORS = 3;
const MOST_REPLICAS = 5;

export function replicaDraft(incident: ReplicaIncident): Draft {
  const { stage, postedBy, troubles, at, since, openedAt, endedAt } = incident;
  const [worst] = reasonsOf(troubles);
  // First: what is lost stays lost, whatever else is well again.
  if (worst === 'database_went_back') return lossDraft(incident);
  if (stage === 'ended') {
    const over = endedAt ?? at;
    const from = Math.min(since, openedAt);
    const works = worst === undefined ? 'every daemon does its work again' : REPLICA_WORDS[worst].over;
    return {
      headline: `${OVER} ${sentence(works)}, after ${lasting(from, over)}`,
      facts: [
        ['Began', moment(from)],
        ['Over', moment(over)],
      ],
      paragraphs: afterwards(reasonsOf(troubles)),
    };
  }
  const wrong = worst === undefined ? 'a daemon cannot do its work' : REPLICA_WORDS[worst].wrong;
  const often = { opened: '', reopened: ' again', grew: '', reminder: ' still' }[stage];
  return {
    headline: `${signOf(incident)} purchase-watch:${often} ${wrong} for ${lasting(since, at)}`,
    facts: [
      ['Since', moment(since)],
      ['Replicas', replicas(troubles)],
    ],
    paragraphs: paragraphsOf(troubles),
    notes: [
      [
        postedBy === null
          ? ''
          : `The daemon on ${plain(postedBy, 80)} posted this itself: the database keeps no alert at present. Of other daemons, one that reaches the database does all of the work, and one that does not may post the same.`,
      ],
      ['More: `purchase-watch doctor`, `/readyz` and the log of the daemon.', { order: 60 }],
    ],
  };
}

/** The work that is left to people, and the work that the daemon does by itself. */
function afterwards(reasons: readonly ReplicaTroubleReason[]): Labelled[] {
  const left = reasons.flatMap((reason) => REPLICA_WORDS[reason].left ?? []);
  if (left.length > 0) return [['What to do', left.join('\n')]];
  const text =
    'What became due meanwhile is done, the oldest first. If the database lost writes meanwhile, another message says so.';
  return [['What happens now', text]];
}

/** The database lost writes: what is lost, and how a person gets it back. */
function lossDraft(incident: ReplicaIncident): Draft {
  const { stage, troubles, since } = incident;
  const [losses, others] = [troubles.filter(isLoss), troubles.filter((trouble) => !isLoss(trouble))];
  const { wrong, over, meaning } = REPLICA_WORDS.database_went_back;
  const isOver = stage === 'ended';
  const lostSince = Math.min(since, ...losses.map((loss) => loss.since));
  const what = [...new Set(losses.map(({ error }) => plain(error ?? wrong, LONGEST_ERROR)))].join('\n');
  const todo = replicaRemedies(losses).join('\n').replaceAll('"', '`');
  const isSinceKnown = losses.every(({ error }) => isStartKnown(error ?? ''));
  const asOf = isSinceKnown ? `, as of ${isoTime(lostSince).replace(/\.\d+Z$/, 'Z')}` : '';
  return {
    headline: `${isOver ? NEUTRAL : signOf(incident)} purchase-watch: ${isOver ? over : `${wrong}${asOf}`}`,
    facts: [
      ['Lost since', isSinceKnown ? moment(lostSince) : 'not known'],
      ['Noticed by', replicas(losses)],
    ],
    paragraphs: [
      ['What happened', what],
      ['What it means', isOver ? null : meaning],
      [isOver ? 'What to do, unless it is done' : 'What to do', todo],
      ...(others.length === 0 ? [] : isOver ? afterwards(reasonsOf(others)) : paragraphsOf(others)),
    ],
    notes: [['More: `purchase-watch doctor`, `purchase-watch status` and the log of the daemon.', { order: 60 }]],
  };
}

const isLoss = ({ reason }: ReplicaTrouble): boolean => reason === 'database_went_back';

/** The meaning of each reason, the errors, and what to do: reasons that have one cause say it once. */
function paragraphsOf(troubles: readonly ReplicaTrouble[]): Labelled[] {
  const meanings = reasonsOf(troubles).map(
    (reason) => `• ${sentence(REPLICA_WORDS[reason].wrong)}. ${REPLICA_WORDS[reason].meaning}`,
  );
  const errors = new Set(troubles.flatMap(({ error }) => (error === null ? [] : plain(error, LONGEST_ERROR))));
  const isHalted = troubles.length === 0 || troubles.some(({ reason }) => REPLICA_WORDS[reason].left === undefined);
  const goesOn = isHalted ? '\nThe daemon goes on by itself then.' : '';
  return [
    ['What it means', meanings.join('\n')],
    ['The last error', [...errors].slice(0, MOST_ERRORS).join('\n')],
    ['What to do', `${replicaRemedies(troubles).join('\n')}${goesOn}`],
  ];
}

function replicas(troubles: readonly ReplicaTrouble[]): string {
  const hosts = new Map(troubles.map(({ replica, host }) => [replica, host]));
  const shown = [...hosts].slice(0, MOST_REPLICAS).map(([replica, host]) => `${code(replica, 40)} on ${plain(host, 80)}`);
  return andMore(shown, hosts.size - MOST_REPLICAS);
}
