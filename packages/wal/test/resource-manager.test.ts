import { type RecordDescriber, ResourceManagers, RM_HEAP, RM_XLOG } from '@blockwright/wal';
import { expect, test } from 'vitest';

const describer = (id: number, name: string): RecordDescriber => ({ id, name, identify: () => '', describe: () => '' });

test('resource managers are found by id, and listed by it', () => {
  const heap = describer(RM_HEAP, 'Heap');
  const xlog = describer(RM_XLOG, 'XLOG');
  const managers = new ResourceManagers<RecordDescriber>().register(heap).register(xlog);
  expect(managers.get(RM_HEAP)).toBe(heap);
  expect(managers.get(200)).toBeUndefined();
  expect(managers.get(-1)).toBeUndefined();
  expect(managers.all()).toEqual([xlog, heap]);
});

test('neither an id nor a name is given twice, nor an id that is no byte', () => {
  const managers = new ResourceManagers<RecordDescriber>().register(describer(RM_HEAP, 'Heap'));
  expect(() => managers.register(describer(RM_HEAP, 'Other'))).toThrow(/10 of Other is Heap's already/);
  expect(() => managers.register(describer(12, 'Heap'))).toThrow(
    /there is a resource manager Heap already, with id 10/,
  );
  for (const id of [-1, 256, 0.5, Number.NaN]) expect(() => managers.register(describer(id, 'X'))).toThrow(RangeError);
});
