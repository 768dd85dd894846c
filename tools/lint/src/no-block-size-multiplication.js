// Multiplying by a block size, or by a number of things a block, is a shift in disguise: this rule refuses it, also
// through a local variable that was read from such a property.
const SIZE_NAMES = new Set([
  'size',
  'blockSize',
  'blockSizeBytes',
  'blockBytes',
  'pageSize',
  'pageBytes',
  'BLCKSZ',
  'blcksz',
  'RELSEG_SIZE',
  'segmentBlocks',
  'blocksPerSegment',
  'heapBlocksPerVmPage',
  'HEAPBLOCKS_PER_PAGE',
  'slotsPerFsmPage',
  'SlotsPerFSMPage',
  'CLOG_XACTS_PER_PAGE',
  'MAPSIZE',
]);

const message =
  "multiplication by '{{name}}' is refused here: a block size is a power of two, so shift by BlockGeometry's shift (or use its mappings)";

/** Sees through parentheses' remains: type assertions and non-null marks. */
function strip(node) {
  let inner = node;
  while (['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression', 'TSTypeAssertion'].includes(inner.type))
    inner = inner.expression;
  return inner;
}

function findVariable(scope, name) {
  for (let s = scope; s !== null; s = s.upper) {
    const variable = s.set.get(name);
    if (variable !== undefined) return variable;
  }
  return undefined;
}

export const noBlockSizeMultiplication = {
  meta: { type: 'problem', schema: [], messages: { multiplication: message } },
  create(context) {
    /** The block size's name that `node` stands for, through local variables; undefined when it is none. */
    const sizeName = (node, depth = 0) => {
      const value = strip(node);
      if (value.type === 'MemberExpression')
        return !value.computed && SIZE_NAMES.has(value.property.name) ? value.property.name : undefined;
      if (value.type !== 'Identifier') return undefined;
      if (SIZE_NAMES.has(value.name)) return value.name;
      const definition = findVariable(context.sourceCode.getScope(value), value.name)?.defs[0];
      if (depth > 8 || definition?.type !== 'Variable') return undefined;
      const { id, init } = definition.node;
      if (id.type === 'Identifier') return init === null ? undefined : sizeName(init, depth + 1);
      if (id.type !== 'ObjectPattern') return undefined;
      const property = id.properties.find((p) => p.type === 'Property' && p.value.name === value.name);
      return property !== undefined && SIZE_NAMES.has(property.key.name) ? property.key.name : undefined;
    };
    const check = (node, operands) => {
      const name = operands.map((operand) => sizeName(operand)).find((found) => found !== undefined);
      if (name !== undefined) context.report({ node, messageId: 'multiplication', data: { name } });
    };
    return {
      BinaryExpression(node) {
        if (node.operator === '*') check(node, [node.left, node.right]);
      },
      AssignmentExpression(node) {
        if (node.operator === '*=') check(node, [node.left, node.right]);
      },
      CallExpression(node) {
        const { callee } = node;
        if (callee.type === 'MemberExpression' && callee.object.name === 'Math' && callee.property.name === 'imul')
          check(
            node,
            node.arguments.filter((argument) => argument.type !== 'SpreadElement'),
          );
      },
    };
  },
};
