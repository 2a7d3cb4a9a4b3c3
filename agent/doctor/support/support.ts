import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { withInterrupts } from '../../lib/interrupts.ts'
import { runOk } from '../../lib/run.ts'
import type { DoctorDeps } from '../doctor.ts'
import { gatherFiles, type SupportFile } from './contents.ts'
import { createRedactor } from './scrub.ts'
import { collectSecrets } from './secrets.ts'

/** `support [FILE]`: writes an archive for people who investigate a fault. Returns 0, 1 if it cannot, 2 for wrong options. */
export async function runSupportCommand(
  deps: DoctorDeps,
  args: readonly string[],
  print: (text: string) => void,
): Promise<number> {
  const parsed = parse(args)
  if (parsed === null) {
    print(SUPPORT_HELP)
    return 2
  }
  if (parsed.help) {
    print(SUPPORT_HELP)
    return 0
  }
  const stamp = new Date(deps.now()).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const path = resolve(parsed.file ?? `boxyard-support-${hostname()}-${stamp}.tar.gz`)
  // Fails before the work if it cannot be written, and never overwrites.
  const fd = openSync(path, 'wx', 0o600)
  try {
    await withInterrupts('the archive', async (signal) => {
      const scrub = createRedactor(collectSecrets(deps.settings))
      const files = [README, ...(await gatherFiles(deps))]
      const scrubbed = files.map(({ name, text }) => ({ name, text: scrub(text) }))
      writeFileSync(fd, await packFiles(scrubbed, signal))
    })
  } catch (error) {
    rmSync(path, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
  print(`${path}\nBoxyard removed the secrets that it knows, and text that looks like a secret. The archive still has names of projects and
boxes, addresses and paths. Check it before you share it.`)
  return 0
}

function parse(args: readonly string[]): { file: string | undefined; help: boolean } | null {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { help: { type: 'boolean', short: 'h', default: false } },
    })
    return positionals.length > 1 ? null : { file: positionals[0], help: values.help }
  } catch {
    return null
  }
}

// Returns the archive. The caller writes the target only by its descriptor, since the owner of its directory may put a link in its place.
async function packFiles(files: readonly SupportFile[], signal: AbortSignal): Promise<Buffer> {
  // mkdtemp gives only its owner access.
  const scratch = mkdtempSync(join(tmpdir(), 'boxyard-support-'))
  try {
    for (const { name, text } of files) {
      const target = join(scratch, 'boxyard-support', name)
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, text, { mode: 0o600 })
    }
    const archive = join(scratch, 'archive')
    await runOk('tar', ['-czf', archive, '-C', scratch, 'boxyard-support'], { timeoutMs: TAR_MS, signal })
    return readFileSync(archive)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

const README: SupportFile = {
  name: 'README.txt',
  text: `This archive shows the state of a Boxyard deployment. It has the findings of doctor, settings, reports of the service
(service/), the end of its logs (log/, host/journal.txt), units, the superblock of the pool, and details of the host.
Text in the form [redacted] replaces secrets: keys, tokens, credentials, environments of boxes, and text that looks like a secret.
`,
}
const TAR_MS = 60_000
const SUPPORT_HELP = `Usage: boxyard support [FILE]

Writes an archive (tar.gz, mode 0600) for the person who helps you. It has the findings of doctor, settings, versions,
health, logs, units, the kernel log and the state of the pool. This works while the service is down. Without root, the
archive has less content. Boxyard removes secrets: keys, tokens, credentials, environments of boxes, and text that looks like a secret.

  FILE   default: boxyard-support-HOST-TIME.tar.gz in the working directory. An existing file is not overwritten.`
