import { surveyWal } from '@blockwright/wal';
import { expect, test } from 'vitest';
import { DIRECTORY, Image, insert, newDirectory, newWriter, recordOfLength, SEGMENT, SYSTEM } from './support.ts';

test('a directory of segments tells their size, the system, and which there are', () => {
  const vfs = newDirectory();
  expect(surveyWal(vfs, DIRECTORY), 'never written').toBeUndefined();
  const wal = newWriter(vfs);
  for (let i = 0; wal.insertedUpTo < 3 * SEGMENT; i++) insert(wal, recordOfLength(5000, i));
  wal.write(wal.insertedUpTo);
  vfs.open(`${DIRECTORY}/notes`, 'create').close();
  vfs.open(`${DIRECTORY}/000000010000000000000000`, 'create').close();
  const wanted = { segmentSize: SEGMENT, systemIdentifier: SYSTEM, segments: [0, SEGMENT, 2 * SEGMENT, 3 * SEGMENT] };
  expect(surveyWal(vfs, DIRECTORY)).toEqual(wanted);
  new Image(vfs).set(SEGMENT + 33, 1, 7);
  expect(surveyWal(vfs, DIRECTORY), 'by the second').toEqual(wanted);
});
