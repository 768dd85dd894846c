// The part of the checksum section that is about a whole data directory: `check` beside pg_checksums, where that was there.
import { overlap } from './figures.mjs';
import { table } from './tables.mjs';

const PEER = 'pg_checksums, command';
const COMMAND = 'check, command';

const NOTHING = { charts: [], text: '', means: '' };

/** What these cells of a report tell of a directory that was verified. */
export function checkOf(f, report, cells) {
  if (cells.length === 0) return NOTHING;
  const [first] = cells;
  const rows = cells.map((cell) => [
    cell.variant,
    f.show(cell, 'bytesPerNs', 'significant'),
    cell === first ? '' : f.show(cell, 'ratio', 'significant'),
    cell === first ? '' : cell.differenceSeen ? 'seen' : 'no difference seen',
  ]);
  return {
    charts: [chartOf(cells)],
    text: `${opening(f, report, cells)}

{{chart checksum-directory}}

${table(['program', 'GB/s', `speed over ${first.variant}`, 'difference'], rows, [0, 3])}

${fixedCost(f, report, cells)}`,
    means: meansOf(f, report, cells),
  };
}

function opening(f, report, cells) {
  const { directoryBytes, directoryMadeBy: madeBy, pgChecksums } = f.report(report).settings;
  const size =
    directoryBytes === undefined ? '' : ` of ${f.take('value', [`${report}/settings/directoryBytes`], 'count')} bytes`;
  const origin = madeBy === undefined ? '' : madeBy === 'given' ? ', one that was there,' : ` (made by \`${madeBy}\`)`;
  const peer = cells.some(({ variant }) => variant === PEER)
    ? ` \`pg_checksums\`${pgChecksums ? ` is \`${pgChecksums}\`` : ' ran in the same rounds'}.`
    : ' `pg_checksums` was not measured beside it.';
  return `Then a data directory${size}${origin} is verified, as commands from start to exit, and by \`check\` within the process. Each
has found a bit that was flipped before it is believed.${peer}`;
}

function chartOf(cells) {
  const rate = ({ bytesPerNs, medianNs }, ns) => (bytesPerNs * medianNs) / ns;
  return {
    name: 'checksum-directory',
    title: 'A whole data directory, in the page cache',
    unit: 'GB/s',
    lying: true,
    categories: cells.map(({ variant }) => variant),
    series: [
      {
        name: 'GB/s',
        values: cells.map(({ bytesPerNs }) => bytesPerNs),
        low: cells.map((cell) => rate(cell, cell.q3Ns)),
        high: cells.map((cell) => rate(cell, cell.q1Ns)),
      },
    ],
  };
}

/** The command, and the same check within a process: that cell and the command's, where both are there. */
function pairOf(f, report, cells) {
  const { jobs } = f.report(report).settings;
  const inProcess = cells.find(({ variant }) => new RegExp(`^check in process, ${jobs} threads?$`).test(variant));
  const command = cells.find(({ variant }) => variant === COMMAND);
  return command === undefined || inProcess === undefined ? undefined : [command, inProcess];
}

/** What a command pays however small the directory is. */
function fixedCost(f, report, cells) {
  const pair = pairOf(f, report, cells);
  if (pair === undefined) return '';
  const fixed =
    'A part of the command’s time does not grow with the directory: Node.js starts, modules are loaded, threads are started, catalogs are read.';
  const [command, inProcess] = pair;
  if (overlap(command, inProcess)) {
    return `${fixed} Over this directory no difference was seen between the command and the same check within a process that runs already.`;
  }
  const times = f.take('ratio', [`${command.path}/medianNs`, `${inProcess.path}/medianNs`], 'significant');
  return `${fixed} Over this directory the command took ${times} times the time of the same check within a process that runs already.`;
}

/** Judged by the aim, where it was measured. */
function meansOf(f, report, cells) {
  const aim = f.aims(report, /pg_checksums/)[0];
  const command = cells.find(({ variant }) => variant === COMMAND);
  if (aim === undefined || command === undefined) return '';
  const asked = `${f.show(aim, 'aim', 'significant')} times`;
  const speed = `ran at ${f.show(aim, 'measured', 'significant')} times the speed of \`pg_checksums\` over the same files`;
  const verdict = aim.met
    ? `${speed}: the aim, ${asked} on two cores, is met.`
    : !command.differenceSeen
      ? `was not seen to differ from \`pg_checksums\` in speed over the same files; the aim, ${asked} on two cores, is missed.`
      : aim.measured > 1
        ? `${speed}: faster, but less than the aim, ${asked} on two cores.`
        : `${speed}: slower, where the aim was ${asked} on two cores.`;
  const pair = pairOf(f, report, cells);
  const small =
    pair !== undefined && !overlap(...pair) && pair[0].medianNs > pair[1].medianNs
      ? ' What it takes to start weighs most on a small directory.'
      : '';
  return `- **For who checks a directory:** \`check\`, which verifies more than the checksum, ${verdict}${small}`;
}
