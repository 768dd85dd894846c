// The charts of the notebook's section on the TID store.
import { distinct } from './figures.mjs';
import { caseOf } from './tidstore-outcome.mjs';

/** Search, memory and load of each case. */
export function tidstoreCharts(cells, cases) {
  const searches = distinct(cells.map(({ query }) => query));
  const cellOf = (name, search) => cells.find((cell) => caseOf(cell) === name && cell.query === search);
  const any = (name) => cells.find((cell) => caseOf(cell) === name);
  return [
    {
      name: 'tidstore-search',
      title: "Search: the array's time over the tree's",
      unit: 'times faster; 1: as fast',
      lying: true,
      categories: cases,
      reference: { value: 1, name: '' },
      series: searches.map((search) => {
        const own = cases.map((name) => cellOf(name, search));
        return {
          name: search,
          values: own.map((cell) => cell?.ratio ?? null),
          low: own.map((cell) => cell?.ratioLow ?? null),
          high: own.map((cell) => cell?.ratioHigh ?? null),
        };
      }),
    },
    {
      name: 'tidstore-memory',
      title: 'Memory for one TID',
      unit: 'bytes a TID',
      lying: true,
      categories: cases,
      series: [
        { name: 'radix tree', values: cases.map((name) => any(name).rt_mem_allocated / any(name).ntids) },
        { name: 'sorted array', values: cases.map((name) => any(name).array_mem_allocated / any(name).ntids) },
      ],
    },
    {
      name: 'tidstore-load',
      title: "Load: the tree's time over the array's",
      unit: 'less is faster; 1: as fast',
      lying: true,
      categories: cases,
      reference: { value: 1, name: '' },
      series: [
        { name: 'first load', values: cases.map((name) => any(name).load_ratio ?? null) },
        { name: 'again, no new memory', values: cases.map((name) => any(name).reload_ratio ?? null) },
      ],
    },
  ];
}
