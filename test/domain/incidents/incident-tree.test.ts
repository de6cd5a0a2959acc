import { describe, expect, test } from 'vitest';
import { type Incident, openIncident } from '../../../src/domain/incidents/incident.ts';
import { combined, fold, leavesOf, TOGETHER } from '../../../src/domain/incidents/incident-tree.ts';
import type { Symptom } from '../../../src/domain/incidents/symptom.ts';

const MINUTE = 60_000;
const T = Date.UTC(2026, 10, 20, 9, 15);

const symptom = (site: string | null, state: number | null, count = 4): Symptom => ({
  kind: 'stuck',
  site,
  state,
  subscriber: null,
  severity: 0,
  count,
  since: T - MINUTE,
});
const leaf = (site: string, state: number, at = T, differs: Partial<Incident> = {}): Incident => ({
  ...openIncident(`${site}-${state}`, symptom(site, state), at),
  ...differs,
});
const folded = (open: readonly Incident[], now = T) => {
  let made = 0;
  const newId = (): string => {
    made += 1;
    return `parent-${made}`;
  };
  return fold(open, { now, newId });
};
const tree = (incidents: readonly Incident[]) =>
  incidents.map(
    ({ id, site, state, parent }) => `${id} (${site ?? '*'}, ${state ?? '*'})${parent === null ? '' : ` < ${parent}`}`,
  );

describe('incidents that began together', () => {
  test('one alone, or with others of other kinds, has no parent', () => {
    const unreachable = openIncident('down', { ...symptom('fi', null), kind: 'unreachable' }, T);
    expect(tree(folded([leaf('se', 6), unreachable]))).toEqual(['se-6 (se, 6)', 'down (fi, *)']);
  });

  test('several states of a site are one', () => {
    expect(tree(folded([leaf('se', 4), leaf('se', 6, T + 5 * MINUTE)]))).toEqual([
      'se-4 (se, 4) < parent-1',
      'se-6 (se, 6) < parent-1',
      'parent-1 (se, *)',
    ]);
  });

  test('the same state at several sites is one, of that state', () => {
    expect(tree(folded([leaf('se', 6), leaf('fi', 6)]))).toEqual([
      'se-6 (se, 6) < parent-1',
      'fi-6 (fi, 6) < parent-1',
      'parent-1 (*, 6)',
    ]);
  });

  test('several states at several sites are one, of no state', () => {
    const all = folded([leaf('se', 4), leaf('se', 6), leaf('fi', 6)]);
    expect(tree(all)).toEqual([
      'se-4 (se, 4) < parent-1',
      'se-6 (se, 6) < parent-1',
      'fi-6 (fi, 6) < parent-2',
      'parent-1 (se, *) < parent-2',
      'parent-2 (*, *)',
    ]);
    const root = all.find(({ id }) => id === 'parent-2')!;
    expect(leavesOf(root, all).map(({ id }) => id)).toEqual(['fi-6', 'se-4', 'se-6']);
  });

  test('one that comes soon after joins those that have a parent; folding again changes nothing', () => {
    const first = folded([leaf('se', 6), leaf('fi', 6)]);
    const later = folded([...first, leaf('dk', 4, T + 20 * MINUTE)], T + 20 * MINUTE);
    expect(tree(later)).toEqual([
      'se-6 (se, 6) < parent-1',
      'fi-6 (fi, 6) < parent-1',
      'parent-1 (*, *)',
      'dk-4 (dk, 4) < parent-1',
    ]);
    expect(folded(later, T + 25 * MINUTE)).toEqual(later);
  });
});

describe('incidents that did not begin together', () => {
  test('stay apart when one came much later, unless it was reopened then', () => {
    const late = T + TOGETHER + 1;
    expect(tree(folded([leaf('se', 6), leaf('fi', 6, late)], late))).toEqual(['se-6 (se, 6)', 'fi-6 (fi, 6)']);
    expect(folded([leaf('se', 6, T, { reopenedAt: late }), leaf('fi', 6, late)], late)).toHaveLength(3);
  });

  test.each([
    ['is about to end', { quietSince: T + MINUTE }],
    ['has nobody waiting', { count: 0 }],
  ])('what %s joins nobody', (_, differs) => {
    const healed = leaf('se', 6, T, differs);
    expect(tree(folded([healed, leaf('fi', 6, T + 2 * MINUTE)], T + 2 * MINUTE))).toEqual(['se-6 (se, 6)', 'fi-6 (fi, 6)']);
  });
});

