/** All namespaces: the one without a name, and those that callers name in the address, `/ns/{name}/…`. */
import { SimulatorError } from './contract/error.ts';
import type { Settled } from './contract/simulator.ts';
import type { Parts } from './control/control.ts';
import { type OpenNamespace, openNamespace } from './namespace.ts';

interface Known {
  readonly namespace: OpenNamespace;
  /** The address that began the namespace; null once this process has asked for it, which then holds it. */
  caller: string | null;
  calledAt: number;
}

/** How many namespaces the simulator keeps besides the namespace without a name. */
const MOST_NAMESPACES = 1_000;
/** How many of them one address may begin. */
const MOST_PER_CALLER = 500;
/** A namespace without a call for so long makes room for a new one. */
const IDLE_MS = 60_000;
/** A namespace without a call for so long is forgotten in any case. */
const UNUSED_MS = 3_600_000;
const NAME = '[\\w.-]{1,64}';
const IN_ADDRESS = new RegExp(`^/ns/(${NAME})(?=[/?]|$)(.*)$`);

/** Starts with the namespace without a name. `elapsed`: milliseconds of a clock that nothing sets; the process's own unless given. */
export function createNamespaces({
  options,
  url,
  listener,
  elapsed = () => performance.now(),
}: { readonly options: Settled; readonly elapsed?: () => number } & Pick<Parts, 'url' | 'listener'>) {
  const root = openNamespace({ name: '', options, load: options.load, listener, url });
  /** The one that was called the longest time ago stands first. */
  const others = new Map<string, Known>();

  /** Throws SimulatorError when even the namespace that was called the longest time ago is in use. */
  function makeRoom(most: number, candidates: readonly Known[], refusal: string): void {
    if (candidates.length < most) return;
    const oldest = candidates.find(({ caller }) => caller !== null);
    if (oldest === undefined || elapsed() - oldest.calledAt < IDLE_MS) throw tooMany(refusal);
    others.delete(oldest.namespace.name);
  }

  function begin(name: string, caller: string | null): OpenNamespace {
    if (caller === null) {
      if (others.size >= MOST_NAMESPACES) others.delete(others.keys().next().value as string);
    } else {
      const all = [...others.values()];
      const own = all.filter((known) => known.caller === caller);
      makeRoom(MOST_PER_CALLER, own, `${MOST_PER_CALLER} namespaces of this address are in use, the most for one address`);
      makeRoom(MOST_NAMESPACES, all, `${MOST_NAMESPACES} namespaces are in use, the most that the simulator keeps`);
    }
    return openNamespace({ name, options, load: 0, listener: null, url: () => `${url()}/ns/${name}` });
  }

  function called(name: string, caller: string | null): OpenNamespace {
    const known = others.get(name) ?? { namespace: begin(name, caller), caller, calledAt: 0 };
    known.calledAt = elapsed();
    if (caller === null) known.caller = null;
    others.delete(name);
    others.set(name, known);
    return known.namespace;
  }

  const list = (): OpenNamespace[] => [root, ...others.values().map(({ namespace }) => namespace)];
  return {
    root,
    /**
     * The namespace of a name, for this process; a name that is new begins one, and the one that was called the longest time ago
     * makes room. Throws SimulatorError for what cannot be a name.
     */
    named(name: string): OpenNamespace {
      if (new RegExp(`^${NAME}$`).test(name)) return called(name, null);
      const detail = 'cannot name a namespace; give 1 to 64 letters, digits, dots, dashes or underscores';
      throw new SimulatorError('invalid_request', detail, { field: 'namespace', value: name });
    },
    /**
     * The namespace of a request and the path within; null when the path names none as it must. `namespace` throws SimulatorError
     * when the name is new and the caller, an address, or all callers together use too many.
     */
    find(address: string): { readonly path: string; namespace(caller: string): OpenNamespace } | null {
      if (!address.startsWith('/ns/')) return { path: address, namespace: () => root };
      const [, name, rest] = IN_ADDRESS.exec(address) ?? [];
      if (name === undefined || rest === undefined) return null;
      return { path: rest.startsWith('/') ? rest : `/${rest}`, namespace: (caller) => called(name, caller) };
    },
    /** From the one without a name on. */
    list,
    resetAll: (): void => {
      for (const { control } of list()) control.reset();
    },
    /** Lets the customers of the load arrive who are due by now, and frees namespaces that no caller uses any more. */
    arrive: (): void => {
      root.arrive();
      for (const [name, { namespace, caller, calledAt }] of others) {
        if (caller !== null && elapsed() - calledAt >= UNUSED_MS) others.delete(name);
        else namespace.arrive();
      }
    },
  };
}

function tooMany(detail: string): SimulatorError {
  const cure = `use a name again after a reset, or wait: a namespace that was not called for ${IDLE_MS / 1_000} s makes room for a new one`;
  return new SimulatorError('too_many_namespaces', `${detail}; ${cure}`);
}
