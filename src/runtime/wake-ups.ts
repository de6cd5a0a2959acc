/** What a notification on `purchase_watch_wake` says. */

/** Which loop it is for. */
const WOKEN_BY: Readonly<Record<string, string>> = {
  purchases: 'poller',
  deliveries: 'notifier',
  replays: 'notifier',
  subscribers: 'notifier',
  judge: 'judge',
  shards: 'ownership',
};

/** The name of the loop that has work, and the row id of a purchase that was erased; null where it says nothing of the kind. */
export function readWakeUp(payload: string): { readonly loop: string | null; readonly erased: number | null } {
  const erased = /^forgotten (\d+)$/.exec(payload)?.[1];
  return { loop: WOKEN_BY[payload] ?? null, erased: erased === undefined ? null : Number(erased) };
}
