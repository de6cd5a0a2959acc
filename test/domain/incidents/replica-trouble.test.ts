import { describe, expect, test } from 'vitest';
import { readPeopleEvent } from '../../../src/domain/events/people-event-types.ts';
import { levelOf } from '../../../src/domain/incidents/incident.ts';
import {
  isDatabaseLoss,
  isWorse,
  lossTrouble,
  REPLICA_TROUBLES,
  REPLICA_WORDS,
  type ReplicaTrouble,
  reasonsOf,
  replicaData,
  replicaRemedies,
  replicaRemedy,
  replicaSentence,
  replicaSeverity,
  replicaSymptoms,
  stillAlerted,
  togetherAlerted,
  worstWrong,
} from '../../../src/domain/incidents/replica-trouble.ts';

const T = Date.UTC(2026, 10, 20, 9, 15);
const trouble = (replica: string, reason: ReplicaTrouble['reason'], error: string | null = null): ReplicaTrouble => ({
  replica,
  host: 'host-a (12)',
  reason,
  since: T,
  error,
});

/** The troubles of an event that holds this. */
function readBack(data: object): unknown {
  const head = { incidentId: 'inc_1', kind: 'replica', since: '2026-11-20T09:00:00.000Z' };
  const event = { id: 'evt_1', type: 'incident.opened', timestamp: '2026-11-20T09:00:00.000Z', data: { ...head, ...data } };
  const read = readPeopleEvent(JSON.stringify(event))?.data;
  return read?.kind === 'replica' ? read.troubles : null;
}

