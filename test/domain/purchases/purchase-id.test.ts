import { expect, test } from 'vitest';
import { idProblem, newIdProblem } from '../../../src/domain/purchases/purchase-id.ts';
import { REFUSED, TAKEN } from './ids.ts';

test.each(REFUSED)('an id is refused because it %s', (problem, ids) => {
  for (const id of ids) expect(newIdProblem(id), id).toContain(problem);
});

test('what only looks a little like these may be an id', () => {
  expect(TAKEN.filter((id) => newIdProblem(id) !== null)).toEqual([]);
});

test('purchases that are registered keep such ids, but none is empty or has a space around it', () => {
  for (const [, ids] of REFUSED) expect(ids.filter((id) => idProblem(id) !== null)).toEqual([]);
  for (const problem of [idProblem, newIdProblem]) {
    expect(problem('')).toBe('is empty; give the Purchase ID that the checkout service gave');
    for (const id of [' a', 'a ']) expect(problem(id)).toMatch(/^begins or ends with a space; give the Purchase ID /);
  }
});
