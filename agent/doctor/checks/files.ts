import type { Facts, GuardedFileFacts } from '../facts.ts'
import { areaOf, type Finding } from '../findings.ts'

/** Checks modes and owners of the data directory, of secrets, and of files that settings name. Pure. */
export function checkFiles({ files, settings, isRoot }: Pick<Facts, 'files' | 'settings' | 'isRoot'>): Finding[] {
  const findings = files.flatMap((file) => checkFile(file, settings.agent.dataDir, isRoot))
  if (findings.length > 0) return findings
  const seen = files.filter(({ found }) => 'value' in found && found.value !== null).length
  return [FILES.ok(`${seen} files and directories have the right mode and owner.`)]
}

function checkFile(file: GuardedFileFacts, dataDir: string, isRoot: boolean): Finding[] {
  const { path, found, neededBy } = file
  if ('hidden' in found) return isRoot || neededBy !== null ? [FILES.unknown(path, found.hidden)] : []
  if (found.value === null) {
    if (neededBy === null) return []
    const remedy = `Create the file, or change ${neededBy}.`
    return [
      FILES.problem({ code: 'file_missing', evidence: `${neededBy} names ${path}, which does not exist.`, remedy }),
    ]
  }
  const { uid, mode } = found.value
  const isAbove = dataDir.startsWith(path === '/' ? path : `${path}/`)
  if (uid !== 0 && !(isAbove && isSticky(mode))) {
    const evidence = `${path} belongs to the user with id ${uid}, who can change its contents.`
    return [FILES.problem({ code: 'owner_wrong', evidence, remedy: `chown root:root ${path}` })]
  }
  return isAbove ? checkAbove(path, mode) : checkMode(file, mode)
}

// In a directory with the sticky bit, such as /tmp, users cannot remove or rename the files of others.
function checkAbove(path: string, mode: number): Finding[] {
  if ((mode & OTHERS_WRITE) === 0 || isSticky(mode)) return []
  const evidence = `Other users can write to ${path} (mode ${octal(mode)}), so they can replace your data directory.`
  return [FILES.problem({ code: 'parent_open', evidence, remedy: `chmod go-w ${path}` })]
}

function checkMode({ path, allowed, required }: GuardedFileFacts, mode: number): Finding[] {
  const bits = mode & 0o777
  const wanted = (bits & allowed) | required
  if (bits === wanted) return []
  const isOpen = (bits & ~allowed) !== 0
  return [
    FILES.problem({
      code: isOpen ? 'mode_open' : 'mode_closed',
      evidence: `${path} has mode ${octal(mode)}${isOpen ? ', so other users can read or change it' : ', so the service cannot use it'}.`,
      remedy: `chmod ${octal(wanted)} ${path}`,
      fix: { kind: 'chmod', path, mode: wanted },
    }),
  ]
}

function isSticky(mode: number): boolean {
  return (mode & 0o1000) !== 0
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0')
}

const FILES = areaOf('permissions')
const OTHERS_WRITE = 0o022
