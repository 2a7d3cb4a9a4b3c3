import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../../infra/commands.ts'

/**
 * Gives a checkout of this repository, at a commit with the same lock file, the packages of this one that build the web console: to
 * install them takes longer than all else of a release.
 */
export function lendWebPackages(checkout: string): void {
  symlinkSync(join(ROOT, 'web/node_modules'), join(checkout, 'web/node_modules'))
}
