import fs from 'node:fs'
import type { BoxSpec } from '../../ports/boxes/runtime.ts'
import { prepareMountPoints } from '../boxes/root.ts'
import { MOUNT_DIRECTORIES } from '../host/oci-spec.ts'
import type { PodFiles } from './network.ts'
import type { PodRoot } from './roots.ts'

/** The files that boxes of pods have of the host, below the directory `runDir`, which does not outlive a boot. */
export interface PodFileHomes {
  /** Readies the root of a box for its mounts, and says what it is. */
  rootOf(spec: BoxSpec, network: PodFiles): PodRoot
  /** What a pod has for its root that waits for a box: nothing but places to mount on. */
  stubRoot(): PodRoot
  /** An absent box is a success. */
  remove(boxId: string): void
}

export function createPodFiles(runDir: string): PodFileHomes {
  const home = (boxId: string): string => `${runDir}/pods/${boxId}`
  return {
    rootOf: (spec, { hostsFile, resolvFile }) => {
      const directory = home(spec.id)
      fs.mkdirSync(directory, { recursive: true, mode: 0o711 })
      const texts = { hostname: `${spec.hostname}\n`, 'machine-id': `${spec.machineId}\n` }
      for (const [name, text] of Object.entries(texts)) fs.writeFileSync(`${directory}/${name}`, text, { mode: 0o644 })
      const files: Record<string, string> = {
        hosts: hostsFile,
        'resolv.conf': resolvFile,
        hostname: `${directory}/hostname`,
        'machine-id': `${directory}/machine-id`,
      }
      const mountable = prepareMountPoints(spec.rootPath, Object.keys(files))
      const placed = mountable.map((name) => [`etc/${name}`, files[name] ?? ''])
      return { source: spec.rootPath, readOnly: false, files: Object.fromEntries(placed) as Record<string, string> }
    },
    // Read-only, since all that wait share it.
    stubRoot: () => {
      for (const name of MOUNT_DIRECTORIES) fs.mkdirSync(`${runDir}/stub/${name}`, { recursive: true, mode: 0o755 })
      return { source: `${runDir}/stub`, readOnly: true, files: {} }
    },
    remove: (boxId) => fs.rmSync(home(boxId), { recursive: true, force: true }),
  }
}
