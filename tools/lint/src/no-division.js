// From a block number, an offset or a byte to another there are only shifts, masks, additions and subtractions: this
// rule refuses the operators that a compiler turns into a division, and the functions that usually come with one.
const OPERATORS = new Set(['/', '%', '**', '/=', '%=', '**=']);
const FUNCTIONS = new Set(['floor', 'trunc', 'round', 'ceil', 'fround', 'pow']);

const messages = {
  operator:
    "'{{name}}' is refused here: use shifts and masks of BlockGeometry, or move what is rare to a *.cold.ts file",
  math: 'Math.{{name}} is refused here: an address is an integer from the start, so use shifts and masks (or a *.cold.ts file)',
  mathValue: "'Math' may only be used as Math.name here, so that what it does can be seen",
  bigint: 'BigInt arithmetic is refused here: a 64-bit number travels as two words (see words.ts of @blockwright/base)',
};

/** The name of a property access, computed or not; undefined when it cannot be read off the source. */
function propertyName(node) {
  if (!node.computed) return node.property.name;
  return node.property.type === 'Literal' ? String(node.property.value) : undefined;
}

export const noDivision = {
  meta: { type: 'problem', schema: [], messages },
  create(context) {
    const checkOperator = (node) => {
      if (OPERATORS.has(node.operator)) context.report({ node, messageId: 'operator', data: { name: node.operator } });
    };
    const checkMath = (node) => {
      const { parent } = node;
      if (parent.type !== 'MemberExpression' || parent.object !== node) {
        context.report({ node, messageId: 'mathValue' });
        return;
      }
      const name = propertyName(parent);
      if (name === undefined) context.report({ node: parent, messageId: 'mathValue' });
      else if (FUNCTIONS.has(name)) context.report({ node: parent, messageId: 'math', data: { name } });
    };
    return {
      BinaryExpression: checkOperator,
      AssignmentExpression: checkOperator,
      Literal(node) {
        if (typeof node.bigint === 'string') context.report({ node, messageId: 'bigint' });
      },
      Program(node) {
        const { globalScope } = context.sourceCode.scopeManager;
        // What no declaration in the file owns: `Math` and `BigInt` are the global ones.
        for (const { identifier } of [...globalScope.through, ...globalScope.variables.flatMap((v) => v.references)]) {
          if (identifier.parent === node) continue;
          if (identifier.name === 'Math') checkMath(identifier);
          else if (identifier.name === 'BigInt') context.report({ node: identifier, messageId: 'bigint' });
          else if (identifier.name === 'globalThis' && isMathOf(identifier.parent))
            context.report({ node: identifier, messageId: 'mathValue' });
        }
      },
    };
  },
};

function isMathOf(node) {
  return node.type === 'MemberExpression' && ['Math', 'BigInt'].includes(propertyName(node));
}
