// A decimal literal that is right at one block size only (8192, 8168, 291, 131072, …) is refused: BlockGeometry has it.
// Flags, masks and identifiers that happen to be the same number are written in hexadecimal.
const BLOCK_SIZES = [1024, 2048, 4096, 8192, 16384, 32768];

/** Numbers that people write for other reasons: bytes, kilo, mebi, thousands. They say nothing about a block size. */
const INNOCENT = new Set([256, 512, 1000, 1024, 4000, 65536, 1048576]);
const SMALLEST = 100;

/** What a block size decides, by PostgreSQL's name, as bufpage.h, visibilitymap.c, fsm_internals.h and others define it. */
function derived(size) {
  const page = size - 24;
  const nodes = page - 4;
  return {
    BLCKSZ: size,
    RELSEG_SIZE: 0x4000_0000 / size,
    MAPSIZE: page,
    HEAPBLOCKS_PER_PAGE: page * 4,
    MaxOffsetNumber: size / 4,
    MaxHeapTupleSize: size - 32,
    MaxHeapTuplesPerPage: Math.floor(page / 28),
    MaxIndexTuplesPerPage: Math.floor(page / 20),
    MaxTIDsPerBTreePage: Math.floor((page - 16) / 6),
    NodesPerPage: nodes,
    NonLeafNodesPerPage: size / 2 - 1,
    SlotsPerFSMPage: nodes - (size / 2 - 1),
    CLOG_XACTS_PER_PAGE: size * 4,
  };
}

/** Each suspicious number with what it is at which size, for the message. */
export const BLOCK_SIZE_LITERALS = new Map();
const tables = BLOCK_SIZES.map((size) => [size, derived(size)]);
for (const name of Object.keys(derived(1024)))
  for (const [size, { [name]: value }] of tables)
    if (value >= SMALLEST && !INNOCENT.has(value) && !BLOCK_SIZE_LITERALS.has(value))
      BLOCK_SIZE_LITERALS.set(value, `${name} at ${size >> 10} kB`);

export const noBlockSizeLiteral = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      literal:
        '{{raw}} is {{what}}: take it from BlockGeometry (a flag, mask or object id that happens to be this number is written in hexadecimal)',
    },
  },
  create(context) {
    return {
      Literal(node) {
        if (typeof node.value !== 'number' || /^0[xob]/i.test(node.raw)) return;
        const what = BLOCK_SIZE_LITERALS.get(node.value);
        if (what !== undefined) context.report({ node, messageId: 'literal', data: { raw: node.raw, what } });
      },
    };
  },
};
