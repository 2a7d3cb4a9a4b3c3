import type { Facts } from '../facts.ts'
import type { Finding } from '../findings.ts'
import { checkDisk } from './disk.ts'
import { checkFiles } from './files.ts'
import { checkCgroups, checkKernel, checkNamespaces, checkTerminals } from './host.ts'
import { checkNetwork } from './network.ts'
import { checkPorts } from './ports.ts'
import { checkClock, checkCrunFixes, checkTools } from './programs.ts'
import { checkService, checkSettings, checkUnits, checkVersions } from './service.ts'

/** Makes all checks. Pure. */
export function checkAll(facts: Facts): Finding[] {
  return CHECKS.flatMap((check) => check(facts))
}

const CHECKS: readonly ((facts: Facts) => Finding[])[] = [
  ...[
    checkSettings,
    checkVersions,
    checkKernel,
    checkCgroups,
    checkNamespaces,
    checkTerminals,
    checkTools,
    checkCrunFixes,
  ],
  ...[checkNetwork, checkDisk, checkFiles, checkPorts, checkClock, checkUnits, checkService],
]
