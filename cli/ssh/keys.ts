import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ssh2 from 'ssh2'
import { contextsPath } from '../context/store.ts'
import { UsageError } from '../output/failures.ts'

/** Files of ours for OpenSSH, beside the logins. */
export interface SshPaths {
  /** What `~/.ssh/config` includes. */
  config: string
  knownHosts: string
  /** Private key of the server end, which `ssh-proxy` is. */
  hostKey: string
  /** Private key of the client end, which OpenSSH is told of. */
  clientKey: string
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
    hostKey: join(directory, 'host_ed25519'),
    clientKey: join(directory, 'client_ed25519'),
  }
}

/** Returns the keys; those that are missing are made first, once also where two programs begin at the same time. */
export function ensureSshKeys({ hostKey, clientKey }: SshPaths): SshKeys {
  mkdirSync(dirname(hostKey), { recursive: true, mode: 0o700 })
  for (const [path, comment] of [
    [hostKey, 'boxyard host'],
    [clientKey, 'boxyard client'],
  ] as const) {
    if (!existsSync(path)) writeOnce(path, `${ssh2.utils.generateKeyPairSync('ed25519', { comment }).private.trim()}\n`)
  }
  return { hostKey: readFileSync(hostKey, 'utf8'), clientKey: readFileSync(clientKey, 'utf8') }
}

/** Reads the keys. @throws UsageError if they have not been made */
export function readSshKeys({ hostKey, clientKey }: SshPaths): SshKeys {
  if (!existsSync(hostKey) || !existsSync(clientKey)) throw new UsageError('First: boxyard ssh-config --install')
  return { hostKey: readFileSync(hostKey, 'utf8'), clientKey: readFileSync(clientKey, 'utf8') }
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

function writeOnce(path: string, text: string): void {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, text, { mode: 0o600 })
  try {
    linkSync(draft, path)
  } catch (error) {
    if (!existsSync(path)) throw error
  } finally {
    rmSync(draft)
  }
}
