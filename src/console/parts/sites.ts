/** The condition of a site as a mark with words. */
import type { OverviewBody } from '../../api/overview/overview.ts';
import type { Html } from '../frame/html.ts';
import { status } from '../frame/icons.ts';

/** Whether a site answers; of one that no running daemon has in its settings, that its purchases are not polled or move. */
export function siteMark({ answers, lastAnswerAt, reason, unpolled, renamedTo }: OverviewBody['sites'][number]): Html {
  if (unpolled > 0 && renamedTo !== null) return status(answers ? 'warning' : 'critical', `moves to ${renamedTo}`);
  if (unpolled > 0) return status('critical', 'not polled');
  if (!answers) return status('critical', `cannot be read: ${reason}`);
  return lastAnswerAt === null ? status('waiting', 'not asked yet') : status('ok', 'answers');
}
