export { parseRelationFileName, type RelationFileName, segmentOfName, segmentPath } from './file-names.ts';
export { Fork, type Gap } from './fork.ts';
export { StorageManager, type StorageManagerOptions } from './manager.ts';
export { StoredRelation } from './relation.ts';
export type { SegmentFile } from './segments.ts';
