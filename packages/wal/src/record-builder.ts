// Puts a record together.
import type { BlockNumber, ForkNumber, RelationLocator } from '@blockwright/base';

export class RecordBuilder {
  begin(_rmgr: number, _info: number): void {
    throw new Error('not yet');
  }
  block(_blockId: number, _locator: RelationLocator, _fork: ForkNumber, _block: BlockNumber, _willInit: boolean): void {
    throw new Error('not yet');
  }
  image(
    _bytes: Uint8Array,
    _at: number,
    _size: number,
    _holeOffset: number,
    _holeLength: number,
    _keepData: boolean,
  ): void {
    throw new Error('not yet');
  }
  main(): void {
    throw new Error('not yet');
  }
  u8(_v: number): void {
    throw new Error('not yet');
  }
  u16(_v: number): void {
    throw new Error('not yet');
  }
  u32(_v: number): void {
    throw new Error('not yet');
  }
  bytes(_src: Uint8Array, _from: number, _length: number): void {
    throw new Error('not yet');
  }
}
