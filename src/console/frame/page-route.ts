/** A page: an address, the scope that it needs, and the function that answers it. */
import type { Caller } from '../../api/http/caller.ts';
import type { Scope } from '../../config/kinds/key-kinds.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { ApiCalls } from './api-calls.ts';
import type { View } from './page.ts';

/** The request for a page: its caller, address and form, with the API to answer it from. */
export interface Ask {
  readonly api: ApiCalls;
  readonly caller: Caller;
  /** Whether the person may change something; a page shows its buttons only then. */
  readonly mayOperate: boolean;
  readonly mayRegister: boolean;
  /** Path below which the console lies: every link of a page begins with it. */
  readonly base: string;
  /** The daemon's address as the person reached it, for examples to copy. */
  readonly origin: string;
  /** The address that the settings name, to which messages link; null: messages have no links. */
  readonly consoleUrl: string | null;
  /** Parts of the address, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  /** Fields of a form that was posted; empty for a page that is read. */
  readonly form: Readonly<Record<string, string>>;
  readonly now: Instant;
}

/** After something was done: where the person goes on, with what was done as `done` in its query. */
export interface GoOn {
  readonly goTo: string;
}

export interface PageRoute {
  readonly method: 'GET' | 'POST';
  /** With parameters as `:name`. */
  readonly path: string;
  /** Asked before anything is read; the API asks again for each call. */
  readonly scope: Scope;
  /** Bytes that a form may have where it takes many lines. */
  readonly largestForm?: number;
  /** The page shows which session is the browser's own, so its answer is for no other browser. */
  readonly isOfSession?: boolean;
  answer(ask: Ask): Promise<View | GoOn>;
}

/** A page that is read. */
export function page(path: string, answer: PageRoute['answer']): PageRoute {
  return { method: 'GET', path, scope: 'read', answer };
}

/** A page to which a form posts. */
export function action(path: string, answer: PageRoute['answer'], scope: Scope = 'operate'): PageRoute {
  return { method: 'POST', path, scope, answer };
}
