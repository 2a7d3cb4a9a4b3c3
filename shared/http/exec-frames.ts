import { constants } from 'node:os'
import { ServiceError } from '../errors.ts'

/** The protocols of a command's WebSocket, the server's preference first (docs/exec.md#commands-over-a-websocket). */
export const FRAME_PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io', 'v4.base64.channel.k8s.io'] as const

export type FrameProtocol = (typeof FRAME_PROTOCOLS)[number]

/** Channel numbers: the first byte, or the first digit, of a frame. */
export const CHANNELS = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, agent: 5 } as const

/** The content of one frame of a client. */
export type ClientFrame =
  | { kind: 'input'; bytes: Uint8Array }
  | { kind: 'inputEnd' }
  | { kind: 'resize'; cols: number; rows: number }
  | { kind: 'agent'; connection: number; bytes: Uint8Array }
  | { kind: 'nothing' }

/** A frame that violates its protocol. Close the connection with `closeCode` (RFC 6455 §7.4). */
export class FrameFault extends Error {
  override readonly name = 'FrameFault'
  readonly closeCode: number

  constructor(closeCode: number, reason: string) {
    super(reason)
    this.closeCode = closeCode
  }
}

/** The known part of how a command ended. A signal is a name such as `SIGKILL`. */
export interface CommandEnd {
  exitCode: number | null
  signal: string | null
  /** Message for the client. */
  note: string | null
  /** Why the command could not start. */
  reason?: string | undefined
  /** Number of processes killed while it ran because memory ran out. */
  oomKills?: number | undefined
}

/** A Kubernetes `Status`, as channel 3 carries it. */
export interface CommandStatus {
  kind: 'Status'
  apiVersion: 'v1'
  metadata: Record<string, never>
  status: 'Success' | 'Failure'
  message?: string
  reason?: 'NonZeroExitCode' | 'InternalError'
  details?: { causes: StatusCause[] }
  code?: number
}

/** The exit code comes first, for Kubernetes' own clients. `reason` and `oom_kills` of the record follow. */
export interface StatusCause {
  reason: string
  message: string
}

/**
 * Chooses the protocol for a client that sent this `Sec-WebSocket-Protocol`.
 * @throws ServiceError `invalid_request` if it offers no supported one
 */
export function chooseProtocol(offered: string | undefined): FrameProtocol {
  const names = new Set((offered ?? '').split(',').map((name) => name.trim()))
  const chosen = FRAME_PROTOCOLS.find((name) => names.has(name))
  if (chosen !== undefined) return chosen
  const fault = { pointer: '/headers/sec-websocket-protocol', detail: `must offer ${FRAME_PROTOCOLS.join(', ')}` }
  throw new ServiceError('invalid_request', `${fault.pointer}: ${fault.detail}.`, { errors: [fault] })
}

/** Encodes a frame of the server. Bytes are sent as a binary message, and a string as a text message. */
export function encodeFrame(protocol: FrameProtocol, channel: number, payload: Uint8Array): Uint8Array | string {
  if (protocol === BASE64) return String(channel) + asBuffer(payload).toString('base64')
  const frame = Buffer.allocUnsafe(payload.length + 1)
  frame[0] = channel
  frame.set(payload, 1)
  return frame
}

/**
 * Decodes a message of the client. The bytes of an input are a view of `message` if the protocol is binary. A text message then counts as
 * its UTF-8, as in Kubernetes' own servers, because some clients send each string as text.
 * @throws FrameFault for a message that the protocol does not define
 */
export function decodeFrame(protocol: FrameProtocol, message: Uint8Array, isText: boolean): ClientFrame {
  const takesText = protocol === BASE64
  if (takesText && !isText) throw new FrameFault(1003, `${protocol} is text`)
  const [first] = message
  // Some clients send empty messages to keep the connection alive.
  if (first === undefined) return { kind: 'nothing' }
  const rest = message.subarray(1)
  if (takesText) return readChannel(first - ZERO, () => decodeBase64(rest))
  if (first === CLOSE && protocol === V5) return readClose(rest)
  return readChannel(first, () => rest)
}

