import { accessSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { arch, release } from 'node:os'
import { readTerminalLimits } from '../../drivers/host/terminals.ts'
import { run } from '../../lib/run.ts'
import type { KernelFacts, Seen } from '../facts.ts'
import { look, seenOr } from './look.ts'

/** Looks at the kernel: version, modules, cgroups and namespaces. */
export async function probeKernel(): Promise<KernelFacts> {
  const filesystems = await look(() => lines('/proc/filesystems').map((line) => line.trim().split(/\s+/).at(-1) ?? ''))
  const isKnown = (name: string): boolean => seenOr(filesystems, [] as string[]).includes(name)
  return {
    release: release(),
    machine: arch(),
    filesystems,
    modules: {
      btrfs: isKnown('btrfs') ? { value: true } : await canLoad('btrfs'),
      loop: existsSync('/dev/loop-control') ? { value: true } : await canLoad('loop'),
      nf_tables: existsSync('/sys/module/nf_tables') ? { value: true } : await canLoad('nf_tables'),
    },
    hasLoopControl: existsSync('/dev/loop-control'),
    mountInfo: await look(() => readFileSync('/proc/self/mountinfo', 'utf8')),
    controllers: await look(readControllers),
    namespaces: await look(() => readdirSync('/proc/self/ns')),
    namespaceLimits: await look(readNamespaceLimits),
    terminals: await look(readTerminalLimits),
  }
}

function canLoad(module: string): Promise<Seen<boolean>> {
  return look(async () => {
    if (existsSync(`/sys/module/${module}`)) return true
    // -n: loads nothing.
    const { exitCode } = await run('modprobe', ['-n', '-q', module], { timeoutMs: TIMEOUT_MS })
    return exitCode === 0
  })
}

function readControllers(): string[] | null {
  const unified = lines('/proc/self/mountinfo').find((line) => line.includes(' - cgroup2 '))
  const root = unified?.split(' ')[4]
  if (root === undefined) return null
  return readFileSync(`${root}/cgroup.controllers`, 'utf8').trim().split(' ')
}

function readNamespaceLimits(): Record<string, number> {
  const directory = '/proc/sys/user'
  accessSync(directory)
  const names = readdirSync(directory).flatMap((name) => /^max_(\w+)_namespaces$/.exec(name)?.[1] ?? [])
  return Object.fromEntries(
    names.map((name) => [name, Number(readFileSync(`${directory}/max_${name}_namespaces`, 'utf8'))]),
  )
}

function lines(path: string): string[] {
  return readFileSync(path, 'utf8').trim().split('\n')
}

const TIMEOUT_MS = 5_000
