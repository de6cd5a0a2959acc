/** Registering purchases: one, or up to 10 000 at once. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { stringifyExact } from '../core/exact-json.ts';
import type { Sql } from '../store/database.ts';
import { type Registration, register } from '../store/purchases.ts';
import { exactJson, isJsonObject } from './body.ts';
import { metadataField, purchaseIdField, referenceField, siteField } from './fields.ts';
import { findPurchase } from './find-purchase.ts';
import { explain, inOneSentence, strict } from './invalid.ts';
import { Problem, type ProblemCode, problems } from './problems.ts';
import { purchaseBody, purchaseSchema } from './purchase-body.ts';
import type { ApiBindings } from './serve.ts';

const SINGLE_LIMIT = 64 * 1024;
const BATCH_LIMIT = 16 * 1024 * 1024;
const MOST_AT_ONCE = 10_000;
/** The database's word for a site that is not configured. */
const FOREIGN_KEY_VIOLATION = '23503';
const BODY_PROBLEMS = ['invalid_request', 'not_json', 'too_deep', 'too_large', 'unsupported_media_type'] as const;
const KEY_PROBLEMS = ['unauthorized', 'read_only_key', 'cross_site', 'unavailable'] as const;

interface Rejected {
  readonly index: number;
  readonly code: ProblemCode;
  readonly detail: string;
}

/** Mounts both calls. Which sites there are is part of what they accept. */
export function mountRegistration(
  app: OpenAPIHono<{ Bindings: ApiBindings }>,
  { sql, sites }: { sql: Sql; sites: readonly string[] },
): void {
  const registrationSchema = registrationOf(sites);
  app.openapi(registerRoute(registrationSchema), async (c) => {
    const registration = toRegistration(c.req.valid('json'), sites);
    const [answer] = await registered(sql, [registration]);
    const row = await findPurchase(sql, { id: registration.purchaseId, site: registration.site });
    return c.json(purchaseBody(row), answer === 'created' ? 201 : 200);
  });

  app.openapi(registerBatchRoute(), async (c) => {
    const { purchases } = c.req.valid('json');
    if (purchases.length > MOST_AT_ONCE) {
      throw new Problem('too_large', `purchases: has ${purchases.length} entries; at most ${MOST_AT_ONCE} are accepted at once.`);
    }
    const good: ReturnType<typeof toRegistration>[] = [];
    const rejected: Rejected[] = [];
    for (const [index, item] of purchases.entries()) {
      const checked = registrationSchema.safeParse(isJsonObject(item) ? item : null);
      if (checked.success) good.push(toRegistration(checked.data, sites));
      else rejected.push(rejection(index, item, checked.error));
    }
    const answers = await registered(sql, good);
    const created = answers.filter((answer) => answer === 'created').length;
    return c.json({ created, existing: answers.length - created, rejected }, 200);
  });
}

/** Registers. A site that another replica took out of the configuration meanwhile is the caller's to know. */
async function registered(sql: Sql, wanted: readonly Registration[]): ReturnType<typeof register> {
  try {
    return await register(sql, wanted, { by: 'api' });
  } catch (error) {
    const { code, message, hint } = error as { code?: unknown; message: string; hint?: string };
    if (code !== FOREIGN_KEY_VIOLATION) throw error;
    throw new Problem('unknown_site', `${message}. ${hint ?? ''}`.trim(), {
      errors: [{ field: 'site', detail: `${message}` }],
    });
  }
}

function rejection(index: number, item: unknown, error: z.core.$ZodError): Rejected {
  const { code, errors } = explain(error, item);
  return { index, code, detail: isJsonObject(item) ? inOneSentence(errors) : 'must be an object: {"purchaseId": "…"}' };
}

function registrationOf(sites: readonly string[]) {
  const site = siteField(sites);
  return strict({
    purchaseId: purchaseIdField,
    site: defaultSite(sites) === undefined ? site : site.nullish(),
    reference: referenceField.nullish(),
    metadata: metadataField.nullish(),
  }).openapi('Registration');
}

type RegistrationSchema = ReturnType<typeof registrationOf>;

/** The site that is meant when none is named. */
function defaultSite(sites: readonly string[]): string | undefined {
  return sites.includes('default') ? 'default' : sites.length === 1 ? sites[0] : undefined;
}

function toRegistration(
  { purchaseId, site, reference, metadata }: z.output<RegistrationSchema>,
  sites: readonly string[],
): Registration & { site: string } {
  return {
    purchaseId,
    // The check lets a missing site pass only where there is a default.
    site: site ?? defaultSite(sites)!,
    reference: reference ?? null,
    metadata: metadata == null ? null : stringifyExact(metadata),
  };
}

const registerRoute = (schema: RegistrationSchema) =>
  createRoute({
    method: 'post',
    path: '/v1/purchases',
    summary: 'Watch a purchase',
    description:
      'Registers a Purchase ID; it is polled at once. May be repeated: one that is watched stays as it is, and one that was stopped or has expired is watched again.',
    tags: ['Purchases'],
    middleware: exactJson(SINGLE_LIMIT),
    request: { body: { required: true, content: { 'application/json': { schema } } } },
    responses: {
      201: { description: 'New: it is watched from now on.', content: { 'application/json': { schema: purchaseSchema } } },
      200: { description: 'It was registered before.', content: { 'application/json': { schema: purchaseSchema } } },
      ...problems('unknown_site', ...BODY_PROBLEMS, ...KEY_PROBLEMS),
    },
  });

const registerBatchRoute = () =>
  createRoute({
    method: 'post',
    path: '/v1/purchases/batch',
    summary: 'Watch many purchases',
    description: `Registers up to ${MOST_AT_ONCE} purchases in one statement. Entries that are not valid are rejected one by one; the others are registered.`,
    tags: ['Purchases'],
    middleware: exactJson(BATCH_LIMIT),
    request: {
      body: {
        required: true,
        content: {
          'application/json': {
            schema: strict({
              // Entries are checked one by one, so that a bad one rejects only itself.
              purchases: z
                .array(z.unknown(), { error: 'must be a list of purchases: [{"purchaseId": "…"}]' })
                .openapi({ type: 'array', items: { $ref: '#/components/schemas/Registration' }, maxItems: MOST_AT_ONCE }),
            }),
          },
        },
      },
    },
    responses: {
      200: {
        description: 'What became of the entries.',
        content: {
          'application/json': {
            schema: z.object({
              created: z.int(),
              existing: z.int(),
              rejected: z.array(z.object({ index: z.int(), code: z.string(), detail: z.string() })),
            }),
          },
        },
      },
      ...problems('unknown_site', ...BODY_PROBLEMS, ...KEY_PROBLEMS),
    },
  });
