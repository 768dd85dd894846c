// The columns of PostgreSQL's own catalogs that are read here, by major version. Their layout is not written in the
// database that they describe before they are read, so it is known here, and checked against pg_attribute's own rows
// afterwards. PostgreSQL: pg_class.h, pg_attribute.h, pg_database.h, pg_namespace.h, pg_index.h, pg_opclass.h,
// pg_am.h.
import {
  bool,
  type ColumnType,
  float4,
  int2,
  int4,
  name,
  oid,
  opaque,
  quotedChar,
  TupleDescriptor,
  text,
  xid,
} from '@blockwright/tuple';

type Layout = readonly (readonly [name: string, type: ColumnType])[];

/** Columns after the ones that are read, of any number: arrays and the like, which may be null. */
const MOST_TRAILING = 24;

const when = (condition: boolean, columns: Layout): Layout => (condition ? columns : []);

/** The catalogs of a PostgreSQL of major version 13 to 18, as far as they are read. */
export interface PostgresLayouts {
  readonly pgClass: TupleDescriptor;
  readonly pgAttribute: TupleDescriptor;
  readonly pgDatabase: TupleDescriptor;
  readonly pgNamespace: TupleDescriptor;
  readonly pgIndex: TupleDescriptor;
  readonly pgOpclass: TupleDescriptor;
  readonly pgAm: TupleDescriptor;
}

export function postgresLayouts(version: number): PostgresLayouts {
  return {
    pgClass: withTrailing([
      ['oid', oid()],
      ['relname', name()],
      ['relnamespace', oid()],
      ['reltype', oid()],
      ['reloftype', oid()],
      ['relowner', oid()],
      ['relam', oid()],
      ['relfilenode', oid()],
      ['reltablespace', oid()],
      ['relpages', int4()],
      ['reltuples', float4()],
      ['relallvisible', int4()],
      ...when(version >= 18, [['relallfrozen', int4()]]),
      ['reltoastrelid', oid()],
      ['relhasindex', bool()],
      ['relisshared', bool()],
      ['relpersistence', quotedChar()],
      ['relkind', quotedChar()],
      ['relnatts', int2()],
      ['relchecks', int2()],
      ['relhasrules', bool()],
      ['relhastriggers', bool()],
      ['relhassubclass', bool()],
      ['relrowsecurity', bool()],
      ['relforcerowsecurity', bool()],
      ['relispopulated', bool()],
      ['relreplident', quotedChar()],
      ['relispartition', bool()],
      ['relrewrite', oid()],
      ['relfrozenxid', xid()],
      ['relminmxid', xid()],
    ]),
    pgAttribute: withTrailing(attributeLayout(version)),
    pgDatabase: withTrailing([
      ['oid', oid()],
      ['datname', name()],
      ['datdba', oid()],
      ['encoding', int4()],
      ...when(version < 15, [
        ['datcollate', name()],
        ['datctype', name()],
      ]),
      ...when(version >= 15, [['datlocprovider', quotedChar()]]),
      ['datistemplate', bool()],
      ['datallowconn', bool()],
      ...when(version >= 17, [['dathasloginevt', bool()]]),
      ['datconnlimit', int4()],
      ...when(version < 15, [['datlastsysoid', oid()]]),
      ['datfrozenxid', xid()],
      ['datminmxid', xid()],
      ['dattablespace', oid()],
      ...when(version >= 15, [
        ['datcollate', text()],
        ['datctype', text()],
        [version >= 17 ? 'datlocale' : 'daticulocale', text().nullable() as ColumnType],
      ]),
    ]),
    pgNamespace: withTrailing([
      ['oid', oid()],
      ['nspname', name()],
    ]),
    pgIndex: withTrailing([
      ['indexrelid', oid()],
      ['indrelid', oid()],
      ['indnatts', int2()],
      ['indnkeyatts', int2()],
      ['indisunique', bool()],
      ...when(version >= 15, [['indnullsnotdistinct', bool()]]),
      ['indisprimary', bool()],
      ['indisexclusion', bool()],
      ['indimmediate', bool()],
      ['indisclustered', bool()],
      ['indisvalid', bool()],
      ['indcheckxmin', bool()],
      ['indisready', bool()],
      ['indislive', bool()],
      ['indisreplident', bool()],
      ['indkey', opaque(-1, 'i') as ColumnType],
      ['indcollation', opaque(-1, 'i') as ColumnType],
      ['indclass', opaque(-1, 'i') as ColumnType],
      ['indoption', opaque(-1, 'i') as ColumnType],
      ['indexprs', opaque(-1, 'i').nullable() as ColumnType],
      ['indpred', opaque(-1, 'i').nullable() as ColumnType],
    ]),
    pgOpclass: withTrailing([
      ['oid', oid()],
      ['opcmethod', oid()],
      ['opcname', name()],
      ['opcnamespace', oid()],
    ]),
    pgAm: withTrailing([
      ['oid', oid()],
      ['amname', name()],
    ]),
  };
}

function attributeLayout(version: number): Layout {
  return [
    ['attrelid', oid()],
    ['attname', name()],
    ['atttypid', oid()],
    ...when(version < 16, [['attstattarget', int4()]]),
    ['attlen', int2()],
    ['attnum', int2()],
    ...when(version < 16, [['attndims', int4()]]),
    ...when(version < 18, [['attcacheoff', int4()]]),
    ['atttypmod', int4()],
    ...when(version >= 16, [['attndims', int2()]]),
    ['attbyval', bool()],
    ...when(version < 14, [['attstorage', quotedChar()]]),
    ['attalign', quotedChar()],
    ...when(version >= 14, [
      ['attstorage', quotedChar()],
      ['attcompression', quotedChar()],
    ]),
    ['attnotnull', bool()],
    ['atthasdef', bool()],
    ['atthasmissing', bool()],
    ['attidentity', quotedChar()],
    ['attgenerated', quotedChar()],
    ['attisdropped', bool()],
  ];
}

/** The known columns, then places for those that follow: a tuple may have fewer attributes, never more. */
function withTrailing(layout: Layout): TupleDescriptor {
  return TupleDescriptor.of([
    ...layout.map(([column, type]) => ({ name: column, type })),
    ...Array.from({ length: MOST_TRAILING }, (_, i) => ({
      name: `(trailing ${i + 1})`,
      type: opaque(-1, 'i').nullable() as ColumnType,
    })),
  ]);
}
