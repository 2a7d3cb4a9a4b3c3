import { homedir } from 'node:os'
import { join } from 'node:path'

/** Returns the directory outside the checkout in which `name` keeps what is built once on this host. It may not exist. */
export function hostCache(name: string): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), `boxyard-${name}`)
}
