/** Prints what redocly (its recommended rules) and spectral (`spectral:oas`) find in the OpenAPI documents that it is given, as a list in JSON. */
import { readFileSync } from 'node:fs';
import { createConfig, lint } from '@redocly/openapi-core';
import core from '@stoplight/spectral-core';
import parsers from '@stoplight/spectral-parsers';
import rulesets from '@stoplight/spectral-rulesets';

const config = await createConfig({ extends: ['recommended'] });
const spectral = new core.Spectral();
spectral.setRuleset({ extends: [rulesets.oas] });

const found = [];
for (const file of process.argv.slice(2)) {
  for (const { ruleId, message, location } of await lint({ ref: file, config })) {
    found.push(`redocly ${ruleId}: ${message} (${location[0]?.pointer})`);
  }
  const document = new core.Document(readFileSync(file, 'utf8'), parsers.Json, file);
  for (const { code, message, path } of await spectral.run(document)) {
    found.push(`spectral ${code}: ${message} (${path.join('/')})`);
  }
}
console.info(JSON.stringify(found));
