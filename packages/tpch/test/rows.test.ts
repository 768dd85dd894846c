// The rows against dbgen's own: the md5 of whole tables, and the first and last rows in clear.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rowCounts, TextPool, type TpchTableName } from '../src/index.ts';
import { md5Of, SLOW, textOf } from './support.ts';

/** Of dbgen 2.17.2: bytes (where noted) and md5 of the .tbl file. */
const EXPECTED: Readonly<Record<number, Partial<Record<TpchTableName, readonly [bytes: number, md5: string]>>>> = {
  0.001: {
    lineitem: [707825, 'c9aec6ed54586bfca91ab61af604c177'],
    orders: [162330, '2ebaccf1735e9b7641e4791fca0ad6de'],
    part: [23498, 'a07f0ea884e63b0c209efa3a75a3c4f7'],
    partsupp: [114896, 'bd0cfd8dcb384f75f27f2383da27fed6'],
    customer: [24018, '4838fb47418882a3d617564c5a583641'],
    supplier: [1227, 'f0f59eaf71d314ab0bc605ede1d89e0f'],
    nation: [2224, '2f588e0b7fa72939b498c2abecd9fbbe'],
    region: [389, 'c235841b00d29ad4f817771fcc851207'],
  },
  0.01: {
    lineitem: [7264250, '4c6d44350a1f7974f56f5d3d7091c2be'],
    orders: [1659137, 'c8d2008fb47f47f9e56543d4cb0f4e6a'],
    part: [237134, '9cce16188c241c25617ca5ed6191e37e'],
    partsupp: [1161705, 'c6889c3ed0939ca02475f7fb410cbb50'],
    customer: [240990, 'a8aa97edad6d47b183a569759fbd3eec'],
    supplier: [13795, '56e0621c472064c2a998757c70b44043'],
    nation: [2224, '2f588e0b7fa72939b498c2abecd9fbbe'],
    region: [389, 'c235841b00d29ad4f817771fcc851207'],
  },
  0.1: {
    lineitem: [74246996, 'dec17abbc566d431f5808c5c9f81b8a5'],
    orders: [16893122, '2520d48234df183e47c57027a52007ee'],
  },
};

const EXPECTED_SLOW: typeof EXPECTED = {
  0.1: {
    part: [2391090, '3f5dc86fbedff28bf1a88bea8341aa6f'],
    partsupp: [11728193, 'e3bd40ee500c9cc88fd14a4dc904c09e'],
    customer: [2426114, '8f279b30fee7203e32886be01efd823b'],
    supplier: [139625, '85f567a75bd806f3ccff89341866ab1c'],
  },
  1: {
    lineitem: [759863287, 'e6368ad3f339bf1d4a3b8a1beba23870'],
    orders: [171952161, '62264a9feaa3a3fd59805910dfe18a30'],
    part: [24135125, 'b7ca9b82dc3d9c6543a96faac588a281'],
    partsupp: [118984616, '1b531d9b3963dd72c920179b31135e84'],
    customer: [24346144, 'b662b705bc3ac183c1942367cf522e42'],
    supplier: [1409184, '565f8733ecdb2faf654a3efe0a422957'],
    nation: [2224, '2f588e0b7fa72939b498c2abecd9fbbe'],
    region: [389, 'c235841b00d29ad4f817771fcc851207'],
  },
};

let pool: TextPool;
beforeAll(() => {
  pool = TextPool.open();
}, 120_000);
afterAll(() => pool.close());

function checkTables(expected: typeof EXPECTED): void {
  for (const scale of Object.keys(expected).map(Number).sort()) {
    it(`are dbgen's at scale ${scale}`, () => {
      for (const [table, [bytes, md5]] of Object.entries(expected[scale])) {
        expect([table, md5Of(table as TpchTableName, scale, { pool })]).toEqual([table, { bytes, md5 }]);
      }
    }, 600_000);
  }
}

describe('rows', () => {
  checkTables(EXPECTED);

  it('begin as known', () => {
    const lines = (table: TpchTableName) => textOf(table, 0.01, { pool, to: 5 }).split('\n');
    expect(lines('lineitem').slice(0, 2)).toEqual([
      '1|1552|93|1|17|24710.35|0.04|0.02|N|O|1996-03-13|1996-02-12|1996-03-22|DELIVER IN PERSON|TRUCK|egular courts above the|',
      '1|674|75|2|36|56688.12|0.09|0.06|N|O|1996-04-12|1996-02-28|1996-04-20|TAKE BACK RETURN|MAIL|ly final dependencies: slyly bold |',
    ]);
    expect(lines('orders')[2]).toBe(
      '3|1234|F|205654.30|1993-10-14|5-LOW|Clerk#000000955|0|sly final accounts boost. carefully regular ideas cajole carefully. depos|',
    );
    expect(lines('part')[0]).toBe(
      '1|goldenrod lavender spring chocolate lace|Manufacturer#1|Brand#13|PROMO BURNISHED COPPER|7|JUMBO PKG|901.00|ly. slyly ironi|',
    );
    expect(lines('partsupp')[4]).toBe(
      '2|3|8895|378.49|nic accounts. final accounts sleep furiously about the ironic, bold packages. regular, regular accounts|',
    );
    expect(lines('customer')[0]).toBe(
      '1|Customer#000000001|IVhzIApeRb ot,c,E|15|25-989-741-2988|711.56|BUILDING|to the even, regular platelets. regular, ironic epitaphs nag e|',
    );
    expect(lines('supplier')[4]).toBe(
      '5|Supplier#000000005|Gcdm2rJRzl5qlTVzc|11|21-151-690-3663|-283.84|. slyly regular pinto bea|',
    );
  });

  it('end as known, reached from the middle of the table', () => {
    const last = rowCounts(1).orders - 1;
    expect(textOf('orders', 1, { pool, from: last })).toBe(
      '6000000|110063|O|37625.29|1996-08-31|2-HIGH|Clerk#000000411|0|ess pinto beans boost slyly regular accounts! furiously even|\n',
    );
    expect(textOf('lineitem', 1, { pool, from: last }).split('\n').at(-2)).toBe(
      '6000000|96127|6128|2|28|31447.36|0.01|0.02|N|O|1996-09-22|1996-10-01|1996-10-21|NONE|AIR|ooze furiously about the pe|',
    );
  });

  it('write complaints and recommendations over suppliers 358 and 852', () => {
    for (const supplier of [358, 852]) {
      const row = textOf('supplier', 1, { pool, from: supplier - 1, to: supplier });
      expect(row).toMatch(new RegExp(`^${supplier}\\|.*Customer .*(Complaints|Recommends).*\\|\n$`));
    }
  });
});

describe.runIf(SLOW)('rows, slowly', () => checkTables(EXPECTED_SLOW));
