// Group commit: one sync off the thread at a time; whoever comes while it runs waits for the next, which covers them all.
import type { Lsn } from '@blockwright/base';

interface Waiter {
  readonly upTo: Lsn;
  readonly resolve: () => void;
  readonly reject: (cause: unknown) => void;
}

/** What a group is synced by. */
export interface GroupSyncTarget {
  /** Up to where everything is written now. */
  writtenUpTo(): Lsn;
  /** Syncs what is written now. */
  syncAsync(): Promise<void>;
  /** Told that everything before `upTo` is durable. */
  synced(upTo: Lsn): void;
  /** Told that a sync failed; it turns everybody away. */
  syncFailed(cause: unknown): void;
}

export class GroupSync {
  private readonly target: GroupSyncTarget;
  private waiters: Waiter[] = [];
  /** A sync runs, or will at the end of this turn. */
  private isBusy: boolean = false;
  private stopCause: unknown = undefined;

  constructor(target: GroupSyncTarget) {
    this.target = target;
  }

  /** Resolves when everything before `upTo`, which is written, is durable. */
  wait(upTo: Lsn): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiters.push({ upTo, resolve, reject });
      if (!this.isBusy) this.start();
    });
  }

  /** Lets go those who waited for what is durable now, however it came to be. */
  release(durableUpTo: Lsn): void {
    if (this.waiters.length === 0) return;
    const still: Waiter[] = [];
    for (const waiter of this.waiters) {
      if (waiter.upTo <= durableUpTo) waiter.resolve();
      else still.push(waiter);
    }
    this.waiters = still;
  }

  /** No sync begins any more; those whom the one that runs does not cover are turned away when it ends. */
  stop(cause: unknown): void {
    this.stopCause = cause;
    if (!this.isBusy) this.reject(cause);
  }

  /** Turns everybody away, now: after a failed sync another's success means nothing. */
  fail(cause: unknown): void {
    this.stopCause = cause;
    this.reject(cause);
  }

  private start(): void {
    this.isBusy = true;
    // At the end of this turn of the event loop, so that all who come in it share the sync.
    setImmediate(() => void this.run());
  }

  private async run(): Promise<void> {
    const { target } = this;
    if (this.stopCause === undefined && this.waiters.length > 0) {
      const upTo = target.writtenUpTo();
      try {
        await target.syncAsync();
        target.synced(upTo);
        this.release(upTo);
      } catch (error) {
        target.syncFailed(error);
      }
    }
    this.isBusy = false;
    if (this.stopCause !== undefined) this.reject(this.stopCause);
    else if (this.waiters.length > 0) this.start();
  }

  private reject(cause: unknown): void {
    const { waiters } = this;
    this.waiters = [];
    for (const waiter of waiters) waiter.reject(cause);
  }
}
