// The exact answers of TPC-H's queries 1 and 6 over the generated rows, at the scales where they are known. Money adds
// up past 2^53 from scale 0.1 on, so that sums are bigint, in units of the last decimal.

/** A group of query 1 (rows shipped by 1998-09-02). */
export interface Q1Row {
  readonly returnFlag: string;
  readonly lineStatus: string;
  /** Hundredths. */
  readonly sumQuantity: bigint;
  /** Hundredths. */
  readonly sumBasePrice: bigint;
  /** Sum of price * (1 - discount), in units of 10^-4. */
  readonly sumDiscountedPrice: bigint;
  /** Sum of price * (1 - discount) * (1 + tax), in units of 10^-6. */
  readonly sumCharge: bigint;
  /** Hundredths. */
  readonly sumDiscount: bigint;
  readonly count: bigint;
}

/** Query 6 (shipped in 1994, discount 0.05 to 0.07, quantity below 24). */
export interface Q6Row {
  /** Sum of price * discount, in units of 10^-4. */
  readonly revenue: bigint;
  /** Rows selected. */
  readonly rows: bigint;
}

export interface KnownAnswers {
  readonly scale: number;
  readonly lineitemRows: number;
  /** In the order of return flag and line status. */
  readonly q1: readonly Q1Row[];
  readonly q6: Q6Row;
}

/** The digits of a decimal, without the point. */
function digits(text: string): bigint {
  return BigInt(text.replace('.', ''));
}

/** `A F sum_qty sum_base_price sum_disc_price sum_charge sum_disc count` */
function q1Row(line: string): Q1Row {
  const [returnFlag, lineStatus, quantity, base, discounted, charge, discount, count] = line.split(' ');
  return {
    returnFlag,
    lineStatus,
    sumQuantity: BigInt(quantity) * 100n,
    sumBasePrice: digits(base),
    sumDiscountedPrice: digits(discounted),
    sumCharge: digits(charge),
    sumDiscount: digits(discount),
    count: BigInt(count),
  };
}

function answers(scale: number, lineitemRows: number, q1: readonly string[], q6: string): KnownAnswers {
  const [revenue, rows] = q6.split(' ');
  return { scale, lineitemRows, q1: q1.map(q1Row), q6: { revenue: digits(revenue), rows: BigInt(rows) } };
}

/** Scales with known answers, smallest first. */
export const KNOWN_ANSWERS: readonly KnownAnswers[] = [
  answers(
    0.001,
    6005,
    [
      'A F 37474 37569624.64 35676192.0970 37101416.222424 75.18 1478',
      'N F 1041 1041301.07 999060.8980 1036450.802280 1.63 38',
      'N O 75168 75384955.37 71653166.3034 74498798.133073 146.16 2941',
      'R F 36511 36570841.24 34738472.8758 36169060.112193 72.89 1457',
    ],
    '77949.9186 116',
  ),
  answers(
    0.01,
    60175,
    [
      'A F 380456 532348211.65 505822441.4861 526165934.000839 745.01 14876',
      'N F 8971 12384801.37 11798257.2080 12282485.056933 16.62 348',
      'N O 742802 1041502841.45 989737518.6346 1029418531.523350 1457.04 29181',
      'R F 381449 534594445.35 507996454.4067 528524219.358903 742.53 14902',
    ],
    '1193053.2253 1191',
  ),
  answers(
    0.1,
    600572,
    [
      'A F 3774200 5320753880.69 5054096266.6828 5256751331.449234 7410.87 147790',
      'N F 95257 133737795.84 127132372.6512 132286291.229445 185.97 3765',
      'N O 7459297 10512270008.90 9986238338.3847 10385578376.585467 14628.02 292000',
      'R F 3785523 5337950526.47 5071818532.9420 5274405503.049367 7413.46 148301',
    ],
    '11803420.2534 11618',
  ),
  answers(
    1,
    6001215,
    [
      'A F 37734107 56586554400.73 53758257134.8700 55909065222.827692 73902.91 1478493',
      'N F 991417 1487504710.38 1413082168.0541 1469649223.194375 1946.33 38854',
      'N O 74476040 111701729697.74 106118230307.6056 110367043872.497010 146008.73 2920374',
      'R F 37719753 56568041380.90 53741292684.6040 55889619119.831932 73957.41 1478870',
    ],
    '123141078.2283 114160',
  ),
];

/** The known answers at a scale, if there are any. */
export function knownAnswers(scale: number): KnownAnswers | undefined {
  return KNOWN_ANSWERS.find((known) => known.scale === scale);
}
