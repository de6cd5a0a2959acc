/** The flow of purchases as the map, its list and its table show it: states in their columns, and ways between them. */
import type { FlowBody } from '../../api/flow/flow.ts';
import { isKnownState, numberOf, type StateName, stateWords } from '../../domain/purchases/states.ts';

export type FlowState = FlowBody['states'][number];

/** New · BeingProcessed · states that wait · final states. */
export type Column = 0 | 1 | 2 | 3;

/** A place in the picture is learned, so the order is fixed. */
const COLUMNS: readonly (readonly StateName[])[] = [
  ['New'],
  ['BeingProcessed'],
  [
    ...(['ElectronicIdValidationRequired', 'WaitingForIdentityProvider', 'WaitingForEidApp', 'WaitingForCardPayments'] as const),
    ...(['WaitingForMobilePayment', 'WaitingForFinnishDirectPayment', 'WaitingCreditApproval'] as const),
  ],
  ['PaymentHandledByMerchant', 'Completed', 'CreditNotApproved', 'Cancelled', 'Error', 'SessionTimedOut'],
];
const ORDER: ReadonlyMap<number, readonly [column: Column, place: number]> = new Map(
  COLUMNS.flatMap((names, column) => names.map((name, place) => [numberOf(name), [column as Column, place]] as const)),
);
const PAID: ReadonlySet<number> = new Set([numberOf('Completed'), numberOf('PaymentHandledByMerchant')]);
/** A service may send any number; the picture has room for so many that are not listed, and the table for all. */
const MOST_UNKNOWN = 5;

/** Whether a picture is of the present or of the past. */
export type Moment = 'now' | 'then';

export interface FlowNode {
  readonly key: number;
  readonly name: string;
  readonly words: string;
  readonly column: Column;
  readonly state: FlowState;
  /** When the purchases are, or were, in the state. */
  readonly moment: Moment;
  readonly isPaid: boolean;
  /** Purchases that usually came in this time; null while that is not known. */
  readonly usuallyCame: number | null;
  /** The worst open incident of the state in which a customer is stuck, in words; null without any. */
  readonly flag: { readonly text: string; readonly isCritical: boolean } | null;
}

export interface FlowEdge {
  readonly from: number;
  readonly to: number;
  readonly count: number;
  readonly usual: number | null;
  /** Less than half of what is usual at this hour. */
  readonly isMissed: boolean;
}

export interface FlowPicture {
  /** By column, from top to bottom. */
  readonly nodes: readonly FlowNode[];
  readonly edges: readonly FlowEdge[];
  /** States that are left to the table. */
  readonly left: number;
  /** First observations. */
  readonly came: number;
  readonly completed: number;
  readonly usuallyCompleted: number | null;
}

/** Of an answer of `GET /v1/flow`; `most`: how many states that are not listed get a place. */
export function flowPicture(flow: FlowBody, most: number = MOST_UNKNOWN, moment: Moment = 'now'): FlowPicture {
  const isMissed = ({ count, usual }: { count: number; usual: number | null }): boolean => usual !== null && count < usual / 2;
  const all = flow.states.map((state) => nodeOf(state, flow, moment)).sort(byPlace);
  const unknown = all.filter(({ key }) => !isKnownState(key));
  const shown = new Set(all.filter((node) => isKnownState(node.key) || unknown.indexOf(node) < most).map(({ key }) => key));
  const edges = flow.edges.flatMap(({ from, to, count, usual }) =>
    from === null || !shown.has(from.value) || !shown.has(to.value)
      ? []
      : [{ from: from.value, to: to.value, count, usual, isMissed: isMissed({ count, usual }) }],
  );
  const completed = all.find(({ key }) => key === numberOf('Completed'));
  return {
    nodes: all.filter(({ key }) => shown.has(key)),
    edges,
    left: all.length - shown.size,
    came: flow.edges.reduce((sum, { from, count }) => sum + (from === null ? count : 0), 0),
    completed: completed?.state.came ?? 0,
    usuallyCompleted: completed?.usuallyCame ?? (flow.usualDays === null ? null : 0),
  };
}

function nodeOf(state: FlowState, { edges, usualDays }: FlowBody, moment: Moment): FlowNode {
  const { value, name } = state.state;
  const usual = edges.reduce((sum, edge) => sum + (edge.to.value === value ? (edge.usual ?? 0) : 0), 0);
  const [column] = ORDER.get(value) ?? [2 as const];
  return {
    key: value,
    name,
    words: stateWords(value),
    column,
    state,
    moment,
    isPaid: PAID.has(value),
    usuallyCame: usualDays === null ? null : Math.round(usual),
    flag: flagOf(state.incidents),
  };
}

function byPlace(a: FlowNode, b: FlowNode): number {
  const place = ({ key }: FlowNode): number => ORDER.get(key)?.[1] ?? 100 + key;
  return a.column - b.column || place(a) - place(b);
}

const LONGEST_SITE = 18;

function flagOf(open: FlowState['incidents']): FlowNode['flag'] {
  // An incident that ends by itself has no stuck customer any more.
  const incidents = open.filter(({ endsAt }) => endsAt === null);
  const worst = incidents.find(({ severity }) => severity === 'critical') ?? incidents[0];
  if (worst === undefined) return null;
  const { severity, site } = worst;
  const name = [...site];
  const where = name.length > LONGEST_SITE ? `${name.slice(0, LONGEST_SITE - 1).join('')}…` : site;
  const more = incidents.length > 1 ? `, ${incidents.length - 1} more` : '';
  return { text: `${severity}, ${where}${more}`, isCritical: severity === 'critical' };
}
