/** What people may be told, and must have been told at rest: from the contract, "Slack", and docs/alerts.md. */
import { type Excuse, type Facts, type Got, has, type Model, stayOf } from './model.ts';
import type { Row } from './model-rest.ts';

/** A message as Slack shows it. */
export interface Said {
  readonly at: number;
  readonly text: string;
  /** Whether Slack shows it; it may have answered otherwise. */
  readonly accepted: boolean;
}

/** What is said first of how everything is. */
export interface Headline {
  readonly needs: readonly { readonly kind: string; readonly text: string }[];
}

interface Incident {
  readonly kind: string;
  /** In which customers are stuck. */
  readonly states: readonly number[];
  isOpen: boolean;
}

interface IncidentData {
  readonly incidentId: string;
  readonly kind: string;
  readonly parts?: readonly { readonly state: { readonly value: number } }[];
}

/** A checkout that people were told of by itself. */
interface Named {
  readonly purchaseId: string;
  readonly since: string;
}

/** Takes what a channel for systems that page people is sent, in the order in which it took it first. */
export class People {
  readonly problems: string[] = [];
  readonly incidents = new Map<string, Incident>();
  /** Checkouts that were named as stuck, and whether their end was told. */
  readonly named = new Map<string, { isOver: boolean }>();
  /** Everything that people were alerted of, by the id of its event. */
  readonly events = new Map<string, { readonly type: string; readonly data: Readonly<Record<string, unknown>> }>();
  /** Checkouts that were named as stuck in a state that could be read. */
  readonly #namedStuck = new Set<string>();
  readonly #facts: Facts;
  readonly #model: Model;

  constructor(facts: Facts, model: Model) {
    this.#facts = facts;
    this.#model = model;
  }

