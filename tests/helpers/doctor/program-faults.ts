import type { Facts } from '../../../agent/doctor/facts.ts'
import type { DoctorCode, FindingLevel } from '../../../agent/doctor/findings.ts'

/** Breaks something on a host. */
export type BreakHost = (facts: Facts) => void

const crunPackage = (facts: Facts, change: object): void => {
  if ('value' in facts.crunPackage) Object.assign(facts.crunPackage.value ?? {}, change)
}

/** Faults of programs that the agent starts. */
export const PROGRAM_FAULTS: readonly [DoctorCode, FindingLevel, BreakHost, evidence: string, remedy: string][] = [
  [
    'program_missing',
    'problem',
    (f) => Object.assign(f.tools[0] ?? {}, { path: null }),
    'crun',
    'apt-get install crun',
  ],
  ['program_old', 'problem', (f) => Object.assign(f.tools[0] ?? {}, { version: '1.7.2' }), '1.8 or newer', 'crun'],
  [
    'program_unfixed',
    'problem',
    (f) => crunPackage(f, { installed: '1.8.1-1', lacks: '1.8.1-1+deb12u1' }),
    'crun is 1.8.1-1, but 1.8.1-1+deb12u1 is the first',
    'apt-get install --only-upgrade crun',
  ],
  [
    'program_unfixed',
    'note',
    (f) => crunPackage(f, { offered: '1.21-1+deb13u1' }),
    'crun is 1.21-1, but the distribution has 1.21-1+deb13u1',
    'apt-get install --only-upgrade crun',
  ],
  [
    'program_unfixed',
    'problem',
    (f) => Object.assign(f, { crunPackage: { value: null } }),
    '/usr/bin/crun is crun 1.21, not from a Debian package. Version 1.28 is the first',
    'apt-get install crun',
  ],
]
