import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { parse, stringify } from 'smol-toml'

/** A service that a user has logged in to, or the service of this host. */
export interface StoredContext {
  /** Absent for the service of this host, whose token is read from its file. */
  url?: string | undefined
  token?: string | undefined
  project?: string | undefined
}

/** Contents of `config.toml`. */
export interface StoredContexts {
  current?: string | undefined
  contexts: Record<string, StoredContext>
}

/** Returns the path of `config.toml` (XDG). */
export function contextsPath(environment: NodeJS.ProcessEnv): string {
  return join(environment['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'boxyard/config.toml')
}

export function readContexts(environment: NodeJS.ProcessEnv): StoredContexts {
  const path = contextsPath(environment)
  if (!existsSync(path)) return { contexts: {} }
  const stored = parse(readFileSync(path, 'utf8')) as unknown as Partial<StoredContexts>
  return { ...stored, contexts: stored.contexts ?? {} }
}

/** Writes `config.toml` whole, readable only by its owner. */
export function writeContexts(environment: NodeJS.ProcessEnv, stored: StoredContexts): void {
  const path = contextsPath(environment)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, stringify(stored), { mode: 0o600 })
  chmodSync(draft, 0o600)
  renameSync(draft, path)
}

/** Finds a context by its name, or undefined if no login has this name. */
export function contextNamed({ contexts }: StoredContexts, name: string): StoredContext | undefined {
  return Object.hasOwn(contexts, name) ? contexts[name] : undefined
}
