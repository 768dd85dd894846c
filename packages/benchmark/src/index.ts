export { aimAtLeast, aimAtMost, aimText } from './aims.ts';
export { type BenchmarkDefinition, type BenchmarkOutcome, defineBenchmark } from './define.ts';
export { checkFolder } from './folder.ts';
export { describeMachine, type MachineDescription, machineText } from './machine.ts';
export {
  type BenchmarkOption,
  type BooleanOption,
  isPositional,
  type ListOption,
  type NumberOption,
  type OptionValue,
  type OptionValues,
  optionFlag,
  optionWord,
  type ResolvedOptions,
  resolveOptions,
  type StringOption,
} from './options.ts';
export {
  type Aim,
  type Benchmark,
  type BenchmarkContext,
  type BenchmarkReport,
  type Cell,
  type CellValue,
  type ReportColumn,
  reportJson,
  reportTable,
  significant,
  WrongAnswerError,
} from './report.ts';
export {
  cellOf,
  expectAnswer,
  LEAST_ROUNDS,
  type Measured,
  measureRounds,
  perUnit,
  type RoundOptions,
  seededRandom,
  shuffle,
  type Variant,
} from './rounds.ts';
export {
  type Comparison,
  compareRounds,
  comparisonText,
  type MedianInterval,
  medianInterval,
  type Quartiles,
  quartiles,
  quartilesOverlap,
} from './statistics.ts';
