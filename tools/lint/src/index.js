// The house's own ESLint rules. Plain JavaScript, so that the lint needs no build and runs on Node.js 20.
import { noBlockSizeLiteral } from './no-block-size-literal.js';
import { noBlockSizeMultiplication } from './no-block-size-multiplication.js';
import { noDivision } from './no-division.js';
import { noNodeImport } from './no-node-import.js';

export { BLOCK_SIZE_LITERALS } from './no-block-size-literal.js';

export default {
  meta: { name: 'blockwright' },
  rules: {
    'no-block-size-literal': noBlockSizeLiteral,
    'no-block-size-multiplication': noBlockSizeMultiplication,
    'no-division': noDivision,
    'no-node-import': noNodeImport,
  },
};
