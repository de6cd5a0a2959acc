import { expect, test } from 'vitest';
import { queueTrouble } from '../../../src/domain/replicas/notification-queue.ts';

test('a queue is warned of from a quarter on, or from what is given', () => {
  expect(queueTrouble(0.2499)).toBeNull();
  expect(queueTrouble(0.2599)?.found).toBe('the notification queue of the database is 25 % full');
  expect(queueTrouble(0.01, 0.01)?.found).toContain('1 % full');
  expect(queueTrouble(0.5)?.advice).toContain('pg_terminate_backend');
});
