// The two rings against a plain list: whoever is clean and was used least recently goes first, then the dirty ones.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CachedDescriptor, DescriptorCache } from '../src/descriptors.ts';

class Fake implements CachedDescriptor {
  newer: CachedDescriptor | undefined = undefined;
  older: CachedDescriptor | undefined = undefined;
  dirty: boolean = false;
  held: boolean = false;
  readonly name: number;
  private readonly cache: DescriptorCache;
  constructor(cache: DescriptorCache, name: number) {
    this.cache = cache;
    this.name = name;
  }
  evicted: number = 0;
  evict(): void {
    this.evicted++;
    this.cache.remove(this);
    this.dirty = false;
  }
}

test('descriptors leave in the right order', () => {
  const step = fc.record({
    do: fc.constantFrom('use', 'dirty', 'clean', 'close', 'evict', 'hold', 'release'),
    which: fc.nat(7),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: 'max' }), fc.integer({ min: 1, max: 6 }), (steps, capacity) => {
      const cache = new DescriptorCache(capacity);
      const fakes = Array.from({ length: 8 }, (_, i) => new Fake(cache, i));
      let model: Fake[] = []; // oldest first
      const victim = () => model.find((fake) => !fake.held && !fake.dirty) ?? model.find((fake) => !fake.held);
      const leave = (fake: Fake | undefined) => {
        model = model.filter((other) => other !== fake);
      };
      for (const { do: what, which } of steps) {
        const fake = fakes[which] as Fake;
        if (what === 'use') {
          if (model.includes(fake)) {
            cache.touch(fake);
          } else {
            while (model.length >= capacity && victim() !== undefined) leave(victim());
            cache.makeRoom();
            cache.add(fake);
          }
          leave(fake);
          model.push(fake);
        } else if (what === 'evict') {
          const expected = victim();
          leave(expected);
          expect(cache.evictOne()).toBe(expected !== undefined);
        } else if (model.includes(fake)) {
          if (what === 'close') {
            fake.evict();
            leave(fake);
            expect(fake.held).toBe(false);
          } else if (what === 'hold') {
            cache.hold(fake);
          } else if (what === 'release') {
            // What was in use elsewhere was used last.
            if (fake.held) {
              leave(fake);
              model.push(fake);
            }
            cache.release(fake);
          } else {
            // What changes its state was just used.
            if (fake.dirty !== (what === 'dirty')) {
              leave(fake);
              model.push(fake);
            }
            cache.setDirty(fake, what === 'dirty');
          }
        }
        expect(cache.open).toBe(model.length);
      }
      for (const fake of model.filter((one) => one.held)) {
        cache.release(fake);
        leave(fake);
        model.push(fake);
      }
      while (model.length > 0) {
        const next = victim() as Fake;
        leave(next);
        const before = next.evicted;
        cache.evictOne();
        expect(next.evicted).toBe(before + 1);
      }
      expect(cache.open).toBe(0);
      expect(cache.evictOne()).toBe(false);
    }),
    { numRuns: 200 },
  );
});
