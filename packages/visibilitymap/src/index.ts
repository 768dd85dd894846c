export { clearVisibilityBits, setVisibilityBits, visibilityTruncation } from './change.ts';
export { VisibilityCursor } from './cursor.ts';
export { VISIBILITYMAP_ALL_FROZEN, VISIBILITYMAP_ALL_VISIBLE, VISIBILITYMAP_VALID_BITS } from './format.ts';
export { type VisibilityCount, type VisibilityFork, VisibilityMap, type VisibilityMapStats } from './map.ts';
