// Functions that do divide, each in one of the ways that end in another instruction: the test must find every one.

/** Small, so that it is inlined: only the caller's block shows its remainder. */
const slotOf = (block, slots) => block % slots;

function canaryInlined(blocks, slots) {
  let sum = 0;
  for (let i = 0; i < blocks.length; i++) sum = (sum + slotOf(blocks[i], slots)) | 0;
  return sum;
}
const canarySigned = (a, b) => ((a | 0) / (b | 0)) | 0;
const canaryUnsigned = (a, b) => ((a >>> 0) % (b >>> 0)) >>> 0;
const canaryDouble = (a, b) => a / b;
const canaryDoubleRemainder = (a, b) => a % b;
const canaryBigInt = (a, b) => a / b;
/** Divides by a power of two, which is a shift: must not be reported. */
const innocentShift = (a) => (a >>> 13) + (a & 8191);
/** Deoptimisation texts speak of division: must not be reported. */
const innocentText = (division) => division + 1;

const blocks = Uint32Array.from({ length: 64 }, (_, i) => i * 0x0300_0001);

/** @type {import('./trace.mjs').Target[]} */
export const canaries = [
  { id: 'canary.inlined', fn: canaryInlined, call: (n) => canaryInlined(blocks, 4069 + n) },
  { id: 'canary.signed', fn: canarySigned, call: (n) => canarySigned(1_000_000 + n, 7 + n) },
  { id: 'canary.unsigned', fn: canaryUnsigned, call: (n) => canaryUnsigned(4_000_000_000 + n, 7 + n) },
  { id: 'canary.double', fn: canaryDouble, call: (n) => canaryDouble(1.5 + n, 7.25) },
  { id: 'canary.doubleRemainder', fn: canaryDoubleRemainder, call: (n) => canaryDoubleRemainder(1.5 + n, 0.75) },
  { id: 'canary.bigint', fn: canaryBigInt, call: (n) => canaryBigInt(1n << BigInt(40 + (n & 7)), 3n) },
];

/** @type {import('./trace.mjs').Target[]} */
export const innocents = [
  { id: 'innocent.shift', fn: innocentShift, call: (n) => innocentShift(n * 100_000) },
  { id: 'innocent.text', fn: innocentText, call: (n) => innocentText(n) },
];
