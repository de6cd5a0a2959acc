/** Metadata that a merchant attached to a purchase: from the stored text back to JSON. */
import { type JsonValue, parseExact } from '../values/exact-json.ts';
import { isDeeper, JsonText } from '../values/json-text.ts';

/** Stands for metadata that an older version stored and no program can read. */
const UNREADABLE = { unreadable: 'This metadata is nested too deep to be sent. It is stored as it was registered.' };

/** More levels than any program here lets in, and as many as every program can read. */
const READABLE = 100;

/** Stored metadata as the text it is, to be handed on; what is nested too deep is an object that says so. */
export function metadataText(text: string): JsonText {
  return new JsonText(isDeeper(text, READABLE) ? JSON.stringify(UNREADABLE) : text);
}

/** Parses stored metadata. What is nested too deep becomes an object that says so: one such row must not fail the others. */
export function parseMetadata(text: string): { readonly [key: string]: JsonValue } {
  try {
    return parseExact(text) as { readonly [key: string]: JsonValue };
  } catch (error) {
    if (error instanceof RangeError) return UNREADABLE;
    throw error;
  }
}
