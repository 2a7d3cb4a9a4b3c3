import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process'

/** A program of this machine, with its words separated by who chose them. */
export interface ProgramCall {
  program: string
  /** Our own options. No name from a file, an argument, a box or a server appears here, except as the value of the option before it. */
  options: readonly string[]
  /** Paths, hosts and commands of others. A `--` precedes them, so that none is read as an option. */
  operands: readonly string[]
}

/** Starts a program. */
export function startProgram({ program, options, operands }: ProgramCall, how: SpawnOptions): ChildProcess {
  return spawn(program, [...options, '--', ...operands], how)
}

/** Starts the program that opens a URL, which does not know `--`. @throws Error if it is not a URL of HTTP */
export function startOpener(program: string, options: readonly string[], url: string): ChildProcess {
  return spawn(program, [...options, webUrl(url)], { stdio: 'ignore', detached: true })
}

/** Runs the user's own shell line, with one path as its last argument. */
export function startShellLine(line: string, path: string): ChildProcess {
  return spawn('/bin/sh', ['-c', `${line} "$1"`, 'sh', path], { stdio: 'inherit' })
}

/** Returns what a program prints on stderr, such as its version, or an empty text if the program does not exist. */
export function versionText(program: string, option: string): string {
  return spawnSync(program, [option], { encoding: 'utf8', timeout: 5000 }).stderr ?? ''
}

function webUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new Error(`This is not the URL of a web page: ${text}`)
  return url.href
}
