import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A line of a tracked file that must not be published, with the reason. */
export interface HygieneFault {
  file: string
  line: number
  reason: string
}

/** Checks all files in the work tree at `root` that git tracks or would add. */
export function findHygieneFaults(root: string): HygieneFault[] {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  return [...new Set(listed.split('\0'))].filter((file) => file !== '').flatMap((file) => faultsOf(root, file))
}

function faultsOf(root: string, file: string): HygieneFault[] {
  const text = readText(join(root, file))
  if (text === null) return []
  const faults: HygieneFault[] = []
  text.split('\n').forEach((content, i) => {
    for (const { pattern, reason, except } of BANS) {
      if (pattern.test(content) && !except?.test(file)) faults.push({ file, line: i + 1, reason })
    }
  })
  return faults
}

/** Returns null for a file that is deleted in the work tree, for a link or directory, and for a binary file. */
function readText(path: string): string | null {
  try {
    const bytes = readFileSync(path)
    return bytes.includes(0) ? null : bytes.toString()
  } catch {
    return null
  }
}

// Split into pieces, so that this file does not match its own patterns.
const word = (...parts: string[]): string => parts.join('')
const BANS: readonly { pattern: RegExp; reason: string; except?: RegExp }[] = [
  { pattern: new RegExp(word('(?<![\\w})./-])/wo', 'rk/')), reason: 'names a path of one machine' },
  {
    // Boxes have their own /root, which tests and pages mention.
    pattern: new RegExp(`${word('(?<![\\w})./-])/ro', 'ot/')}|(?<![\\w})./-])/home/[a-z]`),
    reason: 'names a path of one machine',
    except: /^tests\/|\.md$/,
  },
  {
    pattern: new RegExp(
      [
        word('registry\\.npm', 'js\\.org'),
        word('registry\\.yarn', 'pkg\\.com'),
        word('(deb|security|snapshot)\\.deb', 'ian\\.org'),
        word('npm', 'mirror\\.com'),
        word('"resol', 'ved": "'),
      ].join('|'),
    ),
    reason: 'names the host of a package registry',
  },
  { pattern: /^(<{7}|>{7}|\|{7}) /, reason: 'is left over from a merge' },
  { pattern: new RegExp(word('BEGIN [A-Z ]*PRIV', 'ATE KEY-----')), reason: 'holds a private key' },
  {
    pattern: new RegExp(`\\b(${word('TO', 'DO')}|${word('FIX', 'ME')}|${word('X', 'XX')}|${word('HA', 'CK')})\\b`),
    reason: 'leaves something for later',
    except: /^package-lock\.json$/,
  },
]

if (import.meta.main) {
  const faults = findHygieneFaults(join(import.meta.dirname, '..'))
  for (const { file, line, reason } of faults) process.stdout.write(`${file}:${line} ${reason}\n`)
  if (faults.length > 0) process.exitCode = 1
}
