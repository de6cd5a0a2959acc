/** The bar above each page of the demo: what is so now and what follows, and the switches. */
import { type Html, html, NOTHING } from '../../console/frame/html.ts';
import { icon } from '../../console/frame/icons.ts';
import { clockTime, length } from '../../console/parts/time.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Board, FollowedStep, Turn } from './board.ts';
import type { Switch } from './switches.ts';

/** Where the switches post to. */
export const SWITCH_PATH = '/demo/switch';

const NEWEST = 2;

/** The bar. `back` is the page that a form without script returns to; `isStory`: the terminal's story still runs. */
export function barOf(board: Board, { back, now, isStory }: { back: string; now: Instant; isStory: boolean }): Html {
  const turns = board.turns();
  const groups = Map.groupBy(board.switches, ([, { group }]) => group);
  const lead = turns.length === 0 ? [calm(isStory)] : turns.map((turn, at) => said(turn, { isFirst: at === 0, isStory }));
  return html`<section class="demo" aria-label="Demo">
<div class="lead" id="demo-lead" role="status" data-part>${lead}</div>
<button class="btn to-switches" type="button" popovertarget="demo-more">Switches</button>
<div class="more" id="demo-more" popover><div class="told" id="demo-told" aria-hidden="true" data-part>${lead}</div>
<div id="demo-steps" data-part>${turns.slice(0, NEWEST).map((turn) => stepsOf(turn, now))}</div>
<form method="post" action="${SWITCH_PATH}" id="demo-switches" data-part><input type="hidden" name="back" value="${back}">${[...groups].map(([name, members]) => html`<fieldset><legend>${name}</legend>${members.map(button)}</fieldset>`)}</form>
<details id="demo-help"><summary>What each switch does, and what to watch</summary><dl>${[...board.switches].map(([name, { group, word, purpose }]) => html`<dt>${group}: ${word}</dt><dd id="demo-about-${name}">${purpose}</dd>`)}</dl></details></div>
</section>`;
}

function button([name, toggle]: [string, Switch]): Html {
  const isOn = toggle.isOn();
  return html`<button class="btn" id="demo-${name}" name="turn" value="${name}:${isOn ? 'off' : 'on'}" aria-pressed="${String(isOn)}" aria-describedby="demo-about-${name}">${isOn ? icon('stuck') : NOTHING}${toggle.word}</button>`;
}

function calm(isStory: boolean): Html {
  if (isStory)
    return html`<p><b>Demo.</b> A story runs in the terminal: it breaks the card page and mends it. <span class="rest">The whole product runs on this machine, around a simulated checkout service. Press a switch, and the story ends: then all is in your hands.</span></p>`;
  return html`<p><b>Demo.</b> Nothing is broken. Try <b>Break card page</b> first<span class="rest">: about 20 s later the incident opens on this page, and Slack’s message follows beside it. The whole product runs on this machine, around a simulated checkout service</span>.</p>`;
}

/** `At 14:01:58 you pressed Break card page: …`. */
function said({ name, toggle, isOn, at, by }: Turn, { isFirst, isStory }: { isFirst: boolean; isStory: boolean }): Html {
  const actor = by === 'person' ? 'you' : 'the story in the terminal';
  const done = isOn ? 'pressed' : 'released';
  const what = isOn ? toggle.says : toggle.saysAfter;
  const next = !isOn
    ? ''
    : isStory && by === 'story'
      ? ' The story mends it, or press the switch again.'
      : ' Press it again to end that.';
  return html`<p data-said-of="${name}">${isFirst ? html`<b>Demo.</b> ` : NOTHING}At ${clockTime(at)} ${actor} ${done} <b>${toggle.word}</b><span class="rest">: ${what}.${next}</span></p>`;
}

function stepsOf({ steps, toggle, at }: Turn, now: Instant): Html {
  if (steps.length === 0) return NOTHING;
  const waiting = steps.findIndex(({ happenedAt }) => happenedAt === null);
  return html`<ol aria-label="What follows ${toggle.word}">${steps.map((step, index) => stepOf(step, { at, now, isNext: index === waiting }))}</ol>`;
}

function stepOf(
  { words, expectedAt, happenedAt }: FollowedStep,
  { at, now, isNext }: { at: Instant; now: Instant; isNext: boolean },
): Html {
  if (happenedAt !== null)
    return html`<li class="done">${icon('ok')}<span>${words}: <span class="mute">${clockTime(happenedAt)}, after ${length(Math.max(happenedAt - at, 1_000))}</span></span></li>`;
  const left = expectedAt - now;
  const when = left >= 1_000 ? html`in about ${length(left)}` : html`any moment now`;
  return html`<li${isNext ? html` class="next"` : NOTHING}>${icon('waiting')}<span>${words}: <b>${when}</b></span></li>`;
}
