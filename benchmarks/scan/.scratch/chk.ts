import { runSync } from '@blockwright/base';
import { checkPath } from '@blockwright/engine';

for (const k of [1, 2, 4, 8, 16, 32]) {
  const codes = new Map<string, number>();
  const ex: any = {};
  const t = performance.now();
  const r = runSync(
    checkPath(`/work/main/fixtures/pg/${k}k/pgdata`, (f) => {
      const c = f.severity + ' ' + f.code;
      codes.set(c, (codes.get(c) ?? 0) + 1);
      ex[c] ??= f.file + ' ' + f.block + ' ' + f.offsetNumber + ': ' + f.message;
    }),
  );
  const s = (p: any) => r.files.reduce((a, f) => a + p(f), 0);
  console.log(
    k,
    r.kind,
    r.files.length,
    'pages',
    s((f: any) => f.pages),
    'sums',
    s((f: any) => f.checksums),
    'tuples',
    s((f: any) => f.tuples),
    s((f: any) => f.decodedTuples),
    'bits',
    s((f: any) => f.mapBits),
    r.errors,
    r.warnings,
    (performance.now() - t).toFixed(0) + 'ms',
  );
  for (const [c, n] of codes) console.log('   ', c, n, ex[c]);
  if (k === 8) console.table(r.files.slice(0, 12));
}
