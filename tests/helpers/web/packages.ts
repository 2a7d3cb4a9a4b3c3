import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../../infra/commands.ts'

/**
 * Links this repository's packages for the web console into a checkout, if both lock files match. An installation takes longer than all
 * other steps of a release.
 */
export function lendWebPackages(checkout: string): void {
  const lockIn = (root: string): string => readFileSync(join(root, 'web/package-lock.json'), 'utf8')
  // With other packages, an installation would change this repository through the link.
  if (lockIn(checkout) !== lockIn(ROOT)) return
  symlinkSync(join(ROOT, 'web/node_modules'), join(checkout, 'web/node_modules'))
}
