/** Checks values by schemas of an OpenAPI 3.1 document, as a client that trusts the document would. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { OpenApiDocument, Schema } from '../../tools/book/api/model.ts';

/** A function that says what is wrong with a value, or null. Schemas are compiled once. */
export function schemaChecker(document: OpenApiDocument): (schema: Schema, value: unknown) => string | null {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, allowUnionTypes: true, allErrors: false, validateFormats: true });
  // The package's default export is its module in some resolutions, and the function in others.
  (formats as unknown as (to: unknown) => void)(ajv);
  ajv.addVocabulary(['example', 'discriminator']);
  // A number with the digits that the service sent; a client that parses it as a double still gets a number.
  ajv.addFormat('decimal', true);
  const moved = (schema: Schema): object => JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"/components/'));
  for (const [name, schema] of Object.entries(document.components?.schemas ?? {})) {
    ajv.addSchema(moved(schema), `/components/schemas/${name}`);
  }
  const compiled = new WeakMap<object, ValidateFunction>();
  return (schema, value) => {
    let validate = compiled.get(schema);
    if (validate === undefined) {
      validate = ajv.compile(moved(schema));
      compiled.set(schema, validate);
    }
    if (validate(value)) return null;
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`).join('; ');
  };
}
