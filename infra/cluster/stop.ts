import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { clusterCgroup, destroyCgroups, findProcesses } from './cgroups.ts'
import { withLock } from './host-lock.ts'
import { removeOutsideFiles, restoreHostState } from './host-state.ts'
import { destroyLinks, destroyMasquerade, podNetwork } from './network.ts'
import { clusterNodes, nodePaths } from './nodes.ts'
import { type ClusterRecord, clusterPaths, listClusters, readRecord } from './record.ts'

/** Removes the cluster `name`, or what is left of it, with everything it made on this host. Returns false if there was nothing. */
export async function stopCluster(name: string): Promise<boolean> {
  return await withLock(`cluster:${name}`, () => destroyCluster(name))
}

/** Does the same as `stopCluster`, for a caller that holds this cluster's lock. Also completes an interrupted stop. */
export async function destroyCluster(name: string): Promise<boolean> {
  const paths = clusterPaths(name)
  if (!listClusters().includes(name)) return false
  const record = readRecord(name)
  if (!(await destroyCgroups(clusterCgroup(name)))) {
    throw new Error(`Processes of the cluster ${name} do not exit: ${findProcesses(clusterCgroup(name)).join(', ')}`)
  }
  if (record !== null) removeRunFiles(record)
  for (const directory of [paths.run, paths.state]) unmountBelow(directory)
  rmSync(paths.run, { recursive: true, force: true })
  if (record !== null) await destroyLinks(record)
  destroyMasquerade(name)
  removeOutsideFiles(paths.state, podNetwork(name))
  await withLock('host', async () => {
    rmSync(paths.state, { recursive: true, force: true })
    if (listClusters().length === 0) restoreHostState()
  })
  return true
}

/** Removes what agents on its nodes have below their default run directory. Their data directories, which are the cluster's, name it. */
function removeRunFiles(record: ClusterRecord): void {
  const notes = clusterNodes(record).map((node) => join(nodePaths(record.name, node).agentData, 'instance'))
  for (const note of notes.filter((path) => existsSync(path))) {
    const instance = readFileSync(note, 'utf8').trim()
    if (/^[a-z0-9]{8}$/.test(instance)) rmSync(join('/run/boxyard', instance), { recursive: true, force: true })
  }
}

function unmountBelow(directory: string): void {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((path) => path.startsWith(`${directory}/`))
  // Latest first, because mounts are stacked.
  for (const path of mounts.reverse()) execFileSync('umount', ['--lazy', '--', path])
}
