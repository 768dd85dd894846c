export { FreeSpaceMap, NO_BLOCK } from './free-space-map.ts';
export { largestValue, rebuildPage, searchSlot, setSlotValue, slotValue } from './fsm-page.ts';
