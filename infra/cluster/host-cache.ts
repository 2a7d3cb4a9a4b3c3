import { homedir } from 'node:os'
import { join } from 'node:path'

/** Returns the directory outside the checkout that `name` has for what is made once on this host; it need not be there. */
export function hostCache(name: string): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), `boxyard-${name}`)
}
