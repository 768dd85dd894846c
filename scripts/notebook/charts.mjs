// Bar charts as SVG, drawn by ECharts without a browser. Colours are CSS variables: a chart follows the page that it
// stands in, or, alone in a file, the reader's light or dark setting.
import * as echarts from 'echarts';

/** Colours that differ for the colour-blind too; the last two are greys of the page. */
export const THEME = `:root { --ink: #1b2330; --soft: #5a6678; --line: #d9dfe8; --c1: #2f6fde; --c2: #e08a1e; --c3: #3a9b6f; --c4: #9a62c9; --c5: #7d8899; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebf2; --soft: #9aa7ba; --line: #2c3645; --c1: #6b9cf2; --c2: #eda650; --c3: #5fc094; --c4: #bb8ee0; --c5: #8894a6; } }`;

const COLOURS = ['var(--c1)', 'var(--c2)', 'var(--c3)', 'var(--c4)', 'var(--c5)'];
const FONT = 'system-ui, sans-serif';

/**
 * A chart of one bar a category and series.
 *
 *   name        of its file
 *   title, unit
 *   categories  names along the axis
 *   series      { name, values, low?, high? }: null where nothing was measured; low and high are quartiles
 *   reference   { value, name }: a line across
 *   lying       whether the bars lie, for names that are long
 */
export function chart(spec, isNarrow = false) {
  const key = JSON.stringify([spec, isNarrow]);
  if (!drawn.has(key)) drawn.set(key, draw(spec, isNarrow));
  return drawn.get(key);
}

/** Charts by what they show: each stands in a file and in the page. */
const drawn = new Map();

function draw(spec, isNarrow) {
  const width = isNarrow ? 350 : 740;
  const height = heightOf(spec, isNarrow);
  const instance = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height });
  instance.setOption(optionsOf(spec, isNarrow));
  const svg = instance.renderToSVGString();
  instance.dispose();
  return settled(svg, spec, isNarrow);
}

function heightOf({ categories, series, lying }, isNarrow) {
  if (lying !== true) return isNarrow ? 270 : 300;
  const bars = categories.length * (series.length * (isNarrow ? 15 : 14) + 12);
  return bars + 60 + (series.length > 1 ? 24 : 0);
}

function optionsOf(spec, isNarrow) {
  const { categories, series, lying = false, unit } = spec;
  const text = { color: 'var(--soft)', fontFamily: FONT, fontSize: isNarrow ? 11 : 12 };
  const names = {
    type: 'category',
    data: lying ? categories.map((name) => broken(name, isNarrow)) : categories,
    inverse: lying,
    axisLabel: {
      ...text,
      color: 'var(--ink)',
      interval: 0,
      lineHeight: 13,
    },
    axisLine: { lineStyle: { color: 'var(--soft)' } },
    axisTick: { show: false },
  };
  const values = {
    type: 'value',
    min: 0,
    name: unit,
    nameLocation: lying ? 'middle' : 'end',
    nameGap: lying ? 28 : 12,
    nameTextStyle: { ...text, align: lying ? 'center' : 'left' },
    axisLabel: { ...text, hideOverlap: true, formatter: thousands },
    splitNumber: isNarrow ? 4 : 5,
    splitLine: { lineStyle: { color: 'var(--line)' } },
  };
  return {
    animation: false,
    color: COLOURS,
    textStyle: { fontFamily: FONT },
    legend: {
      show: series.length > 1,
      data: series.map(({ name }) => name),
      top: 0,
      left: 0,
      itemWidth: 14,
      itemHeight: 10,
      itemGap: 26,
      textStyle: { ...text, color: 'var(--ink)' },
    },
    grid: {
      left: lying ? labelRoom(categories, isNarrow) + 10 : 46,
      right: isNarrow ? 14 : 24,
      top: legendRoom(series, isNarrow) + (lying ? 6 : 28),
      bottom: lying ? 42 : 24,
    },
    xAxis: lying ? values : names,
    yAxis: lying ? names : values,
    series: [...series.map((one, i) => barsOf(spec, one, i)), ...series.flatMap((one, i) => whiskersOf(spec, one, i))],
  };
}

/** Letters in a line of a name along a lying chart's axis. */
const LETTERS = { wide: 30, narrow: 17 };

