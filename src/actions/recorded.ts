/** Changes that people and programs made, as API and commands show them. */
import { isoTime } from '../domain/values/time.ts';
import type { ActionRow } from '../postgres/console/actions.ts';

export { DOORS, listActions, type NewAction, recordAction } from '../postgres/console/actions.ts';

export function actionBody({ id, at, ...row }: ActionRow) {
  return { id: `act_${id}`, at: isoTime(at), ...row };
}
