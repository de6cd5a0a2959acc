/** The way to an address: directly, or through a proxy of the operator. */

export interface Way {
  /** Address of the proxy with its credentials; null: directly. */
  readonly proxy: string | null;
  /** The variable or setting that says so, or another reason in a few words; null: no proxy is set for the address. */
  readonly by: string | null;
}

export const DIRECT: Way = { proxy: null, by: null };

/** For people and without credentials: `through the proxy proxy.example:3128 (HTTPS_PROXY)`, `directly (NO_PROXY)`. */
export function wayText({ proxy, by }: Way): string {
  const reason = by === null ? '' : ` (${by})`;
  return proxy === null ? `directly${reason}` : `through the proxy ${new URL(proxy).host}${reason}`;
}

/** The failure of a proxy, as a sentence that `isOfProxy` knows again. */
export function proxySentence({ proxy, by }: Way, failed: string): string {
  return `The proxy ${new URL(proxy!).host} (${by}) ${failed}.`;
}

/** Whether an error in words is the failure of a proxy, also while a token is fetched. */
export function isOfProxy(error: string): boolean {
  return /(?:^|: )The proxy \S/.test(error);
}
