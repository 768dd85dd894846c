// Faults put into the engine while a test runs, each by one method replaced: what the simulation must find.
import { PAGE_NO_IMAGE, PageLog } from '@blockwright/access';
import { CommitLog, Transactions } from '@blockwright/transam';
import type { VfsFile } from '@blockwright/vfs';
import { SimulatedVfs } from '@blockwright/vfs/simulated';
import { VisibilityMap } from '@blockwright/visibilitymap';
import {
  type ResourceManager,
  ResourceManagers,
  RM_BTREE,
  RM_CLOG,
  RM_HEAP,
  RM_HEAP2,
  RM_SMGR,
  RM_XACT,
  RM_XLOG,
  WalWriter,
} from '@blockwright/wal';

/** Puts the fault in. @returns what takes it out */
export type Sabotage = () => () => void;

type Method = (this: unknown, ...args: never[]) => unknown;

/** Replaces a method of a class. */
function replaced(prototype: object, name: string, make: (original: Method) => Method): () => void {
  const methods = prototype as Record<string, Method>;
  const original = methods[name];
  if (typeof original !== 'function') throw new TypeError(`there is no method ${name} to replace`);
  methods[name] = make(original);
  return () => {
    methods[name] = original;
  };
}

function together(...restores: (() => void)[]): () => void {
  return () => {
    for (const restore of restores) restore();
  };
}

/** A commit returns once its record is with the system. */
const noFlushAtCommit: Sabotage = () => {
  let committing = false;
  return together(
    replaced(Transactions.prototype, 'begin', (original) => {
      return function (this: unknown, ...args) {
        const tx = original.apply(this, args) as { commit(): void };
        const commit = tx.commit.bind(tx);
        tx.commit = () => {
          committing = true;
          try {
            commit();
          } finally {
            committing = false;
          }
        };
        return tx;
      };
    }),
    replaced(WalWriter.prototype, 'flush', (original) => {
      return function (this: unknown, ...args) {
        return committing ? (this as WalWriter).write(...(args as unknown as [number])) : original.apply(this, args);
      };
    }),
  );
};

const noImages: Sabotage = () =>
  replaced(PageLog.prototype, 'page', (original) => {
    return function (this: unknown, ...args) {
      const [blockId, fork, buffer, flags] = args as unknown as [number, unknown, number, number];
      return original.call(this, ...([blockId, fork, buffer, flags | PAGE_NO_IMAGE] as never[]));
    };
  });

const mapBitStays: Sabotage = () => replaced(VisibilityMap.prototype, 'pinToClear', () => () => -1);

/** The sync of a relation's file goes to the file that was opened before it. */
const wrongFileSynced: Sabotage = () => {
  const before = new WeakMap<SimulatedVfs, VfsFile>();
  return replaced(SimulatedVfs.prototype, 'open', (original) => {
    return function (this: unknown, ...args) {
      const vfs = this as SimulatedVfs;
      const file = original.apply(this, args) as VfsFile;
      if (!file.path.includes('/base/')) return file;
      const wrong = before.get(vfs);
      before.set(vfs, file);
      if (wrong !== undefined) file.sync = () => quietly(() => wrong.sync());
      return file;
    };
  });
};

function quietly(what: () => void): void {
  try {
    what();
  } catch {
    // the wrong file is closed
  }
}

const commitLogNotWritten: Sabotage = () => replaced(CommitLog.prototype, 'flush', () => () => {});

/** Of a commit or checkpoint, all that was inserted is flushed; what a page needs is less than that, and is not. */
const pageBeforeWal: Sabotage = () =>
  replaced(WalWriter.prototype, 'flush', (original) => {
    return function (this: unknown, ...args) {
      const [upTo] = args as unknown as [number];
      return upTo < (this as WalWriter).insertedUpTo ? undefined : original.apply(this, args);
    };
  });

/** A row that pruning took off its page counts as dead, though the disk has neither that nor the commit. */
const killedTooEarly: Sabotage = () => replaced(Transactions.prototype, 'outlivesCrash', () => () => true);

/** What is done wrong while the engine works. */
export const SABOTAGE: Readonly<Record<string, Sabotage>> = {
  'no flush at commit': noFlushAtCommit,
  'no full-page image': noImages,
  'a map bit not cleared': mapBitStays,
  'a wrong file synced': wrongFileSynced,
  'a commit log that no checkpoint writes': commitLogNotWritten,
  'pages before their WAL': pageBeforeWal,
  'entries dead before the commit is durable': killedTooEarly,
};

