/** Everything that has to work, checked with real calls, for people who look after the daemon. */
import { z } from '@hono/zod-openapi';
import { findingBody } from '../../actions/overview/finding.ts';
import { flagField, named } from '../http/fields.ts';
import { strict } from '../http/invalid.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { findingSchema } from './system.ts';

export function mountDoctor(app: Api, { examine }: ApiDeps): void {
  app.openapi(doctorRoute, async (c) => {
    const { send = true } = c.req.valid('json');
    const findings = await examine(send);
    return c.json({ ok: !findings.some(({ verdict }) => verdict === 'failed'), findings: findings.map(findingBody) }, 200);
  });
}

const doctorSchema = named('Doctor', {
  ok: z.boolean().describe('Whether nothing failed; there may be warnings.'),
  findings: z.array(findingSchema).describe('In the order of `purchase-watch doctor`; words may change.'),
});

/** The answer's body. */
export type DoctorBody = z.output<typeof doctorSchema>;

const doctorRoute = route('POST /v1/doctor', {
  summary: 'Check everything with real calls',
  description:
    'What `purchase-watch doctor` checks, with the settings and from the machine of the daemon that answers: settings, database, daemons, port, sites with their credentials, receivers and channels. Takes up to a minute while something does not answer. Without `send: false` receivers get a signed event of the type `subscriber.test`, but for those that are paused or off.',
  limit: 1024,
  body: strict({
    send: flagField.optional().describe('Whether receivers are sent a test; true when left out.'),
  }).openapi('DoctorWanted'),
  answers: { 200: jsonAnswer('What was found, without secrets.', doctorSchema) },
  needsDatabase: false,
});
