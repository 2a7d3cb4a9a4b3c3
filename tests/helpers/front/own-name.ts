import { randomBytes } from 'node:crypto'

/** Returns a name, of a project or of what is in it, that nothing has had before: a suite may run several times in one deployment. */
export function ownName(stem: string): string {
  return `${stem}-${randomBytes(4).toString('hex')}`
}
