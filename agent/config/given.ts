import { accessSync, constants, existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { FRONT_SETTINGS } from '../../shared/settings-names.ts'
import { tryReadText } from '../lib/disk/file-text.ts'
import { type AgentSettings, readAgentSettings } from './agent.ts'
import { type FrontAddress, inspectFrontSettings } from './front.ts'
import { readServiceFile, tellAmbiguous } from './service-file.ts'
import { givenSettings } from './variables.ts'

/** The settings that were given, and those in force. */
export interface GivenSettings {
  /** Variables of Boxyard as given, by name. Secrets are among them. */
  given: Readonly<Record<string, string>>
  agent: AgentSettings
  /** Address of the front. */
  front: FrontAddress
  /** One sentence for each wrong setting, which has its default in `agent`. */
  faults: string[]
  /** The package's file of settings, if it exists and this process may not read it. Defaults then replace it. */
  hiddenFile: string | null
}

/** Reads the settings of agent and front. Unlike `readAgentSettings` it accepts wrong ones. */
export function readGivenSettings(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): GivenSettings {
  const given = givenSettings(environment)
  const faults = tellAmbiguous(tryReadText(CONF), CONF)
  const sound = { ...given }
  for (;;) {
    try {
      const agent = readAgentSettings(sound)
      const front = inspectFrontSettings(sound)
      faults.push(...front.faults)
      return { given, agent, front: front.address, faults, hiddenFile: isHidden(CONF) ? CONF : null }
    } catch (error) {
      const fault = error instanceof Error ? error.message : String(error)
      const wrong = (fault.match(/BOXYARD_\w+/g) ?? []).filter((name) => Object.hasOwn(sound, name))
      if (wrong.length === 0) throw error
      faults.push(fault)
      for (const name of wrong) delete sound[name]
    }
  }
}

/**
 * Reads the settings by which a deployment is taken down. A wrong setting must not keep its boxes running. It gets its default, and
 * `warn` gets a sentence, unless the setting determines where or what the deployment is.
 * @throws Error for a wrong one that does
 */
export function readTakeDownSettings(
  warn: (fault: string) => void,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): AgentSettings {
  const { agent, faults } = readGivenSettings(environment)
  const decisive = faults.find((fault) => DECISIVE.test(fault))
  if (decisive !== undefined) throw new Error(decisive)
  for (const fault of faults) warn(fault)
  return agent
}

/** Returns the data directory of the services that systemd runs, by the package's file of settings. */
export function packagedDataDir(): string {
  return resolve(readServiceFile(tryReadText(CONF))['BOXYARD_DATA_DIR'] || '/var/lib/boxyard')
}

/** Returns `PATH`, where programs are found. */
export function programPath(): string {
  return process.env['PATH'] ?? '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
}

/** Names of settings that may hold a secret itself, not the path of one. */
export const SECRET_SETTINGS: readonly string[] = FRONT_SETTINGS.filter((name) =>
  /^BOXYARD_(CHANNEL|TOKEN)_KEYS?$/.test(name),
)

function isHidden(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return false
  } catch {
    return existsSync(path)
  }
}

const DECISIVE = /\bBOXYARD_(DATA_DIR|RUN_DIR|RUNTIME|KUBECONFIG|NAMESPACE|NODE)\b/
const CONF = '/etc/boxyard/boxyard.conf'
