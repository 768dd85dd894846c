// Compiles assembly/prove-pages.ts into src/kernel-bytes.ts. The same source gives the same bytes everywhere, so a test
// compiles it again and compares.
//   node --conditions=@blockwright/source --import tsx packages/amcheck/scripts/kernel.ts
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { main } from 'assemblyscript/asc';

export const KERNEL_SOURCE: string = fileURLToPath(new URL('../assembly/prove-pages.ts', import.meta.url));
export const KERNEL_FILE: string = fileURLToPath(new URL('../src/kernel-bytes.ts', import.meta.url));

/** No allocator, no assertions, no start function: only the exported functions, over a memory that is handed in. */
const FLAGS = ['--runtime', 'stub', '-O3', '--noAssert', '--importMemory', '--enable', 'simd'];
const BYTES_A_LINE = 48;

/** The WebAssembly module of an AssemblyScript source. @throws Error when it does not compile. */
export async function compileKernel(source: string): Promise<Uint8Array> {
  let bytes: Uint8Array | undefined;
  const { error, stderr } = await main(['prove-pages.ts', '--outFile', 'prove-pages.wasm', ...FLAGS], {
    readFile: (name) => (name === 'prove-pages.ts' ? source : null),
    writeFile: (name, contents) => {
      if (name === 'prove-pages.wasm') bytes = contents as Uint8Array;
    },
    listFiles: () => [],
  });
  if (error !== null || bytes === undefined) throw new Error(`the kernel does not compile: ${stderr.toString()}`);
  return bytes;
}

/** The text of src/kernel-bytes.ts for a module. */
export function kernelFile(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += BYTES_A_LINE) {
    lines.push(`  '${Buffer.from(bytes.subarray(at, at + BYTES_A_LINE)).toString('hex')}'`);
  }
  return `// Made by scripts/kernel.ts from assembly/prove-pages.ts, and compared with it by a test: change that, not this.

/** A WebAssembly module of ${bytes.length} bytes, in hexadecimal. */
export const KERNEL_HEX: string =
${lines.join(' +\n')};
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(KERNEL_FILE, kernelFile(await compileKernel(readFileSync(KERNEL_SOURCE, 'utf8'))));
}
