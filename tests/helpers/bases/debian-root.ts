import { writeFileSync } from 'node:fs'
import { hostArchive, hostProxyOptions, STABLE_SUITE, sourcesFor } from '../../../agent/drivers/bases/host-archive.ts'
import { runOk } from '../../../agent/lib/run.ts'

/**
 * Unpacks Debian packages and their dependencies as a root filesystem. Adds a user `ann` and lets Podman use any image. Skips the packages'
 * install scripts, which would take most of the time.
 */
export async function unpackDebian(root: string, packages: readonly string[], timeoutMs: number): Promise<void> {
  const options = ['--variant=extract', '--mode=root', '--format=directory', `--include=${packages.join(',')}`]
  const archive = ['--aptopt=Acquire::Languages "none"', ...(await hostProxyOptions()), STABLE_SUITE, root]
  const sources = sourcesFor(STABLE_SUITE, await hostArchive())
  await runOk('mmdebstrap', [...options, ...archive, ...sources], { timeoutMs })
  writeFileSync(`${root}/etc/passwd`, 'root:x:0:0:root:/root:/bin/bash\nann:x:1000:1000:ann:/tmp:/bin/bash\n')
  writeFileSync(`${root}/etc/group`, 'root:x:0:\nann:x:1000:\n')
  writeFileSync(`${root}/etc/containers/policy.json`, '{"default":[{"type":"insecureAcceptAnything"}]}')
}
