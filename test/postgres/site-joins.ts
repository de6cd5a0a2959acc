/** Which rows a statement joins, by the plan by which Postgres carried it out. */
import { OWNERS } from './site-tables.ts';

export interface Node {
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
const NAMED = String.raw`(\w+)\."?(?:${SAME_SITE})"?`;
const EQUAL = new RegExp(String.raw`\(*${NAMED}\)?(?:::\w+)? = (?:ANY \(+)?(?:ARRAY\[)?\(*${NAMED}(?!\w)`, 'g');
const JOINS = new Set(['Nested Loop', 'Hash Join', 'Merge Join']);

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

/** Tells one plan of a statement from another. */
export function shapeOf(plan: Node): string {
  let shape = '';
  visit(plan, (node) => {
    shape += `${node['Node Type']} ${node['Relation Name'] ?? ''},`;
  });
  return shape;
}
