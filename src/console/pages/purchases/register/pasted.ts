/** Registers what a person pasted: the lines that the command `watch --file` takes, of which a bad one keeps no other out. */
import { Readable } from 'node:stream';
import { linesOf } from '../../../../actions/registrations/lines.ts';
import { recordsOf } from '../../../../actions/registrations/records.ts';
import { registrationReader } from '../../../../actions/registrations/registrations.ts';
import { AppError } from '../../../../domain/values/errors.ts';
import { parseExact } from '../../../../domain/values/exact-json.ts';
import { type ApiCalls, ApiRefusal } from '../../../frame/api-calls.ts';

export interface Pasted {
  readonly created: number;
  readonly existing: number;
  /** Lines with their text as it was pasted. */
  readonly bad: readonly { readonly line: number; readonly problem: string; readonly text: string }[];
  /** Of the registered ones, those whose id looks like something else. */
  readonly unlikely: readonly { readonly line: number; readonly purchaseId: string; readonly site: string }[];
  /** Columns and fields that mean nothing here. */
  readonly unused: readonly string[];
  /** The header, to stand above the bad lines when they are sent again; empty without one. */
  readonly header: string;
  /** Why nothing could be read at all; null when lines were. */
  readonly problem: string | null;
}

/** Purchases in one call of the API: the longest lines that the form takes are less than 1 MiB of JSON then, the API's limit. */
const BATCH = 500;
/** As many ids as 1 MB usually has, twice. */
const MOST_LINES = 50_000;

/** Bytes that are split into lines at once. */
const CHUNK = 16 * 1_024;

type BatchAnswer = { created: number; existing: number; rejected: { index: number; detail: string }[] };

/** Registers each line, at `site` where it names none. Throws ApiRefusal when the API takes nothing. */
export async function registerPasted(
  api: ApiCalls,
  text: string,
  { site, sites }: { site: string | null; sites: readonly string[] },
): Promise<Pasted> {
  const nothing = { created: 0, existing: 0, bad: [], unlikely: [], unused: [], header: '' };
  const reader = registrationReader('', { site, reference: null, metadata: null, sites }, { isPasted: true });
  const bad: Pasted['bad'][number][] = [];
  const good: { readonly line: number; readonly text: string; readonly registration: Good }[] = [];
  try {
    for await (const { first: line, last, text: own, read } of recordsOf(
      linesOf(Readable.from(chunksOf(text), { objectMode: false })),
      reader,
    )) {
      if (last > MOST_LINES) {
        const cure = 'paste fewer, or use the command "purchase-watch watch --file"';
        throw new AppError('invalid', `has more than ${MOST_LINES} lines, which is the most that are taken at once; ${cure}`);
      }
      if ('problem' in read) bad.push({ line, problem: read.problem, text: own ?? '' });
      else good.push({ line, text: own ?? '', registration: read.registration });
    }
    if (bad.length + good.length === 0) throw new AppError('invalid', 'holds no purchase IDs');
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { ...nothing, problem: error.message };
  }
  let [created, existing] = [0, 0];
  for (let at = 0; at < good.length; at += BATCH) {
    const batch = good.slice(at, at + BATCH);
    const purchases = batch.map(({ registration }) => bodyOf(registration));
    const answer = await api.send<BatchAnswer>('POST', '/v1/purchases/batch', { purchases }).catch((error: unknown) => {
      throw at > 0 && error instanceof ApiRefusal ? brokenOff(error, batch[0]!.line) : error;
    });
    created += answer.created;
    existing += answer.existing;
    bad.push(
      ...answer.rejected.map(({ index, detail }) => ({ line: batch[index]!.line, problem: detail, text: batch[index]!.text })),
    );
  }
  const isBad = new Set(bad.map(({ line }) => line));
  return {
    created,
    existing,
    unlikely: good.flatMap(({ line, registration: { purchaseId, site: own } }) =>
      isBad.has(line) || isLikely(purchaseId) ? [] : [{ line, purchaseId, site: own ?? site ?? sites[0] ?? '' }],
    ),
    bad: bad.sort((a, b) => a.line - b.line),
    unused: reader.unused(),
    header: reader.header(),
    problem: null,
  };
}

const brokenOff = ({ code, message, errors }: ApiRefusal, line: number): ApiRefusal =>
  new ApiRefusal({
    code,
    detail: `${message} The lines above line ${line} were taken; send all lines again for the rest.`,
    errors,
  });

/** A text that a service may give, and that people paste by mistake: a word, a title, a sum. */
const isLikely = (id: string): boolean => /\d/.test(id) && !/\s/.test(id);

function* chunksOf(text: string): Generator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += CHUNK) yield bytes.subarray(at, at + CHUNK);
}

type Good = {
  readonly purchaseId: string;
  readonly site: string | null;
  readonly reference: string | null;
  readonly metadata: string | null;
};

function bodyOf({ metadata, ...rest }: Good): unknown {
  return { ...rest, metadata: metadata === null ? null : parseExact(metadata) };
}
