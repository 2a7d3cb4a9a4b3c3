import { type ExecFollow, followExec, persist } from '../../sdk/typescript/src/exec.ts'
import type { OutputPiece } from '../../sdk/typescript/src/terminal-stream.ts'
import { writeBytes } from '../output/byte-output.ts'
import { UsageError } from '../output/failures.ts'
import type { OutputFormat } from '../output/printing.ts'
import { reportLine } from '../output/terminal.ts'
import { visibleJson } from '../output/visible-text.ts'
import type { Verb, VerbContext, VerbFlags } from './verb.ts'

const logs: Verb = {
  words: 'logs',
  args: '<box> [service|command]',
  flags: [
    ['-f, --follow', 'keep printing new output across restarts (for a command, until it exits)'],
    ['-n, --tail <lines>', 'start this many lines before the end, within the last 1 MiB'],
    ['--version <version>', 'version of a service: active, preview or previous'],
  ],
  summary: 'Print the kept output of a service or a command',
  details:
    'Name a command by its id from boxyard ps. Without a name, logs lists the services of the box. -o json prints one object per line, each with a piece of the output.',
  examples: [
    'boxyard logs web site',
    'boxyard logs web site -f --tail 20',
    'boxyard logs web "$(boxyard exec --detach web make)" -f',
  ],
  operations: ['getServiceLogs', 'getExecOutput', 'getExec', 'listServices'],
  run: async (context, [name = '', source = ''], flags) => {
    const lines = flags['tail'] === undefined ? null : Number(flags['tail'])
    if (lines !== null && !(Number.isInteger(lines) && lines >= 0))
      throw new UsageError('--tail: must be a number of lines.')
    if (source === '') throw await whatHasLogs(context, name)
    const options = { name, lines, isFollowed: flags['follow'] === true }
    const pieces = EXEC_ID.test(source)
      ? piecesOfCommand(context, { ...options, exec: source })
      : piecesOfService(context, { ...options, service: source, version: versionOf(flags) })
    for await (const piece of pieces) if (!(await printPiece(piece, context.format))) return
  },
}

/** The command that prints logs. */
export const LOGS_VERBS: readonly Verb[] = [logs]

/** Creates the error for a command line without a service, which lists the services. */
async function whatHasLogs({ boxyard, project }: VerbContext, name: string): Promise<UsageError> {
  const services: string[] = []
  const path = { project: project(), name }
  for await (const service of boxyard.list('listServices', { path })) services.push(service.name)
  const known = services.length === 0 ? `${name} has no services` : `Services of ${name}: ${services.join(', ')}`
  return new UsageError(`Name a service or a command. ${known}. To list its commands: boxyard ps ${name}`)
}

interface LogOptions {
  name: string
  /** Number of lines before the end at which to begin. Null for the beginning. */
  lines: number | null
  isFollowed: boolean
}

type Version = 'active' | 'preview' | 'previous'

async function* piecesOfService(
  { boxyard, project }: VerbContext,
  { name, service, version, lines, isFollowed }: LogOptions & { service: string; version: Version },
): AsyncGenerator<OutputPiece> {
  const path = { project: project(), name, service }
  const read = async (offset: number | undefined, isWaiting: boolean) => {
    const query = {
      version,
      encoding: 'base64' as const,
      max_bytes: PIECE_BYTES,
      wait_seconds: isWaiting ? WAIT_SECONDS : 0,
    }
    return boxyard.call('getServiceLogs', { path, query: { ...query, ...(offset === undefined ? {} : { offset }) } })
  }
  let page = await read(lines === null ? 0 : undefined, false)
  let bytes: Buffer = Buffer.from(page.data, 'base64')
  if (lines === null && page.truncated) tellMissing('the log', page.offset)
  if (lines !== null) bytes = lastLines(bytes, lines)
  for (;;) {
    if (bytes.length > 0) yield { stream: 'stdout', bytes }
    else if (!isFollowed && page.data === '') return
    const offset = page.next_offset
    page = isFollowed ? await persist(() => read(offset, true)) : await read(offset, false)
    bytes = Buffer.from(page.data, 'base64')
  }
}

