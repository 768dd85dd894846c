// Runs the workload from the built packages, then has every target optimised. Writes V8's code to the file that the
// flags name, and to standard output, as JSON, what was done.
//   node <flags> main.mjs TRACE-FILE
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import * as geometry from '@blockwright/geometry';
import { VisibilityCursor } from '@blockwright/visibilitymap';
import { canaries, innocents } from './canaries.mjs';
import { changeTargets } from './changes.mjs';
import { compactionTargets } from './compactions.mjs';
import { openTables, work } from './table.mjs';
import { geometryTargets, tableTargets } from './targets.mjs';
import { tidTargets } from './tids.mjs';
import { traceTargets } from './trace.mjs';
import { treeTargets } from './trees.mjs';
import { dividingWalk, indexOnlyWalks, leafWalk } from './walks.mjs';

const SIZES = [1024, 8192, 32_768];
const file = process.argv[2];
const directory = mkdtempSync(join(tmpdir(), 'blockwright-machine-code-'));
try {
  const tables = SIZES.map((size) => openTables(directory, size));
  for (let round = 0; round < 3; round++) for (const table of tables) work(table);
  const targets = [
    ...geometryTargets,
    ...tableTargets(tables),
    ...tidTargets,
    ...treeTargets,
    ...compactionTargets,
    ...changeTargets(directory, SIZES),
    ...indexOnlyWalks,
    leafWalk,
    ...innocents,
    ...canaries,
    dividingWalk,
  ];
  traceTargets(targets, file);
  for (const table of tables) work(table);
  const resolved = import.meta.resolve('@blockwright/geometry');
  process.stdout.write(
    JSON.stringify({
      resolved,
      targets: targets.map(({ id, fn }) => ({ id, name: fn.name })),
      functions: Object.keys(geometry).filter((name) => /^function/.test(String(geometry[name]))),
      prototypes: {
        BlockGeometry: [...methodsOf(geometry.BlockGeometry), 'of'],
        VisibilityCursor: methodsOf(VisibilityCursor),
      },
    }),
  );
} finally {
  rmSync(directory, { recursive: true, force: true });
}

function methodsOf(type) {
  return Object.getOwnPropertyNames(type.prototype).filter((name) => name !== 'constructor');
}
