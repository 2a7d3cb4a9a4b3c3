import { existsSync, mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { BOX_DOMAIN } from '../context/box-host.ts'
import { shellWord } from '../output/shell-word.ts'
import { versionText } from '../programs.ts'
import { ensureClientKey, restoreKnownHosts, type SshPaths, writeWhole } from './keys.ts'

/**
 * Formats the configuration of OpenSSH for the hosts `*.boxyard`. A pure function.
 * @param program what starts this program, word by word
 * @param version what `ssh -V` prints; an option that this version does not know would end ssh for every host
 */
export function formatSshConfig(
  { clientKey, knownHosts }: Pick<SshPaths, 'clientKey' | 'knownHosts'>,
  program: readonly string[],
  version: string,
): string {
  const proxy = [...program.map(shellWord), 'ssh-proxy'].join(' ').replaceAll('%', '%%')
  const lines = [
    // A shell reads this line. Before 9.6, OpenSSH lets a host name have what a shell reads as its own (CVE-2023-51385).
    `ProxyCommand ${proxy} -- '%h'`,
    'User root',
    `IdentityFile ${quoted(clientKey)}`,
    'IdentitiesOnly yes',
    'IdentityAgent none',
    'PreferredAuthentications publickey',
    `UserKnownHostsFile ${quoted(knownHosts)}`,
    'GlobalKnownHostsFile /dev/null',
    'StrictHostKeyChecking yes',
    'UpdateHostKeys no',
    'ForwardAgent no',
    'ForwardX11 no',
    'AddKeysToAgent no',
    // The connection is a pipe of this machine.
    'Compression no',
    ...(isAtLeast(version, 10, 1) ? ['WarnWeakCrypto no'] : []),
  ]
  // The quotes around `%h` do not protect against a quote in the host name.
  const hosts = `Host *${BOX_DOMAIN} "!*'*"`
  return `# Written by "boxyard ssh-config"; changes are lost.\n${hosts}\n${lines.map((line) => `  ${line}\n`).join('')}`
}

/**
 * Writes the client key, lost lines of the known hosts, and the configuration, without a change where they are up to date; returns
 * the configuration. `tell` reports a client key that was replaced.
 */
export function writeSshFiles(paths: SshPaths, program: readonly string[], tell: (message: string) => void): string {
  ensureClientKey(paths, tell)
  restoreKnownHosts(paths)
  const config = formatSshConfig(paths, program, versionText('ssh', '-V'))
  replace(paths.config, config)
  return config
}

/** Makes the user's OpenSSH configuration include ours; returns its path, and whether it was changed. */
export function includeSshConfig({ config }: SshPaths): { path: string; isChanged: boolean } {
  const path = join(homedir(), '.ssh/config')
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const line = `Include "${config}"`
  if (text.split('\n').some((each) => each.trim() === line)) return { path, isChanged: false }
  // First, since an Include behind a Host is for that host alone. A link to a file elsewhere stays one.
  const target = existsSync(path) ? realpathSync(path) : path
  writeWhole(target, `${line}\n\n${text}`, existsSync(path) ? statSync(path).mode & 0o777 : 0o600)
  return { path, isChanged: true }
}

function replace(path: string, text: string): void {
  if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeWhole(path, text)
}

/** Quotes a path for ssh_config, where a percent sign begins a token. */
function quoted(path: string): string {
  return `"${path.replaceAll('%', '%%')}"`
}

/** Whether the text of `ssh -V` is of this version or a later one. */
function isAtLeast(text: string, major: number, minor: number): boolean {
  const [, first, second] = /^OpenSSH\w*_(\d+)\.(\d+)/.exec(text) ?? []
  return Number(first) > major || (Number(first) === major && Number(second) >= minor)
}
