import { randomBytes } from 'node:crypto'

/** Returns a new unique name for a project or a resource. A suite can run several times in one deployment. */
export function ownName(stem: string): string {
  return `${stem}-${randomBytes(4).toString('hex')}`
}
