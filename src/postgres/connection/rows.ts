/** Rows and values from the answer to a query. Each function begins the query. */

type Answer<Row> = PromiseLike<readonly Row[]>;

/** The first row; null when there is none. */
export const firstRow = async <Row>(query: Answer<Row>): Promise<Row | null> => (await query)[0] ?? null;

/** The row of a query that always answers one. No row is an error. */
export const onlyRow = async <Row>(query: Answer<Row>): Promise<Row> => {
  const [row] = await query;
  if (row === undefined) throw new Error('the database answered a query without the row that the query always has');
  return row;
};

/** The first column of the first row; null when there is no row. */
export const firstValue = async <Value>(query: Answer<object>): Promise<Value> =>
  Object.values((await query)[0] ?? {})[0] ?? null;

/** The first column of each row. */
export const firstValues = async <Value>(query: Answer<object>): Promise<Value[]> =>
  (await query).map((row) => Object.values(row)[0]);

export const hasRows = async (query: Answer<object>): Promise<boolean> => (await query).length > 0;
