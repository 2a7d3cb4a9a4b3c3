import { serviceOrigin } from '../../sdk/typescript/src/service-origin.ts'
import { UsageError } from '../output/failures.ts'

/**
 * Checks the name of a project by the service's rule (shared/schemas/common.ts), or accepts `-` for all. `source` is where it came from,
 * such as `--project`. @throws UsageError
 */
export function checkProjectName(name: string, source: string): string {
  if (name === ALL_PROJECTS) return name
  if (source === '--project' && PORTS.test(name))
    throw new UsageError(
      `-p selects the project, and "${name}" is none. For a port: --port PORT, or boxyard port-forward`,
    )
  return checkName(name, source)
}

/** Checks the name or the id of a box. `source` is where it came from. @throws UsageError */
export function checkBoxName(name: string, source: string): string {
  return BOX_ID.test(name) ? name : checkName(name, source)
}

/**
 * Checks the name of a context: up to 253 characters, first a letter or digit, without white space and control characters. Also rejects
 * characters with a meaning for a shell or OpenSSH. @throws UsageError
 */
export function checkContextName(name: string, source: string): string {
  if (CONTEXT.test(name)) return name
  throw new UsageError(
    `${source}: must be the name of a context, such as staging or boxes.example:8080, not "${name}".`,
  )
}

/** Returns the origin of a service by the rule of the SDK. `source` is where the URL came from, such as `BOXYARD_URL`. @throws UsageError */
export function checkServiceUrl(url: string, source: string): string {
  try {
    return serviceOrigin(url, source)
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

/** Returns the projects that a service says a token names: none if it allows all. Leaves out what is not a name. */
export function namedProjects(projects: '*' | readonly string[]): readonly string[] {
  const names: readonly unknown[] = Array.isArray(projects) ? projects : []
  return names.filter((name): name is string => typeof name === 'string' && NAME.test(name))
}

/** Returns the first names as text, with `…` for the rest. */
export function shownNames(names: readonly string[]): string {
  return [...names.slice(0, SHOWN), ...(names.length > SHOWN ? ['…'] : [])].join(', ')
}

function checkName(name: string, source: string): string {
  if (NAME.test(name)) return name
  const rule = 'must be 1–63 characters of a–z, 0–9 and single hyphens, with a letter or digit at both ends'
  throw new UsageError(`${source}: ${rule}, such as my-app, not "${name}".`)
}

const SHOWN = 10
/** Selects every project in lists. */
export const ALL_PROJECTS = '-'
/** Ports as docker publishes them, such as `8080:80`. */
const PORTS = /^[\d.]*:?\d+:\d+(\/\w+)?$/
const NAME = /^(?=.{1,63}$)[a-z0-9]+(-[a-z0-9]+)*$/
const BOX_ID = /^box_[0-9a-z]{26}$/
const CONTEXT = /^[\p{L}\p{N}[][\p{L}\p{N}._:[\]+-]{0,252}$/u
