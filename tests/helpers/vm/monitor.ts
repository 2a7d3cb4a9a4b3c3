import { once } from 'node:events'
import { createConnection } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * Writes the memory and the devices of a running machine to a file, and ends its QEMU. A machine that starts with this file and the disk's
 * state at that time resumes there.
 * @param socket path of QEMU's monitor (QMP)
 * @throws Error if the state cannot be written
 */
export async function saveState(socket: string, path: string): Promise<void> {
  const connection = createConnection(socket)
  try {
    await once(connection, 'connect')
    const lines = createInterface({ input: connection })[Symbol.asyncIterator]()
    const call = async (execute: string, args: object = {}): Promise<Answer> => {
      connection.write(`${JSON.stringify({ execute, arguments: args })}\n`)
      for (;;) {
        const { value, done } = await lines.next()
        if (done) throw new Error('QEMU ended.')
        const message = JSON.parse(value) as Message
        if (message.error !== undefined) throw new Error(`${execute}: ${message.error.desc}`)
        // Skips the greeting and events, which are not answers.
        if (message.return !== undefined) return message.return
      }
    }
    await call('qmp_capabilities')
    await call('migrate-set-parameters', { 'max-bandwidth': BYTES_PER_SECOND })
    await call('migrate', { uri: `exec:cat >'${path}'` })
    for (;;) {
      const { status, 'error-desc': reason } = await call('query-migrate')
      if (status === 'completed') break
      if (status === 'failed' || status === 'cancelled') throw new Error(`The state cannot be written: ${reason}`)
      await pause(100)
    }
    await call('quit')
  } finally {
    connection.destroy()
  }
}

interface Answer {
  status?: string
  'error-desc'?: string
}

interface Message {
  return?: Answer
  error?: { desc: string }
}

const BYTES_PER_SECOND = 4 * 1024 ** 3
