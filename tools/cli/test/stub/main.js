// Stands in for the built program: tells how the stub called it.
export async function main() {
  process.stdout.write(`ran with ${process.argv.slice(2).join(' ')}\n`);
  process.exitCode = 3;
}