/** The name in lines that have room. ECharts would break it, but guesses the width of text where there is no browser. */
function broken(name, isNarrow) {
  const lines = [];
  for (const word of name.split(' ')) {
    const line = `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && line.length <= (isNarrow ? LETTERS.narrow : LETTERS.wide)) lines[lines.length - 1] = line;
    else lines.push(word);
  }
  return lines.join('\n');
}

/** Columns for those names. */
function labelRoom(categories, isNarrow) {
  const lines = categories.flatMap((name) => broken(name, isNarrow).split('\n'));
  return Math.ceil(Math.max(...lines.map((line) => line.length)) * (isNarrow ? 6.4 : 7));
}

function thousands(value) {
  return value >= 1000 ? `${value / 1000}k` : String(value);
}

/** The legend breaks into lines where the chart is narrow. */
function legendRoom(series, isNarrow) {
  if (series.length < 2) return 0;
  const letters = series.reduce((sum, { name }) => sum + name.length + 9, 0);
  return 22 * Math.ceil(letters / (isNarrow ? 52 : 110));
}

function barsOf({ reference, lying }, { name, values, color }, index) {
  const line = { [lying === true ? 'xAxis' : 'yAxis']: reference?.value };
  return {
    type: 'bar',
    name,
    data: values,
    itemStyle: { color: color ?? COLOURS[index % COLOURS.length] },
    barMaxWidth: 34,
    barGap: '12%',
    ...(reference === undefined || index > 0
      ? {}
      : {
          markLine: {
            silent: true,
            symbol: 'none',
            lineStyle: { color: 'var(--ink)', type: 'dashed', width: 1 },
            label: {
              formatter: reference.name,
              position: lying === true ? 'end' : 'insideEndTop',
              color: 'var(--ink)',
              fontSize: 11,
              fontFamily: FONT,
            },
            data: [line],
          },
        }),
  };
}

/** Quartiles as thin lines over the bars of series `index`. */
function whiskersOf({ series, lying }, { values, low, high }, index) {
  if (low === undefined || high === undefined) return [];
  const data = values.flatMap((value, i) => (value === null ? [] : [[i, low[i], high[i]]]));
  return [
    {
      type: 'custom',
      silent: true,
      z: 10,
      encode: lying ? { y: 0, x: [1, 2] } : { x: 0, y: [1, 2] },
      data,
      renderItem: (_params, api) => {
        const category = api.value(0);
        const at = (value) => api.coord(lying ? [value, category] : [category, value]);
        const layout = api.barLayout({ count: series.length, barMaxWidth: 34, barGap: '12%' })[index];
        const [from, to] = [at(api.value(1)), at(api.value(2))];
        const [x1, y1] = lying ? [from[0], from[1] + layout.offsetCenter] : [from[0] + layout.offsetCenter, from[1]];
        const [x2, y2] = lying ? [to[0], to[1] + layout.offsetCenter] : [to[0] + layout.offsetCenter, to[1]];
        return { type: 'line', shape: { x1, y1, x2, y2 }, style: { stroke: 'var(--ink)', lineWidth: 1.5 } };
      },
    },
  ];
}

/** The same text for the same chart, however many were drawn before; with words for those who cannot see it. */
function settled(svg, spec, isNarrow) {
  const id = `${spec.name}${isNarrow ? '-narrow' : ''}`;
  return svg
    .replace(/zr\d+-/g, `${id}-`)
    .replace(/\u00a0/g, ' ')
    .replace(/^<svg /, `<svg role="img" aria-label="${escapeText(chartText(spec))}" `);
}

/** The chart alone in a file, with its own colours. */
export function standalone(svg) {
  return `${svg.replace(/^(<svg [^>]*>)/, `$1<style>${THEME}</style>`)}\n`;
}

/** What the chart shows, read out. */
function chartText({ title, unit, categories, series }) {
  const parts = series.map(({ name, values }) => {
    const pairs = categories.map(
      (category, i) => `${category} ${values[i] === null ? 'not measured' : round(values[i])}`,
    );
    return `${name}: ${pairs.join(', ')}`;
  });
  return `${title} (${unit}). ${parts.join('; ')}.`;
}

function round(value) {
  return Number(value.toPrecision(3));
}

export function escapeText(text) {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
}
