import { reportTable } from '@blockwright/benchmark';
import { scanBenchmark } from '../src/index.ts';

const o = Object.fromEntries(process.argv.slice(2).map((a) => a.replace(/^--/, '').split('=')));
const r = await scanBenchmark.run(o as never, {
  log: console.log,
  progress: () => {},
  signal: new AbortController().signal,
});
const t = reportTable(r, scanBenchmark.columns);
console.table(t.rows.map((x) => Object.fromEntries(x.map((v, i) => [t.head[i], v]))));
console.log(r.notes, r.aims);
