// The notebook's section on the block size as a run-time value.
import { distinct, overlap, sizeName } from './figures.mjs';
import { aimsTable, listed, notes, table } from './tables.mjs';

const REPORT = 'geometry';
const DEFAULT_SIZE = 8192;

export const geometry = {
  name: REPORT,
  reports: [REPORT],
  title: 'A block size chosen at run time, without a division',

  headline: (f) => {
    const aims = f.aims(REPORT, /sequential/);
    return `Constants read at run time take ${f.range(aims, 'measured', 'ratio3')} times the time of literals, in the loop of an index-only scan`;
  },

  idea: () => `
PostgreSQL's block size is a constant of the compiler. When its developers looked at making it an option of \`initdb\`, the
step that hurt was small: from a heap block to the two bits that the visibility map keeps for it. With a constant, the
compiler turns the division into a multiplication and a shift. With a variable, the CPU divides, once for each row that an
index-only scan visits: 18 % more time was measured there, 2.6 % on sequential scans, and the change was not taken.

The divisors are no powers of two, because each map page spends some bytes on its header. They are close to one, though:

\`\`\`text
heap block x  ->  page of the map, byte, bits
D = 32,672 blocks a map page at 8 kB = 2^15 - 96

compiled  x / 32672     a multiply and a shift
variable  x / D         a division, every row
fold      x = q * 2^15 + r = q * D + (96q + r)
          shifts and additions, again until r < D
window    x - first < D ?  still on the pinned
          page: one subtraction, one comparison
\`\`\``,

  built: () => `
\`BlockGeometry\` derives every constant, shift and mask from a block size. Below floor 8 no address is made with a
division, a remainder or a multiplication by the block size: a lint refuses them, and a test reads the optimised machine
code to see that none came back. Whoever walks in order asks a cursor, which keeps the window of its pinned map page;
whoever jumps folds the quotient out.`,

  measured: (f) => {
    const sizes = distinct(f.cells(REPORT).map(({ blockSize }) => blockSize));
    const at = (blockSize, variant, walk) => f.cell(REPORT, { blockSize, variant, walk });
    const shown = sizes.includes(DEFAULT_SIZE) ? DEFAULT_SIZE : sizes[0];
    const variants = distinct(f.cells(REPORT).map(({ variant }) => variant));
    const charts = distinct(f.cells(REPORT).map(({ walk }) => walk)).map((walk) => {
      const cells = variants.map((variant) => at(shown, variant, walk));
      return {
        name: `geometry-${walk}`,
        title: `One look at the visibility map, ${walk} walk, ${sizeName(shown)}`,
        unit: 'ns a TID',
        lying: true,
        categories: variants,
        series: [
          {
            name: walk,
            values: cells.map((cell) => cell.nsPerUnit),
            low: cells.map((cell) => cell.q1Ns / cell.units),
            high: cells.map((cell) => cell.q3Ns / cell.units),
          },
        ],
      };
    });
    const rows = sizes.map((size) => {
      const [literal, window] = [at(size, 'literal window', 'sequential'), at(size, 'window', 'sequential')];
      const [aim] = f.aims(REPORT, new RegExp(`sequential, ${size / 1024}kB`));
      return [
        sizeName(size),
        f.show(literal, 'nsPerUnit', 'significant'),
        f.show(window, 'nsPerUnit', 'significant'),
        aim === undefined ? '' : f.show(aim, 'measured', 'ratio3'),
        overlap(literal, window) ? 'no difference seen' : 'seen',
        f.show(at(size, 'division', 'sequential'), 'ratio', 'ratio'),
        f.show(at(size, 'fold', 'sequential'), 'ratio', 'ratio'),
        f.show(at(size, 'multiplication', 'sequential'), 'ratio', 'ratio'),
      ];
    });
    return {
      charts,
      text: `
The same loop in eight variants: which bits does the map have for this TID's block? The lines over the bars go from the
lower quartile to the upper one.

{{chart geometry-sequential}}

{{chart geometry-random}}

What the run-time value itself costs is the second pair: the window loop with every constant a literal, and the same loop
with the geometry read at run time. The last three columns are each variant's time over division by a literal.

${table(
  [
    'block',
    'window, literal: ns',
    'window, run time: ns',
    'ratio',
    'difference',
    'run-time division',
    'fold',
    'multiplication',
  ],
  rows,
  [0, 4],
)}

${aimsTable(f, [REPORT])}`,
    };
  },

  means: (f) => {
    const sizes = distinct(f.cells(REPORT).map(({ blockSize }) => blockSize));
    const at = (size, variant) => f.cell(REPORT, { blockSize: size, variant, walk: 'sequential' });
    const differing = sizes.filter((size) => !overlap(at(size, 'literal window'), at(size, 'window')));
    const ratios = f.aims(REPORT, /sequential/);
    const all = (variant) => sizes.map((size) => at(size, variant));
    const seen =
      differing.length === 0
        ? 'no difference was seen at any block size'
        : `a difference was seen at ${listed(differing.map(sizeName))}`;
    const worth = all('window').every(({ ratio }) => ratio < 1)
      ? 'The window read at run time was faster than division by a literal at every size: the better algorithm outweighs the constant.'
      : 'The window read at run time was not faster than division by a literal at every size.';
    const choice =
      differing.length === 0
        ? 'choose by your data: that the size can be chosen at all costs an index-only scan nothing that was seen.'
        : `that the size can be chosen shows in this loop alone, at ${listed(differing.map(sizeName))}; it looks at the map and does nothing else for a row.`;
    return `
- **For who writes an engine:** in the loop of an index-only scan, constants read at run time took
  ${f.range(ratios, 'measured', 'ratio3')} times the time of literals, and ${seen}. ${worth}
- **For who chooses a block size:** ${choice}
- Asking once for a run of TIDs on one block, as the index-only loop does, took ${f.range(all('cursor, runs'), 'ratio', 'ratio')}
  times the literal division's time.`;
  },

  findings: (f) => {
    const sequential = f.cells(REPORT, { variant: 'division', walk: 'sequential' });
    const unseen = sequential.filter(({ differenceSeen }) => !differenceSeen);
    const folds = f.cells(REPORT, { variant: 'fold', walk: 'sequential' });
    const divides =
      unseen.length === sequential.length
        ? 'no difference from a literal was seen at any size'
        : unseen.length === 0
          ? 'it was slower or faster than a literal beyond the quartiles at every size'
          : `no difference from a literal was seen at ${listed(unseen.map(({ blockSize }) => sizeName(blockSize)))}`;
    const folding = folds.every(({ ratioLow }) => ratioLow > 1)
      ? `Folding for every TID is slower than dividing by a literal here (${f.range(folds, 'ratio', 'ratio')} times): the shifts are worth it only outside of the window, where they are rare.`
      : `Folding for every TID took ${f.range(folds, 'ratio', 'ratio')} times the literal division's time.`;
    const cost = `Plain run-time division took ${f.range(sequential, 'ratio', 'ratio')} times the time of division by a literal, and ${divides}`;
    const divider = sequential.every(({ ratio }) => ratio < 1.1)
      ? `The divider of this CPU is fast. ${cost}: on such a machine, what the discussion measured would hardly be noticed.`
      : `${cost}.`;
    return `
- ${divider}
- ${folding}
- The random walk leaves the window at nearly every step and pins another map page: it measures the buffer pool more than
  the arithmetic.

${notes(f, REPORT, /^In the sequential loop/)}`;
  },
};
