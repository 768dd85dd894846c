import { checkFlag, checkOptions, isStorageError, nearestName, StorageError } from '@blockwright/base';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';

describe('StorageError', () => {
  it('carries code, message, detail, hint and cause', () => {
    const cause = new Error('EIO');
    const error = new StorageError('58030', 'could not read block 7 of base/5/16384', {
      detail: 'read 100 of 8192 bytes',
      hint: 'check the disk',
      cause,
    });
    expect(error).toMatchObject({
      name: 'StorageError',
      code: '58030',
      message: 'could not read block 7 of base/5/16384',
      detail: 'read 100 of 8192 bytes',
      hint: 'check the disk',
    });
    expect(error.cause).toBe(cause);
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).toBe('StorageError: could not read block 7 of base/5/16384');
    expect(error.stack).toContain('errors.test');
  });
  it('has no cause, detail or hint of its own accord', () => {
    const error = new StorageError('XX001', 'bad');
    expect('cause' in error).toBe(false);
    expect([error.detail, error.hint]).toEqual([undefined, undefined]);
  });
  it('is recognised across copies of the package', async () => {
    vi.resetModules();
    const copy = await import('@blockwright/base');
    expect(copy.StorageError).not.toBe(StorageError);
    expect(isStorageError(new copy.StorageError('XX001', 'theirs'))).toBe(true);
    expect(copy.isStorageError(new StorageError('XX001', 'ours'))).toBe(true);
    expect(new copy.StorageError('XX001', 'theirs')).not.toBeInstanceOf(StorageError);
  });
  it.each([null, undefined, 'XX001', 0, {}, new Error('x'), { code: 'XX001', name: 'StorageError' }, () => {}])(
    'is not what %o is',
    (value) => expect(isStorageError(value)).toBe(false),
  );
  it('keeps its mark out of what is printed', () => {
    expect(Object.getOwnPropertySymbols(new StorageError('XX001', 'x')).length).toBe(1);
    expect(Object.keys(new StorageError('XX001', 'x'))).toEqual(expect.arrayContaining(['code', 'detail', 'hint']));
    expect(JSON.parse(JSON.stringify(new StorageError('XX001', 'x')))).toMatchObject({ code: 'XX001' });
  });
});

describe('checkFlag', () => {
  it.each([true, false, undefined])('takes %s', (value) => {
    expect(() => checkFlag('scan', 'backward', value)).not.toThrow();
  });

  it.each([
    ['false', '"false"'],
    [0, '0'],
    [null, 'null'],
    [() => true, 'a function'],
  ])('refuses %s', (value, text) => {
    expect(() => checkFlag('scan', 'backward', value)).toThrow(
      new TypeError(`scan: "backward" is true or false, not ${text}`),
    );
  });
});

describe('checkOptions', () => {
  it.each([
    [null, 'null'],
    [undefined, 'undefined'],
    ['name', '"name"'],
    [5, '5'],
    [Promise.resolve({}), 'a promise of one'],
  ])('refuses %s, which is no object', (value, text) => {
    expect(() => checkOptions('scan', value as never, ['then'])).toThrow(
      new TypeError(`scan: an object is wanted, not ${text}`),
    );
  });

  const known = ['blockSize', 'dataChecksums', 'readOnly', 'sharedBuffers'];
  it('lets known options through, absent ones too', () => {
    expect(() => checkOptions('initdb', { blockSize: 1, readOnly: undefined }, known)).not.toThrow();
    expect(() => checkOptions('initdb', {}, known)).not.toThrow();
  });
  it.each([
    ['blocksize', 'blockSize'],
    ['block_size', 'blockSize'],
    ['dataChecksum', 'dataChecksums'],
    ['readonly', 'readOnly'],
    ['shareBuffers', 'sharedBuffers'],
    ['sharedBufers', 'sharedBuffers'],
  ])('names the right one for %s', (wrong, right) => {
    expect(() => checkOptions('initdb', { [wrong]: 1 }, known)).toThrow(
      new TypeError(`initdb has no option "${wrong}"; did you mean "${right}"?`),
    );
  });
  it('lists all when none is near', () => {
    expect(() => checkOptions('initdb', { xyzzy: 1 }, known)).toThrow(
      new TypeError('initdb has no option "xyzzy"; it takes blockSize, dataChecksums, readOnly, sharedBuffers'),
    );
  });
  it('does not look at inherited properties', () => {
    expect(() => checkOptions('initdb', Object.create({ surprise: 1 }) as object, known)).not.toThrow();
  });
});

describe('nearestName', () => {
  it('finds a name through any single slip of the finger', () => {
    const names = ['checksums', 'directory', 'segmentBlocks', 'verify'];
    const slip = fc.constantFrom(...names).chain((name) =>
      fc
        .tuple(fc.integer({ min: 0, max: name.length - 1 }), fc.constantFrom('drop', 'double', 'replace', 'case'))
        .map(([at, how]) => {
          const letter = name[at] as string;
          const instead = { drop: '', double: letter + letter, replace: 'q', case: letter.toUpperCase() }[
            how
          ] as string;
          return { name, slipped: name.slice(0, at) + instead + name.slice(at + 1) };
        }),
    );
    fc.assert(fc.property(slip, ({ name, slipped }) => void expect(nearestName(slipped, names)).toBe(name)));
  });
  it('finds none where nothing is near', () => {
    expect(nearestName('zzzzzz', ['checksums'])).toBeUndefined();
    expect(nearestName('checksums', [])).toBeUndefined();
  });
});
