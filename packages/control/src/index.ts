export {
  type CheckpointPosition,
  CONTROL_FILE_PATH,
  type ControlFile,
  type ControlState,
  type InitialControlOptions,
  initialControlFile,
  readControlFile,
  refuseOtherBlockSize,
  writeControlFile,
} from './control-file.ts';
export {
  CONTROL_FIELDS,
  CONTROL_FILE_BYTES,
  CONTROL_VERSION,
  decodeControlFile,
  encodeControlFile,
} from './control-format.ts';
export { type ControlChange, ControlHolder } from './control-holder.ts';
export { crc32c } from './crc32c.ts';
export {
  checkDataDirectory,
  DATA_VERSION,
  type DirectoryKind,
  directoryKind,
  hasControlFile,
  PG_VERSION_FILE,
  readPgControlFile,
  readPgVersion,
  VERSION_FILE,
  writeVersionFile,
} from './directory.ts';
export {
  formatTime,
  PG_CONTROL_PATH,
  type PgCheckpoint,
  type PgControl,
  pgControlLabels,
  readPgControl,
} from './pg-control.ts';
