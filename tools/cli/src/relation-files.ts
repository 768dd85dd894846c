// A relation file by its path: which fork and segment its name says, and the control file of the directory around it.

import { basename, dirname, join, resolve } from 'node:path';
import { FORK_NAMES, type ForkName } from '@blockwright/base';
import type { BlockGeometry, BlockSize } from '@blockwright/geometry';
import type { Vfs, VfsFile } from '@blockwright/vfs';
import { CommandFailure } from './failures.ts';

/** What a relation file's name says: `16384_vm.2` is segment 2 of a visibility map. */
export interface RelationFileName {
  readonly fork: ForkName;
  readonly segment: number;
}

/** Reads a file's name; any name that says nothing is the first segment of a main fork. */
export function relationFileName(path: string): RelationFileName {
  const match = /^.*?(?:_(fsm|vm|init))?(?:\.(\d{1,6}))?$/.exec(basename(path));
  const fork = (match?.[1] ?? 'main') as ForkName;
  return { fork: FORK_NAMES.includes(fork) ? fork : 'main', segment: Number(match?.[2] ?? 0) };
}

/** What a control file says of the relation files below its directory. */
interface Surroundings {
  readonly controlFile: string;
  readonly blockSize: BlockSize;
  readonly checksums: boolean;
  readonly segmentBlocks: number;
}

/** The control file of the data directory that holds a relation file, if it lies in one; a damaged one says nothing. */
async function surroundingsOf(vfs: Vfs, path: string): Promise<Surroundings | undefined> {
  const control = await import('@blockwright/control');
  const folder = dirname(resolve(path));
  for (const directory of [dirname(folder), dirname(dirname(folder))]) {
    try {
      if (
        vfs.exists(join(directory, control.PG_CONTROL_PATH)) &&
        vfs.exists(join(directory, control.PG_VERSION_FILE))
      ) {
        const { blockSize, dataChecksumVersion, segmentBlocks } = control.readPgControlFile(vfs, directory);
        const controlFile = join(directory, control.PG_CONTROL_PATH);
        return { controlFile, blockSize, checksums: dataChecksumVersion !== 0, segmentBlocks };
      }
      if (vfs.exists(join(directory, control.CONTROL_FILE_PATH))) {
        const { blockSize, dataChecksums, segmentBlocks } = control.readControlFile(vfs, directory);
        return {
          controlFile: join(directory, control.CONTROL_FILE_PATH),
          blockSize,
          checksums: dataChecksums,
          segmentBlocks,
        };
      }
    } catch {
      return undefined; // "check" tells what is wrong with it; a single file can be read without
    }
  }
  return undefined;
}

/** A relation file that is read block by block. */
export interface OpenRelationFile extends RelationFileName {
  readonly path: string;
  readonly geometry: BlockGeometry;
  readonly checksums: boolean;
  /** Number in the fork of the file's first block. */
  readonly firstBlock: number;
  /** Whole blocks in the file. */
  readonly blocks: number;
  /** Bytes after the last whole block. */
  readonly tail: number;
  /** Reads one block, counted from the fork's first, into a buffer that is used again. */
  read(block: number): Uint8Array;
  close(): void;
}

/**
 * Opens a relation file. The block size comes from the control file around it, else from its pages, else from `given`.
 * @throws StorageError when it cannot be read; CommandFailure when its block size cannot be told, or is not `given`.
 */
export async function openRelationFile(path: string, given: BlockSize | undefined): Promise<OpenRelationFile> {
  const [{ NodeVfs, readFully }, { BlockGeometry: Geometry }] = await Promise.all([
    import('@blockwright/vfs'),
    import('@blockwright/geometry'),
  ]);
  const vfs = new NodeVfs();
  if (vfs.stat(path)?.isDirectory === true) {
    throw new CommandFailure(`"${path}" is a directory`, { hint: 'Name a relation file in it, such as base/5/16384.' });
  }
  const around = await surroundingsOf(vfs, path);
  const file = vfs.open(path, 'r');
  try {
    const size = await blockSizeOf(file, path, around, given);
    const geometry = Geometry.of(size);
    const { fork, segment } = relationFileName(path);
    const segmentBlocks = around?.segmentBlocks ?? 2 ** geometry.segmentShift;
    const firstBlock = segment * segmentBlocks;
    const buffer = new Uint8Array(size);
    const bytes = file.size();
    return {
      path,
      fork,
      segment,
      geometry,
      checksums: around?.checksums ?? false,
      firstBlock,
      blocks: Math.floor(bytes / size),
      tail: bytes % size,
      read(block) {
        readFully(file, buffer, 0, size, (block - firstBlock) * size);
        return buffer;
      },
      close: () => file.close(),
    };
  } catch (error) {
    file.close();
    throw error;
  }
}

async function blockSizeOf(
  file: VfsFile,
  path: string,
  around: Surroundings | undefined,
  given: BlockSize | undefined,
): Promise<BlockSize> {
  if (around !== undefined) {
    if (given === undefined || given === around.blockSize) return around.blockSize;
    throw disagreement(`the control file "${around.controlFile}" says`, around.blockSize, given);
  }
  const { detectBlockSize } = await import('@blockwright/pageinspect');
  const { readFully } = await import('@blockwright/vfs');
  const detected = detectBlockSize({
    size: file.size(),
    read(position, length) {
      const bytes = new Uint8Array(length);
      return bytes.subarray(0, readFully(file, bytes, 0, length, position));
    },
  })?.blockSize;
  if (given !== undefined) {
    if (detected !== undefined && detected !== given) throw disagreement(`the pages of "${path}" say`, detected, given);
    return given;
  }
  if (detected !== undefined) return detected;
  throw new CommandFailure(`the block size of "${path}" cannot be told from its pages`, {
    hint: 'Give it with --block-size.',
  });
}

function disagreement(who: string, found: BlockSize, given: BlockSize): CommandFailure {
  return new CommandFailure(
    `${who} that the block size is ${found >>> 10}kB, not ${given >>> 10}kB as --block-size says`,
    {
      hint: 'Leave --block-size out.',
    },
  );
}
