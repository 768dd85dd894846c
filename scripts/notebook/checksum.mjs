// The notebook's section on page checksums in SIMD, and on checking a data directory.
import { checkOf } from './checksum-directory.mjs';
import { distinct, sizeName } from './figures.mjs';
import { aimsTable, notes, table } from './tables.mjs';

const REPORT = 'checksum';
const PLACES = { cache: 'in cache', memory: 'from memory' };

const kernels = (f, wanted = {}) => f.cells(REPORT, wanted).filter(({ place }) => place in PLACES);
/** Of the second part: a directory. */
const check = (f) =>
  checkOf(
    f,
    REPORT,
    f.cells(REPORT).filter(({ place }) => !(place in PLACES)),
  );

export const checksum = {
  name: REPORT,
  reports: [REPORT],
  title: 'Checksums in SIMD, and checking a whole directory',

  headline: (f) => {
    const told = ['cache', 'memory'].map((place) => [place, f.cells(REPORT, { variant: 'simd in place', place })]);
    const parts = told.filter(([, cells]) => cells.length > 0);
    if (parts.length === 0) return 'The kernel was not measured';
    return `SIMD is ${parts.map(([place, cells]) => `${f.range(cells, 'ratio', 'tenths')} times as fast as TypeScript ${PLACES[place]}`).join(', ')}`;
  },

  idea: () => `
A page's checksum is 32 sums, each over every 32nd word of the page, mixed at the end. It was made that way so that a
compiler could keep many sums in one vector register. JavaScript has no vectors, and WebAssembly does.

\`\`\`text
page     w0 w1 w2 … w31 | w32 w33 … w63 | …
sums     s0 s1 s2 … s31
         x = s xor w;  s = x * prime xor x >> 17
vectors  [s0 s1 s2 s3] [s4 … s7] … [s28 … s31]
         eight registers of four
\`\`\``,

  built: () => `
A kernel in AssemblyScript, compiled when the package is built and held, byte for byte, by a test that builds it again. The
TypeScript version stays beside it, and a property test holds the two equal. Where pages lie in the kernel's memory it reads
them in place; else each is copied there first. The buffer manager and \`check\` use it.`,

  measured: (f) => {
    const { charts: directory, text } = check(f);
    if (kernels(f).length === 0) return { charts: directory, text: `${text}\n\n${aimsTable(f, [REPORT])}` };
    const sizes = distinct(kernels(f).map(({ blockSize }) => blockSize));
    const at = (blockSize, variant, place) => f.cell(REPORT, { blockSize, variant, place });
    const places = distinct(kernels(f).map(({ place }) => place));
    const variants = distinct(kernels(f).map(({ variant }) => variant));
    const fastest = variants.includes('simd in place') ? 'simd in place' : variants.at(-1);
    const charts = places.map((place) => ({
      name: `checksum-${place}`,
      title: `Checksums of pages ${PLACES[place]}`,
      unit: 'GB/s',
      categories: sizes.map(sizeName),
      series: ['typescript', fastest, ...variants.filter((name) => name === 'simd copied')].map((variant) => {
        const cells = sizes.map((size) => at(size, variant, place));
        return {
          name: variant,
          values: cells.map((cell) => cell?.bytesPerNs ?? null),
          low: cells.map((cell) => (cell === undefined ? null : cell.units / cell.q3Ns)),
          high: cells.map((cell) => (cell === undefined ? null : cell.units / cell.q1Ns)),
        };
      }),
    }));
    const rows = places.flatMap((place) =>
      sizes.map((size) => [
        sizeName(size),
        PLACES[place],
        ...variants.map((variant) => f.show(at(size, variant, place), 'bytesPerNs', 'significant')),
        f.show(at(size, fastest, place), 'ratio', 'ratio'),
      ]),
    );
    return {
      charts: [...charts, ...directory],
      text: `
{{chart checksum-${places[0]}}}

${places[1] === undefined ? '' : `{{chart checksum-${places[1]}}}`}

GB/s of each way, and the last column: how many times as fast as TypeScript the kernel is in place.

${table(['block', 'pages', ...variants, 'times faster'], rows, [0, 1])}

${text}

${aimsTable(f, [REPORT])}`,
    };
  },

  means: (f) => {
    const place = (name) => f.cells(REPORT, { variant: 'simd in place', place: name });
    const told = Object.keys(PLACES)
      .filter((name) => place(name).length > 0)
      .map((name) => `${f.range(place(name), 'ratio', 'tenths')} times as fast as TypeScript ${PLACES[name]}`);
    if (told.length === 0) return check(f).means;
    const copied = f.cells(REPORT, { variant: 'simd copied', place: 'cache' });
    return `
- **For who writes an engine:** in place, the kernel is ${told.join(', ')}.${copyText(f, copied, place('cache'))}
${bySize(f, place('cache'))}
${check(f).means}`;
  },

  findings: (f) => {
    const lead = (place) => f.cells(REPORT, { variant: 'simd in place', place }).map(({ ratio }) => ratio);
    const isLess = mean(lead('memory')) < mean(lead('cache'));
    const memory =
      lead('memory').length === 0
        ? ''
        : isLess
          ? '- From memory the kernel’s lead is smaller than in cache: there the bytes themselves have to come first.'
          : '- The kernel’s lead from memory is no smaller than in cache.';
    return `
${memory}

${notes(f, REPORT)}`;
  },
};

/** What a copy before the kernel costs. */
function copyText(f, copied, inPlace) {
  if (copied.length === 0) return '';
  const still = copied.every(({ ratio }) => ratio > 1)
    ? 'still faster than TypeScript'
    : 'not always faster than TypeScript';
  const ratios = (cells) => mean(cells.map(({ ratio }) => ratio));
  const advice =
    ratios(copied) < ratios(inPlace)
      ? ', but the copy is what it then spends its time on: give pages a memory that kernels can see, and they are verified where they lie'
      : '';
  return ` With a copy before it, it is ${still} in cache (${f.range(copied, 'ratio', 'ratio')} times)${advice}.`;
}

function bySize(f, cells) {
  const rates = cells.map(({ bytesPerNs }) => bytesPerNs);
  if (rates.length < 2) return '';
  const even =
    Math.max(...rates) < 1.25 * Math.min(...rates)
      ? 'about the same at every size, so they are no reason for one'
      : 'not the same at every size';
  return `- **For who chooses a block size:** from the smallest to the largest page the kernel goes through ${f.range(cells, 'bytesPerNs', 'significant')} GB/s in cache: ${even}.`;
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
