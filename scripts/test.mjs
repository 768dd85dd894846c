// `npm test`: installs, compiles everything with its tests, and runs every test of every package. Formatting, lint,
// floors, dead exports and packaging are tests too (tests/house). The last line says `N passed, N failed`.
// --slow runs the long tests as well; other arguments go to vitest (file filters, -t NAME).
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, checkNode, install, isMain, root, run } from './setup.mjs';

/**
 * Passed and failed tests in a report of vitest's json reporter. A file that failed to load, and so ran no test, counts
 * as one failure; so does an end with an error that no test owns.
 */
export function countTests(report, exitStatus) {
  let failed = report.numFailedTests;
  for (const file of report.testResults)
    if (file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed')) failed++;
  if (exitStatus !== 0 && failed === 0) failed = 1;
  return { passed: report.numPassedTests, failed };
}

async function runVitest(filters, slow) {
  const directory = mkdtempSync(join(tmpdir(), 'blockwright-test-'));
  const file = join(directory, 'report.json');
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
    const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
    const env = slow ? { BLOCKWRIGHT_SLOW: '1' } : {};
    const status = await run(process.execPath, [vitest, 'run', ...reporters, ...filters], { env });
    return countTests(readReport(file), status);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { numPassedTests: 0, numFailedTests: 1, testResults: [] }; // vitest ended before it could report
  }
}

if (isMain(import.meta.url)) {
  checkNode();
  await install();
  const built = (await build()) === 0;
  const args = process.argv.slice(2);
  const tests = await runVitest(
    args.filter((arg) => arg !== '--slow'),
    args.includes('--slow'),
  );
  const passed = tests.passed + (built ? 1 : 0);
  const failed = tests.failed + (built ? 0 : 1);
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  process.exitCode = failed === 0 ? 0 : 1;
}
