import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BackupDeps, runBackupCommand } from '../../../agent/compose/backup-command.ts'
import { type DeploymentDeps, openDeployment } from '../../../agent/compose/deployment.ts'
import { createClosers } from '../../../agent/compose/shutdown.ts'
import { type AgentSettings, readAgentSettings } from '../../../agent/config/agent.ts'
import { silentLogger } from '../silent-logger.ts'

/** Data directories below one temporary directory, for host commands that need no running agent. */
export interface DeploymentLab {
  scratch: string
  settingsOf(name: string): AgentSettings
  /** Creates a deployment without a pool and returns its data directory. */
  make(name: string): Promise<string>
  /** Returns the dependencies of commands that work on the data directory `name`. Their output goes to `printed`. */
  depsOf(name: string): BackupDeps & DeploymentDeps
  /** Backs up a deployment to an archive and returns its path. */
  backUp(name: string): Promise<string>
  printed: string[]
  remove(): void
}

/** Creates an empty lab. */
export function createDeploymentLab(): DeploymentLab {
  const scratch = mkdtempSync(join(tmpdir(), 'boxyard-host-commands-'))
  const clock = { now: () => Date.now(), sleep: () => Promise.resolve() }
  const printed: string[] = []
  const settingsOf = (name: string): AgentSettings =>
    readAgentSettings({ BOXYARD_DATA_DIR: join(scratch, name), BOXYARD_RUN_DIR: join(scratch, 'run') })
  const depsOf: DeploymentLab['depsOf'] = (name) => ({
    ...{ settings: settingsOf(name), clock, logger: silentLogger, notices: silentLogger },
    ...{ closers: createClosers(silentLogger), decorate: (_port, driver) => driver },
    ...{ given: {}, version: '0.0.0', now: clock.now, print: (text) => printed.push(text) },
  })
  return {
    scratch,
    settingsOf,
    depsOf,
    printed,
    make: async (name) => {
      const deps = depsOf(name)
      openDeployment(deps, { exclusive: true })
      await deps.closers.run(10_000)
      return deps.settings.dataDir
    },
    backUp: async (name) => {
      const path = join(scratch, `${name}.tar.gz`)
      await runBackupCommand(depsOf(name), [path])
      return path
    },
    remove: () => rmSync(scratch, { recursive: true, force: true }),
  }
}
