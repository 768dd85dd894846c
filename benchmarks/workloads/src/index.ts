export {
  createNarrow,
  NARROW_FILLFACTOR,
  type NarrowTable,
  narrowTable,
  scanNarrow,
  updateNarrow,
} from './narrow.ts';
export {
  ACCOUNTS_A_BRANCH,
  createTpcb,
  drawTpcb,
  runTpcb,
  sumTpcb,
  TELLERS_A_BRANCH,
  type TpcbParameters,
  type TpcbResult,
  type TpcbSize,
  type TpcbSums,
  type TpcbTables,
  tpcbSumsAgree,
  tpcbTables,
} from './tpcb.ts';
