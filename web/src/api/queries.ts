import { queryOptions } from '@tanstack/react-query'
import { api } from './client.ts'
import type { Box, Ref } from './records.ts'
import { LONGEST_PAGE, readWholeList } from './whole-list.ts'

/** Selects all projects that the session can read. */
export const ALL_PROJECTS = '-'

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => api().call('getMe', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
})

export const configQuery = queryOptions({
  queryKey: ['config'],
  queryFn: ({ signal }) => api().call('getConfig', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
})

export const versionQuery = queryOptions({
  queryKey: ['version'],
  queryFn: ({ signal }) => api().call('getVersion', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
})

export const healthQuery = queryOptions({
  queryKey: ['health'],
  queryFn: ({ signal }) => api().call('getHealth', { signal }),
  refetchInterval: 60_000,
})

/** Returns when to look again, because no event reports that a node of a fleet is back. Its boxes are unknown until then. */
function untilKnown(boxes: readonly Box[]): number | false {
  return boxes.some(({ status }) => status === 'unknown') && UNKNOWN_MS
}

/** All boxes that the session can read, by project and name. */
export const boxesQuery = queryOptions({
  queryKey: ['boxes'],
  queryFn: ({ signal }) => readWholeList('listBoxes', { path: { project: ALL_PROJECTS }, query: LONGEST_PAGE, signal }),
  refetchInterval: ({ state }) => untilKnown(state.data ?? []),
})

export const volumesQuery = queryOptions({
  queryKey: ['volumes'],
  queryFn: ({ signal }) =>
    readWholeList('listVolumes', { path: { project: ALL_PROJECTS }, query: LONGEST_PAGE, signal }),
})

export const sharedBasesQuery = queryOptions({
  queryKey: ['bases', 'shared'],
  queryFn: ({ signal }) => readWholeList('listSharedBases', { query: LONGEST_PAGE, signal }),
})

export const basesQuery = queryOptions({
  queryKey: ['bases', 'projects'],
  queryFn: ({ signal }) => readWholeList('listBases', { path: { project: ALL_PROJECTS }, query: LONGEST_PAGE, signal }),
})

export const tokensQuery = queryOptions({
  queryKey: ['tokens'],
  queryFn: ({ signal }) => readWholeList('listTokens', { query: LONGEST_PAGE, signal }),
})

/** The projects with resources, and their quota and use. */
export const projectsQuery = queryOptions({
  queryKey: ['projects'],
  queryFn: ({ signal }) => readWholeList('listProjects', { query: LONGEST_PAGE, signal }),
})

export const storageQuery = queryOptions({
  queryKey: ['storage'],
  queryFn: ({ signal }) => api().call('getStorage', { signal }),
})

export const boxQuery = ({ project, name }: Ref) =>
  queryOptions({
    queryKey: ['box', project, name],
    queryFn: ({ signal }) => api().call('getBox', { path: { project, name }, signal }),
    refetchInterval: ({ state }) => untilKnown(state.data ? [state.data] : []),
  })

export const boxSnapshotsQuery = ({ project, name }: Ref) =>
  queryOptions({
    queryKey: ['box-snapshots', project, name],
    queryFn: ({ signal }) =>
      readWholeList('listBoxSnapshots', { path: { project, name }, query: LONGEST_PAGE, signal }),
  })

const UNKNOWN_MS = 10_000
