// Random histories of several open transactions against the plain model: what each sees, what is refused and with which
// code, and, at every end, that the pages made again from a random moment's files and the WAL are those of before.
import { BLOCK_SIZES } from '@blockwright/geometry';
import { LP_DEAD, LP_NORMAL, linePointer, lpFlags, lpOffset, pageIsAllVisible, pageMaxOffset } from '@blockwright/page';
import type { Transaction } from '@blockwright/transam';
import { isXminFrozen, tupleInfomask, tupleXmax } from '@blockwright/tuple';
import { VISIBILITYMAP_ALL_FROZEN } from '@blockwright/visibilitymap';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  HEAPTUPLE_LIVE,
  heapMarkAllVisible,
  heapPagePruneOpt,
  heapPrunePage,
  NO_HINTS,
  satisfiesVacuum,
  TM_DELETED,
  TM_OK,
  TM_UPDATED,
} from '../src/index.ts';
import { MODES, ModelLevel, ModelTransaction, VersionModel } from './version-model.ts';
import { expectSamePages, WritingBench } from './writing-bench.ts';

interface Session {
  readonly real: Transaction;
  readonly model: ModelTransaction;
}

type Step = readonly [number, number, number, number];

/** Runs steps on both sides. */
class History {
  readonly bench: WritingBench;
  readonly model: VersionModel = new VersionModel();
  private readonly sessions: (Session | undefined)[] = [undefined, undefined, undefined];
  private nextId = 1;
  private readonly filler: number;

  constructor(bench: WritingBench, filler: number) {
    this.bench = bench;
    this.filler = filler;
  }

  step([what, who, which, how]: Step): void {
    if (what >= 86) return this.outside((what - 86) >> 1, which, how);
    const at = who % this.sessions.length;
    let session = this.sessions[at];
    if (session === undefined) {
      const isolation = how % 3 === 0 ? 'repeatable read' : 'read committed';
      session = { real: this.bench.transactions.begin({ isolation }), model: new ModelTransaction(how % 3 === 0) };
      this.sessions[at] = session;
    }
    if (what < 60) this.statement(session, what, which, how);
    else if (what < 70) this.savepoint(session, how);
    else if (what < 82) this.end(at, what < 78);
    else this.compare(session);
  }

  private statement({ real, model }: Session, what: number, which: number, how: number): void {
    const { bench } = this;
    const { writer } = bench;
    const snapshot = real.snapshot();
    const view = this.model.view(model);
    const seen = this.model.visible(view);
    // Few rows, the newest ones: transactions are to meet each other.
    const version = seen.length === 0 ? undefined : seen[seen.length - 1 - (which % Math.min(seen.length, 4))];
    if (version === undefined || what < 7) {
      const id = this.nextId++;
      writer.insert(real, [id, 0, this.text(how)]);
      this.model.insert(model, id, 0, writer.block, writer.offset);
    } else {
      const isUpdate = what < 32;
      const isDelete = what >= 56;
      const key = isDelete || (isUpdate && how % 5 === 0);
      const mode = isUpdate || isDelete ? (key ? 3 : 2) : how & 3;
      const expected = this.model.verdict(version, model, mode);
      let code = '';
      let result = -1;
      const { block, offset } = version;
      try {
        if (isUpdate) {
          const keeps = !key && how % 7 !== 0;
          result = writer.update(
            real,
            block,
            offset,
            [version.id, version.n + 1, this.text(how)],
            snapshot,
            keeps,
            !key,
          );
        } else if (isDelete) result = writer.delete(real, block, offset, snapshot);
        else result = writer.lock(real, block, offset, MODES[mode], snapshot);
      } catch (error) {
        code = (error as { code?: string }).code ?? String(error);
        if (code !== '55P03' && code !== '40001') throw error;
      }
      if (code !== '') expect(code).toBe(expected);
      else if (result === TM_OK) expect('ok').toBe(expected);
      else expect([TM_UPDATED, TM_DELETED].includes(result) ? 'gone' : result).toBe(expected);
      if (result === TM_UPDATED) {
        const next = this.model.end(version)?.next;
        expect(writer.newer).toEqual({ block: next?.block, offset: next?.offset });
      }
      if (result === TM_OK) {
        if (isUpdate) {
          const next = this.model.insert(model, version.id, version.n + 1, writer.block, writer.offset);
          this.model.finish(version, model, key, next);
        } else if (isDelete) this.model.finish(version, model, true, undefined);
        else this.model.lock(version, model, mode);
      }
    }
    snapshot.release();
    real.nextCommand();
    model.command++;
  }

  private text(how: number): string {
    return 'x'.repeat((how * 7) % this.filler);
  }