describe('what keeps replicas from their work', () => {
  test('is one symptom for all of them, as bad as the worst of it', () => {
    expect(replicaSymptoms([])).toEqual([]);
    const both = [trouble('rep_1', 'not_settling'), trouble('rep_2', 'not_recording'), trouble('rep_2', 'reaches_no_site')];
    expect(replicaSymptoms(both)).toMatchObject([{ kind: 'replica', count: 2, severity: replicaSeverity('not_recording') }]);
  });

  test('is critical unless other replicas do the work instead', () => {
    const levels = REPLICA_TROUBLES.map((reason) => levelOf({ kind: 'replica', severity: replicaSeverity(reason) }));
    expect(levels).toEqual([...Array(3).fill('warning'), ...Array(5).fill('critical')]);
  });

  test.each([
    ['could not extend file "base/5/1": No space left on device (53100)', /free space/],
    [
      'too many notifications in the NOTIFY queue (54000)',
      /notification queue .* is full: end the session with the oldest transaction/,
    ],
    ['cannot execute UPDATE in a read-only transaction (25006)', /read-only/],
    [
      'the session is read-only, as after a failover: the connection is broken and dialled again',
      /^The database is read-only: point DATABASE_URL at the primary server, or end its read-only mode\.$/,
    ],
    ['no host takes writes: a:5432: it is read-only: a standby (NO_PRIMARY)', /promote a standby, and let DATABASE_URL name it/],
    [
      'no host takes writes: a:5432 (it is an old primary: its timeline is 1) (NO_PRIMARY)',
      /start that one, or.* restart every daemon/,
    ],
    ['permission denied for table purchases (42501)', /grant/],
    ['sorry, too many clients already (53300)', /max_connections/],
    ['canceling statement due to lock timeout (55P03)', /pg_stat_activity/],
    ['connect ECONNREFUSED 10.0.0.1:5432 (ECONNREFUSED)', /network/],
    ['write CONNECTION_CLOSED db:5432 (CONNECTION_CLOSED)', /network/],
    ['something else', /log/],
    [null, /log/],
  ])('for %s says what to do', (error, remedy) => {
    expect(replicaRemedy({ reason: 'not_recording', error })).toMatch(remedy);
  });

  test('says what is known to help before a look at the logs', () => {
    const some = [trouble('rep_1', 'not_recording'), trouble('rep_1', 'not_judging', 'it is read-only (25006)')];
    expect(replicaRemedies(some)).toEqual([
      expect.stringMatching(/^The database is read-only/),
      expect.stringMatching(/^Look at/),
    ]);
  });

  test('comes back from an event as it was written, without what is not known here', () => {
    const some = [trouble('rep_1', 'not_judging', 'why'), trouble('rep_2', 'not_settling')];
    expect(readBack(replicaData(some))).toEqual(some);
    expect(readBack({ troubles: [{ replica: 'rep_1', reason: 'of tomorrow' }, 7, null] })).toEqual([]);
    expect(readBack({})).toEqual([]);
  });

  test('is named of some daemons, however many have it', () => {
    const many = Array.from({ length: 51 }, (_, place) => trouble(`rep_${place}`, 'not_recording'));
    expect(replicaData(many).troubles.map(({ replica }) => replica)).toEqual(many.slice(0, 50).map(({ replica }) => replica));
  });

  test('of two primaries is none of a loop, and says which server to stop', () => {
    const some = [trouble('rep_1', 'two_primaries', 'b:5432 (timeline 2) is used, and a:5432 (timeline 1) takes writes, too')];
    expect(replicaSentence(some, false)).toMatch(
      /^Two database servers take writes\. B:5432 .* Stop the server that is not used/,
    );
    expect(worstWrong(replicaSymptoms(some)[0]!.severity)).toBe('two database servers take writes');
  });

  test('a reason apart is news beside any other, and again once it was over; a common one only when it is worse', () => {
    const severity = (...reasons: ReplicaTrouble['reason'][]) =>
      replicaSymptoms(reasons.map((reason) => trouble('rep_1', reason)))[0]!.severity;
    const lost = severity('database_went_back');
    expect(isWorse(severity('two_primaries'), lost)).toBe(true);
    expect(isWorse(severity('not_recording', 'two_primaries'), severity('two_primaries'))).toBe(true);
    expect(isWorse(severity('not_judging'), severity('not_recording', 'two_primaries'))).toBe(false);
    const both = togetherAlerted(lost, severity('two_primaries', 'not_judging'));
    expect(isWorse(severity('two_primaries', 'database_went_back', 'not_judging'), both)).toBe(false);
    expect(isWorse(lost, stillAlerted(both, severity('two_primaries'))!)).toBe(true);
    expect(worstWrong(both)).toBe('the database came back without its last writes');
  });

  test('is a sentence for the log', () => {
    expect(replicaSentence([trouble('rep_1', 'not_recording', 'No space left.')], false)).toMatch(
      /^Polls are not recorded\. No space left\. .*free space/,
    );
    expect(replicaSentence([trouble('rep_1', 'not_recording', 'the\nsession is read-only')], false)).toBe(
      'Polls are not recorded. The session is read-only. The database is read-only: point DATABASE_URL at the primary server, or end its read-only mode.',
    );
    expect(replicaSentence([trouble('rep_1', 'not_recording')], true)).toBe('Polls are recorded again.');
  });

  test('began with the first of it, and its reasons are named from the worst on', () => {
    const some = [trouble('rep_1', 'not_settling'), { ...trouble('rep_2', 'two_primaries'), since: T - 1 }];
    expect(replicaSymptoms(some)[0]!.since).toBe(T - 1);
    expect(reasonsOf(some)).toEqual(['two_primaries', 'not_settling']);
    expect(replicaRemedies(some.slice(1))).toEqual([expect.stringMatching(/^Stop the server that is not used/)]);
    expect(replicaSentence(some, false)).toMatch(
      /^Two database servers take writes; results of deliveries are not recorded\. Stop the server/,
    );
    expect([true, false].map((isOver) => replicaSentence([], isOver))).toEqual([
      'Every replica does its work again.',
      'A replica cannot do its work.',
    ]);
  });

  test.each(['ECONNRESET', 'CONNECT_TIMEOUT', 'CONNECTION_ENDED', 'EAI_AGAIN', '57P03', '08006', '28P01', '3D000'])(
    'an error with the code %s is one of the connection, and no other text with it is',
    (code) => {
      const remedy = (error: string) => replicaRemedy({ reason: 'not_recording', error });
      expect(remedy(`broken (${code})`)).toMatch(/^The daemon gets no usable connection to the database: /);
      expect([remedy(`broken (x${code})`), remedy(`broken (${code}-x)`).slice(0, 10)]).toEqual([
        'Look at the log of the daemon and of the database.',
        'The daemon',
      ]);
    },
  );

  test('has words and a remedy, whatever it is', () => {
    for (const reason of REPLICA_TROUBLES) {
      const { wrong, over, meaning } = REPLICA_WORDS[reason];
      expect([wrong, over, meaning].every((words) => words.length > 10)).toBe(true);
      expect(replicaRemedy({ reason, error: null })).toMatch(/^[A-Z].*\.$/);
    }
    expect(replicaRemedy({ reason: 'database_went_back', error: null })).toMatch(/^Register the purchases of that time again/);
  });

  test('of a later version is bad without a name', () => {
    expect(worstWrong(9)).toBe('a daemon cannot do its work');
  });

  test('a loss of the database is that of the replica that noticed it, and is known by the severity', () => {
    const change = {
      id: 'b',
      kind: 'went_back',
      replica: 'r',
      host: 'h',
      noticedAt: 3,
      cameBackTo: 1_000,
      knownUntil: null,
    } as const;
    expect(lossTrouble(change)).toEqual({
      ...{ replica: 'r', host: 'h', reason: 'database_went_back', since: 1_000 },
      error: 'The database came back as of 1970-01-01T00:00:01Z (noticed at 1970-01-01T00:00:00Z).',
    });
    const severities = [['not_recording'], ['two_primaries'], ['not_recording', 'database_went_back']] as const;
    const isLoss = severities.map((reasons) =>
      isDatabaseLoss(replicaSymptoms(reasons.map((reason) => trouble('rep_1', reason)))[0]!.severity),
    );
    expect(isLoss).toEqual([false, false, true]);
  });

  test.each([
    ['It ended', 'It ended.'],
    ['it ended!', 'It ended!'],
    [' a. b \n\n c ', 'A. b c.'],
    ['', undefined],
  ])('an error %j is a sentence for the log: %j', (error, sentence) => {
    const [, shown] = replicaSentence([trouble('rep_1', 'reaches_no_site', error)], false).split('no checkout service. ');
    expect(shown?.split(' Check the network')[0]).toBe(sentence ?? shown);
    if (sentence === undefined) expect(shown).toMatch(/^Check the network/);
  });
});
