/** Everything that has to work, checked with real calls, for people who look after the daemon. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Examiner } from '../../actions/doctor/doctor.ts';
import { findingBody } from '../../actions/overview/finding.ts';
import { needs } from '../access/scopes.ts';
import { exactJson } from '../http/body.ts';
import { type Api, BODY_PROBLEMS, jsonAnswer, jsonBody } from '../http/definitions.ts';
import { strict } from '../http/invalid.ts';
import { problems } from '../http/problems.ts';
import { findingSchema } from './system.ts';

const BODY_LIMIT = 1024;

/** Mounts the call. */
export function mountDoctor(app: Api, { examine }: { examine: Examiner }): void {
  app.openapi(route, async (c) => {
    const { send = true } = c.req.valid('json');
    const findings = await examine(send);
    return c.json({ ok: !findings.some(({ verdict }) => verdict === 'failed'), findings: findings.map(findingBody) }, 200);
  });
}

const doctorSchema = z
  .object({
    ok: z.boolean().openapi({ description: 'Whether nothing failed; there may be warnings.' }),
    findings: z.array(findingSchema).openapi({ description: 'In the order of `purchase-watch doctor`; words may change.' }),
  })
  .openapi('Doctor');

/** The answer's body. */
export type DoctorBody = z.output<typeof doctorSchema>;

const route = createRoute({
  method: 'post',
  path: '/v1/doctor',
  security: needs('operate'),
  summary: 'Check everything with real calls',
  description:
    'What `purchase-watch doctor` checks, with the settings and from the machine of the daemon that answers: settings, database, daemons, port, sites with their credentials, receivers and channels. Takes up to a minute while something does not answer. Without `send: false` receivers get a signed event of the type `subscriber.test`, but for those that are paused or off.',
  tags: ['Operations'],
  middleware: exactJson(BODY_LIMIT),
  request: {
    body: jsonBody(
      strict({
        send: z
          .boolean({ error: 'must be true or false' })
          .optional()
          .openapi({ description: 'Whether receivers are sent a test; true when left out.' }),
      }).openapi('DoctorWanted'),
    ),
  },
  responses: {
    200: jsonAnswer('What was found, without secrets.', doctorSchema),
    ...problems('invalid_request', ...BODY_PROBLEMS, 'unauthorized', 'read_only_key', 'cross_site'),
  },
});