/** Found only where hints are in no WAL: on disks without data checksums. */
export const WITHOUT_CHECKSUMS: ReadonlySet<string> = new Set(['entries dead before the commit is durable']);

/** A kind of record: its resource manager and the bits of its info that tell it from the others. */
export interface RecordKind {
  readonly rmgr: number;
  readonly info: number;
  readonly mask: number;
}

const kind = (rmgr: number, info: number, mask = 0xf0): RecordKind => ({ rmgr, info, mask });

/** Every kind of record that the engine writes. */
export const RECORD_KINDS: Readonly<Record<string, RecordKind>> = {
  'XLOG NEXTOID': kind(RM_XLOG, 0x30),
  'XLOG FPI_FOR_HINT': kind(RM_XLOG, 0xa0),
  'Transaction COMMIT': kind(RM_XACT, 0x00, 0x70),
  'Storage CREATE': kind(RM_SMGR, 0x10),
  'CLOG ZEROPAGE': kind(RM_CLOG, 0x00),
  'Heap INSERT': kind(RM_HEAP, 0x00, 0x70),
  'Heap DELETE': kind(RM_HEAP, 0x10, 0x70),
  'Heap UPDATE': kind(RM_HEAP, 0x20, 0x70),
  'Heap HOT_UPDATE': kind(RM_HEAP, 0x40, 0x70),
  'Heap LOCK': kind(RM_HEAP, 0x60, 0x70),
  'Heap2 PRUNE_ON_ACCESS': kind(RM_HEAP2, 0x10, 0x70),
  'Heap2 PRUNE_VACUUM_SCAN': kind(RM_HEAP2, 0x20, 0x70),
  'Heap2 VISIBLE': kind(RM_HEAP2, 0x40, 0x70),
  'Heap2 MULTI_INSERT': kind(RM_HEAP2, 0x50, 0x70),
  'XLOG FPI': kind(RM_XLOG, 0xb0),
  'Btree INSERT_LEAF': kind(RM_BTREE, 0x00),
  'Btree INSERT_UPPER': kind(RM_BTREE, 0x10),
  'Btree INSERT_META': kind(RM_BTREE, 0x20),
  'Btree SPLIT_L': kind(RM_BTREE, 0x30),
  'Btree SPLIT_R': kind(RM_BTREE, 0x40),
  'Btree INSERT_POST': kind(RM_BTREE, 0x50),
  'Btree DEDUP': kind(RM_BTREE, 0x60),
  'Btree DELETE': kind(RM_BTREE, 0x70),
  'Btree UNLINK_PAGE': kind(RM_BTREE, 0x80),
  'Btree UNLINK_PAGE_META': kind(RM_BTREE, 0x90),
  'Btree NEWROOT': kind(RM_BTREE, 0xa0),
  'Btree MARK_PAGE_HALFDEAD': kind(RM_BTREE, 0xb0),
  'Btree VACUUM': kind(RM_BTREE, 0xc0),
};

/**
 * Kinds whose redo only does early what would come of itself: a transaction without a commit is an aborted one, and its
 * files go at the end of recovery; a checkpoint that did not get into the control file is passed over.
 */
export const HARMLESS_KINDS: Readonly<Record<string, RecordKind>> = {
  'Transaction ABORT': kind(RM_XACT, 0x20, 0x70),
  'XLOG CHECKPOINT_SHUTDOWN': kind(RM_XLOG, 0x00),
  'XLOG CHECKPOINT_ONLINE': kind(RM_XLOG, 0x10),
  'Btree META_CLEANUP': kind(RM_BTREE, 0xe0), // how many pages wait to be used again: a hint for the next vacuum
};

/** Redo passes over the records of one kind. `seen` is told of each record that is replayed, of whatever kind. */
export function skipping(skipped: RecordKind | undefined, seen?: (rmgr: number, info: number) => void): () => void {
  return replaced(ResourceManagers.prototype, 'register', (original) => {
    return function (this: unknown, ...args) {
      const [manager] = args as unknown as [ResourceManager];
      if (typeof manager.redo !== 'function') return original.apply(this, args);
      const sabotaged: ResourceManager = {
        id: manager.id,
        name: manager.name,
        identify: (info) => manager.identify(info),
        describe: (record) => manager.describe(record),
        redo: (record) => {
          seen?.(record.rmgr, record.info);
          if (skipped?.rmgr === record.rmgr && (record.info & skipped.mask) === skipped.info) return;
          manager.redo(record);
        },
      };
      return original.call(this, ...([sabotaged] as never[]));
    };
  });
}
