// COPY … FROM STDIN over a connection of `pg`, which knows the messages but has no call for it. One statement for all
// the rows: a COPY that ends leaves pages behind that it had extended the table by and not filled.
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';

/** The part of `pg`'s connection that is used here. */
interface Connection {
  readonly stream: Duplex;
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(message: string): void;
}

const CHUNKS_A_TURN = 8;

/** Something to give to `pg`'s `client.query()`. `done` is fulfilled when the server has taken all. */
export class CopyIn {
  readonly done: Promise<void>;
  private readonly text: string;
  private readonly chunks: Iterable<Uint8Array>;
  private settled = false;
  /** What went wrong on our side, if so: the server answers it with an error of its own. */
  private failure: unknown;
  private resolve: () => void = () => {};
  private reject: (error: unknown) => void = () => {};

  constructor(text: string, chunks: Iterable<Uint8Array>) {
    this.text = text;
    this.chunks = chunks;
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  submit(connection: Connection): void {
    connection.query(this.text);
  }

  handleCopyInResponse(connection: Connection): void {
    void this.send(connection);
  }

  private async send(connection: Connection): Promise<void> {
    try {
      let sent = 0;
      for (const chunk of this.chunks) {
        if (this.settled) return;
        connection.sendCopyFromChunk(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)); // it copies
        if (connection.stream.writableNeedDrain) {
          await Promise.race([once(connection.stream, 'drain'), this.done]);
        } else if (++sent % CHUNKS_A_TURN === 0) {
          await setImmediate(); // room for the server's answer, and for signals
        }
      }
      if (!this.settled) connection.endCopyFrom();
    } catch (error) {
      if (this.settled) return;
      this.failure = error;
      connection.sendCopyFail('the rows could not be made');
    }
  }

  handleError(error: Error): void {
    this.settled = true;
    this.reject(this.failure ?? error);
  }

  handleReadyForQuery(): void {
    this.settled = true;
    this.resolve();
  }

  handleCommandComplete(): void {}
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleEmptyQuery(): void {}
}
