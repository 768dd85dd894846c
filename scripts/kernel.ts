// A package's WebAssembly kernel: compiles its assembly/NAME.ts into its src/kernel-bytes.ts. The same source gives the
// same bytes everywhere, so a test of each package compiles it again and compares.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** AssemblyScript's compiler, which the package depends on and hands in: the part of it that is used here. */
type Compiler = (
  args: string[],
  io: {
    readFile: (name: string) => string | null;
    writeFile: (name: string, contents: string | Uint8Array) => void;
    listFiles: () => string[];
  },
) => Promise<{ readonly error: Error | null; readonly stderr: { toString(): string } }>;

export interface Kernel {
  /** Path of its source. */
  readonly source: string;
  /** Path of the file that is made of it. */
  readonly file: string;
  /** The WebAssembly module of such a source. @throws Error when it does not compile. */
  compile(text: string): Promise<Uint8Array>;
  /** The text of `file` for a module. */
  textOf(bytes: Uint8Array): string;
  /** Makes `file` anew. */
  write(): Promise<void>;
}

/** No allocator, no assertions, no start function: only the exported functions, over a memory that is handed in. */
const FLAGS = ['--runtime', 'stub', '-O3', '--noAssert', '--importMemory', '--enable', 'simd'];
const BYTES_A_LINE = 48;

/**
 * @param script URL of a script in the package's folder scripts/
 * @param name of the source, without `.ts`
 */
export function kernelOf(script: string, name: string, main: Compiler): Kernel {
  const source = fileURLToPath(new URL(`../assembly/${name}.ts`, script));
  const file = fileURLToPath(new URL('../src/kernel-bytes.ts', script));
  const compile = async (text: string): Promise<Uint8Array> => {
    let bytes: Uint8Array | undefined;
    const { error, stderr } = await main([`${name}.ts`, '--outFile', `${name}.wasm`, ...FLAGS], {
      readFile: (path) => (path === `${name}.ts` ? text : null),
      writeFile: (path, contents) => {
        if (path === `${name}.wasm`) bytes = contents as Uint8Array;
      },
      listFiles: () => [],
    });
    if (error !== null || bytes === undefined) throw new Error(`the kernel does not compile: ${stderr.toString()}`);
    return bytes;
  };
  const textOf = (bytes: Uint8Array): string => {
    const lines: string[] = [];
    for (let at = 0; at < bytes.length; at += BYTES_A_LINE) {
      lines.push(`  '${Buffer.from(bytes.subarray(at, at + BYTES_A_LINE)).toString('hex')}'`);
    }
    return `// Made by scripts/kernel.ts from assembly/${name}.ts, and compared with it by a test: change that, not this.

/** A WebAssembly module of ${bytes.length} bytes, in hexadecimal. */
export const KERNEL_HEX: string =
${lines.join(' +\n')};
`;
  };
  const write = async (): Promise<void> => writeFileSync(file, textOf(await compile(readFileSync(source, 'utf8'))));
  return { source, file, compile, textOf, write };
}
