// The printer over streams that are slow, gone or full.
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { ClosedPipe, CommandFailure } from '../src/failures.ts';
import { Printer } from '../src/io.ts';

/** A stream that takes each write when it is told to. */
class Slow extends Writable {
  taken = '';
  #pending: (() => void)[] = [];
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#pending.push(() => {
      this.taken += chunk.toString();
      done();
    });
  }
  take(): void {
    this.#pending.shift()?.();
  }
}

/** A stream whose writes fail. */
function failing(code: string): Writable {
  return new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error(`${code}: it failed`), { code })),
  });
}

test('small writes are collected, and go out with flush', async () => {
  const stream = new Slow();
  const printer = new Printer(stream);
  printer.write('a');
  printer.line('b');
  expect(printer.isFull).toBe(false);
  const flushed = printer.flush();
  stream.take();
  await flushed;
  expect(stream.taken).toBe('ab\n');
});

test('flush waits until the reader has taken everything', async () => {
  const stream = new Slow();
  const printer = new Printer(stream, 4);
  printer.write('12345');
  printer.write('67890');
  expect(printer.isFull).toBe(true);
  let isDone = false;
  const flushed = printer.flush().then(() => {
    isDone = true;
  });
  stream.take();
  await new Promise((resolve) => setImmediate(resolve));
  expect([isDone, stream.taken]).toEqual([false, '12345']);
  stream.take();
  await flushed;
  expect([isDone, stream.taken, printer.isFull]).toEqual([true, '1234567890', false]);
});

test.each(['EPIPE', 'ERR_STREAM_DESTROYED'])('%s is a closed pipe, now and at every later write', async (code) => {
  const printer = new Printer(failing(code), 1);
  printer.write('x');
  await expect(printer.flush()).rejects.toBeInstanceOf(ClosedPipe);
  expect(() => printer.write('y')).toThrow(ClosedPipe);
});

test('a full disk behind stdout is a failure with words', async () => {
  const printer = new Printer(failing('ENOSPC'));
  printer.write('x');
  const failure = await printer.flush().catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(CommandFailure);
  expect((failure as Error).message).toBe('could not write the output: ENOSPC: it failed');
});
