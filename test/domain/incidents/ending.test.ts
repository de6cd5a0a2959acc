import { expect, test } from 'vitest';
import { endsUnless } from '../../../src/domain/incidents/ending.ts';
import { REPLICA_TROUBLES, type ReplicaTroubleReason, replicaSeverity } from '../../../src/domain/incidents/replica-trouble.ts';
import { UNNAMED } from '../../../src/domain/incidents/symptom.ts';

test.each<[ReplicaTroubleReason, RegExp]>([
  ['database_went_back', /^unless the database loses writes again$/],
  ['two_primaries', /^unless a second server takes writes again$/],
  ['settings_differ', /^unless settings differ again$/],
  ['not_recording', /^unless a daemon fails at its work again$/],
])('an incident of daemons, %s, goes on only for its own reason', (reason, text) => {
  expect(endsUnless({ kind: 'replica', severity: replicaSeverity(reason) })).toMatch(text);
});

test('every reason has words, and a site that no daemon names has its own', () => {
  for (const reason of REPLICA_TROUBLES)
    expect(endsUnless({ kind: 'replica', severity: replicaSeverity(reason) })).toMatch(/^unless /);
  expect(endsUnless({ kind: 'unreachable', severity: UNNAMED })).toBe('unless every daemon leaves the site out again');
  expect(endsUnless({ kind: 'unreachable', severity: 0 })).toBe('unless calls fail again');
  expect(endsUnless({ kind: 'stuck', severity: 0 })).toBe('unless another customer gets stuck');
  expect(endsUnless({ kind: 'subscriber', severity: 0 })).toBe('unless deliveries fail again');
});
