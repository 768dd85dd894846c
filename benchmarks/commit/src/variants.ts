// The ways to commit that are measured: each a database, a setting, and whether alone or in groups. What was committed is
// counted and held against the rows that the database has at the end.
import { type Variant, WrongAnswerError } from '@blockwright/benchmark';
import type { CommitPeer } from '@blockwright/peers';
import type { CommitSubject } from './subject.ts';

/** Transactions of a sample that do not wait for the disk are so many times as many. */
const MORE_WITHOUT_WAITING = 16;
const PAYLOAD = 'a row as small as many are';

/** One way to commit. */
export interface Mode {
  readonly engine: string;
  readonly isPeer: boolean;
  readonly blockSize: number | null;
  readonly synchronous: boolean;
  /** Such as `synchronous, alone`. */
  readonly title: string;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly transactions: number;
  /** Commits {@link transactions}; gives how many. */
  run(): number | Promise<number>;
  /** WAL bytes a transaction, on average so far; null where it is not known. */
  walBytes(): number | null;
  /** @throws WrongAnswerError when the database does not have as many rows as were committed. */
  verify(): void;
}

export interface ModeOptions {
  readonly commits: number;
  readonly group: number;
}

/** All ways: of ours, each alone and in groups, and the peers'. */
export function modesOf(
  subjects: readonly CommitSubject[],
  peers: readonly CommitPeer[],
  { commits, group }: ModeOptions,
): Mode[] {
  const count = (synchronous: boolean): number => (synchronous ? commits : commits * MORE_WITHOUT_WAITING);
  const ours = subjects.flatMap((subject) => {
    const ids = new Ids();
    const transactions = count(subject.synchronous);
    const shared = { subject, ids, transactions };
    return [
      ownMode({
        ...shared,
        how: 'alone',
        run: () => alone((id, payload) => subject.commit(id, payload), ids, transactions),
      }),
      ownMode({
        ...shared,
        how: `in groups of ${group}`,
        run: () => inGroups(subject, ids, transactions, group),
      }),
    ];
  });
  const theirs = peers.map((peer) => peerMode(peer, count(isSynchronous(peer))));
  return [...ours, ...theirs];
}

/** Mode `i` as a variant to be measured. */
export function variantOf(mode: Mode): Variant<number> {
  return {
    name: `${mode.engine} ${mode.blockSize ?? ''} ${mode.title}`,
    units: mode.transactions,
    run: () => mode.run(),
    check: (committed) => {
      if (committed !== mode.transactions)
        throw new WrongAnswerError(`${mode.engine} committed ${committed} of ${mode.transactions} transactions`);
    },
  };
}

/** Ids of one table's rows. */
class Ids {
  given = 0;
  next(): number {
    return this.given++;
  }
}

interface OwnMode {
  readonly subject: CommitSubject;
  readonly ids: Ids;
  readonly transactions: number;
  readonly how: string;
  readonly run: () => number | Promise<number>;
}

function ownMode({ subject, ids, transactions, how, run }: OwnMode): Mode {
  const { blockSize, synchronous } = subject;
  const before = subject.walBytes();
  return {
    engine: 'blockwright',
    isPeer: false,
    blockSize,
    synchronous,
    title: `${settingText(synchronous)}, ${how}`,
    settings: {},
    transactions,
    run,
    walBytes: () => (subject.walBytes() - before) / ids.given,
    verify: () => {
      verifyRows('blockwright', subject.rows(), ids.given);
    },
  };
}

function peerMode(peer: CommitPeer, transactions: number): Mode {
  const ids = new Ids();
  return {
    engine: peer.engine,
    isPeer: true,
    blockSize: null,
    synchronous: isSynchronous(peer),
    title: `${settingText(isSynchronous(peer))}, alone`,
    settings: { [`${peer.engine}, ${settingText(isSynchronous(peer))}`]: peer.settings },
    transactions,
    run: () => alone((id, payload) => peer.commit(id, payload), ids, transactions),
    walBytes: () => null,
    verify: () => {
      verifyRows(peer.engine, peer.rows(), ids.given);
    },
  };
}

function verifyRows(engine: string, rows: number, committed: number): void {
  if (rows !== committed) throw new WrongAnswerError(`${engine} has ${rows} rows after ${committed} commits of one`);
}

function isSynchronous(peer: CommitPeer): boolean {
  return peer.settings.synchronous === '2';
}

function settingText(synchronous: boolean): string {
  return synchronous ? 'synchronous' : 'asynchronous';
}

function alone(commit: (id: number, payload: string) => void, ids: Ids, transactions: number): number {
  for (let i = 0; i < transactions; i++) commit(ids.next(), PAYLOAD);
  return transactions;
}

async function inGroups(subject: CommitSubject, ids: Ids, transactions: number, group: number): Promise<number> {
  let committed = 0;
  while (committed < transactions) {
    const size = Math.min(group, transactions - committed);
    await Promise.all(Array.from({ length: size }, () => subject.commitInGroup(ids.next(), PAYLOAD)));
    committed += size;
  }
  return committed;
}
