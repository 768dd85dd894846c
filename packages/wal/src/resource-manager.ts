// Resource managers: each subject that writes records registers how to name, describe and redo them; nothing here knows
// one. PostgreSQL: rmgrlist.h, xlog_internal.h.
import type { WalRecord } from './record.ts';

/** Ids of resource managers, as PostgreSQL numbers them. PostgreSQL: rmgrlist.h. */
export const RM_XLOG = 0;
export const RM_XACT = 1;
export const RM_SMGR = 2;
export const RM_CLOG = 3;
export const RM_HEAP2 = 9;
export const RM_HEAP = 10;
export const RM_BTREE = 11;

/** Puts the records of one resource manager into words. PostgreSQL: `rm_name`, `rm_identify`, `rm_desc` of `RmgrData`. */
export interface RecordDescriber {
  /** One of the RM_ constants, or another number from 0 to 255. */
  readonly id: number;
  /** Such as `Heap`. */
  readonly name: string;
  /** The kind of a record with these info bits, such as `INSERT+INIT`; `UNKNOWN (xx)` for bits of no kind. */
  identify(info: number): string;
  /** What the record's data says, such as `off: 3, flags: 0x00`; empty when there is nothing to say. */
  describe(record: WalRecord): string;
}

/** A subject that can also apply its records again. PostgreSQL: `rm_redo`. */
export interface ResourceManager extends RecordDescriber {
  /** Applies the record, whose fields are lent until it returns. */
  redo(record: WalRecord): void;
}

/** Resource managers by id. */
export class ResourceManagers<T extends RecordDescriber> {
  private readonly byId: (T | undefined)[] = new Array<T | undefined>(256).fill(undefined);

  /** @throws TypeError when the id or the name is taken; RangeError when the id is no byte. */
  register(manager: T): this {
    const { id, name } = manager;
    if (!Number.isInteger(id) || id < 0 || id > 255) {
      throw new RangeError(`resource manager id ${String(id)} is not an integer from 0 to 255`);
    }
    for (const other of this.all()) {
      if (other.id === id) throw new TypeError(`resource manager id ${id} of ${name} is ${other.name}'s already`);
      if (other.name === name) throw new TypeError(`there is a resource manager ${name} already, with id ${other.id}`);
    }
    this.byId[id] = manager;
    return this;
  }

  /** The one with that id, if it is registered. */
  get(id: number): T | undefined {
    return this.byId[id];
  }

  /** All of them, by rising id. */
  all(): T[] {
    return this.byId.filter((manager) => manager !== undefined);
  }
}
