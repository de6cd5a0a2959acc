/** The simulator as programs start it. */
import type { Control } from './control.ts';
import type { Site } from './purchases.ts';

export interface SimulatorOptions {
  /** 0, the default, is any free port; it stays the same over `down` and `up`. */
  readonly port?: number | undefined;
  /** `127.0.0.1` unless given. Every program that reaches the simulator can control it. */
  readonly host?: string | undefined;
  /** Names with a dot under which programs call the simulator; a call by another such name may come from a web page, and is refused. */
  readonly allowHosts?: readonly string[] | undefined;
  /** The same seed makes the same purchases, ids included; drawn unless given. */
  readonly seed?: number | undefined;
  /** How much faster than life purchases go; at 60 a minute is a second. */
  readonly timeScale?: number | undefined;
  /** New purchases per minute. */
  readonly load?: number | undefined;
  /** Epoch milliseconds, instead of the system's clock; `latency` and the timing of faults on the wire do not follow it. */
  readonly now?: (() => number) | undefined;
  /** The authorization that the service accepts; `both` unless given. */
  readonly auth?: 'oauth2' | 'basic' | 'both' | undefined;
  /** `demo-client` unless given. */
  readonly clientId?: string | undefined;
  /** `demo-secret` unless given. */
  readonly clientSecret?: string | undefined;
  /** Seconds; an hour unless given. */
  readonly tokenLifetime?: number | undefined;
  /** How the token answer gives its lifetime. */
  readonly expiresIn?: 'number' | 'string' | 'absent' | undefined;
  /** The merchant accounts; a time zone that is missing is Europe/Stockholm. */
  readonly sites?: readonly (Omit<Site, 'timeZone'> & { readonly timeZone?: string | undefined })[] | undefined;
  /** How many purchases each namespace keeps; beyond that number the simulator forgets the oldest finished purchases. */
  readonly keep?: number | undefined;
}

/** All options, each with a value. */
export type Settled = { readonly [Name in keyof Omit<SimulatorOptions, 'sites'>]-?: NonNullable<SimulatorOptions[Name]> } & {
  readonly sites: readonly Site[];
};

/** A service of its own within the simulator: purchases, tokens, faults, counters and a clock that no other namespace sees. */
export interface Namespace {
  /** The base address for a client of the service, without a slash at the end. */
  readonly url: string;
  readonly control: Control;
}

/** A running simulator; its own `url` and `control` are those of the namespace without a name. */
export interface RunningSimulator extends Namespace {
  readonly clientId: string;
  readonly clientSecret: string;
  /** A namespace by its name: 1 to 64 letters, digits, dots, dashes and underscores. It begins empty when it is first named. */
  namespace(name: string): Namespace;
  /** Resets every namespace. */
  resetAll(): void;
  /** Ends at once, whatever is still being answered. */
  stop(): Promise<void>;
}
