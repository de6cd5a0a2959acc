/** Registering purchases: one, or up to 1 000 at once. */

import { z } from '@hono/zod-openapi';
import type { Sql } from '../../actions/database.ts';
import { purchaseText } from '../../actions/purchases/body.ts';
import { MOST_SINGLE, type Registration, register } from '../../actions/registrations/register.ts';
import type { SiteSettings } from '../../config/settings.ts';
import { isJsonObject, stringifyExact } from '../../domain/values/exact-json.ts';
import { listOf, metadataField, named, newPurchaseIdField, referenceField, siteField } from '../http/fields.ts';
import { faultsOf, inOneSentence, strict } from '../http/invalid.ts';
import { Problem } from '../http/problems.ts';
import { type Api, type ApiDeps, jsonAnswer, needs, route } from '../http/route.ts';
import { findPurchase } from './find-purchase.ts';
import { answerText, purchaseSchema } from './purchase-body.ts';

const SINGLE_LIMIT = 64 * 1024;
const BATCH_LIMIT = 1024 * 1024;
const MOST_AT_ONCE = 1_000;
/** The database's word for a site that is not configured. */
const FOREIGN_KEY_VIOLATION = '23503';

type SiteNames = Pick<SiteSettings, 'name'> & Partial<Pick<SiteSettings, 'formerly'>>;

export function mountRegistration(app: Api, { changes: sql, settings }: ApiDeps): void {
  const sites = namedSites(settings.sites);
  const former = new Set(sites.formerly);
  const registrationSchema = registrationOf(sites).openapi('Registration');
  app.openapi(registerRoute(registrationSchema), async (c) => {
    const registration = toRegistration(c.req.valid('json'), sites);
    c.set('subject', { id: registration.purchaseId, site: registration.site });
    const [answer] = await registered(sql, [registration], former);
    const status = answer === 'created' ? 201 : 200;
    const { purchaseId, site } = registration;
    // A purchase that others registered, and its state, are for readers.
    if (!c.get('caller')?.scopes.includes('read')) return c.json({ purchaseId, site }, status);
    return answerText(c, purchaseText(await findPurchase(sql, { id: purchaseId, site })), status);
  });

  app.openapi(registerBatchRoute(), async (c) => {
    const { purchases } = c.req.valid('json');
    if (purchases.length > MOST_AT_ONCE) throw tooMany(purchases.length);
    const good: Registration[] = [];
    const rejected: z.output<typeof batchResultSchema>['rejected'] = [];
    for (const [index, entry] of purchases.entries()) {
      const checked = registrationSchema.safeParse(entry);
      if (checked.success) good.push(toRegistration(checked.data, sites));
      else rejected.push({ index, ...rejection(checked.error, entry) });
    }
    const answers = await registered(sql, good, former);
    const created = answers.filter((answer) => answer === 'created').length;
    c.set('subject', { created, existing: answers.length - created, rejected: rejected.length });
    return c.json({ created, existing: answers.length - created, rejected }, 200);
  });
}

/** Registers. A site that another replica took out of the configuration meanwhile is the caller's to know. */
async function registered(sql: Sql, wanted: readonly Registration[], former: ReadonlySet<string>): ReturnType<typeof register> {
  try {
    return await register(sql, wanted, { by: 'api', former });
  } catch (error) {
    const { code, message, hint } = error as { code?: unknown; message: string; hint?: string };
    if (code !== FOREIGN_KEY_VIOLATION) throw error;
    throw new Problem('unknown_site', `${message}. ${hint ?? ''}`.trim(), {
      errors: [{ field: 'site', detail: `${message}` }],
    });
  }
}

/** The sites that registrations may name, with their former names; `otherwise`: the site of one that names none, undefined when each must name one. */
function namedSites(settings: readonly SiteNames[]) {
  const sites = settings.map(({ name }) => name);
  const formerDefault = settings.find(({ formerly = [] }) => formerly.includes('default'))?.name;
  const otherwise = sites.includes('default') ? 'default' : sites.length === 1 ? sites[0] : formerDefault;
  return { sites, formerly: settings.flatMap(({ formerly = [] }) => formerly), otherwise };
}

function registrationOf({ sites, formerly, otherwise }: ReturnType<typeof namedSites>) {
  const site = siteField(sites, { formerly, isNeeded: otherwise === undefined });
  return strict({
    purchaseId: newPurchaseIdField,
    site: otherwise === undefined ? site : site.nullish(),
    reference: referenceField.nullish(),
    metadata: metadataField.nullish(),
  });
}

type RegistrationSchema = ReturnType<typeof registrationOf>;

function toRegistration(
  { purchaseId, site, reference, metadata }: z.output<RegistrationSchema>,
  { otherwise }: ReturnType<typeof namedSites>,
): Registration & { site: string } {
  return {
    purchaseId,
    // The check lets a missing site pass only where one is meant.
    site: site ?? otherwise!,
    reference: reference ?? null,
    metadata: metadata == null ? null : stringifyExact(metadata),
  };
}

function tooMany(count: number): Problem {
  const detail = `The batch has ${count} entries, and ${MOST_AT_ONCE} are accepted at once at most; send it in several calls.`;
  return new Problem('too_large', detail);
}

function rejection(error: z.core.$ZodError, entry: unknown) {
  const { code, errors } = faultsOf(error, entry);
  return { code, detail: isJsonObject(entry) ? inOneSentence(errors) : 'must be an object: {"purchaseId": "…"}' };
}

/** To a key without the scope `read`, only what it sent itself. */
const registeredSchema = z.union([purchaseSchema, z.object({ purchaseId: z.string(), site: z.string() })]);

const batchResultSchema = named('BatchResult', {
  created: z.int(),
  existing: z.int(),
  rejected: listOf({
    index: z.int(),
    code: z.string(),
    detail: z.string(),
  }).describe('`index` counts from 0. The other entries are registered.'),
});

const registerRoute = (schema: RegistrationSchema) =>
  route('POST /v1/purchases', {
    security: needs('register'),
    summary: 'Watch a purchase',
    description:
      'Registers a Purchase ID; a running daemon polls it within seconds. May be repeated: one that is watched stays as it is, and one that was stopped or has expired is watched again. A key without the scope `read` is answered with `purchaseId` and `site` alone.',
    limit: SINGLE_LIMIT,
    body: schema,
    answers: {
      201: jsonAnswer('New: it is watched from now on.', registeredSchema),
      200: jsonAnswer('It was registered before.', registeredSchema),
    },
    problems: ['unknown_site'],
  });

const registerBatchRoute = () =>
  route('POST /v1/purchases/batch', {
    security: needs('register'),
    summary: 'Watch many purchases',
    description: `Registers up to ${MOST_AT_ONCE} purchases, of 1 MiB together, in one statement; send more in several calls. Entries that are not valid are rejected one by one; the others are registered. More than ${MOST_SINGLE} at once are a bulk registration: their first polls come after those of purchases that are registered by themselves, and \`firstPolls\` of \`GET /v1/overview\` says in how much time.`,
    limit: BATCH_LIMIT,
    body: strict({
      // Entries are checked one by one, so that a bad one rejects only itself.
      purchases: z
        .array(z.unknown(), { error: 'must be a list of purchases: [{"purchaseId": "…"}]' })
        .openapi({ type: 'array', items: { $ref: '#/components/schemas/Registration' }, maxItems: MOST_AT_ONCE }),
    }),
    answers: { 200: jsonAnswer('What became of the entries.', batchResultSchema) },
    problems: ['unknown_site'],
  });
