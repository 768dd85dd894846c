// Run by node-vfs.test.ts in a process of its own whose system allows few descriptors: opens 200 files and uses all.
import { NodeVfs, writeFully } from '@blockwright/vfs';

const directory = process.argv[2] as string;
const vfs = new NodeVfs({ maxOpenFiles: 1000 });
const files = Array.from({ length: 200 }, (_, i) => {
  const file = vfs.open(`${directory}/f${i}`, 'createExclusive');
  writeFully(file, Uint8Array.of(i), 0, 1, 0);
  return file;
});
let right = 0;
files.forEach((file, i) => {
  const byte = new Uint8Array(1);
  if (file.read(byte, 0, 1, 0) === 1 && byte[0] === i) right++;
});
vfs.readFile(`${directory}/f0`);
vfs.syncDirectory(directory);
console.log(`${right} files right, ${vfs.openDescriptors} descriptors`);
