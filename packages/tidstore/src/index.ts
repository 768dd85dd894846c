// Every export of the package, by hand.
export { RadixTidStore } from './radix-store.ts';
export { type SortedArrayOptions, SortedArrayTidStore } from './sorted-array.ts';
export type { TidCursor, TidStore } from './store.ts';
export { type RadixStats, RadixTree } from './tree.ts';
export type { RadixCursor } from './tree-cursor.ts';
