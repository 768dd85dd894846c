// The contract against the machine's file system (with room for many descriptors, and for one) and the one in memory.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NodeVfs } from '@blockwright/vfs';
import { vfsContract } from '@blockwright/vfs/contract';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { afterAll, describe, expect, test } from 'vitest';

const made: string[] = [];
afterAll(() => {
  for (const directory of made) rmSync(directory, { recursive: true });
});
function temporary(): string {
  const directory = mkdtempSync(join(tmpdir(), 'blockwright-vfs-'));
  made.push(directory);
  return directory;
}

function onlyDescriptorFits(name: string): boolean {
  // With one descriptor, a removed file cannot be opened a second time: there the law needs a descriptor that stays.
  return name !== 'unlink removes the name; an open file stays whole';
}

describe('NodeVfs', () => {
  for (const law of vfsContract(() => ({ vfs: new NodeVfs(), root: temporary() }))) test(law.name, () => law.run());
});
describe('NodeVfs with one descriptor', () => {
  for (const law of vfsContract(() => ({ vfs: new NodeVfs({ maxOpenFiles: 1 }), root: temporary() }))) {
    if (onlyDescriptorFits(law.name)) test(law.name, () => law.run());
  }
});
describe('MemoryVfs', () => {
  for (const law of vfsContract(() => ({ vfs: new MemoryVfs(), root: '/' }))) test(law.name, () => law.run());
});
describe('MemoryVfs that transfers three bytes at most', () => {
  const make = () => {
    const vfs = new MemoryVfs();
    vfs.maxReadBytes = 3;
    vfs.maxWriteBytes = 3;
    vfs.mkdir('/root');
    return { vfs, root: '/root/' };
  };
  for (const law of vfsContract(make)) test(law.name, () => law.run());
});

// The canary: a file system with one fault must be found out by the laws.
class ForgetfulVfs extends MemoryVfs {
  override rename(from: string, to: string): void {
    if (this.exists(to)) this.unlink(from);
    else super.rename(from, to);
  }
}
test('the contract finds a rename that does not replace', () => {
  const broken = vfsContract(() => ({ vfs: new ForgetfulVfs(), root: '/' })).filter((law) => {
    try {
      law.run();
      return false;
    } catch {
      return true;
    }
  });
  expect(broken.map((law) => law.name)).toContain('rename replaces a file, and moves a directory with what is in it');
  expect(broken.map((law) => law.name)).toContain('replaceFile leaves the new content and nothing beside it');
});
