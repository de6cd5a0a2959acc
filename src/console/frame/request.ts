/** Reads what browsers send: forms, and where a person wants to go on to. */
import type { Context } from 'hono';
import { largeBodies } from '../../api/http/large-body.ts';
import { ApiRefusal } from './api-calls.ts';

const KIB = 1024;
/** Bytes of a form, and of one that a person sends who has shown no key yet. */
const LARGEST_FORM = 64 * KIB;
const LARGEST_OF_STRANGERS = 4 * KIB;
const MOST_FIELDS = 500;
const AMPERSAND = '&'.charCodeAt(0);

/** Fields of a form as text, of several with one name the last. */
export type Form = Readonly<Record<string, string>>;

export interface Forms {
  /**
   * Reads a form of at most `largest` bytes, 64 KiB unless given. Throws ApiRefusal for a form that is too large, of too many fields,
   * or not as browsers send it unless a page asks for another way.
   */
  read(c: Context, largest?: number): Promise<Form>;
  /** Reads the form of a person who has shown no key yet. */
  readOfStranger(c: Context): Promise<Form>;
}

/** Reads forms; large ones take turns. */
export function createForms(): Forms {
  const take = largeBodies(busy);
  const read = async (c: Context, largest = LARGEST_FORM): Promise<Form> => {
    if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(c.req.header('content-type') ?? '')) throw notAForm();
    // Browsers say how long a form is.
    if (!(Number(c.req.header('content-length') ?? Number.NaN) <= largest)) throw tooLarge(`${largest} bytes`);
    let fields = 1;
    const look = (chunk: Uint8Array): void => {
      for (const byte of chunk) if (byte === AMPERSAND) fields += 1;
      if (fields > MOST_FIELDS) throw tooLarge(`${MOST_FIELDS} fields`);
    };
    return take(c, { limit: largest, look }, (bytes) => Object.fromEntries(new URLSearchParams(bytes.toString())));
  };
  return { read, readOfStranger: (c) => read(c, LARGEST_OF_STRANGERS) };
}

/** A path of the console to go on to; never another host's. */
export function below(path: string | undefined): string {
  return path !== undefined && /^\/(?![/\\])/.test(path) && !/[\r\n\0]/.test(path) ? path : '/';
}

function notAForm(): ApiRefusal {
  const detail = 'Send the form as application/x-www-form-urlencoded. Nothing of it was used.';
  return new ApiRefusal({ status: 415, code: 'unsupported_media_type', title: 'This is not a form of the console', detail });
}

function tooLarge(most: string): ApiRefusal {
  const detail = `A form may have ${most} here, and nothing of this one was used. Send it in parts, or use "purchase-watch watch --file".`;
  return new ApiRefusal({ status: 413, code: 'too_large', title: 'The form is too large', detail });
}

function busy(): ApiRefusal {
  const detail = 'Other large forms are being worked on, and nothing of this one was used. Try again in a few seconds.';
  return new ApiRefusal({ status: 503, code: 'busy', title: 'Too much waits already', detail });
}
