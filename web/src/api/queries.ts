import type { ItemOf, ListId } from '@boxyard/sdk'
import { queryOptions } from '@tanstack/react-query'
import { api } from './client.ts'
import type { Ref } from './types.ts'

/** Stands for all projects that the session may read. */
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

/** All boxes that the session may read, by project and name. */
export const boxesQuery = queryOptions({
  queryKey: ['boxes'],
  queryFn: ({ signal }) => all('listBoxes', { path: { project: ALL_PROJECTS }, query: PAGE, signal }),
})

export const volumesQuery = queryOptions({
  queryKey: ['volumes'],
  queryFn: ({ signal }) => all('listVolumes', { path: { project: ALL_PROJECTS }, query: PAGE, signal }),
})

export const sharedBasesQuery = queryOptions({
  queryKey: ['bases', 'shared'],
  queryFn: ({ signal }) => all('listSharedBases', { query: PAGE, signal }),
})

export const basesQuery = queryOptions({
  queryKey: ['bases', 'projects'],
  queryFn: ({ signal }) => all('listBases', { path: { project: ALL_PROJECTS }, query: PAGE, signal }),
})

export const tokensQuery = queryOptions({
  queryKey: ['tokens'],
  queryFn: ({ signal }) => all('listTokens', { query: PAGE, signal }),
})

export const storageQuery = queryOptions({
  queryKey: ['storage'],
  queryFn: ({ signal }) => api().call('getStorage', { signal }),
})

export const boxQuery = ({ project, name }: Ref) =>
  queryOptions({
    queryKey: ['box', project, name],
    queryFn: ({ signal }) => api().call('getBox', { path: { project, name }, signal }),
  })

export const boxSnapshotsQuery = ({ project, name }: Ref) =>
  queryOptions({
    queryKey: ['box-snapshots', project, name],
    queryFn: ({ signal }) => all('listBoxSnapshots', { path: { project, name }, query: PAGE, signal }),
  })

/** Reads a whole list, a page of 1,000 at a time. */
async function all<Id extends ListId>(id: Id, input: Parameters<typeof listOf<Id>>[1]): Promise<ItemOf<Id>[]> {
  const items: ItemOf<Id>[] = []
  for await (const item of listOf(id, input)) items.push(item)
  return items
}

function listOf<Id extends ListId>(id: Id, input: Parameters<ReturnType<typeof api>['list']>[1]) {
  return api().list<Id>(id, input as never)
}

const PAGE = { max_results: 1000 }