/** Returns the status for a command's end. A signal becomes code 128 + n, and an unknown end has no code. */
export function statusOf({ exitCode, signal, note, reason, oomKills = 0 }: CommandEnd): CommandStatus {
  const number = signal === null ? undefined : (constants.signals as Record<string, number>)[signal]
  const code = exitCode ?? (number === undefined ? null : 128 + number)
  const fields = note === null ? {} : { message: note }
  const causes = [
    ...(reason === undefined ? [] : [{ reason: 'Reason', message: reason }]),
    ...(oomKills === 0 ? [] : [{ reason: 'OomKills', message: String(oomKills) }]),
  ]
  const details = causes.length === 0 ? {} : { details: { causes } }
  if (code === 0) return { ...COMMON, status: 'Success', ...fields, ...details }
  if (code === null) {
    const message =
      note ?? (signal === null ? 'The exit code of the command is unknown.' : `The command was killed by ${signal}.`)
    return { ...COMMON, status: 'Failure', message, reason: 'InternalError', ...details, code: 500 }
  }
  const how = signal === null ? `ended with exit code ${code}` : `was killed by ${signal}`
  return {
    ...COMMON,
    status: 'Failure',
    message: note ?? `The command ${how}.`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(code) }, ...causes] },
  }
}

/** Returns the exit code in the text of a status, or null if it holds none. */
export function exitCodeIn(status: string): number | null {
  const { status: outcome, details } = JSON.parse(status) as Partial<CommandStatus>
  if (outcome === 'Success') return 0
  const text = details?.causes.find((cause) => cause.reason === 'ExitCode')?.message
  return text === undefined ? null : Number(text)
}

function readChannel(channel: number, payload: () => Uint8Array): ClientFrame {
  if (channel === CHANNELS.stdin) return { kind: 'input', bytes: payload() }
  if (channel === CHANNELS.resize) return readResize(payload())
  if (channel === CHANNELS.agent) return readAgentData(payload())
  throw new FrameFault(1008, `a client cannot send on channel ${channel}`)
}

function readClose(rest: Uint8Array): ClientFrame {
  const [channel = CLOSE] = rest
  if (rest.length !== 1 || channel > CHANNELS.resize) throw new FrameFault(1008, 'there is no such channel to close')
  // No other channel can end before the command does.
  return { kind: channel === CHANNELS.stdin ? 'inputEnd' : 'nothing' }
}

/** Encodes a message of channel 5: the number of a connection to the client's SSH agent, and its bytes. No bytes end that direction. */
export function encodeAgentData(connection: number, bytes: Uint8Array): Buffer {
  const payload = Buffer.allocUnsafe(AGENT_NUMBER_BYTES + bytes.length)
  payload.writeUInt32BE(connection)
  payload.set(bytes, AGENT_NUMBER_BYTES)
  return payload
}

function readAgentData(payload: Uint8Array): ClientFrame {
  if (payload.length < AGENT_NUMBER_BYTES)
    throw new FrameFault(1008, 'channel 5 takes the number of a connection first')
  const connection = asBuffer(payload).readUInt32BE(0)
  return { kind: 'agent', connection, bytes: payload.subarray(AGENT_NUMBER_BYTES) }
}

/** Ignores case, because Go reads these names in any case, and clients rely on that. */
function readResize(payload: Uint8Array): ClientFrame {
  let value: unknown
  try {
    value = JSON.parse(asBuffer(payload).toString('utf8'))
  } catch {
    throw new FrameFault(1007, 'a size must be JSON')
  }
  const fields = typeof value === 'object' && value !== null ? Object.entries(value as Record<string, unknown>) : []
  const sizes = new Map(fields.map(([name, size]) => [name.toLowerCase(), size]))
  const [cols, rows] = [sizes.get('width'), sizes.get('height')]
  if (!isCells(cols) || !isCells(rows)) throw new FrameFault(1007, 'Width and Height must be from 1 to 65535')
  return { kind: 'resize', cols, rows }
}

function isCells(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 65_535
}

/** Buffer's own decoder skips invalid base64. */
function decodeBase64(payload: Uint8Array): Uint8Array {
  const text = asBuffer(payload).toString('latin1')
  if (text.length % 4 !== 0 || !BASE64_TEXT.test(text)) throw new FrameFault(1007, 'the frame is not base64')
  return Buffer.from(text, 'base64')
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

const V5 = FRAME_PROTOCOLS[0]
const BASE64 = FRAME_PROTOCOLS[2]
const CLOSE = 255
const ZERO = 0x30
const AGENT_NUMBER_BYTES = 4
const BASE64_TEXT = /^[A-Za-z0-9+/]*={0,2}$/
const COMMON = { kind: 'Status', apiVersion: 'v1', metadata: {} } as const
