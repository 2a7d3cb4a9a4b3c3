import { readdirSync } from 'node:fs'
import { tryReadText } from '../../../agent/lib/disk/file-text.ts'

/** Returns the pids of the name servers whose files are below a directory. With `project`, returns only the project's. */
export function nameServers(directory: string, project = ''): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const isServer = (pid: string): boolean => {
    const words = tryReadText(`/proc/${pid}/cmdline`).split('\0')
    const file = words.find((word) => word.startsWith(`--addn-hosts=${directory}/`))
    return words[0] === 'dnsmasq' && file !== undefined && (project === '' || file.endsWith(`/${project}`))
  }
  return pids.filter(isServer).map(Number)
}
