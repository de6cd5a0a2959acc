// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts of guards hold placeholders of the product
/** Guards of what people are told, and of what programs call. */
import type { Guard } from './guard.ts';

const ALERTS = 'src/postgres/incidents/stuck-alerts.ts';

export const ALERTING: readonly Guard[] = [
  {
    name: 'people are alerted of a checkout once',
    promise: 'one message for each single stuck checkout',
    file: ALERTS,
    from: '(a.id = any(${`{${fresh.join()}}`}::bigint[]) and a.alerted_at is null',
    to: '(a.id = any(${`{${fresh.join()}}`}::bigint[])',
  },
  {
    name: 'alerts are written whole or not at all',
    promise: 'one message for each single stuck checkout, also when a purchase goes on at that moment',
    file: ALERTS,
    from: 'and (select count(*) from ready) = ${fresh.length + over.length}),',
    to: 'and (select count(*) from ready) >= 0 * ${fresh.length + over.length}),',
  },
  {
    name: 'people get one message about the first look at a site',
    promise: 'people get one message for all stuck purchases that the first load of a site has',
    file: 'src/postgres/incidents/first-look.ts',
    from: 'where name = any(${sites}::text[]) and first_look_alerted_at is null and exists',
    to: 'where name = any(${sites}::text[]) and exists',
  },
  {
    name: 'an incident that comes back is reopened',
    promise: 'one message for a page that breaks again within half an hour',
    file: 'src/domain/incidents/judgement.ts',
    from: '.map((symptom) => returned(symptom, known, now) ?? openIncident(newId(), symptom, now));',
    to: '.map((symptom) => openIncident(newId(), symptom, now));',
  },
  {
    name: 'one incident for one symptom',
    promise: 'one message for a broken page',
    file: 'src/domain/incidents/judgement.ts',
    from: '.filter((symptom) => !open.some((incident) => isAbout(incident, symptom)))',
    to: ".filter((symptom) => !open.some((incident) => isAbout(incident, symptom) && incident.kind !== 'stuck'))",
  },
  {
    name: 'a request with a known key is not made again',
    promise: 'a call that is repeated with its Idempotency-Key is carried out once',
    file: 'src/postgres/purchases/idempotency.ts',
    from: 'where k.busy_until < now() or k.created_at',
    to: 'where true or k.created_at',
  },
  {
    name: 'the horizon of the feed',
    promise: 'a cursor of the feed never skips an event that commits late',
    file: 'src/postgres/events/feed.ts',
    from: 'select era, purchase_watch_internal.feed_horizon()::text as xid,',
    to: "select era, '18446744073709551615'::text as xid,",
  },
  {
    name: 'erased purchases leave memory',
    promise: 'nothing is sent or written of a purchase that was erased',
    file: 'src/daemon/shards/erasures.ts',
    from: 'for (const { purchase } of erased) if (purchase !== null)',
    to: 'for (const { purchase } of erased) if (purchase === -1)',
  },
];
