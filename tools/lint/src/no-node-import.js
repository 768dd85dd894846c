// Packages that also run in a browser import nothing of Node.js.
import { builtinModules } from 'node:module';

const BUILTIN = new Set(builtinModules);

function isNodeModule(name) {
  return typeof name === 'string' && (name.startsWith('node:') || BUILTIN.has(name));
}

export const noNodeImport = {
  meta: {
    type: 'problem',
    schema: [],
    messages: { node: "'{{name}}' is a module of Node.js, and this package runs without Node.js" },
  },
  create(context) {
    const check = (node) => {
      const source = node.source ?? node.argument?.literal ?? node.moduleReference?.expression;
      if (isNodeModule(source?.value)) context.report({ node, messageId: 'node', data: { name: source.value } });
    };
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
      TSImportType: check,
      TSImportEqualsDeclaration: check,
    };
  },
};
