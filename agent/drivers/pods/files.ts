import fs from 'node:fs'
import type { Logger } from '../../../shared/log.ts'
import type { BoxSpec } from '../../ports/boxes/runtime.ts'
import { writeFilesOf } from '../boxes/own-files.ts'
import { prepareMountPoints } from '../boxes/root.ts'
import { MOUNT_DIRECTORIES } from '../host/oci-spec.ts'
import type { PodFiles } from './network.ts'
import type { PodRoot } from './roots.ts'

/** The host's files that boxes of pods mount, below the directory `runDir`, which a reboot removes. */
export interface PodFileHomes {
  /** Prepares the root of a box for its mounts, and describes it. */
  rootOf(spec: BoxSpec, network: PodFiles): PodRoot
  /** Returns the root of a warm pod, a tree of empty mount points. */
  warmPodRoot(): PodRoot
  /** Succeeds for an unknown box. */
  remove(boxId: string): void
}

export function createPodFiles({ runDir, logger }: { runDir: string; logger: Logger }): PodFileHomes {
  const home = (boxId: string): string => `${runDir}/pods/${boxId}`
  return {
    rootOf: (spec, { hostsFile, resolvFile }) => {
      const directory = home(spec.id)
      fs.mkdirSync(directory, { recursive: true, mode: 0o711 })
      fs.writeFileSync(`${directory}/machine-id`, `${spec.machineId}\n`, { mode: 0o644 })
      const resolvConf = fs.readFileSync(resolvFile, 'utf8')
      // Names are in a file of the node, which covers /etc/hosts.
      writeFilesOf(spec, { resolvConf, address: null }, logger)
      const files: Record<string, string> = { hosts: hostsFile, 'machine-id': `${directory}/machine-id` }
      const mountable = prepareMountPoints(spec.rootPath, Object.keys(files))
      const mounted = mountable.map((name) => [`etc/${name}`, files[name] ?? ''])
      return { source: spec.rootPath, readOnly: false, files: Object.fromEntries(mounted) as Record<string, string> }
    },
    // Read-only, since all warm pods share it.
    warmPodRoot: () => {
      for (const name of MOUNT_DIRECTORIES) fs.mkdirSync(`${runDir}/stub/${name}`, { recursive: true, mode: 0o755 })
      return { source: `${runDir}/stub`, readOnly: true, files: {} }
    },
    remove: (boxId) => fs.rmSync(home(boxId), { recursive: true, force: true }),
  }
}
