// What the numbers were measured on.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { arch, cpus, release, totalmem, type } from 'node:os';
import process from 'node:process';

export interface MachineDescription {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly os: string;
  readonly arch: string;
  readonly node: string;
  readonly v8: string;
  /** Bytes of the last-level cache; null when the system does not tell. */
  readonly lastLevelCacheBytes: number | null;
}

let described: MachineDescription | undefined;

/** This machine. Looked up once a process. */
export function describeMachine(): MachineDescription {
  described ??= Object.freeze({
    cpu: cpus()[0]?.model.trim() || 'unknown',
    cores: cpus().length,
    memoryBytes: totalmem(),
    os: `${type()} ${release()}`,
    arch: arch(),
    node: process.versions.node,
    v8: process.versions.v8,
    lastLevelCacheBytes: lastLevelCacheBytes(),
  });
  return described;
}

/** `AMD EPYC, 2 cores, 24 GB, Linux 6.1.0 x64, Node.js 20.20.2 (V8 11.3…)`. */
export function machineText(machine: MachineDescription): string {
  const cache = machine.lastLevelCacheBytes;
  return [
    machine.cpu,
    `${machine.cores} core${machine.cores === 1 ? '' : 's'}`,
    `${Math.round(machine.memoryBytes / 2 ** 30)} GB`,
    ...(cache === null ? [] : [`last-level cache ${Math.round(cache / 2 ** 20)} MB`]),
    `${machine.os} ${machine.arch}`,
    `Node.js ${machine.node} (V8 ${machine.v8})`,
  ].join(', ');
}

function lastLevelCacheBytes(): number | null {
  try {
    if (process.platform === 'linux')
      return linuxCacheBytes('/sys/devices/system/cpu/cpu0/cache') ?? getconfCacheBytes();
    if (process.platform === 'darwin') return darwinCacheBytes();
  } catch {
    // A container or a sandbox may hide it; the report then says that it is not known.
  }
  return null;
}

/** @internal The largest data or unified cache that a Linux cache directory lists; null when it lists none. */
export function linuxCacheBytes(directory: string): number | null {
  let largest: number | null = null;
  if (!existsSync(directory)) return null;
  for (const entry of readdirSync(directory)) {
    if (!/^index\d+$/.test(entry)) continue;
    const kind = readFileSync(`${directory}/${entry}/type`, 'utf8').trim();
    const match = /^(\d+)([KMG]?)$/.exec(readFileSync(`${directory}/${entry}/size`, 'utf8').trim());
    if (kind === 'Instruction' || match === null) continue;
    const bytes = Number(match[1]) * { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 }[match[2] as '' | 'K' | 'M' | 'G'];
    largest = Math.max(largest ?? 0, bytes);
  }
  return largest;
}

function getconfCacheBytes(): number | null {
  for (const name of ['LEVEL4_CACHE_SIZE', 'LEVEL3_CACHE_SIZE', 'LEVEL2_CACHE_SIZE']) {
    const bytes = Number(execFileSync('getconf', [name], { encoding: 'utf8', stdio: 'pipe' }).trim());
    if (bytes > 0) return bytes;
  }
  return null;
}

function darwinCacheBytes(): number | null {
  for (const name of ['hw.l3cachesize', 'hw.perflevel0.l2cachesize', 'hw.l2cachesize']) {
    try {
      const bytes = Number(execFileSync('sysctl', ['-n', name], { encoding: 'utf8', stdio: 'pipe' }).trim());
      if (bytes > 0) return bytes;
    } catch {
      // Apple silicon has no L3 entry: the next name is asked.
    }
  }
  return null;
}
