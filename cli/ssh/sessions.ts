import type { ServerChannel, Session, SFTPWrapper } from 'ssh2'
import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import type { StreamOptions } from '../../sdk/typescript/src/exec.ts'
import type { TerminalStream } from '../../sdk/typescript/src/terminal-stream.ts'
import { AgentRelay } from './agent-relay.ts'
import { type ClientChannel, createClientChannel } from './channels.ts'
import type { SshGuest } from './guest.ts'
import { serveSftp } from './sftp.ts'

/** Serves a session of a client (a command, a shell or SFTP) until it ends or `gone`. */
export function serveSession(session: Session, guest: SshGuest, gone: AbortSignal): void {
  const left = new AbortController()
  const isOver = AbortSignal.any([gone, left.signal])
  // Also if its input is not read to the end, for which the channel would wait.
  session.once('close', () => left.abort())
  const asked: AskedFor = { env: {}, terminal: null, agent: false }
  let stream: TerminalStream | null = null
  session.on('env', (accept, reject, { key, val }) => {
    if (!isAllowed(key) || Object.keys(asked.env).length >= VARIABLES_MAX) return reject?.()
    asked.env[key] = val
    accept?.()
  })
  session.on('pty', (accept, _reject, { cols, rows, term = '' }) => {
    asked.terminal = { term, ...sizeOf(cols, rows) }
    accept?.()
  })
  session.on('window-change', (accept, _reject, { cols, rows }) => {
    const size = sizeOf(cols, rows)
    if (asked.terminal !== null) Object.assign(asked.terminal, size)
    stream?.resize(size.cols, size.rows).catch(() => undefined)
    accept?.()
  })
  session.on('auth-agent', (accept, reject) => {
    if (guest.openAgent === null) return reject?.()
    asked.agent = true
    accept?.()
  })
  session.on('signal', (accept, _reject, { name }) => {
    if (stream !== null) void sendSignal(guest, stream, name)
    accept?.()
  })
  const run = (accepted: ServerChannel | undefined, line: string | null): void => {
    // A session runs one program.
    if (accepted === undefined) return
    const channel = createClientChannel(accepted, isOver)
    void runCommand(channel, { guest, asked, line, gone: isOver, started: (made) => (stream = made) })
  }
  // Accepts at once, because a client may end its input, and thereby the session, right after its request.
  session.on('exec', (accept, _reject, { command }) => run(accept(), command))
  session.on('shell', (accept) => run(accept(), null))
  session.on('sftp', (accept) => {
    const accepted = accept() as SFTPWrapper | undefined
    if (accepted !== undefined) serveSftp(accepted, guest, isOver)
  })
}

interface AskedFor {
  env: Record<string, string>
  terminal: { term: string; cols: number; rows: number } | null
  /** Whether the command can use the client's agent. */
  agent: boolean
}

interface CommandRun {
  guest: SshGuest
  asked: AskedFor
  /** Null: a login shell. */
  line: string | null
  gone: AbortSignal
  started(stream: TerminalStream): void
}

/** Runs a command with the streams of the channel, and closes that with the exit code. */
async function runCommand(channel: ClientChannel, { guest, asked, line, gone, started }: CommandRun): Promise<void> {
  let stream: TerminalStream | null = null
  const relay = asked.agent && guest.openAgent !== null ? new AgentRelay(guest.openAgent, gone) : null
  const leave = (): void => stream?.close()
  gone.addEventListener('abort', leave, { once: true })
  try {
    const { shell } = await guest.account()
    const { terminal } = asked
    const size: { cols?: number; rows?: number } = terminal === null ? {} : { cols: terminal.cols, rows: terminal.rows }
    const options: StreamOptions = {
      user: guest.user(),
      stdin: true,
      tty: terminal !== null,
      env: {
        SHELL: shell,
        ...(terminal === null || terminal.term === '' ? {} : { TERM: terminal.term }),
        ...asked.env,
      },
      ...size,
    }
    const command = line === null ? [shell, '-l'] : [shell, '-c', line]
    const start = (more: StreamOptions = {}): Promise<TerminalStream> =>
      guest.box.stream(command, { ...options, ...more })
    stream = relay === null ? await start() : await startWithAgent(channel, relay, start)
    if (gone.aborted) return stream.close()
    started(stream)
    // Changed during the start.
    if (terminal !== null && (terminal.cols !== size.cols || terminal.rows !== size.rows))
      await stream.resize(terminal.cols, terminal.rows)
    void passInput(channel, stream)
    for await (const { stream: name, bytes } of stream) await channel.send(name, bytes)
    const { exitCode, message, oomKills } = await stream.ended()
    if (exitCode === null || oomKills !== undefined)
      await tell(channel, message ?? 'The exit code of the command is unknown.')
    channel.close(exitCode ?? LOST)
  } catch (error) {
    stream?.close()
    if (!gone.aborted) await tell(channel, error instanceof Error ? error.message : String(error))
    channel.close(LOST)
  } finally {
    relay?.close()
    gone.removeEventListener('abort', leave)
  }
}

/**
 * Starts a command that can use the client's agent. If the box or the service has no space for its socket, says so and continues without
 * it.
 */
async function startWithAgent(
  channel: ClientChannel,
  relay: AgentRelay,
  start: (more?: StreamOptions) => Promise<TerminalStream>,
): Promise<TerminalStream> {
  try {
    const stream = await start({ sshAgent: relay.take })
    relay.attach(stream)
    return stream
  } catch (error) {
    if (!(error instanceof ApiError) || !NO_PLACE.has(error.code)) throw error
    await tell(channel, `The SSH agent is not forwarded: ${error.message}`)
    return start()
  }
}

async function passInput({ input }: ClientChannel, stream: TerminalStream): Promise<void> {
  try {
    for await (const bytes of input) await stream.write(bytes)
    await stream.endInput()
  } catch {
    // The command has ended, or the client is gone, as its output shows.
  }
}

async function tell(channel: ClientChannel, message: string): Promise<void> {
  await channel.send('stderr', Buffer.from(`boxyard: ${message}\n`)).catch(() => undefined)
}

async function sendSignal({ boxyard, box }: SshGuest, { id }: TerminalStream, name: string): Promise<void> {
  const signal = SIGNALS.find((each) => each === `SIG${name}`)
  if (id === null || signal === undefined) return
  const path = { project: box.project, name: box.name, exec: id }
  // A command that has ended by now takes no signal.
  await boxyard.call('signalExec', { path, body: { signal } }).catch(() => undefined)
}

function isAllowed(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_.-]{0,254}$/.test(name) && !/^BOX(YARD)?_/.test(name)
}

// A terminal of unknown size reports 0.
function sizeOf(cols: number, rows: number): { cols: number; rows: number } {
  const within = (cells: number, otherwise: number): number => Math.min(cells || otherwise, 65_535)
  return { cols: within(cols, 80), rows: within(rows, 24) }
}

/** Signals of RFC 4254, section 6.10, that a client can send to commands. */
const SIGNALS = [
  'SIGABRT',
  'SIGALRM',
  'SIGHUP',
  'SIGINT',
  'SIGKILL',
  'SIGPIPE',
  'SIGQUIT',
  'SIGTERM',
  'SIGUSR1',
  'SIGUSR2',
] as const
const VARIABLES_MAX = 128
/** Refusals of a socket in the box, and of an older service. A fault of the command itself reappears without the socket. */
const NO_PLACE: ReadonlySet<string> = new Set(['box_busy', 'invalid_request', 'path_invalid', 'storage_full'])
/** The exit code of ssh for a lost connection. */
const LOST = 255
