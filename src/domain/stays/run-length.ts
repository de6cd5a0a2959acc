/**
 * How sure a detector is: after how many stays on average it raises an alarm, and how high its threshold must be so that
 * false alarms stay as rare as promised. Computed, so that it holds for any usual share. Pure.
 */

const BASE = { p0: 0.05, p1: 0.25, threshold: 6 };
/** How much likelier, in odds, a stuck stay is on a broken page. */
const ODDS_RATIO = oddsOf(BASE.p1) / oddsOf(BASE.p0);
/** Above this, stuck stays say too little of a page. */
const MOST_USUAL = 0.4;
/** Thresholds are tried in steps of a tenth. */
const STEPS = 10;
/** 7 % is not 8 % because 0.07 × 100 is a little above 7. */
const ROUNDING_ERROR = 1e-9;
/** A probability that is so small no longer matters. */
const NEGLIGIBLE = 1e-15;

/** The logarithms of the likelihood ratios. */
function weightsOf(p0: number, p1: number): { gain: number; loss: number } {
  return { gain: Math.log(p1 / p0), loss: Math.log((1 - p0) / (1 - p1)) };
}

/**
 * After how many stays on average the alarm comes, of which `share` are stuck independently of each other, from score 0.
 *
 * Exact, without a grid: a score that left 0 by i stuck stays and j good ones since is i × gain − j × loss, and such a pair is
 * passed at most once before the score is back at 0 or the alarm is raised. The sum of the probabilities of the pairs is how long
 * such an excursion lasts; alarms are as rare as excursions that end with one.
 */
export function averageRunLength({ share, p0, p1, threshold }: { share: number } & typeof BASE): number {
  const { gain, loss } = weightsOf(p0, p1);
  let stays = 1;
  let alarms = 0;
  // Probabilities of the pairs with i stuck stays, by j from `first` on. Before the first stuck stay: the step up from 0.
  let before = { first: 0, passed: [1] };
  for (let i = 1; ; i++) {
    const passed: number[] = [];
    let first = before.first;
    let mass = 0;
    let good = 0;
    for (let j = before.first; i * gain - j * loss > 0; j++) {
      const up = share * (before.passed[j - before.first] ?? 0);
      if (i * gain - j * loss >= threshold) {
        alarms += up;
        first = j + 1;
        continue;
      }
      good = up + (1 - share) * good;
      passed.push(good);
      mass += good;
    }
    stays += mass;
    if (mass < NEGLIGIBLE) return stays / alarms;
    before = { first, passed };
  }
}

const FALSE_ALARM_EVERY = averageRunLength({ share: BASE.p0, ...BASE });
const detectors = new Map<number, ReturnType<typeof newDetector>>();

/**
 * The detector for a usual share: the base one up to 5 % and while nothing is known (null). Above, the share (rounded up to a whole
 * percent, 40 at most) is compared with one of the same odds ratio, and the threshold is the lowest that keeps false alarms at least as
 * rare.
 */
export function detectorFor(usualShare: number | null) {
  const percent = Math.ceil(Math.min(usualShare ?? 0, MOST_USUAL) * 100 - ROUNDING_ERROR);
  const p0 = Math.max(BASE.p0, percent / 100);
  const detector = detectors.get(p0) ?? newDetector(p0);
  detectors.set(p0, detector);
  return detector;
}

/**
 * A cumulative sum over stuck and good stays: `p0` is the share of stuck stays that is taken for usual, `p1` that of a broken page;
 * `gain` is what a stuck stay adds to the score, `loss` what a good one takes away; a score of `threshold` raises the alarm. One false
 * alarm in about `falseAlarmEvery` stays, where `p0` of them are stuck though nothing is wrong.
 */
function newDetector(p0: number) {
  const p1 = p0 === BASE.p0 ? BASE.p1 : shareOf(oddsOf(p0) * ODDS_RATIO);
  const every = (threshold: number): number => averageRunLength({ share: p0, p0, p1, threshold });
  let threshold = BASE.threshold;
  while (every(threshold) < FALSE_ALARM_EVERY) threshold = Math.round(threshold * STEPS + 1) / STEPS;
  return { p0, p1, ...weightsOf(p0, p1), threshold, falseAlarmEvery: twoDigits(every(threshold)) };
}

/** After how many stays on average so many stuck ones follow each other. */
export function averageUntilInARow(share: number, inARow: number): number {
  return (1 - share ** inARow) / ((1 - share) * share ** inARow);
}

/** The plain rule: so many customers in a row. */
const IN_A_ROW = 2;

/** How many stuck in a row are as rare at this usual share as two are at 5 %. */
export function customersInARow(usualShare: number | null): number {
  const { p0 } = detectorFor(usualShare);
  let inARow = IN_A_ROW;
  while (averageUntilInARow(p0, inARow) < averageUntilInARow(BASE.p0, IN_A_ROW)) inARow += 1;
  return inARow;
}

function oddsOf(share: number): number {
  return share / (1 - share);
}

function shareOf(odds: number): number {
  return odds / (1 + odds);
}

/** 5 585 → 5 600. */
function twoDigits(value: number): number {
  return Number(value.toPrecision(2));
}
