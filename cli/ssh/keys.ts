import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BOX_DOMAIN } from '../context/box-host.ts'
import { contextsPath } from '../context/store.ts'
import { UsageError } from '../output/failures.ts'
import { ensureKey, faultOf, publicKeyText } from './private-keys.ts'

/** Our files for OpenSSH, beside the logins. */
export interface SshPaths {
  /** The file that `~/.ssh/config` includes. */
  config: string
  knownHosts: string
  /** Directory of the private host keys of `ssh-proxy`, one for each deployment. */
  hostKeys: string
  /** Private key of the client, named in the configuration of OpenSSH. */
  clientKey: string
  /** The last deployment of each host name. */
  names: string
}

/** Private keys of both ends, in the form of OpenSSH. */
export interface SshKeys {
  hostKey: string
  clientKey: string
}

/** Returns the paths of the files. */
export function sshPathsOf(environment: NodeJS.ProcessEnv): SshPaths {
  const directory = join(dirname(contextsPath(environment)), 'ssh')
  return {
    config: join(directory, 'config'),
    knownHosts: join(directory, 'known_hosts'),
    hostKeys: join(directory, 'hosts'),
    clientKey: join(directory, 'client_ed25519'),
    names: join(directory, 'names'),
  }
}

/** Creates the client key if it is missing or unreadable, and returns it. Reports an unreadable one. */
export function ensureClientKey({ clientKey }: SshPaths, tell: (message: string) => void): string {
  mkdirSync(dirname(clientKey), { recursive: true, mode: 0o700 })
  return ensureKey(clientKey, { comment: 'boxyard client', tell })
}

/**
 * Adds host keys that the known hosts lack, for example because that file was deleted. Skips an unreadable one, which the next connection
 * to its deployment replaces.
 */
export function restoreKnownHosts({ hostKeys, knownHosts }: SshPaths): void {
  const names = existsSync(hostKeys) ? readdirSync(hostKeys).filter((name) => name.endsWith(KEY_END)) : []
  const keys = names.map((name) => readFileSync(join(hostKeys, name), 'utf8')).filter((key) => faultOf(key) === null)
  addKnownHosts(knownHosts, keys)
}

/**
 * Reads the keys for a deployment. Creates its host key, and adds it to the known hosts, at the first connection to one of its boxes.
 * OpenSSH reads the known hosts after the server's first line. Replaces unreadable keys, and reports this. OpenSSH reads the client key
 * when it signs, also after that line. @throws UsageError if there is no client key
 */
export function readSshKeys(paths: SshPaths, url: string, tell: (message: string) => void): SshKeys {
  if (!existsSync(paths.clientKey)) throw new UsageError('First: boxyard ssh-config --install')
  mkdirSync(paths.hostKeys, { recursive: true, mode: 0o700 })
  const path = join(paths.hostKeys, `${createHash('sha256').update(url).digest('hex').slice(0, 16)}${KEY_END}`)
  const hostKey = ensureKey(path, {
    comment: `boxyard host ${url}`,
    onMade: (key) => addKnownHosts(paths.knownHosts, [key]),
    tell,
  })
  return { hostKey, clientKey: ensureClientKey(paths, tell) }
}

/** Writes a file whole, or leaves the existing one. Only its owner can access it unless `mode` differs. */
export function writeWhole(path: string, text: string, mode = 0o600): void {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, text, { mode })
  renameSync(draft, path)
}

function addKnownHosts(knownHosts: string, keys: readonly string[]): void {
  const known = existsSync(knownHosts) ? readFileSync(knownHosts, 'utf8') : ''
  const lines = keys.map((key) => `*${BOX_DOMAIN} ${publicKeyText(key)}\n`)
  const missing = lines.filter((line) => !known.includes(line))
  if (missing.length > 0) appendFileSync(knownHosts, missing.join(''), { mode: 0o600 })
}

const KEY_END = '_ed25519'
