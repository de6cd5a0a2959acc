/** Places for streams, of the event feed and of open pages: bounded in all, for each key, and for each session of the console. */
import type { Caller } from '../http/caller.ts';
import { Problem } from '../http/problems.ts';

const MOST = 1_000;
/** Pages that one person keeps open in a browser. */
const OF_SESSION = 30;

/** How many streams may be open at once with this many connections: a third of them is left to other calls, and half of the places to other keys. */
export function placeLimits(connections: number) {
  const most = Math.min(MOST, Math.floor((connections * 2) / 3));
  return { most, ofKey: Math.ceil(most / 2), ofSession: OF_SESSION };
}

export type StreamPlaces = ReturnType<typeof createStreamPlaces>;

/** No place is taken. Without keys there is one caller, who may have all places. */
export function createStreamPlaces({ most, ofKey, ofSession }: ReturnType<typeof placeLimits>) {
  /** Places taken, by the holder in words. */
  const taken = new Map<string, number>();
  return {
    /** Takes a place and answers a function that gives it back, once; the problem `too_many_streams` where there is none. */
    take: ({ key, session }: Caller): (() => void) | Problem => {
      const holders: [holder: string, most: number][] = [['', most]];
      if (key !== null) holders.push([` of the key ${key}`, ofKey]);
      if (session !== undefined) holders.push([` of the session ses_${session}`, ofSession]);
      const full = holders.find(([holder, limit]) => (taken.get(holder) ?? 0) >= limit);
      if (full !== undefined) return tooMany(...full);
      for (const [holder] of holders) taken.set(holder, (taken.get(holder) ?? 0) + 1);
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        for (const [holder] of holders) {
          const left = taken.get(holder)! - 1;
          if (left > 0) taken.set(holder, left);
          else taken.delete(holder);
        }
      };
    },
  };
}

function tooMany(holder: string, limit: number): Problem {
  const detail = `${limit} streams${holder} are open here, the most there may be; close some, or read GET /v1/events?wait=30s.`;
  return new Problem('too_many_streams', detail, { headers: { 'retry-after': '30' } });
}
