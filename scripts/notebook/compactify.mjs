// The notebook's section on compacting a page without a sort.
import { distinct, sizeName } from './figures.mjs';
import { aimsTable, listed, notes, table } from './tables.mjs';

const REPORT = 'compactify';
const DEFAULT_SIZE = 8192;
const ORDER_NAMES = {
  sorted: 'in order',
  reversed: 'in reverse order',
  shuffled: 'shuffled',
  updates: 'updates',
  batches: 'updates in batches',
  aged: 'updates, sorted before',
};

const compaction = (f, wanted = {}) => f.cells(REPORT, { what: 'compaction', ...wanted });
const widthsOf = (f) => distinct(compaction(f).map(({ width }) => width));
const sizesOf = (f) => distinct(compaction(f).map(({ blockSize }) => blockSize));
const quartile = (cell, key) => cell[key] / cell.units;

/** Time of one strategy over time of `sort`, one line an order. */
function overSortTable(f, size, width) {
  const orders = distinct(compaction(f, { blockSize: size, width }).map(({ order }) => order));
  const rows = orders.map((order) => {
    const at = (variant) => f.cell(REPORT, { what: 'compaction', blockSize: size, width, order, variant });
    return [
      ORDER_NAMES[order] ?? order,
      f.show(at('sort'), 'nsPerUnit', 'count'),
      f.show(at('workspace'), 'nsPerUnit', 'count'),
      f.show(at('adaptive'), 'nsPerUnit', 'count'),
      f.show(at('adaptive'), 'ratio', 'ratio'),
      at('adaptive').differenceSeen ? 'seen' : 'no difference seen',
    ];
  });
  return table(['tuples', 'sort', 'workspace', 'adaptive', 'adaptive over sort', 'difference'], rows, [0, 5]);
}

