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
  /** Heading of the part that is read. Default: all. */
  part?: string
  commandLine: TestCommandLine<SharedService>
  /** Translates what the page has of a reader's host. */
  here(text: string): string
  /** A command that runs others, as in a namespace of their own. Default: none. */
  enter?(): string
  /** Variables of the commands. */
  env?(): Record<string, string>
  /** Does what the service manager of a host does for a command. Returns null for a command that bash runs. */
  perform?(command: string): Promise<void> | null
}

/** Types the commands of a page one by one, and compares what they print with what the page shows. */
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

  /** Runs a command, and again while it only reads and prints something else than the page shows. */
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
    // A page shows a refusal with its message, and doctor finds more on the host of a test.
    const mayFail = command === 'boxyard doctor' || shown.some((line) => /^(boxyard|curl): /.test(line))
    expect({ command, output, missing, code: mayFail ? 0 : code }).toEqual({ command, output, missing: [], code: 0 })
  }
}

/** The text of a part of a page, from its heading to the next one of its level, with its first line and the line behind it. */
export function partOf(page: string, heading: string): { text: string; from: number; to: number } {
  const lines = readFileSync(join(ROOT, page), 'utf8').split('\n')
  const start = lines.findIndex((line) => line.replace(/^#+ /, '') === heading)
  expect([heading, start >= 0]).toEqual([heading, true])
  const level = /^#+ /.exec(lines[start] ?? '')?.[0] ?? ''
  const next = lines.findIndex((line, index) => index > start && line.startsWith(level))
  const end = next < 0 ? lines.length : next
  return { text: lines.slice(start, end).join('\n'), from: start + 1, to: end + 1 }
}

/** The settings in the blocks of a text that a reader adds to `boxyard.conf`. */
export function settingsIn(text: string): Record<string, string> {
  const blocks = [...text.matchAll(/^```ini\n([^]*?)^```$/gm)].map(([, block = '']) => block)
  const pairs = [...blocks.join('').matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value])
  return Object.fromEntries(pairs) as Record<string, string>
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** The project that `boxyard use` has chosen counts. */
const FROM_CONTEXT = { BOXYARD_PROJECT: '' }
const ASSIGNS = /^(export )?\w+=/
const READS = /^(boxyard (ls|ps|logs|health|volume ls|backup ls)|curl) /
