import { describe, expect, test } from 'vitest';
import { chooseHost, type HostAnswer, type Primary, rivalry } from '../../../src/postgres/connection/choose-host.ts';

const primary = (name: string, timeline: number | null, more: Partial<Primary> = {}): Primary => ({
  host: { name, port: 5432 },
  system: timeline === null ? null : '7000',
  timeline,
  startedAt: `when ${name} was started`,
  ...more,
});
const standby = (name: string): HostAnswer => ({ host: { name, port: 5432 }, refusal: 'it is read-only' });
const chosen = (answers: readonly HostAnswer[], known: Primary | null = null) => {
  const { primary, rivals, refusals } = chooseHost(answers, known);
  return { used: primary?.host.name ?? null, rivals: rivals.map(({ host }) => host.name), refusals };
};

describe('of several hosts', () => {
  test('the one that takes writes is used', () => {
    expect(chosen([standby('a'), primary('b', 1)])).toEqual({ used: 'b', rivals: [], refusals: ['a:5432 (it is read-only)'] });
    expect(chosen([standby('a'), standby('b')], primary('a', 1)).used).toBeNull();
  });

  test('that take writes the one that was promoted last is used, also by a daemon that is connected to the other one', () => {
    const both = [primary('a', 1), primary('b', 2)];
    for (const known of [null, ...both]) expect(chosen(both, known)).toMatchObject({ used: 'b', rivals: ['a'] });
    expect(chooseHost(both, null).refusals).toEqual([]);
  });

  test('with the same timeline the one in use stays, and the first of the URL is used where none was', () => {
    const both = [primary('a', 2), primary('b', 2)];
    expect(chosen(both, primary('b', 2))).toMatchObject({ used: 'b', rivals: ['a'] });
    expect(chosen(both)).toMatchObject({ used: 'a', rivals: ['b'] });
  });

  test('that lead to the same server none is a rival', () => {
    const both = [primary('a', 1), primary('b', 1, { startedAt: 'when a was started' })];
    expect(chosen(both)).toEqual({ used: 'a', rivals: [], refusals: [] });
  });

  test('an old primary that is alone is refused while the daemon has used a newer one, and by a new process it is not', () => {
    expect(chosen([primary('a', 1), standby('b')], primary('b', 2))).toEqual({
      used: null,
      rivals: [],
      refusals: [
        'a:5432 (it is an old primary: its timeline is 1, and b:5432 with timeline 2 was used until now)',
        'b:5432 (it is read-only)',
      ],
    });
    expect(chosen([primary('a', 1), standby('b')]).used).toBe('a');
  });

  test('another database is refused, and both are where none was used before', () => {
    const other = primary('c', 9, { system: '8000' });
    expect(chosen([other, primary('a', 1)], primary('a', 1))).toEqual({
      used: 'a',
      rivals: ['c'],
      refusals: [
        'c:5432 (it holds another database than a:5432, which was used until now: its system identifier is 8000, not 7000)',
      ],
    });
    expect(rivalry(primary('a', 1), [other])).toBe(
      'a:5432 (timeline 1) is used, and c:5432 (another database) takes writes, too',
    );
    const none = chosen([other, primary('a', 1)]);
    expect([none.used, none.refusals]).toEqual([null, Array(2).fill(expect.stringContaining('holds another database than'))]);
  });

  test('that do not reveal what they are the one in use stays', () => {
    const both = [primary('a', null), primary('b', null)];
    expect(chosen(both, primary('b', null))).toMatchObject({ used: 'b', rivals: ['a'] });
    expect(chosen(both, primary('b', 3)).used).toBe('b');
  });
});
