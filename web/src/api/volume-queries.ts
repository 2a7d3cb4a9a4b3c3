import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { api } from './client.ts'
import { volumesQuery } from './queries.ts'
import type { Ref } from './records.ts'
import { LONGEST_PAGE, readWholeList } from './whole-list.ts'

export const volumeQuery = ({ project, name }: Ref) =>
  queryOptions({
    queryKey: ['volume', project, name],
    queryFn: ({ signal }) => api().call('getVolume', { path: { project, name }, signal }),
  })

/** The snapshots of a volume, oldest first. */
export const volumeSnapshotsQuery = ({ project, name }: Ref) =>
  queryOptions({
    queryKey: ['volume-snapshots', project, name],
    queryFn: ({ signal }) =>
      readWholeList('listVolumeSnapshots', { path: { project, name }, query: LONGEST_PAGE, signal }),
  })

/** The backups of a volume, oldest first. */
export const volumeBackupsQuery = ({ project, name }: Ref) =>
  queryOptions({
    queryKey: ['backups', project, name],
    queryFn: ({ signal }) => readWholeList('listBackups', { path: { project, name }, query: LONGEST_PAGE, signal }),
  })

/** All backups of a project in the store, including backups of deleted volumes. */
export const storedBackupsQuery = (project: string) =>
  queryOptions({
    queryKey: ['backups', project],
    queryFn: ({ signal }) => readWholeList('listStoredBackups', { path: { project }, query: LONGEST_PAGE, signal }),
  })

/** Reloads a volume and its resources, if they are on screen. */
export async function refreshVolume(queries: QueryClient, { project, name }: Ref): Promise<void> {
  const keys = [
    ['volume', project, name],
    ['volume-snapshots', project, name],
    ['backups', project],
    volumesQuery.queryKey,
  ]
  await Promise.all(keys.map((queryKey) => queries.invalidateQueries({ queryKey })))
}
