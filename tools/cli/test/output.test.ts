import { StorageError } from '@blockwright/base';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ClosedPipe, CommandFailure, Interrupted, UsageError } from '../src/failures.ts';
import { colorsFor } from '../src/output/colors.ts';
import { printable, tellError } from '../src/output/errors.ts';
import { formatBytes, formatCount, formatDuration } from '../src/output/format.ts';
import { toJson } from '../src/output/json.ts';
import { progressLine } from '../src/output/progress.ts';
import { copyField, csvField, type RowFormat, rowPrinter } from '../src/output/rows.ts';
import { formatTable } from '../src/output/table.ts';

const plain = colorsFor(process.stdout, { NO_COLOR: '1' });
const text = (value: unknown) => String(value);

describe('rows', () => {
  test.each([
    ['', '', '""'],
    ['a', 'a', 'a'],
    ['a,b', 'a,b', '"a,b"'],
    ['say "x"', 'say "x"', '"say ""x"""'],
    ['a\nb', 'a\\nb', '"a\nb"'],
    ['a\rb', 'a\\rb', '"a\rb"'],
    ['a\tb', 'a\\tb', 'a\tb'],
    ['a\\b', 'a\\\\b', 'a\\b'],
    ['\b\f\v\u0001', '\\b\\f\\v\u0001', '\b\f\v\u0001'],
    [' a ', ' a ', ' a '],
    ['\\N', '\\\\N', '\\N'],
    ['é€😀', 'é€😀', 'é€😀'],
  ])('the field %j is %j in COPY text and %j in CSV', (value, copy, csv) => {
    expect(copyField(value)).toBe(copy);
    expect(csvField(value, false)).toBe(csv);
  });

  test('a lone \\. is quoted in CSV, since it could be read as the end of the data', () => {
    expect(csvField('\\.', true)).toBe('"\\."');
    expect(csvField('\\.', false)).toBe('\\.');
  });

  test('null is the empty field in CSV, \\N in COPY text, null in JSON', () => {
    const columns = [
      { name: 'a', toText: text },
      { name: 'b,c', toText: text },
    ];
    const row = [null, ''];
    const of = (format: RowFormat) => rowPrinter(format, columns);
    expect(of('csv').header() + of('csv').row(row)).toBe('a,"b,c"\n,""\n');
    expect(of('copy').header() + of('copy').row(row)).toBe('a\tb,c\n\\N\t\n');
    expect(of('jsonl').header() + of('jsonl').row(row)).toBe('{"a":null,"b,c":""}\n');
  });

  test('JSON Lines keep the order of the columns, whatever their names', () => {
    const columns = ['b', '10', '2', '__proto__', 'a"'].map((name) => ({ name, toText: text }));
    const line = rowPrinter('jsonl', columns).row([1n, true, Number.NaN, new Uint8Array([1]), 'x\n']);
    expect(line).toBe('{"b":"1","10":true,"2":"NaN","__proto__":"\\\\x01","a\\"":"x\\n"}\n');
  });

  test('a table without columns prints an empty line a row', () => {
    expect(rowPrinter('csv', []).row([])).toBe('\n');
    expect(rowPrinter('copy', []).row([])).toBe('\n');
    expect(rowPrinter('jsonl', []).row([])).toBe('{}\n');
  });

  test('COPY text read back by the rules of COPY FROM is what was written', () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.string({ unit: 'binary' })), { minLength: 1, maxLength: 5 }), (values) => {
        const columns = values.map((_, i) => ({ name: `c${i}`, toText: text }));
        const line = rowPrinter('copy', columns).row(values);
        expect(line.indexOf('\n')).toBe(line.length - 1);
        expect(readCopyLine(line.slice(0, -1))).toEqual(values);
      }),
    );
  });

  test('CSV read back by the rules of COPY FROM is what was written', () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.string({ unit: 'binary' })), { minLength: 1, maxLength: 5 }), (values) => {
        const columns = values.map((_, i) => ({ name: `c${i}`, toText: text }));
        expect(readCsvRow(rowPrinter('csv', columns).row(values))).toEqual(values);
      }),
    );
  });
});

function readCopyLine(line: string): (string | null)[] {
  const escapes: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };
  return line
    .split('\t')
    .map((field) => (field === '\\N' ? null : field.replace(/\\(.)/gs, (_, c: string) => escapes[c] ?? c)));
}

/** A naive reader: one character at a time. */
function readCsvRow(line: string): (string | null)[] {
  const fields: (string | null)[] = [];
  let at = 0;
  for (;;) {
    let field = '';
    const quoted = line[at] === '"';
    if (quoted) {
      at++;
      while (line[at] !== '"' || line[at + 1] === '"') {
        if (line[at] === '"') at++;
        field += line[at++];
      }
      at++;
    } else {
      while (line[at] !== ',' && line[at] !== '\n') field += line[at++];
    }
    fields.push(!quoted && field === '' ? null : field);
    if (line[at++] === '\n') return fields;
  }
}

