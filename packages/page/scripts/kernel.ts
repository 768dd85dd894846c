// Compiles assembly/checksum.ts into src/kernel-bytes.ts.
//   node --conditions=@blockwright/source --import tsx packages/page/scripts/kernel.ts
import { fileURLToPath } from 'node:url';
import { main } from 'assemblyscript/asc';
import { type Kernel, kernelOf } from '../../../scripts/kernel.ts';

export const KERNEL: Kernel = kernelOf(import.meta.url, 'checksum', main);

if (process.argv[1] === fileURLToPath(import.meta.url)) await KERNEL.write();
