// Reads what `node --print-opt-code` prints, between the lines that trace.mjs puts around each target.

export interface CodeBlock {
  /** The function's name, as V8 has it. */
  readonly name: string;
  readonly compiler: string;
  /** One an instruction: mnemonic, operands and V8's comment, without address and bytes. */
  readonly instructions: readonly string[];
}

/** The blocks that were printed for each target, by its id. */
export function readTrace(text: string): Map<string, CodeBlock[]> {
  const targets = new Map<string, CodeBlock[]>();
  for (const [, id, printed] of text.matchAll(/^### begin (.+) \S*\n([\s\S]*?)^### end \1$/gm)) {
    targets.set(id as string, readBlocks(printed as string));
  }
  return targets;
}

function readBlocks(printed: string): CodeBlock[] {
  return printed
    .split('--- Optimized code ---')
    .slice(1)
    .map((block) => {
      const field = (name: string): string => new RegExp(`^${name} = (.*)$`, 'm').exec(block)?.[1]?.trim() ?? '';
      return { name: field('name'), compiler: field('compiler'), instructions: readInstructions(block) };
    });
}

/** From `Instructions (size = N)` to the first empty line. */
function readInstructions(block: string): string[] {
  const start = /^Instructions \(size = \d+\)$/m.exec(block);
  if (start === null) return [];
  const lines = block.slice(start.index + start[0].length + 1).split(/\n\s*\n/)[0] as string;
  const instructions: string[] = [];
  for (const line of lines.split('\n')) {
    // address, offset, bytes (x64) or word (arm64), instruction
    const match = /^0x[0-9a-f]+\s+[0-9a-f]+\s+[0-9a-f]+\s+(?:REX\.W )?(\S.*)$/.exec(line);
    if (match !== null) instructions.push(match[1] as string);
  }
  return instructions;
}

/** x64: div, idiv, [v]divsd and its like, fprem. arm64: sdiv, udiv, fdiv. */
const DIVIDING = /^(i?div[bwlq]?|v?div[sp][sd]|fprem1?|[su]div|fdiv)$/;
/** Calls of V8's own code that divides: of BigInts, of anything, of doubles where the processor has no remainder. */
const DIVIDING_CALL = /\((?:BigInt)?(?:Divide|Modulus)\w*\)|mod_two_doubles|float64_mod|Float64Mod/;

/** The instructions of a block that divide. */
export function divisions({ instructions }: CodeBlock): string[] {
  return instructions.filter((line) => DIVIDING.test(line.split(/\s/, 1)[0] as string) || DIVIDING_CALL.test(line));
}