describe('what is wrong with a parent', () => {
  const parent = openIncident('p', symptom('se', null), T);

  test('is all that is wrong with its parts', () => {
    const parts = [symptom('se', 4, 3), { ...symptom('se', 6, 5), severity: 1, since: T - 9 * MINUTE }];
    expect(combined(parent, parts)).toMatchObject({ site: 'se', state: null, count: 8, severity: 1, since: T - 9 * MINUTE });
    expect(combined(parent, [])).toBeNull();
  });

  test('is urgent when customers wait at several sites', () => {
    const provider = { ...parent, site: null };
    expect(combined(provider, [symptom('se', 4, 3), symptom('fi', 4, 1)])).toMatchObject({ severity: 1 });
    expect(combined(provider, [symptom('se', 4, 3), symptom('fi', 4, 0)])).toMatchObject({ severity: 0 });
    expect(combined(parent, [symptom('se', 4, 3), symptom('se', 6, 3)])).toMatchObject({ severity: 0 });
  });

  test('ends by itself when the last of its parts does, if each does', () => {
    const [one, other] = [
      { ...symptom('se', 4), clearsAt: T + 1 },
      { ...symptom('se', 6), clearsAt: T + 2 },
    ];
    expect(combined(parent, [one, other])!.clearsAt).toBe(T + 2);
    for (const unknown of [symptom('se', 6), { ...other, clearsAt: null }])
      expect(combined(parent, [one, unknown])!.clearsAt).toBeNull();
  });
});

describe('a parent that is made', () => {
  const made = (open: readonly Incident[]) => folded(open).find(({ id }) => id.startsWith('parent'))!;
  test('began with the first of its parts, and is as bad as the worst of them; that of several sites is urgent', () => {
    const first = { since: T - 9 * MINUTE };
    expect(made([leaf('se', 4), leaf('se', 6, T, first)])).toMatchObject({ ...first, severity: 0, count: 8, openedAt: T });
    expect(made([leaf('se', 4), leaf('se', 6, T, { severity: 1 })]).severity).toBe(1);
    expect(made([leaf('se', 6), leaf('fi', 6)]).severity).toBe(1);
  });
  test('is made of incidents half an hour apart at most, and takes those near one of its parts', () => {
    const [se, fi] = [leaf('se', 4), leaf('se', 6, T + TOGETHER)];
    const both = folded([se, fi]);
    expect(both).toHaveLength(3);
    const [near, far] = [TOGETHER, TOGETHER + 1].map((after) => leaf('se', 2, T + TOGETHER + after));
    const stranger = openIncident('down', { ...symptom('no', null), kind: 'unreachable' }, T + 2 * TOGETHER + 1);
    expect(tree(folded([...both, near!])).slice(0, 4)).toContain('se-2 (se, 2) < parent-1');
    expect(tree(folded([...both, far!, stranger]))).not.toContain('se-2 (se, 2) < parent-1');
  });
  test('of several sites is not made of one that has a parent and a late incident beside it', () => {
    const both = folded([leaf('se', 4), leaf('se', 6)], T + 20 * MINUTE);
    const late = leaf('se', 2, T + 45 * MINUTE);
    expect(tree(folded([...both, late], T + 45 * MINUTE))).toEqual([...tree(both), 'se-2 (se, 2)']);
  });
  test('of a site is not that of another one', () => {
    const both = folded([leaf('se', 4), leaf('se', 6)]);
    const later = [4, 6].map((state) => leaf('fi', state, T + 3 * TOGETHER));
    expect(tree(folded([...both, ...later], T + 3 * TOGETHER)).slice(0, 5)).toEqual([
      ...['se-4 (se, 4) < parent-1', 'se-6 (se, 6) < parent-1', 'parent-1 (se, *)'],
      ...['fi-4 (fi, 4) < parent-1', 'fi-6 (fi, 6) < parent-1'],
    ]);
  });
});
