/** Which rows a statement joins, by Postgres's own plan of it. */
import type { Sql } from '../../src/postgres/connection/database.ts';
import { OWNERS } from './site-tables.ts';

interface Node {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'CTE Name'?: string;
  readonly 'Subplan Name'?: string;
  readonly 'Parent Relationship'?: string;
  readonly Alias?: string;
  readonly Plans?: readonly Node[];
  readonly [condition: string]: unknown;
}

/** Columns by which rows of one purchase, event, delivery or site find each other; the daemon has each from a row of the same site. */
const SAME_SITE = 'site|id|purchase|purchase_id|event|position|delivery|lane|incident|name';
const EQUAL = new RegExp(`\\(*(\\w+)\\.(?:${SAME_SITE})\\)?(?:::\\w+)? = (?:ANY \\()?\\(*(\\w+)\\.(?:${SAME_SITE})\\b`, 'g');
const JOINS = new Set(['Nested Loop', 'Hash Join', 'Merge Join']);

/** Asks for the plan that serves all values of the parameters; null for what has no plan. */
export async function planOf(sql: Sql, text: string): Promise<Node | null> {
  const most = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
  return sql.begin(async (tx) => {
    await tx`set local plan_cache_mode = force_generic_plan`;
    await tx.unsafe(`prepare looked_at as ${text}`).simple();
    const values = most === 0 ? '' : `(${Array(most).fill('null').join()})`;
    const [row] = await tx
      .unsafe<{ 'QUERY PLAN': [{ Plan: Node }] }[]>(`explain (verbose, format json) execute looked_at${values}`)
      .simple();
    await tx`deallocate looked_at`;
    return row?.['QUERY PLAN'][0].Plan ?? null;
  });
}

/** Joins of the plan whose two sides have rows of sites that no equality of such columns keeps together, as `left × right`. */
export function looseJoins(plan: Node): string[] {
  const ctes = new Map<string, Node>();
  const links = new Map<string, Set<string>>();
  const link = (one: string, other: string): void => {
    for (const [from, to] of [
      [one, other],
      [other, one],
    ] as const)
      links.set(from, (links.get(from) ?? new Set()).add(to));
  };
  visit(plan, (node) => {
    const [, cte] = /^CTE (\w+)$/.exec(node['Subplan Name'] ?? '') ?? [];
    if (cte !== undefined) ctes.set(cte, node);
    for (const value of Object.values(node)) {
      if (typeof value === 'string') for (const [, one, other] of value.matchAll(EQUAL)) link(one!, other!);
    }
    // What a subquery shows comes from the rows in it.
    if (node['Node Type'] === 'Subquery Scan' && node.Alias !== undefined)
      for (const inner of node.Plans ?? []) for (const alias of relationsOf(inner, ctes)) link(node.Alias, alias);
  });
  const found: string[] = [];
  visit(plan, (node) => {
    if (!JOINS.has(node['Node Type'])) return;
    const [left = [], right = []] = (node.Plans ?? []).filter(isPart).map((each) => relationsOf(each, ctes));
    if (left.length === 0 || right.length === 0) return;
    const reached = reach(left, links);
    if (!right.some((alias) => reached.has(alias))) found.push(`${left.join('+')} × ${right.join('+')}`);
  });
  return found;
}

const isPart = (node: Node): boolean => !['InitPlan', 'SubPlan'].includes(node['Parent Relationship'] ?? '');

/** Names of what is read below a node that has rows of sites. */
function relationsOf(node: Node, ctes: ReadonlyMap<string, Node>): string[] {
  const own =
    OWNERS[node['Relation Name'] ?? ''] != null && node['Relation Name'] !== 'sites'
      ? [node.Alias ?? node['Relation Name']!]
      : [];
  const cte = ctes.get(node['CTE Name'] ?? '');
  const derived = cte !== undefined && node.Alias !== undefined && relationsOf(cte, new Map()).length > 0 ? [node.Alias] : [];
  return [...own, ...derived, ...(node.Plans ?? []).filter(isPart).flatMap((each) => relationsOf(each, ctes))];
}

function reach(from: readonly string[], links: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> {
  const reached = new Set(from);
  for (const alias of reached) for (const next of links.get(alias) ?? []) reached.add(next);
  return reached;
}

function visit(node: Node, look: (node: Node) => void): void {
  look(node);
  for (const inner of node.Plans ?? []) visit(inner, look);
}
