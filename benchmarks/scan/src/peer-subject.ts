// The peers' side: PostgreSQL and SQLite with the same rows, found at run time.
import { type LineitemPeer, openSqliteLineitem, startPostgresLineitem } from '@blockwright/peers';
import type { LoadOptions } from './our-subject.ts';
import { KEY_QUERIES, type Query, type Subject } from './subject.ts';

/** What can be asked for with `--peers`. */
export const PEERS = ['postgres', 'sqlite'] as const;
export type Peer = (typeof PEERS)[number];

/** Starts a peer with lineitem in its memory. `pageSize` is SQLite's; PostgreSQL has its own. */
export async function startPeer(
  peer: Peer,
  pageSize: number,
  options: LoadOptions,
  queries: readonly Query[],
): Promise<Subject> {
  const { scale, pool, signal, progress } = options;
  const common = { scale, pool, signal, onProgress: progress };
  return subjectOf(
    peer === 'postgres'
      ? await startPostgresLineitem({
          ...common,
          judged: queries.includes('judged'),
          indexed: queries.some((query) => KEY_QUERIES.includes(query)),
        })
      : await openSqliteLineitem({ ...common, pageSize }),
  );
}

function subjectOf(peer: LineitemPeer): Subject {
  // The page size is the cell's own, and the rest is alike at every size: one sentence an engine.
  const settings = Object.entries(peer.settings)
    .filter(([name]) => name !== 'page_size')
    .map(([name, value]) => `${name}=${value}`);
  return {
    engine: peer.engine,
    blockSize: peer.blockSize,
    rows: peer.rows,
    pages: peer.pages,
    bytes: peer.bytes,
    tailWaste: undefined,
    poolStats: () => undefined,
    answer: {
      count: () => peer.count(),
      judged: peer.countJudged === undefined ? undefined : peer.countJudged.bind(peer),
      q6: async () => ({ revenue: await peer.q6(), rows: undefined }),
      q1: () => peer.q1(),
      keys: peer.indexOnly?.count,
      keysum: peer.indexOnly && (({ from, to }) => peer.indexOnly?.sum(from, to) as Promise<bigint>),
    },
    about: `${peer.engine} runs with ${settings.join(', ')}. Beside what Blockwright does, ${peer.doesMore}.`,
    close: () => peer.close(),
  };
}
