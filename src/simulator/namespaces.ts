/** All namespaces: the one without a name, and those that callers name in the address, `/ns/{name}/…`. */
import { SimulatorError } from './contract/error.ts';
import type { ControlParts } from './control/control.ts';
import { type OpenNamespace, openNamespace } from './namespace.ts';
import type { Settled } from './options.ts';

export interface Namespaces {
  readonly root: OpenNamespace;
  /** The namespace of a name; a name that is new begins one. Throws SimulatorError for what cannot be a name. */
  named(name: string): OpenNamespace;
  /** The namespace of a request and the path within; null when the path names none as it must. */
  find(url: string): { readonly path: string; namespace(): OpenNamespace } | null;
  /** From the one without a name on. */
  list(): OpenNamespace[];
  resetAll(): void;
  arrive(): void;
}

/** How many namespaces the simulator keeps besides the namespace without a name. */
const MOST_NAMESPACES = 1_000;
const NAME = '[\\w.-]{1,64}';
const IN_ADDRESS = new RegExp(`^/ns/(${NAME})(?=[/?]|$)(.*)$`);

/** Starts with the namespace without a name. */
export function createNamespaces(parts: { options: Settled; url: () => string; listener: ControlParts['listener'] }): Namespaces {
  const { options, url, listener } = parts;
  const root = openNamespace({ name: '', options, load: options.load, listener, url });
  /** The one that was called the longest time ago stands first. */
  const others = new Map<string, OpenNamespace>();

  function named(name: string): OpenNamespace {
    if (!new RegExp(`^${NAME}$`).test(name)) {
      const detail = 'cannot name a namespace; give 1 to 64 letters, digits, dots, dashes or underscores';
      throw new SimulatorError('invalid_request', detail, { field: 'namespace', value: name });
    }
    const known = others.get(name);
    const found = known ?? openNamespace({ name, options, load: 0, listener: null, url: () => `${url()}/ns/${name}` });
    others.delete(name);
    others.set(name, found);
    if (others.size > MOST_NAMESPACES) others.delete(others.keys().next().value as string);
    return found;
  }

  const list = (): OpenNamespace[] => [root, ...others.values()];
  return {
    root,
    named,
    find(address) {
      if (!address.startsWith('/ns/')) return { path: address, namespace: () => root };
      const [, name, rest] = IN_ADDRESS.exec(address) ?? [];
      if (name === undefined || rest === undefined) return null;
      return { path: rest.startsWith('/') ? rest : `/${rest}`, namespace: () => named(name) };
    },
    list,
    resetAll: () => {
      for (const { control } of list()) control.reset();
    },
    arrive: () => {
      for (const { arrive } of list()) arrive();
    },
  };
}
