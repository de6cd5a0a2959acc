/** How deliveries are called outside. */

/** A delivery's id as people and programs see it. */
export function deliveryName(id: number): string {
  return `dlv_${id}`;
}
