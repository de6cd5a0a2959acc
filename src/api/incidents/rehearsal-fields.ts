/** The fields of a rehearsal: how what is tried is checked, and how the result is shown. */
import { z } from '@hono/zod-openapi';
import { INCIDENT_KINDS } from '../../actions/incidents/rules.ts';
import { STAGES } from '../../actions/rehearse/body.ts';
import { duration, type Kind, limit } from '../../config/kinds/kinds.ts';
import { ALERT_TIMES } from '../../config/rehearsed.ts';
import { STUCK_MODES } from '../../domain/incidents/audience.ts';
import { STATE_NAMES, type StateName } from '../../domain/purchases/states.ts';
import {
  flagField,
  listOf,
  named,
  numberOrNull,
  orNull,
  parameter,
  siteField,
  textOrNull,
  wordParameter,
} from '../http/fields.ts';
import { strict } from '../http/invalid.ts';
import { stateOrNull, stateSchema, timeOrNull, timeSchema } from '../purchases/purchase-body.ts';

/** A setting as a settings file has it. */
function settingField<Meaning>({ expected, read }: Pick<Kind<Meaning>, 'expected' | 'read'>, example: string) {
  return parameter<Meaning>((value) => {
    const is = read(value);
    return is === undefined ? { problem: `must be ${expected}` } : { is };
  }).openapi({ type: 'string', example });
}

/** The same field for each of some names. */
function each<Name extends string, Field extends z.ZodType>(names: readonly Name[], field: Field): { [Each in Name]: Field } {
  return Object.fromEntries(names.map((name) => [name, field])) as { [Each in Name]: Field };
}

const momentField = (what: string) =>
  z
    .string({ error: ({ input }) => (input === undefined ? `is missing; give ${what}` : 'must be text') })
    .describe(`A duration back or a time with its zone: ${what}.`);

const durationOrNever = {
  ...duration,
  expected: `${duration.expected}, or never`,
  read: (value: unknown) => (value === 'never' ? null : duration.read(value)),
};

const triedLimit = strict({ stuckAfter: settingField(limit, '5m').optional() });

const triedSchema = strict({
  states: strict(each<StateName, z.ZodOptional<typeof triedLimit>>(STATE_NAMES, triedLimit.optional())).optional(),
  slack: strict({
    stuck: wordParameter(STUCK_MODES, 'mode').optional(),
    paidTwice: flagField.optional(),
    ...each(ALERT_TIMES, settingField(duration, '5m').optional()),
  }).optional(),
  polling: strict({ atRisk: strict({ before: settingField(durationOrNever, '5m').optional() }).optional() }).optional(),
}).openapi({
  description: 'Settings to try, as the settings file names them; the others stay as they are at the daemon.',
  example: { states: { WaitingForCardPayments: { stuckAfter: '5m' } }, slack: { quietFor: '5m' } },
});

/** The body of the call; `sites` are those of the configuration. */
export const askedSchema = (sites: readonly string[]) =>
  strict({
    from: momentField('where the time begins').openapi({ example: '7d' }),
    to: momentField('where the time ends; now, when it is left out').optional().openapi({ example: '1h' }),
    site: siteField(sites).optional().describe('This site alone: incidents of several sites are then not found.'),
    ignoreSilences: flagField.optional().describe('As if there had been no silences.'),
    settings: triedSchema.optional(),
  }).openapi('NewRehearsal');

const durationText = z.string().openapi({ example: '10m' });

export const alertSettingsSchema = named('AlertSettings', {
  states: z
    .record(
      z.string(),
      z.object({ stuckAfter: z.string().openapi({ description: 'A duration, `auto` or `never`.', example: '15m' }) }),
    )
    .describe('Each state that is not final.'),
  slack: z.object({ stuck: z.enum(STUCK_MODES), paidTwice: z.boolean(), ...each(ALERT_TIMES, durationText) }),
  polling: z
    .object({ atRisk: z.object({ before: z.string().openapi({ description: 'A duration or `never`.', example: '5m' }) }) })
    .describe('How long before its session ends a stuck purchase is announced, on sites without a setting of their own.'),
}).describe('The settings that decide about alerts and can be tried, as a settings file has them.');

