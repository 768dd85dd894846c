// Where the members of multixacts lie: groups of four, 20 bytes each, as many a page as fit. The only place on the way to a
// row that divides by a number that is no power of two and not near one; it is asked once a multixact.
// PostgreSQL: MXOffsetToFlagsOffset and its neighbours, multixact.c.
//
//   group   0      1      2      3      4           8           12          16         20
//           +------+------+------+------+-----------+-----------+-----------+-----------+
//           | flags of members 0 to 3   | xid of 0  | xid of 1  | xid of 2  | xid of 3  |
//           +------+------+------+------+-----------+-----------+-----------+-----------+

/** Members of a group. */
const GROUP_MEMBERS = 4;
/** Bytes of a group: a byte of flags and an xid for each member. */
const GROUP_BYTES = GROUP_MEMBERS + GROUP_MEMBERS * 4;

/** Members that a page of `pageBytes` holds: ⌊B/20⌋·4. */
function membersPerPage(pageBytes: number): number {
  return Math.floor(pageBytes / GROUP_BYTES) * GROUP_MEMBERS;
}

/** The page of a member. */
export function memberPage(offset: number, pageBytes: number): number {
  return Math.floor(offset / membersPerPage(pageBytes));
}

/** The byte of its flags within the page. */
export function memberFlagsAt(offset: number, pageBytes: number): number {
  const index = offset % membersPerPage(pageBytes);
  return Math.floor(index / GROUP_MEMBERS) * GROUP_BYTES + (index % GROUP_MEMBERS);
}

/** The byte of its xid within the page. */
export function memberXidAt(offset: number, pageBytes: number): number {
  const index = offset % membersPerPage(pageBytes);
  return Math.floor(index / GROUP_MEMBERS) * GROUP_BYTES + GROUP_MEMBERS + (index % GROUP_MEMBERS) * 4;
}
