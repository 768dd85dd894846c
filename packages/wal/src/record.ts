// A record as it was read.
import type { Lsn, Xid } from '@blockwright/base';

const MAX_BLOCKS = 33;

export class WalRecord {
  lsn: Lsn = 0;
  endLsn: Lsn = 0;
  endHigh: number = 0;
  endLow: number = 0;
  previous: Lsn = 0;
  xid: Xid = 0;
  rmgr: number = 0;
  info: number = 0;
  totalLength: number = 0;
  incarnation: number = 0;
  bytes: Uint8Array = new Uint8Array(0);
  view: DataView = new DataView(new ArrayBuffer(0));
  dataAt: number = 0;
  dataLength: number = 0;
  blockCount: number = 0;
  readonly blockId: Int32Array = new Int32Array(MAX_BLOCKS);
  readonly tablespace: Uint32Array = new Uint32Array(MAX_BLOCKS);
  readonly database: Uint32Array = new Uint32Array(MAX_BLOCKS);
  readonly relfilenode: Uint32Array = new Uint32Array(MAX_BLOCKS);
  readonly fork: Int32Array = new Int32Array(MAX_BLOCKS);
  readonly block: Uint32Array = new Uint32Array(MAX_BLOCKS);
  /** 1 or 0. */
  readonly hasImage: Uint8Array = new Uint8Array(MAX_BLOCKS);
  /** 1 or 0. */
  readonly willInit: Uint8Array = new Uint8Array(MAX_BLOCKS);
  readonly imageAt: Int32Array = new Int32Array(MAX_BLOCKS);
  readonly imageLength: Int32Array = new Int32Array(MAX_BLOCKS);
  readonly holeOffset: Int32Array = new Int32Array(MAX_BLOCKS);
  readonly holeLength: Int32Array = new Int32Array(MAX_BLOCKS);
  readonly blockDataAt: Int32Array = new Int32Array(MAX_BLOCKS);
  readonly blockDataLength: Int32Array = new Int32Array(MAX_BLOCKS);

  u8(at: number): number {
    return this.bytes[at];
  }

  u16(at: number): number {
    return this.view.getUint16(at, true);
  }

  u32(at: number): number {
    return this.view.getUint32(at, true);
  }

  /** Index of the block reference with that id, -1 when there is none. */
  indexOf(blockId: number): number {
    const count = this.blockCount;
    for (let i = 0; i < count; i++) if (this.blockId[i] === blockId) return i;
    return -1;
  }
}
