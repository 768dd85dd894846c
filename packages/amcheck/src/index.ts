export { HeapPageCheck, type HeapPageCounts, type HeapPageOptions } from './heap-page.ts';
export { findFreeSpaceFaults, findMapFaults } from './map-pages.ts';
export { checkRelation, type FileSummary, type RelationCheckOptions } from './relation.ts';
export { type XidRange, xidFault } from './xids.ts';
