import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { agentCommand, frontCommand } from '../commands.ts'
import { openLogFile } from '../log-file.ts'
import { createServiceProcess, type ServiceProcess } from '../service-process.ts'
import type { RigCell } from './cells.ts'

/** The agent and the front of a cell, supervised. */
export interface CellService {
  agent: ServiceProcess
  front: ServiceProcess
}

/** Creates the processes of a cell, on its node. They log below its data directory. */
export function createCellService(cell: RigCell, env: NodeJS.ProcessEnv, say: (text: string) => void): CellService {
  mkdirSync(cell.dataDir, { recursive: true, mode: 0o700 })
  const create = (name: 'agent' | 'front', command: readonly string[]): ServiceProcess => {
    const log = openLogFile(join(cell.dataDir, 'log', `${name}.log`))
    return createServiceProcess({
      name: `${name} of ${cell.cell}`,
      command: [cell.enter, ...command],
      env,
      lossNote: 'Boxes keep running.',
      stopDeadlineMs: 45_000,
      say: (text) => say(text.startsWith('The ') ? text : `${cell.cell}: ${text}`),
      log: (line) => log.write(line),
    })
  }
  return { agent: create('agent', agentCommand()), front: create('front', frontCommand()) }
}

/** Stops all gracefully. Fronts stop first, so that they refuse nothing that agents still answer. */
export async function stopCellServices(services: readonly CellService[]): Promise<void> {
  await Promise.all(services.map(({ front }) => front.stop()))
  await Promise.all(services.map(({ agent }) => agent.stop()))
}
