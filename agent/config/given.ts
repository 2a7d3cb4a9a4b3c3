import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { FRONT_SETTINGS } from '../../shared/settings-names.ts'
import { type AgentSettings, readAgentSettings } from './agent.ts'
import { givenSettings } from './variables.ts'

/** The settings that were given, and those in force. */
export interface GivenSettings {
  /** Variables of Boxyard as given, by name. Secrets are among them. */
  given: Readonly<Record<string, string>>
  agent: AgentSettings
  /** Address of the front. */
  front: { host: string; port: number }
  /** One sentence for each wrong setting, which has its default in `agent`. */
  faults: string[]
  /** The package's file of settings, if it is there and this process may not read it: then defaults are in its place. */
  hiddenFile: string | null
}

/** Reads the settings of agent and front; unlike `readAgentSettings` it puts up with wrong ones. */
export function readGivenSettings(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): GivenSettings {
  const given = givenSettings(environment)
  const faults: string[] = []
  const sound = { ...given }
  for (;;) {
    try {
      const agent = readAgentSettings(sound)
      return { given, agent, front: readFront(sound, faults), faults, hiddenFile: isHidden(CONF) ? CONF : null }
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
 * Reads the settings by which a deployment is taken down. A wrong one does not keep its boxes running: it has its default, and `warn` gets
 * a sentence, unless it tells where the deployment is, or what.
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
  const given = isHidden(CONF) || !existsSync(CONF) ? {} : parseEnv(readFileSync(CONF, 'utf8'))
  return resolve(given['BOXYARD_DATA_DIR'] || '/var/lib/boxyard')
}

/** Returns `PATH`, where programs are found. */
export function programPath(): string {
  return process.env['PATH'] ?? '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
}

function readFront(given: Readonly<Record<string, string>>, faults: string[]): GivenSettings['front'] {
  const port = given['BOXYARD_PORT'] ?? String(DEFAULT_PORT)
  const isPort = /^\d{1,5}$/.test(port) && Number(port) <= 65_535
  if (!isPort) faults.push(`BOXYARD_PORT=${JSON.stringify(port)}: expected a whole number from 0 to 65535.`)
  return { host: given['BOXYARD_HOST'] ?? '127.0.0.1', port: isPort ? Number(port) : DEFAULT_PORT }
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
const DEFAULT_PORT = 8080
