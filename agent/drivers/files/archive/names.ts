import type { RawPath } from '../paths.ts'

/** Why an entry of an archive is left out, as a client reads it. */
export class RefusedName extends Error {
  override readonly name = 'Refusal'
}

/** The names of a path that an archive tells, of which there are none for the directory itself. Throws a Refusal; pure. */
export function entryNames(raw: RawPath): RawPath[] {
  if (raw === '') throw new RefusedName('it has no name')
  if (raw.includes('\0')) throw new RefusedName('its name has a zero byte')
  if (raw.startsWith('/')) throw new RefusedName('its name is absolute')
  if (raw.length > PATH_MAX) throw new RefusedName(`its name is longer than ${PATH_MAX} bytes`)
  const names = raw.split('/').filter((name) => name !== '' && name !== '.')
  if (names.includes('..')) throw new RefusedName('its name has a ".." in it')
  if (names.some((name) => name.length > NAME_MAX))
    throw new RefusedName(`a name in it is longer than ${NAME_MAX} bytes`)
  return names
}

/**
 * Throws a Refusal if a link in the directory `parent` (names below the directory that is unpacked into) leads out of that, by
 * its text alone: other links may lead it elsewhere, though never out of the box. `root` are the names of the directory in
 * the box. A pure function.
 */
export function checkLinkTarget(
  target: RawPath,
  { parent, root }: { parent: readonly RawPath[]; root: readonly RawPath[] },
): void {
  if (target === '') throw new RefusedName('the link leads nowhere')
  if (target.includes('\0')) throw new RefusedName('the link has a zero byte in it')
  if (target.length > PATH_MAX) throw new RefusedName(`the link is longer than ${PATH_MAX} bytes`)
  const isAbsolute = target.startsWith('/')
  const names = isAbsolute ? [] : [...parent]
  for (const name of target.split('/')) {
    if (name === '' || name === '.') continue
    if (name !== '..') names.push(name)
    // Above the root of the box there is the root again.
    else if (names.pop() === undefined && !isAbsolute && root.length > 0) throw new RefusedName(LEADS_OUT)
  }
  if (isAbsolute && root.some((name, index) => name !== names[index])) throw new RefusedName(LEADS_OUT)
}

/** The names of an absolute path, by its text alone. A pure function. */
export function absoluteNames(path: RawPath): RawPath[] {
  const names: RawPath[] = []
  for (const name of path.split('/')) {
    if (name === '..') names.pop()
    else if (name !== '' && name !== '.') names.push(name)
  }
  return names
}

const LEADS_OUT = 'the link leads out of the directory'
/** Without the zero at the end, as Linux has it. */
const PATH_MAX = 4095
const NAME_MAX = 255
