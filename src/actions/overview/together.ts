/**
 * All of some promises, by their names. It fails only when all have ended: queries that are left would hold up the next reading on
 * the same connection.
 */
export async function together<Values extends Readonly<Record<string, unknown>>>(
  promises: {
    readonly [Name in keyof Values]: Promise<Values[Name]>;
  },
): Promise<Values> {
  await Promise.allSettled(Object.values(promises));
  const named = Object.entries(promises).map(async ([name, promise]) => [name, await promise] as const);
  return Object.fromEntries(await Promise.all(named)) as Values;
}
