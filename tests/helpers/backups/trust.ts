import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { ROOT } from '../../../infra/commands.ts'
import { TESTED_AGENT } from '../programs.ts'
import type { TestService } from '../service.ts'

/** Makes the deployment `by` trust the key that signs the backups of `other`. Returns the output of the command. */
export function trustBackupsOf(other: TestService, by: TestService): string {
  const trust = [join(ROOT, TESTED_AGENT), 'admin', 'keys', 'trust', 'backup', join(other.dataDir, 'keys/backup.json')]
  return execFileSync(process.execPath, trust, { env: by.environment, encoding: 'utf8' })
}
