// Numbers that the notebook quotes. Each is looked up in a benchmark's JSON, never typed: in the text it is a marker that
// remembers where it came from, so that a test can look it up again.

const OPEN = '\u{e000}';
const MIDDLE = '\u{e001}';
const CLOSE = '\u{e002}';
const MARKER = new RegExp(`${OPEN}(\\d+)${MIDDLE}([^${CLOSE}]*)${CLOSE}`, 'g');

const grouped = (value, digits) => value.toLocaleString('en-US', { maximumFractionDigits: digits });
const significant = (value, digits = 3) =>
  value === 0 ? '0' : Number(value.toPrecision(digits)).toLocaleString('en-US', { maximumSignificantDigits: digits });

/** How a figure is written. */
const FORMATS = {
  count: (value) => grouped(value, 0),
  ratio: (value) => value.toFixed(2),
  ratio3: (value) => value.toFixed(3),
  tenths: (value) => value.toFixed(1),
  significant: (value) => significant(value),
};

/** What a figure is made of several values by. */
const OPERATIONS = {
  value: ([value]) => value,
  ratio: ([above, below]) => above / below,
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
  /** How many of the values are true. */
  count: (values) => values.filter((value) => value === true).length,
  /** How many values there are. */
  total: (values) => values.length,
};

/** The reports by the name of their file, and every figure that was taken from them. */
export class Figures {
  #reports;
  #taken = [];

  constructor(reports) {
    this.#reports = reports;
  }

  has(name) {
    return this.#reports[name] !== undefined;
  }

  report(name) {
    return this.#reports[name];
  }

  /** Every cell whose fields are as in `wanted`, with the place where it stands. */
  cells(name, wanted = {}) {
    return this.#entries(name, 'results', (cell) =>
      Object.entries(wanted).every(([key, value]) => cell[key] === value),
    );
  }

  /** The one cell whose fields are as in `wanted`; undefined when there is none. */
  cell(name, wanted) {
    return this.cells(name, wanted)[0];
  }

  /** Every aim whose name matches, with its place; those that were not measured too when `unmeasured` is set. */
  aims(name, pattern = /(?:)/, unmeasured = false) {
    return this.#entries(name, 'aims', (aim) => pattern.test(aim.name) && (unmeasured || aim.met !== null));
  }

  #entries(name, list, isWanted) {
    return (this.#reports[name]?.[list] ?? []).flatMap((entry, i) =>
      isWanted(entry) ? [{ ...entry, path: `${name}/${list}/${i}` }] : [],
    );
  }

  /** One field of an entry: `show(cell, 'nsPerUnit', 'significant')`. */
  show(entry, key, format) {
    return this.take('value', [`${entry.path}/${key}`], format);
  }

  /** The lowest and highest of a field: `1.10 to 1.12`; one figure where both are written alike. */
  range(entries, key, format) {
    if (entries.length === 0) return '(not measured)';
    const paths = entries.map(({ path }) => `${path}/${key}`);
    const [low, high] = [this.take('min', paths, format), this.take('max', paths, format)];
    return plain(low) === plain(high) ? low : `${low} to ${high}`;
  }

  /** A figure that others measured and published: a constant of the text, marked as theirs. */
  quote(text) {
    this.#taken.push({ operation: 'quote' });
    return `${OPEN}${this.#taken.length - 1}${MIDDLE}${text}${CLOSE}`;
  }

  /** How many entries there are, as a figure. */
  total(entries) {
    return this.take(
      'total',
      entries.map(({ path }) => path),
      'count',
    );
  }

  take(operation, paths, format) {
    const value = OPERATIONS[operation](paths.map((path) => lookUp(this.#reports, path)));
    if (typeof value !== 'number' || !Number.isFinite(value)) throw new Error(`no figure at ${paths.join(', ')}`);
    const text = FORMATS[format](value);
    this.#taken.push({ operation, paths, format, value, text });
    return `${OPEN}${this.#taken.length - 1}${MIDDLE}${text}${CLOSE}`;
  }

  /** The text as HTML, each figure in a `data` element that says where it came from. */
  toHtml(html) {
    return html.replace(MARKER, (_, index, text) => {
      const { operation, paths, format, value } = this.#taken[Number(index)];
      if (operation === 'quote') return `<span class="quoted">${text}</span>`;
      const from = operation === 'value' ? paths[0] : `${operation} ${paths.join(' ')}`;
      return `<data value="${value}" data-from="${from}" data-format="${format}">${text}</data>`;
    });
  }
}

/** The text without what its figures remember. */
export function plain(text) {
  return text.replace(MARKER, '$2');
}

/** The value at `report/list/index/key`. */
function lookUp(reports, path) {
  let value = reports;
  for (const key of path.split('/')) value = value?.[key];
  return value;
}

/** Whether two cells' quartiles overlap: then no difference was seen. */
export function overlap(a, b) {
  return a.q1Ns / a.units <= b.q3Ns / b.units && b.q1Ns / b.units <= a.q3Ns / a.units;
}

/** `8 kB` of a block size in bytes. */
export function sizeName(bytes) {
  return `${bytes / 1024} kB`;
}

/** The values in the order in which they first come. */
export function distinct(values) {
  return [...new Set(values)];
}
