import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'
import { commandsIn, type DocumentedCommand, missingFrom } from '../console-blocks.ts'
import { untilSucceeds } from '../eventually.ts'
import type { SharedService } from '../shared-service.ts'
import type { TestCommandLine } from './command-line.ts'

export interface PageReaderOptions {
  /** Path of the page in the repository. */
  page: string
  /** Heading of the section to read. Default: the whole page. */
  part?: string
  commandLine: TestCommandLine<SharedService>
  /** Adapts text for a reader's host to the test host. */
  here(text: string): string
  /** A command that runs other commands, such as in their own namespace. Default: none. */
  enter?(): string
  /** Environment variables of the commands. */
  env?(): Record<string, string>
  /** Does what the host's service manager does for a command. Returns null if bash runs the command. */
  perform?(command: string): Promise<void> | null
}

/** Types the commands of a page one by one and compares their output with the page. */
export class PageReader {
  readonly commands: readonly DocumentedCommand[]
  readonly #options: PageReaderOptions
  readonly #assignments: string[] = []

  constructor(options: PageReaderOptions) {
    this.#options = options
    const { page, part } = options
    const found = commandsIn(page, readFileSync(join(ROOT, page), 'utf8'))
    const own = part === undefined ? null : partOf(page, part)
    this.commands = found.filter(({ line }) => own === null || (line >= own.from && line < own.to))
  }

  /** Runs a command. Repeats a command that only reads until it prints what the page shows. */
  async follow(documented: DocumentedCommand): Promise<void> {
    const work = this.#options.perform?.(documented.command) ?? null
    if (work !== null) return work
    await (READS.test(documented.command) ? untilSucceeds(() => this.#run(documented)) : this.#run(documented))
    if (ASSIGNS.test(documented.command)) this.#assignments.push(this.#options.here(documented.command))
  }

  async #run({ command, shown }: DocumentedCommand): Promise<void> {
    const { here, commandLine, enter, env } = this.#options
    const script = ['set -o pipefail', ...this.#assignments, here(command)].join('\n')
    const entered = enter === undefined ? script : `export -f boxyard\n${enter()} bash -c ${quoted(script)}`
    const { code, stdout, stderr } = await commandLine.runLine(entered, { env: { ...FROM_CONTEXT, ...env?.() } })
    const output = `${stdout}${stderr}`
    const missing = missingFrom(output, shown.map(here))
    // A command may fail if the page shows its error. So may doctor, which finds more on a test host.
    const mayFail = command === 'boxyard doctor' || shown.some((line) => /^(boxyard|curl): /.test(line))
    expect({ command, output, missing, code: mayFail ? 0 : code }).toEqual({ command, output, missing: [], code: 0 })
  }
}

/** Returns the text of a section, up to the next heading of its level. `from` is its first line, and `to` is the line after it. */
export function partOf(page: string, heading: string): { text: string; from: number; to: number } {
  const lines = readFileSync(join(ROOT, page), 'utf8').split('\n')
  const start = lines.findIndex((line) => line.replace(/^#+ /, '') === heading)
  expect([heading, start >= 0]).toEqual([heading, true])
  const level = /^#+ /.exec(lines[start] ?? '')?.[0] ?? ''
  const next = lines.findIndex((line, index) => index > start && line.startsWith(level))
  const end = next < 0 ? lines.length : next
  return { text: lines.slice(start, end).join('\n'), from: start + 1, to: end + 1 }
}

/** Returns the settings in a text that a reader adds to `boxyard.conf`. */
export function settingsIn(text: string): Record<string, string> {
  const blocks = [...text.matchAll(/^```ini\n([^]*?)^```$/gm)].map(([, block = '']) => block)
  const pairs = [...blocks.join('').matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value])
  return Object.fromEntries(pairs) as Record<string, string>
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** Empty, so that the project chosen by `boxyard use` applies. */
const FROM_CONTEXT = { BOXYARD_PROJECT: '' }
const ASSIGNS = /^(export )?\w+=/
const READS = /^(boxyard (ls|ps|logs|health|volume ls|backup ls)|curl) /