export const compactify = {
  name: REPORT,
  reports: [REPORT],
  title: 'Compacting a page without a sort',

  headline: (f) => {
    const narrow = f.aims(REPORT, /^sort over adaptive/);
    return `On narrow pages that updates make, sorting takes ${f.range(narrow, 'measured', 'ratio')} times as long as not sorting`;
  },

  idea: () => `
Pruning leaves gaps between a page's tuples. To close them, PostgreSQL used to sort the tuples by where they lie, highest
first, and push each one up against the one before. Recovery of an update-heavy load spent much of its time in that sort.
Tom Lane asked why there is one at all: copy the tuples aside, and put them back in the order of their line pointers. What
went in looks, in the pass that it makes anyway, whether the tuples lie in that order already (then each moves up in place),
and goes through the copy otherwise. Recovery got 2.3 times as fast.

\`\`\`text
            free    tuples, by their numbers
before      ········2━━━━━5━━━━░░░░░3━━━░░░░░1━━━
sort        ··················2━━━━━5━━━━3━━━1━━━
            in the order in which they lay
workspace   ··················5━━━━3━━━2━━━━━1━━━
            in the order of the line pointers
adaptive    as workspace; in place where the two
            orders are one
\`\`\`

To see it on a page of your own: \`blockwright inspect FILE --block=N --compact=adaptive\`. It draws the page before and
after, and writes nothing.`,

  built: () => `
Three strategies behind one interface. All of them check every line pointer before a byte moves, and leave the same items
at the same line pointers. \`sort\` is as good a sort as can be written here: packed 32-bit keys, no comparator, insertion
where there are few. The index's multi-delete runs on the same machinery. Pages "that updates make" come from a run of
updates with pruning, with its seed.`,

  measured: (f) => {
    const sizes = sizesOf(f);
    const size = sizes.includes(DEFAULT_SIZE) ? DEFAULT_SIZE : sizes[0];
    const widths = widthsOf(f);
    const width = widths.includes('40 B') ? '40 B' : widths[0];
    const orders = distinct(compaction(f, { blockSize: size, width }).map(({ order }) => order));
    const strategies = ['sort', 'workspace', 'adaptive'];
    const byOrder = (variant) =>
      orders.map((order) => f.cell(REPORT, { what: 'compaction', blockSize: size, width, order, variant }));
    const byUpdates = sizes.some(
      (one) => compaction(f, { blockSize: one, order: 'updates', variant: 'adaptive' }).length > 0,
    );
    const scans = f.cells(REPORT, { what: 'scan from memory' });
    const scanNames = distinct(scans.map(({ width: w, order }) => `${w}, ${ORDER_NAMES[order] ?? order}`));
    const charts = [
      {
        name: 'compactify-orders',
        title: `Compacting one page, ${sizeName(size)}, tuples of ${width}`,
        unit: 'ns a page',
        lying: true,
        categories: orders.map((order) => ORDER_NAMES[order] ?? order),
        series: strategies.map((name) => ({
          name,
          values: byOrder(name).map((cell) => cell.nsPerUnit),
          low: byOrder(name).map((cell) => quartile(cell, 'q1Ns')),
          high: byOrder(name).map((cell) => quartile(cell, 'q3Ns')),
        })),
      },
      ...(byUpdates
        ? [
            {
              name: 'compactify-updates',
              title: 'Time of adaptive over sort, on pages that updates make',
              unit: 'less is faster',
              categories: sizes.map(sizeName),
              reference: { value: 1, name: 'as sort' },
              series: widths.map((one) => ({
                name: one,
                ...columns(
                  sizes.map(
                    (blockSize) => compaction(f, { blockSize, width: one, order: 'updates', variant: 'adaptive' })[0],
                  ),
                ),
              })),
            },
          ]
        : []),
      ...(scans.length === 0
        ? []
        : [
            {
              name: 'compactify-scan',
              title: 'A later scan from memory, over pages that each strategy left',
              unit: 'ns a page',
              lying: true,
              categories: scanNames,
              series: distinct(scans.map(({ variant }) => variant)).map((variant) => {
                const cells = scans.filter((cell) => cell.variant === variant);
                return {
                  name: `left by ${variant}`,
                  values: cells.map((cell) => cell.nsPerUnit),
                  low: cells.map((cell) => quartile(cell, 'q1Ns')),
                  high: cells.map((cell) => quartile(cell, 'q3Ns')),
                };
              }),
            },
          ]),
    ];
    return {
      charts,
      text: `
One page is compacted; the pages are put back before each round, and the result is checked against a model before any time
is believed.

{{chart compactify-orders}}

${overSortTable(f, size, width)}

${byUpdates ? '{{chart compactify-updates}}' : ''}

${scans.length === 0 ? '' : '{{chart compactify-scan}}'}

${aimsTable(f, [REPORT])}`,
    };
  },

  means: (f) => {
    const narrow = f.aims(REPORT, /^sort over adaptive/);
    const missed = (other) => f.aims(REPORT, new RegExp(`^adaptive over ${other},`)).filter(({ met }) => !met);
    const slower = ['workspace', 'sort'].filter((other) => missed(other).length > 0);
    const memory = f.cells(REPORT, { what: 'scan from memory', variant: 'adaptive' });
    const seen = memory.filter(({ differenceSeen }) => differenceSeen);
    const never =
      slower.length === 0
        ? 'It was nowhere slower than either of the other two by more than the aim allows'
        : slower
            .map((other, i) => {
              const sizes = listed(missed(other).map(({ name }) => sizeInName(name)));
              return `${i === 0 ? 'It' : 'it'} was slower than ${other} by more than the aim allows in at least one cell of ${sizes}`;
            })
            .join(', and ');
    const scan =
      memory.length === 0
        ? ''
        : seen.length === 0
          ? '\n- **A later scan** was not seen to be faster over line-pointer order, from memory.'
          : `\n- **A later scan** from memory took ${f.range(seen, 'ratio', 'ratio')} times the time when the data lay in line-pointer
  order, which is the order in which a scan asks for it.`;
    const updated = compaction(f, { variant: 'adaptive', order: 'updates', width: '40 B' });
    const [least, most] = [updated[0], updated.at(-1)];
    const bySize =
      least === undefined || least === most
        ? 'a compaction moves what the page has, so its time grows with the page.'
        : `a page of ${sizeName(least.blockSize)} is compacted in ${f.show(least, 'nsPerUnit', 'significant')} ns, one of ${sizeName(most.blockSize)} in ${f.show(most, 'nsPerUnit', 'significant')} ns
  (tuples of 40 bytes, after updates): ${f.take('ratio', [`${most.path}/nsPerUnit`, `${least.path}/nsPerUnit`], 'tenths')} times the time for ${f.take('ratio', [`${most.path}/blockSize`, `${least.path}/blockSize`], 'count')} times the bytes, for each time that a page is pruned.`;
    return `
- **For who writes an engine:** on narrow pages that updates make, \`sort\` took ${f.range(narrow, 'measured', 'ratio')} times
  as long as \`adaptive\`, hardest cell of each size and width. ${never}. The engine uses \`adaptive\`.
- **For who chooses a block size:** ${bySize}${scan}`;
  },

  findings: (f) => `
- Which order a page is in depends on who compacted it last: \`adaptive\` leaves the order in which it can move in place the
  next time. The order "updates, sorted before" are pages that a server had which always sorted.

${notes(f, REPORT, /^(?!A sample compacts)/)}`,
};

/** `8 kB` of an aim that is about 8kB. */
function sizeInName(name) {
  return (/\d+kB/.exec(name)?.[0] ?? name).replace('kB', ' kB');
}

/** A bar's ratio with its interval; null where there is no cell. */
function columns(cells) {
  return {
    values: cells.map((cell) => cell?.ratio ?? null),
    low: cells.map((cell) => cell?.ratioLow ?? null),
    high: cells.map((cell) => cell?.ratioHigh ?? null),
  };
}
