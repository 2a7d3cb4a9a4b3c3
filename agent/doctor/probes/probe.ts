import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { GivenSettings } from '../../config/given.ts'
import { MIGRATIONS } from '../../drivers/store/schema.ts'
import { isClockSynchronized } from '../../lib/syscalls/clock.ts'
import type { ClockFacts, CrunPackageFacts, Facts, ToolFacts } from '../facts.ts'
import { probeCrunPackage } from './crun-package.ts'
import { probeDisk } from './disk.ts'
import { probeFiles } from './files.ts'
import { probeKernel } from './kernel.ts'
import { look } from './look.ts'
import { probeNetwork } from './network.ts'
import { probePorts } from './ports.ts'
import { probeService } from './service.ts'
import { probeTools } from './tools.ts'

export interface ProbeRequest {
  settings: GivenSettings
  version: { version: string; commit: string | null }
  /** `PATH` to look for programs in. */
  path: string
  now: number
}

/** Collects all details that the checks use. Changes nothing, and never rejects. */
export async function probeAll({ settings, version, path, now }: ProbeRequest): Promise<Facts> {
  const { agent, front, faults, hiddenFile } = settings
  const isRoot = process.getuid?.() === 0
  const [kernel, network, tools, ports, files, service, disk] = await Promise.all([
    probeKernel(),
    probeNetwork(agent, isRoot),
    probeTools(agent, path),
    probePorts({ agent, front, isRoot }),
    probeFiles(agent),
    probeService(agent.dataDir, front),
    look(() => probeDisk(agent.dataDir)),
  ])
  return {
    isRoot,
    now,
    program: { ...version, node: process.versions.node, schema: MIGRATIONS.length },
    settings: { agent, front, faults, hiddenFile },
    ...{ kernel, network, tools, disk, ports, files, service },
    crunPackage: await look(() => packageOfCrun(tools)),
    clock: await probeClock(agent.dataDir),
  }
}

async function packageOfCrun(tools: readonly ToolFacts[]): Promise<CrunPackageFacts | null> {
  const path = tools.find(({ name }) => name === 'crun')?.path ?? null
  return path === null ? null : probeCrunPackage(path)
}

async function probeClock(dataDir: string): Promise<ClockFacts> {
  const paths = [join(dataDir, 'boxyard.db'), join(dataDir, 'admin.token'), import.meta.filename]
  const times = paths.flatMap((path) => {
    const stat = orUndefined(() => statSync(path, { throwIfNoEntry: false }))
    return stat === undefined ? [] : [{ path, at: stat.mtimeMs }]
  })
  const newestFile = times.toSorted((one, other) => other.at - one.at)[0] ?? null
  return { isSynchronized: await look(isClockSynchronized), newestFile }
}

function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
