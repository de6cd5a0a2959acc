/** Purchases and their changes of state as programs see them, in the API and in the commands' JSON. */

import { stateOrNull } from '../../domain/events/make-event.ts';
import { metadataText } from '../../domain/purchases/metadata.ts';
import { outcomeOf } from '../../domain/purchases/outcome.ts';
import { namedState } from '../../domain/purchases/states.ts';
import { type JsonValue, parseExact } from '../../domain/values/exact-json.ts';
import { JsonText, membersOf, objectText } from '../../domain/values/json-text.ts';
import { isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import type { PurchaseRow, TransitionRow } from '../../postgres/purchases/purchases.ts';

/** Members of a purchase's body; texts that Postgres gives as JSON pass unchanged. */
function purchaseMembers(row: PurchaseRow) {
  const {
    Price: price = null,
    CurrencyCode: currency = null,
    OrderReference: orderReference = null,
    ...details
  } = Object.fromEntries(row.details === null ? [] : membersOf(row.details));
  return {
    purchaseId: row.purchaseId,
    site: row.site,
    status: row.status,
    outcome: outcomeOf(row),
    state: stateOrNull(row.state),
    stateSince: isoTimeOrNull(row.stateSince),
    stuckSince: isoTimeOrNull(row.stuckSince),
    reference: row.reference,
    metadata: row.metadata === null ? null : metadataText(row.metadata),
    registeredAt: isoTime(row.registeredAt),
    lastPolledAt: isoTimeOrNull(row.lastPolledAt),
    nextPollAt: isoTimeOrNull(row.nextPollAt),
    polls: row.polls,
    failures: row.failures,
    lastError: row.lastError,
    price,
    currency,
    orderReference,
    details: new JsonText(objectText(details)),
  };
}

type Parsed<Member> = Member extends JsonText ? JsonValue : Member;
type Members = ReturnType<typeof purchaseMembers>;

/** A row as the JSON text of its body, with further members. */
export function purchaseText(row: PurchaseRow, more: Readonly<Record<string, JsonValue | JsonText>> = {}): string {
  return objectText({ ...purchaseMembers(row), ...more });
}

/** The body of a row, parsed. */
export function purchaseBody(row: PurchaseRow): { readonly [Name in keyof Members]: Parsed<Members[Name]> } {
  return parseExact(purchaseText(row)) as never;
}

/** A change of state as its body. */
export function transitionBody({ sequence, from, to, notBefore, notAfter }: TransitionRow) {
  return {
    sequence,
    from: stateOrNull(from),
    to: namedState(to),
    notBefore: isoTimeOrNull(notBefore),
    notAfter: isoTime(notAfter),
  };
}
