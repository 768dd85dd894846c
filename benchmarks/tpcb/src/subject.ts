// Who can be asked to run transactions: an engine with the tables filled, and one or several clients at a time.
import { seededRandom } from '@blockwright/benchmark';
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
            await subject.attempt(number, parameters);
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
