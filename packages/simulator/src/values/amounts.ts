/** Amounts with exactly the digits they were given: whole units of the last decimal place, and how many places there are. */
export interface Amount {
  readonly units: bigint;
  readonly places: number;
}

/** Reads a JSON number without an exponent, for example `249.50`; null when it is not one. */
export function parseAmount(text: string): Amount | null {
  const parts = /^(-?(?:0|[1-9]\d*))(?:\.(\d+))?$/.exec(text);
  if (parts === null) return null;
  const decimals = parts[2] ?? '';
  return { units: BigInt(`${parts[1]}${decimals}`), places: decimals.length };
}

/** Writes an amount as JSON, trailing zeros included. */
export function amountText({ units, places }: Amount): string {
  if (places === 0) return String(units);
  const sign = units < 0n ? '-' : '';
  const text = String(units < 0n ? -units : units).padStart(places + 1, '0');
  return `${sign}${text.slice(0, -places)}.${text.slice(-places)}`;
}

/** A share of an amount in percent, cut off at its last decimal place. */
export function percent(amount: Amount, share: number): Amount {
  return { units: (amount.units * BigInt(share)) / 100n, places: amount.places };
}

/** The sum of two amounts with the same number of places. */
export function plus(a: Amount, b: Amount): Amount {
  return { units: a.units + b.units, places: a.places };
}

/** The difference of two amounts with the same number of places. */
export function minus(a: Amount, b: Amount): Amount {
  return { units: a.units - b.units, places: a.places };
}
