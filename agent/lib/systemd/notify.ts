import { repeat } from '../../../shared/repeat.ts'
import { isErrno } from '../syscalls/libc.ts'
import { sendDatagram } from '../syscalls/sockets.ts'

/** The service manager that started this process. Without one all methods do nothing. */
export interface ServiceManager {
  /** Reports that the service is ready, with a status line. */
  ready(status: string): void
  /** Sets the status that `systemctl status` shows. */
  status(text: string): void
  /** Reports that the service is stopping. */
  stopping(): void
  close(): void
}

/**
 * Connects to the service manager by NOTIFY_SOCKET (sd_notify(3)), and feeds its watchdog from the event loop at twice the rate
 * that WATCHDOG_USEC asks for.
 */
export function connectServiceManager(variables: {
  NOTIFY_SOCKET?: string | undefined
  WATCHDOG_USEC?: string | undefined
  WATCHDOG_PID?: string | undefined
}): ServiceManager {
  const { NOTIFY_SOCKET: address, WATCHDOG_USEC: watchdog, WATCHDOG_PID: watched } = variables
  const send = address === undefined ? () => undefined : createSender(address)
  const isWatched = watchdog !== undefined && (watched === undefined || Number(watched) === process.pid)
  const feed = { everyMs: Number(watchdog) / 2_000, onError: () => undefined }
  const stop = isWatched ? repeat(() => send(WATCHDOG), feed) : () => undefined
  return {
    ready: (status) => send(`READY=1\nSTATUS=${oneLine(status)}`),
    status: (text) => send(`STATUS=${oneLine(text)}`),
    stopping: () => send('STOPPING=1\nSTATUS=Stopping, boxes keep running'),
    close: stop,
  }
}

// Sends in order, also while the manager's queue is full. A restart of the manager must not take the service with it.
function createSender(address: string): (message: string) => void {
  const pending: string[] = []
  const flush = (): void => {
    for (let message = pending[0]; message !== undefined; message = pending[0]) {
      try {
        sendDatagram(address, message)
      } catch (error) {
        if (isErrno(error, 'EAGAIN')) return void setTimeout(flush, RETRY_MS).unref()
      }
      pending.shift()
    }
  }
  return (message) => {
    // A message that waits already shows that the service is alive.
    if (pending.length > 0 && message === WATCHDOG) return
    if (pending.push(message) === 1) flush()
  }
}

// A line feed would begin another assignment.
function oneLine(text: string): string {
  return text.replaceAll('\n', ' ').slice(0, STATUS_CHARACTERS)
}

const WATCHDOG = 'WATCHDOG=1'
const STATUS_CHARACTERS = 500
const RETRY_MS = 50