  got({ id, body, accepted }: Got): void {
    if (!accepted || this.events.has(id)) return;
    const { type, data } = JSON.parse(body) as { type: string; data: Readonly<Record<string, unknown>> };
    this.events.set(id, { type, data });
    const wrong = (fault: string): void => {
      if (!this.#isForgetful()) this.problems.push(`people: ${id} (${type}) ${fault}`);
    };
    if (type === 'incident.checkouts') this.#checkouts(data as never, wrong);
    else if ('incidentId' in data) this.#incident(type, data as never, wrong);
  }

  readonly #has = (kind: Excuse['kind']): boolean => has(this.#facts.excuses, kind);
  /** Whether the database lost of what it had people told. */
  readonly #isForgetful = (): boolean => this.#has('went back') || this.#has('erased');

  #incident(type: string, { incidentId, kind, parts = [] }: IncidentData, wrong: (fault: string) => void): void {
    const known = this.incidents.get(incidentId);
    if (type === 'incident.opened') {
      if (known !== undefined) wrong(`opens ${incidentId} for the second time`);
      const states = parts.map(({ state }) => state.value);
      // From then on only the whole alerts people.
      for (const [id, part] of this.incidents) {
        const isPart = part.states.length < states.length && part.states.every((state) => states.includes(state));
        if (isPart && part.isOpen && part.kind === kind) this.incidents.delete(id);
      }
      this.incidents.set(incidentId, { kind, isOpen: true, states });
      // A site that one daemon names is asked by that daemon alone.
      const isOneAlone = this.#facts.excuses.some((each) => each.kind === 'disturbed' && each.by.endsWith('settings'));
      if (kind === 'unreachable' && !this.#has('spoiled') && !this.#has('blind') && !isOneAlone)
        wrong(`opens ${incidentId}, and the service answered always`);
      return;
    }
    if (known === undefined) {
      wrong(`is about ${incidentId}, which never opened`);
      return;
    }
    if (type === 'incident.acknowledged') return;
    if (known.isOpen === (type === 'incident.reopened')) wrong(`came, and ${incidentId} ${known.isOpen ? 'is open' : 'is over'}`);
    known.isOpen = type !== 'incident.ended';
  }

  #checkouts(
    { stuck, over }: { stuck: readonly (Named & { unreadable: unknown })[]; over: readonly (Named & { outcome: string })[] },
    wrong: (fault: string) => void,
  ): void {
    for (const { purchaseId, since, unreadable } of stuck) {
      const key = stayOf(this.#facts, purchaseId, since);
      if (this.named.has(key) && !this.named.get(key)!.isOver) wrong(`names ${purchaseId} for the second time`);
      if (unreadable === null) this.#namedStuck.add(key);
      this.named.set(key, { isOver: false });
    }
    for (const { purchaseId, since } of over) {
      const key = stayOf(this.#facts, purchaseId, since);
      const named = this.named.get(key);
      // One that was named within an incident may end in a message of its own.
      if (named === undefined) wrong(`ends ${purchaseId} since ${since}, which was not named`);
      else if (named.isOver) wrong(`ends ${purchaseId} since ${since} for the second time`);
      this.named.set(key, { isOver: true });
    }
  }

  /** What is wrong with the headline at rest: it asks for somebody exactly when somebody is stuck, or an incident is open. */
  headline({ needs }: Headline, rows: readonly Row[]): string[] {
    const stuck = rows.filter(({ isStuck }) => isStuck).length;
    const hasNeed = needs.some(({ kind }) => kind === 'incident' || kind === 'stuck');
    if (stuck > 0 && !hasNeed) return [`the headline needs nobody, and ${stuck} are stuck`];
    const others = needs.filter(({ kind }) => {
      // Somebody has to look after what is lost.
      if (this.#isForgetful() && (kind === 'database' || kind === 'incident')) return false;
      return stuck === 0 || (kind !== 'incident' && kind !== 'stuck');
    });
    return others.map(({ kind, text }) => `the headline needs somebody (${kind}: ${text}) at rest`);
  }

  /** States in which customers have to get on before the incident of those who were stuck can end. */
  openStates(): number[] {
    const open = [...this.incidents.values()].filter(({ kind, isOpen }) => kind === 'stuck' && isOpen);
    return [...new Set(open.flatMap(({ states }) => states))];
  }

  /** What people have not been told at rest: who is stuck, who is so no more, and that no trouble is left. */
  missing(rows: readonly Row[], said: readonly Said[], stored: ReadonlySet<string>): string[] {
    const problems: string[] = [];
    if (this.#isForgetful()) return problems;
    for (const id of this.events.keys()) if (!stored.has(id)) problems.push(`people: ${id} came, and is not stored`);
    // Receivers that were away hear later than people of who is stuck.
    for (const key of this.#namedStuck)
      if (!this.#model.stuck.has(key)) problems.push(`people: ${key} was named as stuck, and no receiver was told so`);
    for (const [id, { kind }] of this.incidents)
      if (kind === 'stuck' && this.#model.stuck.size < 2)
        problems.push(`people: ${id} opened, and ${this.#model.stuck.size} were ever stuck`);
    if (this.#has('silenced')) return problems;
    const isAlarmed = [...this.incidents.values()].some(({ kind, isOpen }) => kind === 'stuck' && isOpen);
    const stuck = rows.filter(({ isStuck }) => isStuck);
    const keys = new Set(stuck.map(({ purchaseId, since }) => stayOf(this.#facts, purchaseId, since)));
    for (const key of keys) if (!isAlarmed && !this.named.has(key)) problems.push(`people: nobody was told that ${key} is stuck`);
    for (const [key, { isOver }] of this.named)
      if (!isOver && !isAlarmed && !keys.has(key)) problems.push(`people: nobody was told that ${key} is over`);
    for (const [id, { kind, isOpen }] of this.incidents)
      if (isOpen && (kind !== 'stuck' || stuck.length === 0)) problems.push(`people: ${id} (${kind}) is still open`);
    const shown = said.filter(({ accepted }) => accepted);
    for (const [id, { isOpen, kind }] of this.incidents) {
      // What daemons say of themselves while they cannot write names no incident.
      if (kind === 'replica') continue;
      const about = shown.filter(({ text }) => text.includes(id));
      if (about.length === 0) problems.push(`Slack: nothing about ${id}`);
      // The message about an end names no incident.
      else if (!isOpen && !shown.some(({ at, text }) => at >= about[0]!.at && text.includes('✅')))
        problems.push(`Slack: nothing about the end of ${id}`);
    }
    for (const key of this.named.keys()) {
      const id = key.split(' ')[0]!;
      if (!shown.some(({ text }) => text.includes(id))) problems.push(`Slack: nothing about ${id}`);
    }
    return problems;
  }
}
