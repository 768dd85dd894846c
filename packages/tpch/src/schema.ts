// The eight tables as they are stored: names and types as plain data, in column order.
import type { TpchTableName } from './scale.ts';

export type TpchColumnType =
  | { readonly type: 'int4' | 'int8' | 'date' }
  | { readonly type: 'numeric'; readonly precision: number; readonly scale: number }
  | { readonly type: 'char' | 'varchar'; readonly length: number };

/** A column; none of TPC-H's is ever null. */
export type TpchColumn = { readonly name: string } & TpchColumnType;

const int4 = (name: string): TpchColumn => ({ name, type: 'int4' });
const int8 = (name: string): TpchColumn => ({ name, type: 'int8' });
const date = (name: string): TpchColumn => ({ name, type: 'date' });
const money = (name: string): TpchColumn => ({ name, type: 'numeric', precision: 15, scale: 2 });
const char = (name: string, length: number): TpchColumn => ({ name, type: 'char', length });
const varchar = (name: string, length: number): TpchColumn => ({ name, type: 'varchar', length });

/** The tables and their columns, parents before children. */
export const TPCH_TABLES: Readonly<Record<TpchTableName, readonly TpchColumn[]>> = {
  region: [int4('r_regionkey'), char('r_name', 25), varchar('r_comment', 152)],
  nation: [int4('n_nationkey'), char('n_name', 25), int4('n_regionkey'), varchar('n_comment', 152)],
  supplier: [
    int4('s_suppkey'),
    char('s_name', 25),
    varchar('s_address', 40),
    int4('s_nationkey'),
    char('s_phone', 15),
    money('s_acctbal'),
    varchar('s_comment', 101),
  ],
  customer: [
    int4('c_custkey'),
    varchar('c_name', 25),
    varchar('c_address', 40),
    int4('c_nationkey'),
    char('c_phone', 15),
    money('c_acctbal'),
    char('c_mktsegment', 10),
    varchar('c_comment', 117),
  ],
  part: [
    int4('p_partkey'),
    varchar('p_name', 55),
    char('p_mfgr', 25),
    char('p_brand', 10),
    varchar('p_type', 25),
    int4('p_size'),
    char('p_container', 10),
    money('p_retailprice'),
    varchar('p_comment', 23),
  ],
  partsupp: [
    int4('ps_partkey'),
    int4('ps_suppkey'),
    int4('ps_availqty'),
    money('ps_supplycost'),
    varchar('ps_comment', 199),
  ],
  orders: [
    int8('o_orderkey'),
    int4('o_custkey'),
    char('o_orderstatus', 1),
    money('o_totalprice'),
    date('o_orderdate'),
    char('o_orderpriority', 15),
    char('o_clerk', 15),
    int4('o_shippriority'),
    varchar('o_comment', 79),
  ],
  lineitem: [
    int8('l_orderkey'),
    int4('l_partkey'),
    int4('l_suppkey'),
    int4('l_linenumber'),
    money('l_quantity'),
    money('l_extendedprice'),
    money('l_discount'),
    money('l_tax'),
    char('l_returnflag', 1),
    char('l_linestatus', 1),
    date('l_shipdate'),
    date('l_commitdate'),
    date('l_receiptdate'),
    char('l_shipinstruct', 25),
    char('l_shipmode', 10),
    varchar('l_comment', 44),
  ],
};

/** The names of the tables, parents before children. */
export const TPCH_TABLE_NAMES: readonly TpchTableName[] = Object.keys(TPCH_TABLES) as TpchTableName[];
