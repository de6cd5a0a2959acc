import { expect, test } from 'vitest';
import { NO_DAEMON, noDaemonText, unwritableAdvice, unwritableText } from '../../../src/domain/replicas/daemon-silence.ts';

test('a daemon is asked for only where one could work', () => {
  expect(noDaemonText({ takesWrites: true })).toBe(NO_DAEMON);
  expect(NO_DAEMON).toMatch(/start one with "purchase-watch start"$/);
  expect(noDaemonText({ takesWrites: false })).toMatch(/do not start another one$/);
});

test('a database that takes no writes is said with how long no lease was renewed, where there was one', () => {
  expect(unwritableText({ silentMs: null })).toBe('The database takes no writes, so no daemon can work on it');
  expect(unwritableAdvice({ silentMs: 90_000.4 })).toBe(
    'No daemon has renewed its lease for 1 min 30 s; the database takes no writes, so none can. Do not start another one.',
  );
});
