import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../../infra/commands.ts'

/**
 * Gives a checkout of this repository the packages of this one that build the web console, if its lock file is the same: to install
 * them takes longer than all else of a release.
 */
export function lendWebPackages(checkout: string): void {
  const lockIn = (root: string): string => readFileSync(join(root, 'web/package-lock.json'), 'utf8')
  // An installation of others would go through the link.
  if (lockIn(checkout) !== lockIn(ROOT)) return
  symlinkSync(join(ROOT, 'web/node_modules'), join(checkout, 'web/node_modules'))
}