  private savepoint({ real, model }: Session, how: number): void {
    const depth = real.level;
    if (how % 3 === 0 || depth === 0) {
      real.savepoint();
      model.levels.push(new ModelLevel(model, model.level));
    } else if (how % 3 === 1) {
      real.releaseSavepoint(depth);
      model.levels.pop();
    } else {
      const level = 1 + (how % depth);
      real.rollbackTo(level);
      for (const one of model.levels.slice(level)) one.rolledBack = true;
      model.levels.length = level;
      model.levels.push(new ModelLevel(model, model.level));
    }
  }

  private end(at: number, commits: boolean): void {
    const { real, model } = this.sessions[at] as Session;
    this.sessions[at] = undefined;
    if (commits) {
      real.commit();
      model.state = 'committed';
      this.model.committed.add(model);
    } else {
      real.abort();
      model.state = 'aborted';
    }
  }

  private compare({ real, model }: Session): void {
    const snapshot = real.snapshot();
    expect(this.bench.rows(snapshot)).toEqual(this.model.rows(this.model.view(model)));
    snapshot.release();
  }

  /** Pruning, marking, a checkpoint, a reader. */
  private outside(what: number, which: number, how: number): void {
    const { bench } = this;
    const { relation, pool } = bench;
    const blocks = relation.blockCount();
    if (what < 5 && blocks > 0) {
      const block = which % blocks;
      if (what >= 2) heapMarkAllVisible(relation, bench.map, block, bench.transactions, how % 2 === 0);
      else {
        const id = pool.pin(relation.main, block);
        if (what === 0) heapPagePruneOpt(relation, id, bench.transactions);
        else heapPrunePage(relation, id, bench.transactions, { freeze: how % 4 === 0 });
        pool.unpin(id);
      }
    } else if (what === 5) this.write(how);
    else expect(bench.committedRows()).toEqual(this.model.rows(this.model.view(undefined)));
  }

  /** Some pages, as a pool writes when it likes, or a checkpoint. */
  private write(how: number): void {
    const { pool, relation } = this.bench;
    if (how % 4 === 0) pool.flushFork(relation.main);
    else if (how % 4 === 1 && relation.vm.exists()) pool.flushFork(relation.vm);
    else this.bench.checkpoint();
  }

  /** Ends all, and checks what there is to check. */
  finish(): void {
    for (let at = 0; at < this.sessions.length; at++) {
      const session = this.sessions[at];
      if (session === undefined) continue;
      this.compare(session);
      this.end(at, at % 2 === 0);
    }
    const rows = this.model.rows(this.model.view(undefined));
    expect(this.bench.committedRows()).toEqual(rows);
    expectSamePages(this.bench, this.bench.crashed());
    this.checkMap();
    expect(this.bench.committedRows()).toEqual(rows);
    this.bench.close();
  }

  /** A bit is set only where the page says so, too, and where it is true. */
  private checkMap(): void {
    const { relation, pool, map, transactions } = this.bench;
    for (let block = 0; block < relation.blockCount(); block++) {
      const bits = map.status(block);
      pool.withPage(relation.main, block, (m, base) => {
        if (bits !== 0) expect(pageIsAllVisible(m, base)).toBe(true);
        if (!pageIsAllVisible(m, base)) return;
        for (let o = 1; o <= pageMaxOffset(m, base); o++) {
          const lp = linePointer(m, base, o);
          expect(lpFlags(lp)).not.toBe(LP_DEAD);
          if (lpFlags(lp) !== LP_NORMAL) continue;
          const pos = base + lpOffset(lp);
          expect(satisfiesVacuum(m, pos, transactions, transactions.horizon(), NO_HINTS)).toBe(HEAPTUPLE_LIVE);
          if ((bits & VISIBILITYMAP_ALL_FROZEN) === 0) continue;
          expect(isXminFrozen(tupleInfomask(m, pos)) && tupleXmax(m, pos) === 0).toBe(true);
        }
      });
    }
  }
}

const STEPS = fc.array(fc.tuple(fc.nat(99), fc.nat(2), fc.nat(1000), fc.nat(1000)), { maxLength: 120, size: 'max' });

describe.each(BLOCK_SIZES)('at %i-byte blocks', (size) => {
  it('agrees with the model, and so does its replay', () => {
    fc.assert(
      fc.property(STEPS, fc.integer({ min: 10, max: 100 }), fc.boolean(), (steps, fillfactor, hintImages) => {
        const history = new History(new WritingBench(size, { fillfactor, hintImages }), Math.min(size >> 3, 400));
        for (const step of steps) history.step(step as Step);
        history.finish();
      }),
      { numRuns: size <= 2048 ? 20 : 8 },
    );
  });
});
