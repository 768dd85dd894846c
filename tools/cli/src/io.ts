// What the command sees of the world, so that a test can stand in for a terminal, a pipe or a signal.
import type { Writable } from 'node:stream';
import { ClosedPipe, CommandFailure } from './failures.ts';

/** A stream to print on, with what is known of the terminal behind it. */
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** The surroundings of one run of the command. */
export interface Io {
  /** Results. */
  readonly stdout: OutputStream;
  /** Progress, messages and errors. */
  readonly stderr: OutputStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted by Ctrl-C: the command then stops at the next block boundary. */
  readonly signal: AbortSignal;
}

/** Bytes collected before they go to the stream: one system call for many rows. */
const BUFFER_BYTES = 65536;

/**
 * Collected writes to one stream. `write` never waits; `flush` waits until the reader has taken what was written, so
 * a producer that awaits it now and then never runs ahead of a slow reader by more than what it wrote in between.
 */
export class Printer {
  readonly #stream: OutputStream;
  readonly #bufferBytes: number;
  #parts: string[] = [];
  #collected = 0;
  #failure: Error | undefined;
  #drained: Promise<void> | undefined;

  /** `bufferBytes` 0: every write goes out at once. */
  constructor(stream: OutputStream, bufferBytes: number = BUFFER_BYTES) {
    this.#stream = stream;
    this.#bufferBytes = bufferBytes;
    stream.on('error', (error: NodeJS.ErrnoException) => {
      this.#failure ??= isClosedPipe(error)
        ? new ClosedPipe('the reader of the output has gone')
        : new CommandFailure(`could not write the output: ${error.message}`);
    });
  }

  /** @throws ClosedPipe when the reader has gone. */
  write(text: string): void {
    if (this.#failure !== undefined) throw this.#failure;
    this.#parts.push(text);
    this.#collected += text.length;
    if (this.#collected >= this.#bufferBytes) this.send();
  }

  line(text = ''): void {
    this.write(`${text}\n`);
  }

  /** Whether enough has been written that the producer should `flush` before it goes on. */
  get isFull(): boolean {
    return this.#drained !== undefined;
  }

  /** @throws ClosedPipe when the reader has gone. */
  async flush(): Promise<void> {
    this.send();
    await this.#drained;
    this.#drained = undefined;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Hands what is collected to the stream, without waiting. */
  send(): void {
    if (this.#parts.length === 0 || this.#failure !== undefined) return;
    const text = this.#parts.join('');
    this.#parts = [];
    this.#collected = 0;
    // Resolved by the write's own callback: it comes for a failed write too, while 'drain' does not.
    const written = new Promise<void>((resolve) => this.#stream.write(text, () => resolve()));
    const before = this.#drained;
    this.#drained = before === undefined ? written : before.then(() => written);
  }
}

function isClosedPipe(error: NodeJS.ErrnoException): boolean {
  return error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED' || error.code === 'ERR_STREAM_WRITE_AFTER_END';
}
