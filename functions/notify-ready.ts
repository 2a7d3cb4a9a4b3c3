import { execFile } from 'node:child_process'

/**
 * Reports to systemd, which started this process, that it is ready, with a line for `systemctl status`. A later call changes the line. Runs
 * systemd-notify(1), because Node.js has no datagram sockets of the unix family. The unit needs `NotifyAccess=all`. Never rejects. If the
 * report fails, systemd restarts the service after its own time-out.
 */
export async function notifyReady(status: string): Promise<void> {
  await new Promise<void>((resolve) => {
    execFile('systemd-notify', ['--ready', `--status=${status}`], { timeout: LIMIT_MS }, () => resolve())
  })
}

const LIMIT_MS = 60_000
