/** How deliveries are called outside. */

/** A delivery's id as people and programs see it. */
export function deliveryName(id: number): string {
  return `dlv_${id}`;
}

/** The row id behind such a name, or null. */
export function deliveryNumber(name: string): number | null {
  const id = Number(/^dlv_([1-9]\d{0,15})$/.exec(name)?.[1]);
  return Number.isSafeInteger(id) ? id : null;
}
