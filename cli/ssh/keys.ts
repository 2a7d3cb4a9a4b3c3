import { createHash } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import ssh2 from 'ssh2'
import { BOX_DOMAIN } from '../context/box-host.ts'
import { contextsPath } from '../context/store.ts'
import { UsageError } from '../output/failures.ts'

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

/** Makes the client key if it is missing, once also where two programs begin at the same time. */
export function ensureClientKey({ clientKey }: SshPaths): void {
  mkdirSync(dirname(clientKey), { recursive: true, mode: 0o700 })
  ensureKey(clientKey, 'boxyard client')
}

/** Adds host keys that the known hosts lack, as where that file was deleted. */
export function restoreKnownHosts({ hostKeys, knownHosts }: SshPaths): void {
  const known = existsSync(knownHosts) ? readFileSync(knownHosts, 'utf8') : ''
  const names = existsSync(hostKeys) ? readdirSync(hostKeys).filter((name) => name.endsWith(KEY_END)) : []
  const lines = names.map((name) => knownHostLine(readFileSync(join(hostKeys, name), 'utf8')))
  const missing = lines.filter((line) => !known.includes(line))
  if (missing.length > 0) appendFileSync(knownHosts, missing.join(''), { mode: 0o600 })
}

/**
 * Reads the keys for a deployment. Its host key is made, and added to the known hosts, when a box of it is first reached: OpenSSH
 * reads them after the server's first line. @throws UsageError if there is no client key
 */
export function readSshKeys(paths: SshPaths, url: string): SshKeys {
  if (!existsSync(paths.clientKey)) throw new UsageError('First: boxyard ssh-config --install')
  mkdirSync(paths.hostKeys, { recursive: true, mode: 0o700 })
  const path = join(paths.hostKeys, `${createHash('sha256').update(url).digest('hex').slice(0, 16)}${KEY_END}`)
  ensureKey(path, `boxyard host ${url}`, (key) => appendFileSync(paths.knownHosts, knownHostLine(key), { mode: 0o600 }))
  const hostKey = readFileSync(path, 'utf8')
  return { hostKey, clientKey: readFileSync(paths.clientKey, 'utf8') }
}

/** Returns the public half of a private key as `known_hosts` and `authorized_keys` have it. */
export function publicKeyText(privateKey: string): string {
  const key = parsePrivateKey(privateKey)
  return `${key.type} ${key.getPublicSSH().toString('base64')}`
}

/** Parses a private key. @throws Error for what is none */
export function parsePrivateKey(text: string): ssh2.ParsedKey {
  const key = ssh2.utils.parseKey(text)
  if (key instanceof Error) throw new Error(`A key of ours cannot be read: ${key.message}`, { cause: key })
  return key
}

/** Writes a file whole, or leaves what is there; for its owner alone unless `mode` says otherwise. */
export function writeWhole(path: string, text: string, mode = 0o600): void {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, text, { mode })
  renameSync(draft, path)
}

/** Makes a private key. Of those that ssh2 makes, one in 300 cannot be read: another is made then. */
export function makeSshKey(comment: string): string {
  for (;;) {
    const key = `${ssh2.utils.generateKeyPairSync('ed25519', { comment }).private.trim()}\n`
    if (!(ssh2.utils.parseKey(key) instanceof Error)) return key
  }
}

/** Makes a key if it is missing. `onMade` is called before other programs can find it. */
function ensureKey(path: string, comment: string, onMade?: (key: string) => void): void {
  if (existsSync(path)) return
  const key = makeSshKey(comment)
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, key, { mode: 0o600 })
  try {
    onMade?.(key)
    linkSync(draft, path)
  } catch (error) {
    if (!existsSync(path)) throw error
  } finally {
    rmSync(draft)
  }
}

function knownHostLine(hostKey: string): string {
  return `*${BOX_DOMAIN} ${publicKeyText(hostKey)}\n`
}

const KEY_END = '_ed25519'
