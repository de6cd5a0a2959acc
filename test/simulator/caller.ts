/** A running simulator with a held clock, and a merchant who calls it over real HTTP. */
import { Agent, type Dispatcher, request } from 'undici';
import { onTestFinished } from 'vitest';
import { createSimulator, type Simulator, type SimulatorOptions } from '../../packages/simulator/src/simulator.ts';

/** A summer morning: Stockholm is two hours ahead of UTC. */
export const START = Date.UTC(2026, 6, 1, 8, 0, 0, 123);

export interface Caller {
  readonly simulator: Simulator;
  readonly control: Simulator['control'];
  /** Lets the clock move on by so many seconds. */
  pass(seconds: number): void;
  call(
    path: string,
    options?: Partial<Dispatcher.RequestOptions>,
  ): Promise<{ status: number; headers: Record<string, unknown>; text: string }>;
  token(fields?: Record<string, string>): ReturnType<Caller['call']>;
  /** GetPaymentStatus with a token of its own. */
  status(purchaseId: string): ReturnType<Caller['call']>;
  invoice(purchaseId: string): ReturnType<Caller['call']>;
  /** The state that GetPaymentStatus shows. */
  state(purchaseId: string): Promise<number>;
  /** A control over HTTP. */
  steer(path: string, wish?: unknown): ReturnType<Caller['call']>;
}

/** Starts it; it stops with the test. */
export async function startCaller(options: SimulatorOptions = {}): Promise<Caller> {
  let now = START;
  const simulator = createSimulator({ now: () => now, ...options });
  await simulator.start();
  const dispatcher = new Agent({ connections: 32 });
  onTestFinished(async () => {
    await dispatcher.destroy();
    await simulator.stop();
  });

  const json = { 'content-type': 'application/json' };
  let bearer: string | null = null;
  const caller: Caller = {
    simulator,
    control: simulator.control,
    pass: (seconds) => {
      now += seconds * 1_000;
    },
    async call(path, request_ = {}) {
      const answer = await request(`${simulator.url}${path}`, { dispatcher, method: 'GET', ...request_ } as object);
      return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
    },
    token: (fields = {}) =>
      caller.call('/oauth2/token', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({
          client_id: 'demo-client',
          client_secret: 'demo-secret',
          grant_type: 'client_credentials',
          ...fields,
        }).toString(),
      }),
    status: (purchaseId) => operation('GetPaymentStatus', purchaseId),
    invoice: (purchaseId) => operation('GetInvoiceDetails', purchaseId),
    async state(purchaseId) {
      return JSON.parse((await caller.status(purchaseId)).text).State;
    },
    steer: (path, wish) =>
      wish === undefined
        ? caller.call(`/control${path}`)
        : caller.call(`/control${path}`, { method: 'POST', headers: json, body: JSON.stringify(wish) }),
  };
  async function operation(name: string, purchaseId: string) {
    bearer ??= JSON.parse((await caller.token()).text).access_token as string;
    const headers = { ...json, authorization: `Bearer ${bearer}` };
    return caller.call(`/CheckOut2Api/${name}`, { method: 'POST', headers, body: JSON.stringify({ PurchaseId: purchaseId }) });
  }
  return caller;
}