describe('json', () => {
  test('int8 is a string, NaN and infinities are strings, bytea is hex', () => {
    const value = {
      int8: 9007199254740993n,
      nan: Number.NaN,
      infinite: -Infinity,
      bytes: new Uint8Array([0, 255]),
      buffer: Buffer.from([1]).subarray(0, 1),
      none: null,
      one: 1.5,
    };
    const buffer = { ...value, buffer: new Uint8Array(value.buffer) };
    expect(JSON.parse(toJson(buffer))).toEqual({
      int8: '9007199254740993',
      nan: 'NaN',
      infinite: '-Infinity',
      bytes: '\\x00ff',
      buffer: '\\x01',
      none: null,
      one: 1.5,
    });
  });
});

describe('errors', () => {
  const tell = (error: unknown) => tellError(error, { verbose: false });

  test('a storage error has its detail and hint, each on its own line', () => {
    const error = new StorageError('XX001', 'page is bad', { detail: 'block 7', hint: 'Restore it.' });
    expect(tell(error)).toEqual({
      status: 1,
      lines: ['blockwright: error: page is bad', 'detail: block 7', 'hint: Restore it.'],
    });
  });

  test('--verbose adds the code, the stack and the causes', () => {
    const cause = new Error('underneath');
    const { lines } = tellError(new StorageError('58030', 'read failed', { cause }), { verbose: true });
    expect(lines).toContain('code: 58030');
    expect(lines.join('\n')).toMatch(/output\.test\.ts[\s\S]*caused by:\nError: underneath/);
  });

  test.each([
    [new UsageError('x'), 2],
    [new CommandFailure('x'), 1],
    [new RangeError('x'), 1],
    [new Interrupted(), 130],
    [new ClosedPipe('x'), 0],
    [new TypeError('x is not a function'), 1],
    ['not even an error', 1],
  ])('%s means exit status %i', (error, status) => {
    expect(tell(error).status).toBe(status);
  });

  test('a closed pipe says nothing', () => {
    expect(tell(new ClosedPipe('x')).lines).toEqual([]);
  });

  test('a fault of the program is called one, and shows no stack', () => {
    const { lines } = tell(new TypeError('x is not a function'));
    expect(lines).toEqual([
      'blockwright: error: internal error: TypeError: x is not a function',
      expect.stringContaining('hint: '),
    ]);
  });

  test('control characters cannot drive the terminal or forge a line', () => {
    expect(tell(new CommandFailure('a\u001b[2Jb\nhint: c')).lines).toEqual([
      'blockwright: error: a\\x1b[2Jb\\nhint: c',
    ]);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        expect(printable(value)).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
      }),
    );
  });
});

describe('tables', () => {
  test('columns are two apart, numbers to the right, no blanks at the end of a line', () => {
    const columns = [{ title: 'name' }, { title: 'pages', align: 'right' as const }, { title: 'note' }];
    const rows = [
      ['lineitem', '1,234', 'x'],
      ['o', 5, undefined],
    ];
    expect(formatTable(columns, rows, plain)).toBe(
      [
        'name      pages  note', //
        '─────────────────────',
        'lineitem  1,234  x',
        'o             5',
        '',
      ].join('\n'),
    );
  });

  test.each([
    [0, '0 bytes'],
    [8192, '8192 bytes'],
    [10239, '10239 bytes'],
    [10240, '10 kB'],
    [1048576, '1024 kB'],
    [10485760, '10 MB'],
    [2 ** 50, '1024 TB'],
  ])('%i bytes are %s', (bytes, shown) => {
    expect(formatBytes(bytes)).toBe(shown);
  });

  test('counts have their thousands apart', () => {
    expect(formatCount(1234567)).toBe('1,234,567');
    expect(formatCount(12345678901234567890n)).toBe('12,345,678,901,234,567,890');
  });

  test.each([
    [12.4, '12 ms'],
    [1000, '1.0 s'],
    [59_949, '59.9 s'],
    [59_960, '1 min 0 s'],
    [125_000, '2 min 5 s'],
  ])('%d ms are %s', (milliseconds, shown) => {
    expect(formatDuration(milliseconds)).toBe(shown);
  });
});

describe('progress', () => {
  test('a line shows phase, bar, percentage, counts and the time left', () => {
    const progress = { phase: 'load lineitem', done: 3000, total: 6000, unit: 'rows' };
    expect(progressLine(progress, 2000, 100)).toBe(
      'load lineitem  ███████████████░░░░░░░░░░░░░░░   50 %  3,000 of 6,000 rows  2.0 s left',
    );
  });

  test('in 80 columns all of it fits', () => {
    const progress = { phase: 'loading lineitem', done: 30000, total: 60175, unit: 'rows' };
    expect(progressLine(progress, 2000, 80)).toBe(
      'loading lineitem  █████████░░░░░░░░░░   49 %  30,000 of 60,175 rows  2.0 s left',
    );
  });

  test('without a total it counts', () => {
    expect(progressLine({ phase: 'scan', done: 12345, total: 0, unit: 'blocks' }, 0, 80)).toBe('scan  12,345 blocks');
  });

  test('a line always fits the terminal', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.nat(1e9),
        fc.nat(1e9),
        fc.nat(1e7),
        fc.integer({ min: 1, max: 200 }),
        (phase, ...n) => {
          const [done, total, elapsed, columns] = n;
          expect(progressLine({ phase, done, total, unit: 'rows' }, elapsed, columns).length).toBeLessThan(columns);
        },
      ),
    );
  });
});
