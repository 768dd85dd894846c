export { changePage, withBlock } from './page-change.ts';
export { Relation, type RelationOptions } from './relation.ts';
