export { errnoOf, fileError, isSystemError, type SystemError, systemError } from './errors.ts';
export {
  baseName,
  createFile,
  joinPath,
  parentPath,
  readFully,
  replaceFile,
  TEMPORARY_SUFFIX,
  writeFully,
} from './files.ts';
export { NodeVfs, type NodeVfsOptions } from './node-vfs.ts';
export type { OpenMode, Vfs, VfsFile, VfsStat } from './vfs.ts';
