import { execFile } from 'node:child_process'

/**
 * Tells systemd, which started this process, that it is ready, with a line for `systemctl status`; a later call changes the line. Runs
 * systemd-notify(1), since Node.js has no datagram sockets of the unix family: the unit needs `NotifyAccess=all`. Never rejects: a
 * manager that is not told starts the service again after its own time.
 */
export async function notifyReady(status: string): Promise<void> {
  await new Promise<void>((resolve) => {
    execFile('systemd-notify', ['--ready', `--status=${status}`], { timeout: LIMIT_MS }, () => resolve())
  })
}

const LIMIT_MS = 60_000
