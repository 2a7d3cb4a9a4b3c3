import { connect } from 'node:net'
import { SHARED_ENTRY } from './names.ts'

/** The identity that an edge process reports. */
export interface EdgeInfo {
  pid: number
  /** The `mark` of its configuration. */
  mark: string
}

/** Counters of a box at one of its addresses, for one credential. */
export interface BoxUse {
  /** `<address>:<port>`. */
  target: string
  boxId: string
  /** SHA-256 of the credential that admitted the requests, hexadecimal. Null for a public route. */
  credential: string | null
  /**
   * Number of the one stream that this counts, as in `BoxStream`. `shared`: it counts streams that have no entry of their own. Null: it counts
   * other requests.
   */
  stream: number | typeof SHARED_ENTRY | null
  open: number
  requests: number
}

/**
 * Sends one line of commands, joined by `;`, to HAProxy's admin socket and returns the answers.
 * @throws Error if it does not answer for `SILENCE_TIMEOUT_MS`, or `signal` aborts
 */
export function askHaproxy(socketPath: string, line: string, signal?: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    const options = { path: socketPath, ...(signal ? { signal } : {}) }
    const socket = connect(options, () => socket.write(`${line}\n`))
    socket.setTimeout(SILENCE_TIMEOUT_MS, () => socket.destroy(new Error('the edge does not answer its admin socket')))
    socket.on('data', (piece: Buffer) => pieces.push(piece))
    socket.once('end', () => resolve(Buffer.concat(pieces).toString('latin1')))
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the edge closed its admin socket')))
  })
}

/**
 * Runs commands that answer nothing on success, in batches.
 * @throws Error with HAProxy's message if it refuses one
 */
export async function commandHaproxy(socketPath: string, commands: readonly string[]): Promise<void> {
  for (const line of linesOf(commands)) {
    const answer = (await askHaproxy(socketPath, line)).trim()
    if (answer !== '') throw new Error(`the edge refuses a command: ${answer.slice(0, 200)}`)
  }
}

/** @throws Error if it does not answer */
export async function readInfo(socketPath: string): Promise<EdgeInfo> {
  return parseInfo(await askHaproxy(socketPath, 'show info'))
}

/** Parses `show info`. */
export function parseInfo(text: string): EdgeInfo {
  const valueOf = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(text)?.[1]?.trim() ?? ''
  return { pid: Number(valueOf('Pid')), mark: valueOf('description') }
}

/** Reads a map from HAProxy's memory. */
export async function readMap(socketPath: string, path: string): Promise<Map<string, string>> {
  const text = await askHaproxy(socketPath, `show map ${path}`)
  const lines = text.split('\n').map((line) => line.split(' '))
  return new Map(lines.flatMap(([, key, value]) => (key !== undefined && value !== undefined ? [[key, value]] : [])))
}

/** A stream to a box. */
export interface BoxStream {
  /** As `shutdown session` takes it. */
  id: string
  /** Its number in this process. */
  number: number
  /** `<address>:<port>`, or null if it goes through the agent. */
  target: string | null
}

/** Reads the counters of boxes per address. `isOpen` limits them to those with open streams. */
export async function readUses(socketPath: string, { isOpen }: { isOpen: boolean }): Promise<BoxUse[]> {
  const text = await askHaproxy(socketPath, `show table boxes_use${isOpen ? ' data.conn_cur gt 0' : ''}`)
  return [...text.matchAll(TABLE_LINE)].map(([, target = '', boxId = '', credential, stream, open, requests]) => ({
    target,
    boxId,
    credential: credential || null,
    stream: stream === SHARED_ENTRY ? stream : stream ? Number(stream) : null,
    open: Number(open),
    requests: Number(requests),
  }))
}

/** Lists the streams to boxes. */
export async function readStreams(socketPath: string): Promise<BoxStream[]> {
  const text = await askHaproxy(socketPath, 'show sess all')
  return text.split(/^(?=0x)/m).flatMap((block) => {
    const [, id, number] = STREAM_HEAD.exec(block) ?? []
    const target = STREAM_TARGET.exec(block)?.[1] ?? null
    const isOfBox = target !== null || block.includes(FALLBACK_STREAM)
    return id === undefined || !isOfBox ? [] : [{ id, number: Number(number), target }]
  })
}

/** Ends streams, and ignores those that have just ended. */
export async function shutDownStreams(socketPath: string, streams: readonly BoxStream[]): Promise<void> {
  const commands = streams.map(({ id }) => `shutdown session ${id}`)
  await commandHaproxy(socketPath, commands).catch(() => undefined)
}

function* linesOf(commands: readonly string[]): Generator<string> {
  let line = ''
  for (const command of commands) {
    if (line !== '' && line.length + command.length > LINE_CHARACTERS) {
      yield line
      line = ''
    }
    line += line === '' ? command : `;${command}`
  }
  if (line !== '') yield line
}

// Processes of earlier versions have only the box in their keys.
const TABLE_LINE =
  /^0x\w+: key=([^/\s]+)\/([^|\s]+)(?:\|([0-9a-f]*)\|(\d*|shared))? .*?conn_cur=(\d+).*?http_req_cnt=(\d+)/gm
const STREAM_HEAD = /^(0x[0-9a-f]+): .*? id=(\d+) proto=/
const STREAM_TARGET = /^ {2}server=box \(id=1\) addr=(\S+)$/m
const FALLBACK_STREAM = '\n  server=fallback (id=2) '
const SILENCE_TIMEOUT_MS = 3_000
// HAProxy's buffer for a command line has 16 KiB.
const LINE_CHARACTERS = 12_000
