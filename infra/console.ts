import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { WebSocket } from 'ws'
import { exitCodeIn } from '../shared/http/exec-frames.ts'

/** `npm run console -- PROJECT BOX [--session NAME] [--shell PATH]` opens a terminal in a box of the service on this machine. */
async function main(): Promise<number> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { session: { type: 'string' }, shell: { type: 'string' } },
  })
  const [project, box, ...rest] = positionals
  if (project === undefined || box === undefined || rest.length > 0) {
    process.stderr.write('usage: npm run console -- PROJECT BOX [--session NAME] [--shell PATH]\n')
    return 2
  }
  const { columns, rows } = process.stdout
  // A terminal of unknown size reports 0.
  const query = new URLSearchParams({ ...values, cols: String(columns || 80), rows: String(rows || 24) })
  const { host, token } = readConnection()
  const url = `ws://${host}/v1/projects/${project}/boxes/${box}/console?${query.toString()}`
  return converse(new WebSocket(url, ['v5.channel.k8s.io'], { headers: { authorization: `Bearer ${token}` } }))
}

function readConnection(): { host: string; token: string } {
  const { BOXYARD_HOST = '127.0.0.1', BOXYARD_PORT = '8080', BOXYARD_DATA_DIR = '/var/lib/boxyard' } = process.env
  const host = BOXYARD_HOST.includes(':') ? `[${BOXYARD_HOST}]` : BOXYARD_HOST
  const token = readFileSync(join(BOXYARD_DATA_DIR, 'admin.token'), 'utf8').trim()
  return { host: `${host}:${BOXYARD_PORT}`, token }
}

/** Connects this terminal to the socket. Resolves with the shell's exit code, 0 after Ctrl-], or 1 if the service went away. */
function converse(socket: WebSocket): Promise<number> {
  const { stdin, stdout, stderr } = process
  const send = (channel: number, bytes: Uint8Array): void => socket.send(Buffer.concat([Buffer.from([channel]), bytes]))
  const sendSize = (): void => {
    send(RESIZE, Buffer.from(JSON.stringify({ Width: stdout.columns, Height: stdout.rows })))
  }
  return new Promise((resolve) => {
    let exitCode: number | null = null
    let isOver = false
    const end = (code: number, words = ''): void => {
      if (isOver) return
      isOver = true
      if (stdin.isTTY) stdin.setRawMode(false)
      stdin.destroy()
      stderr.write(words)
      socket.terminate()
      resolve(code)
    }
    socket.on('open', () => {
      if (stdin.isTTY) stdin.setRawMode(true)
      stdout.on('resize', sendSize)
      stdin.on('data', (bytes: Buffer) => {
        if (stdin.isTTY && bytes.includes(LEAVE)) end(0, '\r\nDetached. The session keeps running.\r\n')
        else send(STDIN, bytes)
      })
      stdin.on('end', () => end(0))
    })
    socket.on('message', (data: Buffer) => {
      if (data[0] === STDOUT) stdout.write(data.subarray(1))
      if (data[0] === STATUS) exitCode = exitCodeIn(data.subarray(1).toString('utf8')) ?? 1
    })
    socket.on('unexpected-response', (_request, response) => {
      let text = ''
      response.on('data', (piece: Buffer) => (text += piece.toString('utf8')))
      response.on('end', () => end(1, `${text}\n`))
    })
    socket.on('error', (error) => end(1, `${error.message}\n`))
    socket.on('close', (code, reason) => {
      if (exitCode !== null) return end(exitCode)
      end(
        1,
        `\r\n${code === FAILED ? reason.toString('utf8') : 'The service closed the connection. The session keeps running.'}\r\n`,
      )
    })
  })
}

const STDIN = 0
const STDOUT = 1
const STATUS = 3
const RESIZE = 4
// Code of a close whose reason describes the failure.
const FAILED = 1011
// Ctrl-], the same as in telnet.
const LEAVE = 0x1d

process.exitCode = await main()
