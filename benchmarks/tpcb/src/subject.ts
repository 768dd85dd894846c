// Who can be asked to run transactions: an engine with the tables filled, and one or several clients at a time.
import { seededRandom, WrongAnswerError } from '@blockwright/benchmark';
import { drawTpcb, type TpcbParameters, type TpcbSize, type TpcbSums } from '@blockwright/benchmark-workloads';

/** What a number of transactions took. */
export interface Sample {
  readonly committed: number;
  /** Times that a transaction was begun again, because a row was another client's. */
  readonly retries: number;
  /** Milliseconds of each transaction, from the first attempt to the commit. */
  readonly latenciesMs: Float64Array;
}

/** An engine with the tables. */
export interface TpcbSubject {
  readonly engine: string;
  readonly blockSize: number | null;
  readonly isPeer: boolean;
  /** Whether a commit waits for the disk. */
  readonly synchronous: boolean;
  readonly settings: Readonly<Record<string, unknown>>;
  /** The most clients that it was opened for. */
  readonly clients: number;
  /**
   * One attempt of client `client` at a transaction, commit included; gives the account's balance.
   * @throws Conflict when a row is another client's: the transaction was rolled back.
   */
  attempt(client: number, parameters: TpcbParameters): number | Promise<number>;
  sums(): TpcbSums | Promise<TpcbSums>;
  close(): void | Promise<void>;
}

/** A transaction met a row that is another client's. */
export class Conflict extends Error {}

/** What each engine was told to add to its accounts: rows begin at nothing. */
const balances = new WeakMap<TpcbSubject, Map<number, number>>();

function balancesOf(subject: TpcbSubject): Map<number, number> {
  let known = balances.get(subject);
  if (known === undefined) {
    known = new Map();
    balances.set(subject, known);
  }
  return known;
}

/** Runs transactions, shared out among clients, each beginning its next one when its last has committed. */
export class TpcbDriver {
  readonly subject: TpcbSubject;
  readonly clients: number;
  private readonly size: TpcbSize;
  private readonly random: () => number;

  constructor(subject: TpcbSubject, clients: number, size: TpcbSize, seed: number) {
    this.subject = subject;
    this.clients = clients;
    this.size = size;
    this.random = seededRandom(seed);
  }

  /** @throws WrongAnswerError when the account's balance is not the sum of all that was added to it. */
  private note({ aid, delta }: TpcbParameters, balance: number): void {
    const balances = balancesOf(this.subject);
    const expected = (balances.get(aid) ?? 0) + delta;
    if (balance !== expected)
      throw new WrongAnswerError(`${this.subject.engine} says ${balance} of account ${aid}, which has ${expected}`);
    balances.set(aid, expected);
  }

  async run(transactions: number): Promise<Sample> {
    const latenciesMs = new Float64Array(transactions);
    let begun = 0;
    let committed = 0;
    let retries = 0;
    const { subject, size, random } = this;
    const client = async (number: number): Promise<void> => {
      while (begun < transactions) {
        const at = begun++;
        const parameters = drawTpcb(random, size);
        const start = performance.now();
        for (;;) {
          try {
            this.note(parameters, await subject.attempt(number, parameters));
            break;
          } catch (error) {
            if (!(error instanceof Conflict)) throw error;
            retries++;
            await nextTurn();
          }
        }
        latenciesMs[at] = performance.now() - start;
        committed++;
      }
    };
    await Promise.all(Array.from({ length: this.clients }, (_, number) => client(number)));
    return { committed, retries, latenciesMs };
  }
}

/** Lets what others wait for arrive: their commits. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