async function* piecesOfCommand(
  { boxyard, project }: VerbContext,
  { name, exec, lines, isFollowed }: LogOptions & { exec: string },
): AsyncGenerator<OutputPiece> {
  const path = { project: project(), name, exec }
  const offsets: ExecFollow['offsets'] = { stdout: 0, stderr: 0 }
  if (lines !== null) {
    const record = await boxyard.call('getExec', { path, query: { encoding: 'base64' } })
    for (const stream of STREAMS) {
      const tail = Buffer.from(record[stream], 'base64')
      const bytes = lastLines(tail, lines)
      offsets[stream] = record.next_offset[stream]
      if (bytes.length === tail.length && tail.length < offsets[stream] && lines > 0)
        reportLine(`boxyard: the last ${lines} lines of ${stream} ${TOO_FAR}`)
      if (bytes.length > 0) yield { stream, bytes }
    }
  }
  if (lines === null && !isFollowed) for (const stream of STREAMS) yield* keptOf(boxyard, path, stream)
  if (isFollowed) yield* followExec(boxyard, { project: project(), name, exec, offsets, onMissing: tellMissing })
}

/** Reads the stored output of a stream, in pieces. For a running command, ends at the current output. */
async function* keptOf(
  boxyard: VerbContext['boxyard'],
  path: { project: string; name: string; exec: string },
  stream: OutputPiece['stream'],
): AsyncGenerator<OutputPiece> {
  for (let offset = 0; ; ) {
    const query = { stream, offset, max_bytes: PIECE_BYTES, encoding: 'base64' as const }
    const page = await persist(() => boxyard.call('getExecOutput', { path, query }))
    if (page.truncated) tellMissing(stream, page.offset - offset)
    const bytes = Buffer.from(page.data, 'base64')
    if (bytes.length === 0) return
    yield { stream, bytes }
    offset = page.next_offset
  }
}

// Always reported, not only on a terminal, because the printed output is incomplete.
function tellMissing(source: string, bytes: number): void {
  reportLine(`boxyard: skipped ${bytes.toLocaleString('en')} bytes of ${source} that are no longer kept.`)
}

/** Returns the last lines of a text, as bytes. A pure function. */
export function lastLines(bytes: Buffer, lines: number): Buffer {
  if (lines === 0) return bytes.subarray(bytes.length)
  let at = bytes.length - (bytes.at(-1) === NEWLINE ? 1 : 0)
  for (let left = lines; left > 0; left--) {
    at = at === 0 ? -1 : bytes.lastIndexOf(NEWLINE, at - 1)
    if (at === -1) return bytes
  }
  return bytes.subarray(at + 1)
}

/** Returns false once the reader has left. */
async function printPiece({ stream, bytes }: OutputPiece, format: OutputFormat): Promise<boolean> {
  const isObject = format === 'json' || format === 'yaml'
  const target = isObject || stream === 'stdout' ? process.stdout : process.stderr
  const text = isObject ? `${visibleJson({ stream, data: Buffer.from(bytes).toString('utf8') })}\n` : bytes
  return writeBytes(target, text)
}

function versionOf(flags: VerbFlags): Version {
  const version = flags['version'] ?? 'active'
  if (version === 'active' || version === 'preview' || version === 'previous') return version
  throw new UsageError('--version: must be active, preview or previous.')
}

const EXEC_ID = /^exe_[0-9a-z]{26}$/
const TOO_FAR = 'are more than 1 MiB, and --tail reads only 1 MiB. Without --tail, logs prints all output.'
const STREAMS = ['stdout', 'stderr'] as const
const NEWLINE = 0x0a
const PIECE_BYTES = 1_048_576
const WAIT_SECONDS = 20