const messageSchema = named('RehearsedMessage', {
  at: timeSchema,
  stage: z.enum(STAGES),
  channels: z.array(z.string()).describe('The channels that would have got the message, or got it.'),
  incidentId: textOrNull.describe('Of a rehearsed message: the incident in `timeline`.'),
  kind: z.enum([...INCIDENT_KINDS, 'checkouts', 'paid_twice']),
  headline: z.string(),
});

const timelineSchema = named('RehearsedIncident', {
  incidentId: z.string(),
  kind: z.enum(INCIDENT_KINDS),
  site: textOrNull.describe('Null: several.'),
  state: stateOrNull,
  severity: z.enum(['warning', 'critical']),
  peak: z.int(),
  openedAt: timeSchema,
  endedAt: timeOrNull,
  alertedAt: timeOrNull.describe('The first message of the time that said that it began or came back.'),
});

const sums = {
  messages: z.int(),
  perDay: numberOrNull.describe('Null where the time is shorter than a day.'),
  stages: z.object(each(STAGES, z.int())).describe('Messages by what they say.'),
  overdue: z.int().describe('Purchases found stuck.'),
  said: z.array(messageSchema).describe('The messages, first to last: the first 1000.'),
};

const sideSchema = named('RehearsedAlerts', {
  ...sums,
  atRisk: z
    .object({
      announced: z.int().describe('Stays that would have been announced.'),
      lost: z.int().describe('Those whose purchase ended not paid.'),
      paid: z
        .int()
        .describe('Those whose purchase was paid. Of the others it is not known yet, or another purchase of the order was paid.'),
    })
    .nullable()
    .describe('What `purchase.at_risk` would have said; null where no site has `atRisk`.'),
  incidents: z.int().describe('Incidents that would have opened; of several with one cause the one that speaks for all.'),
  unsaid: z.int().describe('Those of them that were over before a channel was alerted.'),
  openBefore: z.int(),
  openAfter: z.int(),
  timeline: z.array(timelineSchema).describe('Incidents that would have been open, in the order in which they opened.'),
});

export const rehearsalSchema = named('Rehearsal', {
  from: timeSchema,
  to: timeSchema,
  site: textOrNull,
  config: textOrNull.describe('Null; for the command the settings file that it read.'),
  silencesIgnored: z.boolean(),
  channelInvented: z
    .boolean()
    .describe('Whether no channel for people is configured: then it is as for one that gets every alert.'),
  taughtSince: timeOrNull.describe('From when on records taught what is usual; null: there are none from before the time.'),
  stays: z.int().describe('Stays in states that were gone through.'),
  summary: z.string().describe('The result in a sentence or two; words may change.'),
  settings: alertSettingsSchema,
  changed: listOf({
    setting: z.string().openapi({ example: 'slack.quietFor' }),
    present: z.string(),
    tried: z.string(),
  }).describe('The settings that differ from those of the daemon.'),
  rehearsed: sideSchema,
  present: orNull(sideSchema).describe('The same under the settings of the daemon; null where none differs.'),
  compared: z
    .object({
      both: z
        .int()
        .describe(
          'Incidents of stuck purchases of `rehearsed` with a counterpart in `present`: at the same place at the same time.',
        ),
      onlyTried: z.int(),
      onlyPresent: z.int(),
      earlierMs: numberOrNull.describe(
        'By how much earlier those would have been alerted that both alert of, as the median; negative: later.',
      ),
    })
    .nullable(),
  reusing: listOf({ site: z.string(), paid: z.int(), repeated: z.int() }).describe(
    'Sites that reuse references by design, as they were at the end of the time: no order that was paid twice alerts there. Of `paid` purchases whose order is known, `repeated` were of an order that was paid before.',
  ),
  really: z.object(sums).describe('What was really sent in that time.'),
  limits: listOf({
    site: z.string(),
    state: stateSchema,
    text: z.string(),
  }).describe('When stays became stuck at the end of the time, with what that rests on.'),
});
