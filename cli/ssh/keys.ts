import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BOX_DOMAIN } from '../context/box-host.ts'
import { contextsPath } from '../context/store.ts'
import { UsageError } from '../output/failures.ts'
import { ensureKey, faultOf, publicKeyText } from './private-keys.ts'

/** Files of ours for OpenSSH, beside the logins. */
export interface SshPaths {
  /** What `~/.ssh/config` includes. */
  config: string
  knownHosts: string
  /** Directory of the private keys of the server end, which `ssh-proxy` is: one for each deployment. */
  hostKeys: string
  /** Private key of the client end, which OpenSSH is told of. */
  clientKey: string
  /** Which deployment each host name led to last. */
  names: string
}

/** Private keys of both ends, in the form of OpenSSH. */
export interface SshKeys {
  hostKey: string
  clientKey: string
}

/** Returns where the files are. */
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

/** Makes the client key if it is missing or cannot be read, and returns it; reports the latter. */
export function ensureClientKey({ clientKey }: SshPaths, tell: (message: string) => void): string {
  mkdirSync(dirname(clientKey), { recursive: true, mode: 0o700 })
  return ensureKey(clientKey, { comment: 'boxyard client', tell })
}

/**
 * Adds host keys that the known hosts lack, as where that file was deleted. Leaves out one that cannot be read: the next connection
 * to its deployment replaces it.
 */
export function restoreKnownHosts({ hostKeys, knownHosts }: SshPaths): void {
  const names = existsSync(hostKeys) ? readdirSync(hostKeys).filter((name) => name.endsWith(KEY_END)) : []
  const keys = names.map((name) => readFileSync(join(hostKeys, name), 'utf8')).filter((key) => faultOf(key) === null)
  addKnownHosts(knownHosts, keys)
}

/**
 * Reads the keys for a deployment. Its host key is made, and added to the known hosts, when a box of it is first reached: OpenSSH
 * reads them after the server's first line. Replaces keys that cannot be read, and reports it: OpenSSH reads the client key when it
 * signs, after that line too. @throws UsageError if there is no client key
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

/** Writes a file whole, or leaves what is there; for its owner alone unless `mode` says otherwise. */
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
