import { allRecordDescribers, XLOG_CHECKPOINT_ONLINE, XLOG_FPI_FOR_HINT } from '@blockwright/recovery';
import { RM_XLOG } from '@blockwright/wal';
import { expect, test } from 'vitest';

test('records about the WAL have their names', () => {
  const xlog = allRecordDescribers().get(RM_XLOG);
  expect(xlog?.identify(XLOG_CHECKPOINT_ONLINE)).toBe('CHECKPOINT_ONLINE');
  expect(xlog?.identify(XLOG_FPI_FOR_HINT)).toBe('FPI_FOR_HINT');
});
