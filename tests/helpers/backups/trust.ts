import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { ROOT } from '../../../infra/commands.ts'
import { TESTED_AGENT } from '../programs.ts'
import type { TestService } from '../service.ts'

/** Has one deployment trust the key that another signs its backups with; returns what the command says. */
export function trustBackupsOf(other: TestService, by: TestService): string {
  const trust = [join(ROOT, TESTED_AGENT), 'admin', 'keys', 'trust', 'backup', join(other.dataDir, 'keys/backup.json')]
  return execFileSync(process.execPath, trust, { env: by.environment, encoding: 'utf8' })
}
