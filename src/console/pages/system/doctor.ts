/** Doctor on the page of the system: everything that has to work, checked with real calls when a person asks for it. */
import type { DoctorBody } from '../../../api/overview/doctor.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Html, html } from '../../frame/html.ts';
import { status } from '../../frame/icons.ts';
import type { Ask } from '../../frame/page-route.ts';
import { panel, written } from '../../parts/lists.ts';
import { clockTime } from '../../parts/time.ts';

type Finding = DoctorBody['findings'][number];

const SHAPES = { ok: 'ok', warning: 'warning', failed: 'critical' } as const;
/** Findings that need a person come first. */
const ORDER = ['failed', 'warning', 'ok'] as const;

/** One after the other, each with what to do about it. */
export function findingList(findings: readonly Finding[]): Html {
  const item = ({ about, verdict, found, todo }: Finding): Html =>
    html`<li>${status(SHAPES[verdict], verdict)} <b>${written(about)}</b>: <bdi>${found}</bdi>${todo !== null && html`<p class="small"><bdi>${todo}</bdi></p>`}</li>`;
  return html`<ul class="rows">${findings.map(item)}</ul>`;
}

/** The findings of doctor, when the person asked for them just now, and the form that asks. */
export function doctorPanel(found: DoctorBody | null, { base, mayOperate, now }: Ask): Html {
  const form = mayOperate
    ? html`<form class="body stack" method="post" action="${base}/system/doctor#doctor"><p class="small">Checks settings, database, daemons, each site with its credentials, and every receiver, with real calls from the daemon's machine. It changes nothing, and takes up to a minute while something does not answer.</p><label class="inline"><input type="checkbox" name="send" value="on"> send receivers a signed event of the type subscriber.test, too, but for those that are paused or off</label><p><button class="btn first">Run doctor${found === null ? '' : ' again'}</button></p></form>`
    : html`<p class="body small">It makes calls with the daemon's credentials, so only a key with the scope operate runs it.</p>`;
  const sorted = found === null ? [] : ORDER.flatMap((verdict) => found.findings.filter((each) => each.verdict === verdict));
  return panel({
    id: 'doctor',
    title: 'Doctor',
    note:
      found === null
        ? 'everything that has to work, checked with real calls'
        : html`<span role="status">${summary(found)} at ${clockTime(now)}</span>`,
    body: html`${found !== null && findingList(sorted)}${form}`,
  });
}

function summary({ findings }: DoctorBody): string {
  const of = (verdict: Finding['verdict']): number => findings.filter((each) => each.verdict === verdict).length;
  const [failed, warnings] = [of('failed'), of('warning')];
  if (failed + warnings === 0) return `${counted(findings.length, 'check')}: everything is well,`;
  return `${counted(failed, 'check')} failed, ${counted(warnings, 'warning')},`;
}
