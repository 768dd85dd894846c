// The control file as an open data directory holds it: what it says in memory is what the file says.
import { ControlHolder, initialControlFile, readControlFile, writeControlFile } from '@blockwright/control';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { expect, test } from 'vitest';

function disk(): MemoryVfs {
  const vfs = new MemoryVfs();
  vfs.mkdir('/data');
  vfs.mkdir('/data/global');
  writeControlFile(vfs, '/data', initialControlFile());
  return vfs;
}

test('what was changed stands in the file, and the rest as it was', () => {
  const vfs = disk();
  const holder = new ControlHolder(vfs, '/data');
  const before = holder.current;
  expect(before).toEqual(readControlFile(vfs, '/data'));
  const checkpoint = { record: 80, redo: 40, durable: 200, incarnation: 1, timeMs: 7 };
  expect(holder.update({ state: 'in production', checkpoint })).toBe(holder.current);
  const { modifiedMs } = holder.current;
  expect(holder.current).toEqual({ ...before, state: 'in production', checkpoint, modifiedMs });
  expect(readControlFile(vfs, '/data')).toEqual(holder.current);
});

test('what is given is believed, and not read again', () => {
  const vfs = disk();
  const control = readControlFile(vfs, '/data');
  vfs.journal.length = 0;
  expect(new ControlHolder(vfs, '/data', control).current).toBe(control);
  expect(vfs.journal).toEqual([]);
});

test('when the disk refuses, both stay as they were', () => {
  const vfs = disk();
  const holder = new ControlHolder(vfs, '/data');
  const before = holder.current;
  const fault = vfs.plant({ operation: 'write', errno: 'ENOSPC' });
  expect(() => holder.update({ nextXid: 9 })).toThrow(expect.objectContaining({ code: '53100' }));
  expect(fault.hits).toBe(1);
  expect(holder.current).toBe(before);
  expect(readControlFile(vfs, '/data')).toEqual(before);
  expect(() => holder.update({ nextXid: -1 })).toThrow(RangeError);
  expect(holder.current).toBe(before);
  expect(holder.update({ nextXid: 9 }).nextXid).toBe(9);
});
